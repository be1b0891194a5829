package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// What one folder, one type and the whole tree may hold.
const (
	maxFiles     = 28
	maxMethods   = 60
	maxOperators = 15
	maxLines     = 43_000
	longestShown = 5 // for information
)

// figure is one count with its bound; bound < 0 is for information.
type figure struct {
	name     string
	n, bound int
	where    []place
}

func (f figure) over() bool { return f.bound >= 0 && f.n > f.bound }

func (f figure) String() string {
	var b strings.Builder
	switch {
	case f.over():
		fmt.Fprintf(&b, "%-5s %7d of %5d  %s\n", "over", f.n, f.bound, f.name)
	case f.bound >= 0:
		fmt.Fprintf(&b, "%-5s %7d of %5d  %s\n", "ok", f.n, f.bound, f.name)
	default:
		fmt.Fprintf(&b, "%-5s %7d           %s\n", "", f.n, f.name)
	}
	for _, p := range f.where {
		fmt.Fprintf(&b, "      %7d           %s\n", p.n, p.at)
	}
	return b.String()
}

// productionLines is a goal, which -check does not hold: what is built next adds to it.
const productionLines = "production Go lines without the bench"

func (t tree) figures() []figure {
	files, methods := map[string]int{}, map[string]int{}
	documented, lines := map[string]bool{}, map[string]int{}
	var operators, inOTP []place
	for _, s := range t {
		files[s.folder]++
		documented[s.folder] = documented[s.folder] || s.documented
		lines[s.folder] += s.lines
		for _, receiver := range s.methods {
			methods[s.folder+" "+receiver]++
		}
		if below(s.folder, "internal/otp") {
			inOTP = append(inOTP, s.operators...)
		} else {
			operators = append(operators, s.operators...)
		}
	}
	var silent []place
	for folder, said := range documented {
		if !said {
			silent = append(silent, place{folder, files[folder]})
		}
	}
	production, support := t.split(lines)
	return []figure{
		highest("production files in one folder", maxFiles, files),
		highest("methods of one type", maxMethods, methods),
		{"lines with four or more && and ||, outside of internal/otp", len(operators), maxOperators, operators},
		{"the same in internal/otp", len(inOTP), -1, nil},
		{"packages without their sentence", len(silent), 0, descending(silent)},
		{productionLines, total(production), maxLines, nil},
		{"test support, not among them", total(support), -1, support},
	}
}

// highest is the figure of the largest of counts, with all that are over the bound, or else
// the two largest.
func highest(name string, bound int, counts map[string]int) figure {
	var all []place
	for at, n := range counts {
		all = append(all, place{at, n})
	}
	all = descending(all)
	shown := 0
	for shown < len(all) && all[shown].n > bound {
		shown++
	}
	return figure{name, all[0].n, bound, all[:min(max(shown, 2), len(all))]}
}

// split parts the folders into what the server and its public client are made of and what
// only their tests use. The bench is neither.
func (t tree) split(lines map[string]int) (production, support []place) {
	reached := t.reached("cmd/inboxd", "http/client")
	for folder, n := range lines {
		switch {
		case below(folder, "bench"), below(folder, "cmd/inbox-bench"):
		case reached[folder]:
			production = append(production, place{folder, n})
		default:
			support = append(support, place{folder, n})
		}
	}
	return production, descending(support)
}

// reached is what the given folders import, directly or not, and themselves.
func (t tree) reached(from ...string) map[string]bool {
	imports := map[string][]string{}
	for _, s := range t {
		imports[s.folder] = append(imports[s.folder], s.imports...)
	}
	seen := map[string]bool{}
	for len(from) > 0 {
		folder := from[0]
		from = from[1:]
		if !seen[folder] {
			seen[folder] = true
			from = append(from, imports[folder]...)
		}
	}
	return seen
}

// longest is for information: the longest functions and files.
func (t tree) longest() []figure {
	var functions, files []place
	for _, s := range t {
		functions = append(functions, s.functions...)
		files = append(files, place{s.path, s.lines})
	}
	functions, files = descending(functions), descending(files)
	return []figure{
		{"lines of the longest functions", functions[0].n, -1, functions[:min(longestShown, len(functions))]},
		{"lines of the longest files", files[0].n, -1, files[:min(longestShown, len(files))]},
	}
}

func below(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}

func descending(all []place) []place {
	slices.SortFunc(all, func(a, b place) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.at, b.at)) })
	return all
}

func total(all []place) int {
	sum := 0
	for _, p := range all {
		sum += p.n
	}
	return sum
}
