package drive

// Result is one measured thing on one target, over all rounds.
type Result struct {
	Name       string `json:"name"`
	Target     string `json:"target"`
	Count      int64  `json:"count"`
	Errors     int64  `json:"errors"`
	Unsent     int64  `json:"unsent,omitempty"`
	FirstError string `json:"first_error,omitempty"`
	// Refused are the replies 451 and the responses 503 with Retry-After, which are right under
	// overload.
	Refused      int64              `json:"refused,omitempty"`
	FirstRefusal string             `json:"first_refusal,omitempty"`
	Seconds      float64            `json:"seconds,omitempty"`
	PerSecond    float64            `json:"per_second,omitempty"`
	Rounds       []float64          `json:"rounds_per_second,omitempty"`
	RoundP50     []float64          `json:"rounds_p50_ms,omitempty"`
	RoundP99     []float64          `json:"rounds_p99_ms,omitempty"`
	Latency      *Percentiles       `json:"latency,omitempty"`
	CPU          *CPU               `json:"cpu,omitempty"`    // nil when the target is not a process of ours
	Values       map[string]float64 `json:"values,omitempty"` // the unit is in the name
}

// Fill takes the sums of all rounds.
func (r *Result) Fill(total Round) {
	r.Count, r.Errors, r.Unsent, r.FirstError = total.Count, total.Errors, total.Unsent, total.FirstError
	r.Seconds, r.PerSecond = total.Elapsed.Seconds(), total.PerSecond()
	r.Latency, r.CPU = total.Latency.Percentiles(), total.cost()
}
