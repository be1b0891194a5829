package drive

import (
	"context"
	"io"
	"time"
)

// Parallel runs fn for 0..n-1, each on its own goroutine, and returns the first error, which
// also cancels the context of the others. It returns only when all have ended.
func Parallel(ctx context.Context, n int, fn func(ctx context.Context, k int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan struct{})
	for k := range n {
		go func() {
			defer func() { done <- struct{}{} }()
			if err := fn(ctx, k); err != nil {
				cancel(err)
			}
		}()
	}
	for range n {
		<-done
	}
	return context.Cause(ctx)
}

// overAll opens n connections, has work drive each on a goroutine of its own from one moment on,
// and adds up what was measured. All are closed at the end.
func overAll[C io.Closer](ctx context.Context, n int, dial func() (C, error), work func(ctx context.Context, k int, conn C, start time.Time, out *Round) error) (Round, error) {
	conns := make([]C, 0, n)
	defer func() {
		for _, c := range conns {
			c.Close()
		}
	}()
	for range n {
		c, err := dial()
		if err != nil {
			return Round{}, err
		}
		conns = append(conns, c)
	}
	parts := make([]Round, n)
	start := time.Now()
	err := Parallel(ctx, n, func(ctx context.Context, k int) error { return work(ctx, k, conns[k], start, &parts[k]) })
	total := Round{Elapsed: time.Since(start)}
	for _, part := range parts {
		total.Add(part)
	}
	return total, err
}

// Each runs fn for 0..n-1 on at most workers goroutines, as Parallel does.
func Each(ctx context.Context, workers, n int, fn func(ctx context.Context, i int) error) error {
	workers = min(workers, n)
	return Parallel(ctx, workers, func(ctx context.Context, k int) error {
		from, to := Share(n, k, workers)
		for i := from; i < to; i++ {
			if err := fn(ctx, i); err != nil {
				return err
			}
		}
		return nil
	})
}

// Share returns the half-open range of n items that worker k of all takes.
func Share(n, k, all int) (from, to int) { return n * k / all, n * (k + 1) / all }
