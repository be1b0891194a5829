package toolserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type requestKey struct{}

// carried gives a context the one of the HTTP request that a call came by.
func carried(request context.Context) context.Context {
	return context.WithValue(request, requestKey{}, request)
}

// withRequest ends a call with the HTTP request that it came by, in every revision: the SDK keeps calls
// of older ones alive, whose answer nobody could fetch from a server without sessions.
func withRequest(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	request, ok := ctx.Value(requestKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	forget := context.AfterFunc(request, cancel)
	return ctx, func() { forget(); cancel() }
}

// every is the time between two notifications of progress.
const every = 5 * time.Second

// progressing tells a client that asked for it, at once and then every five seconds, that a call of at
// most limit is at work; until the function it returns is called, after which nothing is sent.
func (c *call) progressing(ctx context.Context, limit time.Duration, says string) (stop func()) {
	token := c.request.Params.GetProgressToken()
	if token == nil || c.request.Session == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(every)
		defer t.Stop()
		for at := 0.0; ; at += every.Seconds() {
			// A client that does not take it has gone, which ctx will tell.
			_ = c.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: at, Total: limit.Seconds(), Message: says})
			select {
			case <-t.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}
