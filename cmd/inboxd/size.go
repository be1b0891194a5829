package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// byteSize is a flag such as 512MiB: a number with B, KiB, MiB or GiB. KB, MB and GB mean the same
// (specification, Surfaces).
type byteSize int64

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *byteSize) UnmarshalText(text []byte) error {
	s := strings.ToUpper(strings.TrimSpace(string(text)))
	digits := strings.TrimRight(s, "BIKMG ")
	shift, ok := map[string]uint{"": 0, "B": 0, "K": 10, "KB": 10, "KIB": 10, "M": 20, "MB": 20, "MIB": 20, "G": 30, "GB": 30, "GIB": 30}[strings.TrimSpace(s[len(digits):])]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("invalid size %q (use a whole number with B, KiB, MiB or GiB, such as 512MiB)", text)
	}
	*b = byteSize(n << shift)
	return nil
}
