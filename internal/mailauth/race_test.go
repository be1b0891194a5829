//go:build race

package mailauth

func init() { timeCap *= 10 }
