package drive

import "context"

// Moment is how far something is that takes a while.
type Moment struct {
	Name string
	Done float64 // of All
	All  float64
	Says string // what is measured so far: a rate, percentiles
}

type watcher struct{}

// Watch has show called with the progress of everything under the context, from many goroutines.
func Watch(ctx context.Context, show func(Moment)) context.Context {
	return context.WithValue(ctx, watcher{}, show)
}

// ShowProgress calls the function of Watch, if there is one.
func ShowProgress(ctx context.Context, m Moment) {
	if show, ok := ctx.Value(watcher{}).(func(Moment)); ok {
		show(m)
	}
}
