package drive

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Check refuses options that make no load. The bounds are in the tags of the fields, for numbers,
// durations and the elements of lists: least:"1", most:"9000", and above:"0" for what must be more.
// The error names the flag.
func Check(options any) error {
	v := reflect.ValueOf(options)
	for i := range v.NumField() {
		field := v.Type().Field(i)
		if field.Anonymous {
			if err := Check(v.Field(i).Interface()); err != nil {
				return err
			}
			continue
		}
		values := []reflect.Value{v.Field(i)}
		if field.Type.Kind() == reflect.Slice {
			values = nil
			for _, element := range v.Field(i).Seq2() {
				values = append(values, element)
			}
		}
		for _, value := range values {
			if err := within(value, field); err != nil {
				return err
			}
		}
	}
	return nil
}

// within compares one value with the bounds of its field.
func within(value reflect.Value, field reflect.StructField) error {
	for _, bound := range []struct {
		tag, text string
		holds     func(v, bound float64) bool // false for NaN, too
	}{
		{"least", "at least", func(v, bound float64) bool { return v >= bound }},
		{"above", "more than", func(v, bound float64) bool { return v > bound }},
		{"most", "at most", func(v, bound float64) bool { return v <= bound }},
	} {
		text, ok := field.Tag.Lookup(bound.tag)
		if ok && !bound.holds(number(value), parseBound(text)) {
			return fmt.Errorf("--%s must be %s %s, not %v", flagOf(field), bound.text, text, value)
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

var capital = regexp.MustCompile(`\B[A-Z]`)

// flagOf is the name that kong gives the flag of a field.
func flagOf(field reflect.StructField) string {
	return cmp.Or(field.Tag.Get("name"), strings.ToLower(capital.ReplaceAllString(field.Name, "-$0")))
}
