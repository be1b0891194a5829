package drive

import "context"

// Moment is how far something is that takes a while.
type Moment struct {
	Name string  // what it is; one line of a display
	Done float64 // of All
	All  float64 // zero: nobody knows
	Says string  // what is seen so far: a rate, percentiles
}

type watcher struct{}

// Watch has everything under the context tell how far it is. The function is called from many goroutines.
func Watch(ctx context.Context, tell func(Moment)) context.Context {
	return context.WithValue(ctx, watcher{}, tell)
}

// Tell tells whoever watches.
func Tell(ctx context.Context, m Moment) {
	if tell, ok := ctx.Value(watcher{}).(func(Moment)); ok {
		tell(m)
	}
}
