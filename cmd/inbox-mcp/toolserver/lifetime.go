package toolserver

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type requestKey struct{}

// attachRequest returns the context of an HTTP request with a reference to itself, for withRequest.
func attachRequest(request context.Context) context.Context {
	return context.WithValue(request, requestKey{}, request)
}

// withRequest ends a call when its HTTP request ends, in every revision. The SDK continues calls of
// older revisions, but without sessions their responses could not be fetched.
func withRequest(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	request, ok := ctx.Value(requestKey{}).(context.Context)
	if !ok {
		return ctx, cancel
	}
	forget := context.AfterFunc(request, cancel)
	return ctx, func() { forget(); cancel() }
}

// progressInterval is the time between two progress notifications.
const progressInterval = 5 * time.Second

// reportProgress sends progress notifications to a client that requested them: one immediately and one
// every five seconds, for a call of at most limit. After stop returns, nothing is sent.
func (c *toolCall) reportProgress(ctx context.Context, limit time.Duration, says string) (stop func()) {
	token := c.request.Params.GetProgressToken()
	if token == nil || c.request.Session == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(progressInterval)
		defer t.Stop()
		for at := 0.0; ; at += progressInterval.Seconds() {
			// An error means that the client disconnected. Then ctx ends.
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
