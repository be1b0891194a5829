package report

// Codes is how many codes of some messages were found.
type Codes struct {
	Category  string  `json:"category"`
	Messages  int     `json:"messages"`
	Right     int     `json:"right"` // codes, and messages rightly without one
	Wrong     int     `json:"wrong_codes"`
	Wanted    int     `json:"wanted"` // messages that have a code
	Found     int     `json:"found"`  // ... and it was given
	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
}

// Miss is a message whose response was not right. "" means none.
type Miss struct {
	File string `json:"file"`
	Want string `json:"want"`
	Got  string `json:"got"`
}
