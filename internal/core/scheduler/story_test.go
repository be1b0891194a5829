package scheduler

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// TestStories runs a WorkQueue step by step. Entries are named by a letter and a number; "m1-20" are
// twenty of them, and a star in a lane's name is the entry's number. Attempts are named by their
// entry, "m1" or "m1@far", or by the prefix of their lanes, "@far". The commands:
//
//	new              a Line with options
//	put, tell        entries of the index, without and with a report (at, leased)
//	step             time passes (after), and the result of Step is shown and done
//	connects, greets progress of attempts (n, bytes)
//	end              of attempts (n): answers, silent or unknown; the entry goes (next, again)
//	probe            the operator's request
//	defer            takes deferrals (most) and ends them: deferred, fails, or held
//	stats            the figures
func TestStories(t *testing.T) {
	datadriven.Walk(t, "testdata/stories", func(t *testing.T, path string) {
		var w *world
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "new" {
				w = newWorld(options(t, d))
				return ""
			}
			out := w.describe(t, d)
			if lost, unsound := w.lost(), w.unsound(); lost != "" || unsound != "" {
				d.Fatalf(t, "lost: %s; %s", lost, unsound)
			}
			return out
		})
	})
}

func options(t *testing.T, d *datadriven.TestData) (o Options[string]) {
	figures := map[string]*int{
		"workers": &o.Workers, "lane": &o.LaneWorkers, "doubted": &o.UnansweringWorkers, "most-hanging": &o.MostHanging,
		"page": &o.Window.PageSize, "low": &o.Window.DueLow, "due": &o.Window.DueMost, "share": &o.Window.MaxUnanswering,
		"answering": &o.Window.MaxAnswering, "least": &o.Window.MaxCrowded, "room": &o.Window.CrowdedAbove, "all": &o.Window.MaxEntries,
	}
	flags := map[string]*bool{"defer-full": &o.DeferFull, "doubt-hanging": &o.DoubtHanging, "trusting": &o.TrustAll, "never-give-way": &o.NeverGiveWay}
	o.GroupOf = func(key string) string { return key[:1] }
	for _, arg := range d.CmdArgs {
		switch key := arg.Key; {
		case figures[key] != nil:
			*figures[key] = number(t, d, arg.Vals[0])
		case flags[key] != nil:
			*flags[key] = true
		case key == "quiet":
			o.QuietPeriod = duration(t, d, arg.Vals[0])
		case key == "bytes":
			o.HangingBytes = int64(number(t, d, arg.Vals[0]))
		default:
			d.Fatalf(t, "unknown option %s", key)
		}
	}
	return o
}

