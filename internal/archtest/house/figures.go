package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What one folder, one type and the whole tree may hold.
const (
	maxFiles         = 28
	maxMethods       = 60  // declared on one type
	maxMethodSet     = 210 // with those of what the type embeds
	maxOperators     = 15
	maxPackageTokens = 18_000
	maxTokens        = 489_000 // of all production code: its count when the bound was set, and 3 %
	longestShown     = 5       // for information
	nearPercent      = 80      // of a bound is where a figure is marked
)

// largePackages are those with more tokens than maxPackageTokens until they are divided: how many
// they had when that bound was set. These numbers only fall (ADR 0114).
var largePackages = map[string]int{
	"persist":                  47_500,
	"http":                     44_374,
	"actors":                   39_476,
	"internal/mail/message":    20_417,
	"cmd/inbox-mcp/toolserver": 20_454,
	"internal/core/inbox":      18_050,
}

// boundedCount is one count with its bound; bound < 0 is for information.
type boundedCount struct {
	name        string
	n, maxCount int
	worstPlaces []countedPlace
}

func (f boundedCount) isOver() bool { return f.maxCount >= 0 && f.n > f.maxCount }

func (f boundedCount) String() string {
	var b strings.Builder
	switch {
	case f.isOver():
		fmt.Fprintf(&b, "%-5s %7d of %5d  %s\n", "over", f.n, f.maxCount, f.name)
	case f.maxCount >= 0:
		word := "ok"
		if 100*f.n >= nearPercent*f.maxCount && f.maxCount > 0 {
			word = "near"
		}
		fmt.Fprintf(&b, "%-5s %7d of %5d  %s\n", word, f.n, f.maxCount, f.name)
	default:
		fmt.Fprintf(&b, "%-5s %7d           %s\n", "", f.n, f.name)
	}
	for _, p := range f.worstPlaces {
		fmt.Fprintf(&b, "      %7d           %s\n", p.n, p.at)
	}
	return b.String()
}

func (t tree) computeFigures() []boundedCount {
	files, methods, tokens := map[string]int{}, map[string]int{}, map[string]int{}
	documented, lines := map[string]bool{}, map[string]int{}
	var operators, inOTP []countedPlace
	for _, s := range t {
		files[s.folder]++
		documented[s.folder] = documented[s.folder] || s.isDocumented
		lines[s.folder] += s.lineCount
		tokens[s.folder] += s.tokenCount
		for receiver, names := range s.methods {
			methods[s.folder+" "+receiver] += len(names)
		}
		if isBelow(s.folder, "internal/mail/otp") {
			inOTP = append(inOTP, s.complexLines...)
		} else {
			operators = append(operators, s.complexLines...)
		}
	}
	var silent []countedPlace
	for folder, said := range documented {
		if !said {
			silent = append(silent, countedPlace{folder, files[folder]})
		}
	}
	production, support := t.splitFolders(lines)
	code, _ := t.splitFolders(tokens)
	return []boundedCount{
		highestFigure("production files in one folder", maxFiles, files),
		highestFigure("methods declared on one type", maxMethods, methods),
		highestFigure("methods of one type with those of what it embeds", maxMethodSet, t.methodSets()),
		highestFigure("tokens of one package", maxPackageTokens, withoutLarge(tokens)),
		{"packages with more, which grew", len(grownPackages(tokens)), 0, grownPackages(tokens)},
		{"lines with four or more && and ||, outside of internal/mail/otp", len(operators), maxOperators, operators},
		{"the same in internal/mail/otp", len(inOTP), -1, nil},
		{"packages without their sentence", len(silent), 0, sortDescending(silent)},
		{"tokens of production code, without the bench", totalCount(code), maxTokens, nil},
		{"its lines", totalCount(production), -1, nil},
		{"lines of test support and tools, not among them", totalCount(support), -1, support},
	}
}

// highestFigure is the figure of the largest of counts, with all that are over the bound, or else
// the two largest.
func highestFigure(name string, bound int, counts map[string]int) boundedCount {
	var all []countedPlace
	for at, n := range counts {
		all = append(all, countedPlace{at, n})
	}
	all = sortDescending(all)
	shown := 0
	for shown < len(all) && all[shown].n > bound {
		shown++
	}
	return boundedCount{name, all[0].n, bound, all[:min(max(shown, 2), len(all))]}
}

// withoutLarge leaves largePackages out.
func withoutLarge(tokens map[string]int) map[string]int {
	others := maps.Clone(tokens)
	maps.DeleteFunc(others, func(folder string, _ int) bool { return largePackages[folder] > 0 })
	return others
}

// grownPackages are those of largePackages that have more tokens than they had.
func grownPackages(tokens map[string]int) (all []countedPlace) {
	for folder, had := range largePackages {
		if tokens[folder] > had {
			all = append(all, countedPlace{folder, tokens[folder]})
		}
	}
	return sortDescending(all)
}

// methodSets counts the methods that each type has, with those of what it embeds, by "folder Type".
func (t tree) methodSets() map[string]int {
	methods, embedded := map[string][]string{}, map[string][]string{}
	for _, s := range t {
		for receiver, names := range s.methods {
			methods[s.folder+" "+receiver] = append(methods[s.folder+" "+receiver], names...)
		}
		for name, of := range s.embeddedTypes {
			embedded[s.folder+" "+name] = append(embedded[s.folder+" "+name], of...)
		}
	}
	counts := map[string]int{}
	for name := range embedded {
		names := map[string]bool{}
		seen := map[string]bool{}
		for next := []string{name}; len(next) > 0; next = next[1:] {
			if !seen[next[0]] {
				seen[next[0]] = true
				next = append(next, embedded[next[0]]...)
				for _, method := range methods[next[0]] {
					names[method] = true
				}
			}
		}
		counts[name] = len(names)
	}
	return counts
}

// splitFolders parts the folders into what the server, the tool server and the public client are
// made of and what only their tests use. The bench is neither.
func (t tree) splitFolders(lines map[string]int) (production, support []countedPlace) {
	reached := t.reachedFolders("cmd/inboxd", "cmd/inbox", "cmd/inbox-mcp", "http/client")
	for folder, n := range lines {
		switch {
		case isBelow(folder, "bench"), isBelow(folder, "cmd/inbox-bench"):
		case reached[folder]:
			production = append(production, countedPlace{folder, n})
		default:
			support = append(support, countedPlace{folder, n})
		}
	}
	return production, sortDescending(support)
}

// reachedFolders is what the given folders import, directly or not, and themselves.
func (t tree) reachedFolders(from ...string) map[string]bool {
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

// longestFigures is for information: the longest functions and files.
func (t tree) longestFigures() []boundedCount {
	var functions, files []countedPlace
	for _, s := range t {
		functions = append(functions, s.functions...)
		files = append(files, countedPlace{s.path, s.lineCount})
	}
	functions, files = sortDescending(functions), sortDescending(files)
	return []boundedCount{
		{"lines of the longest functions", functions[0].n, -1, functions[:min(longestShown, len(functions))]},
		{"lines of the longest files", files[0].n, -1, files[:min(longestShown, len(files))]},
	}
}

func isBelow(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}

func sortDescending(all []countedPlace) []countedPlace {
	slices.SortFunc(all, func(a, b countedPlace) int { return cmp.Or(cmp.Compare(b.n, a.n), cmp.Compare(a.at, b.at)) })
	return all
}

func totalCount(all []countedPlace) int {
	sum := 0
	for _, p := range all {
		sum += p.n
	}
	return sum
}
