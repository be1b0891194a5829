package report

// Codes is how many codes of some mails were found.
type Codes struct {
	Category  string  `json:"category"`
	Mails     int     `json:"mails"`
	Right     int     `json:"right"` // codes, and mails rightly without one
	Wrong     int     `json:"wrong_codes"`
	Wanted    int     `json:"wanted"` // mails that have a code
	Found     int     `json:"found"`  // ... and it was given
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// Miss is a mail whose answer was not right. "" is no code.
type Miss struct {
	File string `json:"file"`
	Want string `json:"want"`
	Got  string `json:"got"`
}
