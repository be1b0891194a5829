// Command house counts what keeps the tree readable, from its sources alone, and prints each
// figure with its bound and where it stands highest. It knows Go's syntax; it refuses to know
// what any package is for.
package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", ".", "folder of the module")
	check := flag.Bool("check", false, "fail when a bound does not hold")
	flag.Parse()
	t, err := readTree(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(2)
	}
	broken := 0
	for _, f := range t.computeFigures() {
		fmt.Print(f)
		if f.isOver() {
			broken++
		}
	}
	fmt.Println()
	for _, l := range t.longestFigures() {
		fmt.Print(l)
	}
	if broken > 0 {
		fmt.Printf("\n%d of the bounds do not hold\n", broken)
		if *check {
			os.Exit(1)
		}
	}
}
