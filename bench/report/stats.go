package report

import "math"

// meanAndError returns the mean and the square of its standard error.
func meanAndError(xs []float64) (mean, square float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	for _, x := range xs {
		square += (x - mean) * (x - mean) / (n - 1) / n
	}
	return mean, square
}

// changeInterval is Welch's 95 % interval of the difference of the means of b and a, as a share of
// a's mean (Welch, Biometrika 34, 1947): it does not take their variances for equal. There is none
// for fewer than two samples of either, nor where a's mean is zero.
func changeInterval(a, b []float64) (low, high float64, known bool) {
	if len(a) < 2 || len(b) < 2 {
		return 0, 0, false
	}
	ma, ea := meanAndError(a)
	mb, eb := meanAndError(b)
	if ma == 0 {
		return 0, 0, false
	}
	difference := mb - ma
	if ea+eb == 0 {
		return difference / ma, difference / ma, true
	}
	freedom := (ea + eb) * (ea + eb) / (ea*ea/float64(len(a)-1) + eb*eb/float64(len(b)-1))
	half := studentT(freedom) * math.Sqrt(ea+eb)
	return (difference - half) / ma, (difference + half) / ma, true
}

// tTable is the 97.5th percentile of Student's t for 1 to 30 degrees of freedom, and then for 40,
// 60, 120 and infinitely many.
var tTable = [...]float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
	2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042}

// studentT is the 97.5th percentile for any degrees of freedom of at least 1: what lies between two
// of the table is linear in their reciprocal.
func studentT(freedom float64) float64 {
	freedom = max(freedom, 1)
	if below := math.Floor(freedom); below < float64(len(tTable)) {
		n := int(below)
		return between(freedom, below, tTable[n-1], below+1, tTable[n])
	}
	tails := []struct{ freedom, t float64 }{{30, tTable[29]}, {40, 2.021}, {60, 2.000}, {120, 1.980}, {math.Inf(1), 1.960}}
	for i, next := range tails[1:] {
		if freedom <= next.freedom {
			return between(freedom, tails[i].freedom, tails[i].t, next.freedom, next.t)
		}
	}
	return tails[len(tails)-1].t
}

func between(at, a, ta, b, tb float64) float64 {
	return tb + (ta-tb)*(1/at-1/b)/(1/a-1/b)
}