func number(t *testing.T, d *datadriven.TestData, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func duration(t *testing.T, d *datadriven.TestData, s string) time.Duration {
	v, err := time.ParseDuration(s)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return v
}

// value returns the value of an argument, empty without it.
func value(d *datadriven.TestData, key string) string {
	if arg, ok := d.Arg(key); ok && len(arg.Vals) > 0 {
		return arg.Vals[0]
	}
	return ""
}

// later returns the time that an argument names, counted from now; zero without it.
func (w *world) later(t *testing.T, d *datadriven.TestData, key string) (at time.Time) {
	if v := value(d, key); v != "" {
		at = w.now.Add(duration(t, d, v))
	}
	return at
}

// each calls do for every name of "m1-20", with its number.
func each(t *testing.T, d *datadriven.TestData, names string, do func(name, n string)) {
	first, last, many := strings.Cut(names[1:], "-")
	if !many {
		last = first
	}
	for n := number(t, d, first); n <= number(t, d, last); n++ {
		do(names[:1]+strconv.Itoa(n), strconv.Itoa(n))
	}
}

// tried returns the first n attempts of "m3", "m3@far", or of all lanes whose names begin with
// "@far", in the order in which they began.
func (w *world) tried(t *testing.T, d *datadriven.TestData, names string) (out []*Attempt[string]) {
	key, name, _ := strings.Cut(names, "@")
	for _, a := range w.running {
		if (key == "" || key == a.Key) && strings.HasPrefix(a.DestinationName, name) {
			out = append(out, a)
		}
	}
	n := value(d, "n")
	if len(out) == 0 || n != "" && number(t, d, n) > len(out) {
		d.Fatalf(t, "%d of %s are tried", len(out), names)
	}
	if n != "" {
		out = out[:number(t, d, n)]
	}
	return out
}

func (w *world) describe(t *testing.T, d *datadriven.TestData) string {
	names := ""
	if len(d.CmdArgs) > 0 {
		names = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "put", "tell":
		return w.place(t, d, names)
	case "step":
		if v := value(d, "after"); v != "" {
			w.now = w.now.Add(duration(t, d, v))
		}
		return w.show(w.step())
	case "connects", "greets":
		for _, a := range w.tried(t, d, names) {
			if bytes, _ := strconv.Atoi(value(d, "bytes")); d.Cmd == "connects" {
				w.q.AttemptConnecting(a, int64(bytes))
			} else {
				w.q.AttemptGreeted(a)
			}
		}
	case "end":
		return w.ends(t, d, names)
	case "probe":
		each(t, d, names, func(name, _ string) { w.q.ProbeEntry(w.now, w.index[name]) })
	case "defer":
		return w.defers(t, d)
	case "stats":
		s := w.q.Stats(w.now)
		return fmt.Sprintf("%d in memory, %d tried at %d lanes, %d hang with %d bytes, lag %v, whole %v", s.Waiting, s.Running, s.DestinationCount, w.q.hangingAttempts.n, w.q.hangingAttempts.heldBytes, s.OldestWait, s.IsWhole)
	default:
		d.Fatalf(t, "unknown command %s", d.Cmd)
	}
	return ""
}

func (w *world) place(t *testing.T, d *datadriven.TestData, names string) string {
	each(t, d, names, func(name, n string) {
		e := Entry[string]{Key: name, At: w.now, AcceptedAt: w.now, WasLeased: d.HasArg("leased")}
		for _, arg := range d.CmdArgs[1:] {
			switch {
			case arg.Key == "at":
				e.At = w.later(t, d, "at")
			case arg.Key != "leased":
				e.DestinationNames = append(e.DestinationNames, strings.ReplaceAll(arg.Key, "*", n))
			}
		}
		if d.Cmd == "tell" {
			w.move(e, e.At)
			return
		}
		if w.index[name] = e; e.WasLeased {
			w.q.AddInterrupted(w.now, e)
		}
	})
	return ""
}

func (w *world) ends(t *testing.T, d *datadriven.TestData, names string) string {
	r := AttemptResult{HealthState: map[string]HealthState{"answers": HealthAnswering, "silent": HealthSilent}[d.CmdArgs[1].Key]}
	if r.HealthState == HealthSilent {
		r.Report = "no route"
	}
	if v := value(d, "again"); v != "" {
		r.NextTime = w.now.Add(duration(t, d, v))
	}
	for _, a := range w.tried(t, d, names) {
		w.end(a, r, w.later(t, d, "next"))
	}
	return ""
}

func (w *world) defers(t *testing.T, d *datadriven.TestData) string {
	most := 64
	if v := value(d, "most"); v != "" {
		most = number(t, d, v)
	}
	w.groups = 0
	w.takeDeferrals(most)
	var names []string
	for _, one := range w.deferrals {
		names = append(names, fmt.Sprintf("%s@%s (%s)", one.Key, one.DestinationName, one.Report))
	}
	out := fmt.Sprintf("%d in %d groups%s", len(names), w.groups, listed(names))
	if d.HasArg("held") {
		return out
	}
	for _, one := range w.deferrals {
		e, waits := w.index[one.Key]
		switch {
		case d.HasArg("fails"):
			w.q.NotDeferred(w.now, one, 15*time.Second)
			continue
		case waits:
			w.move(e, w.later(t, d, "next"))
		}
		w.q.EntryDeferred(w.now, one, time.Time{})
	}
	w.deferrals = nil
	return out
}

// listed shows a few names, and how many more there are.
func listed(names []string) string {
	const few = 6
	sort.SliceStable(names, func(i, j int) bool { return len(names) > few && names[i] < names[j] })
	switch {
	case len(names) == 0:
		return ""
	case len(names) > few:
		return fmt.Sprintf(": %s ... %s", strings.Join(names[:3], ", "), names[len(names)-1])
	}
	return ": " + strings.Join(names, ", ")
}

func (w *world) show(r ReadyWork[string], pages int) string {
	var out strings.Builder
	starts := map[string][]string{}
	for _, a := range r.StartAttempts {
		how := "start " + a.HealthAtStart.String()
		switch {
		case a.Report != "":
			how = "say " + a.Report
		case a.MayAnswer && a.HealthAtStart == HealthUnproven:
			how += " new"
		}
		starts[how] = append(starts[how], a.Key+"@"+a.DestinationName)
	}
	var kinds []string
	for how := range starts {
		kinds = append(kinds, how)
	}
	sort.Strings(kinds)
	for _, how := range kinds {
		fmt.Fprintf(&out, "%s %d%s\n", how, len(starts[how]), listed(starts[how]))
	}
	for _, a := range r.BreakOff {
		fmt.Fprintf(&out, "break off %s@%s\n", a.Key, a.DestinationName)
	}
	if pages > 0 {
		fmt.Fprintf(&out, "read %d pages\n", pages)
	}
	if r.HasDeferrals {
		fmt.Fprintf(&out, "there are deferrals\n")
	}
	fmt.Fprintf(&out, "next in %v", r.NextStep.Sub(w.now))
	return out.String()
}
