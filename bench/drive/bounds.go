package drive

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// AtLeast refuses what would make a load empty, endless or another one than was asked for, by the name of its flag.
func AtLeast[T int | float64 | time.Duration](least T, flags map[string]T) error {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if v := flags[name]; !(v >= least) { // nor is NaN
			return fmt.Errorf("%s must be at least %v, not %v", name, least, v)
		}
	}
	return nil
}

// AtMost refuses what no load is made for.
func AtMost[T int | float64 | time.Duration](most T, flags map[string]T) error {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		if v := flags[name]; v > most {
			return fmt.Errorf("%s must be at most %v, not %v", name, most, v)
		}
	}
	return nil
}

// Rate refuses what is no number of things a second.
func Rate(flag string, perSecond float64) error {
	if !(perSecond > 0) {
		return fmt.Errorf("%s must be more than 0, not %v", flag, perSecond)
	}
	return nil
}

// Size refuses mails that are shorter than their fixed text, as which they would be sent.
func Size(bytes int) error {
	return AtLeast(SignInMail(time.Time{}, 0).Len(), map[string]int{"--size": bytes})
}
