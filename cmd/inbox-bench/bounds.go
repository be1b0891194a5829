package main

import (
	"fmt"
	"reflect"
	"strconv"
	"time"

	"github.com/alecthomas/kong"
)

// bounds are the tags of options with a bound, for numbers, durations and the elements of lists.
var bounds = []struct {
	tag, text string
	holds     func(v, bound float64) bool // false for NaN, too
}{
	{"least", "at least", func(v, bound float64) bool { return v >= bound }},
	{"above", "more than", func(v, bound float64) bool { return v > bound }},
	{"most", "at most", func(v, bound float64) bool { return v <= bound }},
}

// checkBounds refuses options that make no load, by the name of their flag.
func checkBounds(flags []*kong.Flag) error {
	for _, flag := range flags {
		values := []reflect.Value{flag.Target}
		if flag.Target.Kind() == reflect.Slice {
			values = nil
			for _, element := range flag.Target.Seq2() {
				values = append(values, element)
			}
		}
		for _, value := range values {
			for _, b := range bounds {
				if flag.Tag.Has(b.tag) && !b.holds(number(value), parseBound(flag.Tag.Get(b.tag))) {
					return fmt.Errorf("--%s must be %s %s, not %v", flag.Name, b.text, flag.Tag.Get(b.tag), value)
				}
			}
		}
	}
	return nil
}

func number(value reflect.Value) float64 {
	if value.CanFloat() {
		return value.Float()
	}
	return float64(value.Int()) // a duration in nanoseconds
}

// parseBound reads a number or a duration; a tag that is neither is a mistake in the program.
func parseBound(text string) float64 {
	if n, err := strconv.ParseFloat(text, 64); err == nil {
		return n
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return float64(d)
}
