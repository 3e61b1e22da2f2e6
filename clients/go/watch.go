package counter

import (
	"context"
	"io"
	"math/rand"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "counter/clients/go/counterpb"
)

const (
	// Before a watch is taken up again: doubling, while it gives nothing.
	watchPauseFirst = 50 * time.Millisecond
	watchPauseMax   = time.Second
	// That a request may carry.
	watchTokensMax = 1000
)

// Update is what is new to a watch.
type Update struct {
	Counts []Count // Each item once at most.
	// Whether these are the counts of all items, but for those of which tokens were given: the first update of a watch,
	// and the first after the store got another history, in which counts may be lower than they were.
	Snapshot bool
}

// Watch of counts; of one goroutine, but for Stop.
type Watch struct {
	client *Client
	ctx    context.Context
	cancel context.CancelFunc
	items  []Item
	given  []string        // Tokens of the caller.
	newest map[Item]string // Token of the last count of each item that was told.
	stream pb.CounterService_WatchCountsClient
	stood  bool // It has given something.
	anew   bool // What the next stream begins with is all there is.
	goesOn bool // The stream that is open, from where another one ended.
	pause  time.Duration
	failed error
}

// WatchCounts tells the counts of up to 100 items, and then each change:
//
//	watch, err := likes.WatchCounts(ctx, items)
//	defer watch.Stop()
//	for {
//		update, err := watch.Next()
//		if err != nil { ...
//
// It goes on by itself from what it has told: when its server goes, on another one, and from now when the store has got
// another history. What is known already is left out: that of which the newest tokens are given with WithTokens, from any
// answer. It has the deadline of the context alone: without one it stands until Stop.
func (c *Client) WatchCounts(ctx context.Context, items []Item, options ...CallOption) (*Watch, error) {
	given := applied(options)
	ctx, err := described(ctx, given)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &Watch{client: c, ctx: ctx, cancel: cancel, items: append([]Item{}, items...), given: given.tokens,
		newest: map[Item]string{}, anew: true}, nil
}

// Next waits for the next update. It fails with the *Error that the watch ended with: one that is not mended by watching
// again, or any with NoRetries.
func (w *Watch) Next() (*Update, error) {
	for w.failed == nil {
		message, err := w.receive()
		if err == nil {
			if update := w.take(message); update != nil {
				return update, nil
			}
			continue
		}
		if !w.mayGoOn(err) {
			w.failed = err
			w.cancel()
			break
		}
		w.rest(err)
	}
	return nil, w.failed
}

// Stop ends the watch; a Next that waits fails with Cancelled. It may be called more than once and from any goroutine.
func (w *Watch) Stop() { w.cancel() }

// The next message of the stream, which is opened if there is none.
func (w *Watch) receive() (*pb.WatchCountsResponse, *Error) {
	if w.stream == nil {
		w.goesOn = !w.anew
		stream, err := w.client.stub.WatchCounts(w.ctx,
			&pb.WatchCountsRequest{Items: encodeAll(w.items), ConsistencyTokens: w.known()})
		if err != nil {
			return nil, errorOfCall(err, nil, "")
		}
		w.stream = stream
	}
	message, err := w.stream.Recv()
	if err != nil {
		header, _ := w.stream.Header()
		trailer := w.stream.Trailer()
		w.stream = nil
		if err == io.EOF {
			err = status.Error(codes.Unavailable, "the server ended the watch")
		}
		return nil, errorOfCall(err, trailer, first(header, trailer, "x-request-id"))
	}
	return message, nil
}

// What an update says; nil if a watch that goes on has missed nothing.
func (w *Watch) take(message *pb.WatchCountsResponse) *Update {
	header, _ := w.stream.Header()
	update := &Update{Snapshot: message.Snapshot && !w.goesOn}
	for _, count := range message.Counts {
		item := Item{count.Item.GetItemType(), count.Item.GetItemId()}
		w.newest[item] = count.ConsistencyToken
		update.Counts = append(update.Counts, Count{item, count.Count, source(count.Source), count.AsOfTime.AsTime(),
			count.ConsistencyToken, first(header, nil, "x-request-id")})
	}
	w.stood, w.anew, w.pause = true, false, 0
	if message.Snapshot && w.goesOn && len(update.Counts) == 0 {
		return nil
	}
	return update
}

// The tokens to go on from. Of an item the newest counts, so that it does no harm to send older ones.
func (w *Watch) known() []string {
	var tokens []string
	for _, token := range w.newest {
		tokens = append(tokens, token)
	}
	tokens = append(tokens, w.given...)
	if w.stood && len(tokens) > watchTokensMax {
		tokens = tokens[:watchTokensMax]
	}
	return tokens
}

// Whether watching again can mend it. What never stood is the caller's to try again.
func (w *Watch) mayGoOn(failed *Error) bool {
	switch {
	case w.client.noRetries || w.ctx.Err() != nil:
		return false
	case failed.Kind == OutOfRange:
		knew := len(w.given) > 0 || len(w.newest) > 0
		w.given, w.newest, w.anew = nil, map[Item]string{}, true
		return knew
	default:
		return w.stood && (failed.Kind == Unavailable || failed.Kind == Overloaded)
	}
}

// Waits, as long as the server asks for; the end of the context is the next stream's matter.
func (w *Watch) rest(failed *Error) {
	w.pause = 2 * w.pause
	if w.pause == 0 {
		w.pause = watchPauseFirst
	} else if w.pause > watchPauseMax {
		w.pause = watchPauseMax
	}
	pause := time.Duration(float64(w.pause) * (0.8 + 0.4*rand.Float64()))
	if failed.RetryAfter != nil && *failed.RetryAfter > pause {
		pause = *failed.RetryAfter
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-w.ctx.Done():
	}
}

// The context with what the options say of the call.
func described(ctx context.Context, given callOptions) (context.Context, error) {
	if !requestIDForm.MatchString(given.requestID) {
		return nil, refused("request_id", "expected at most 64 characters of [A-Za-z0-9._-]")
	}
	if !traceparentForm.MatchString(given.traceparent) {
		return nil, refused("traceparent", "expected a W3C trace context")
	}
	if given.requestID != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "x-request-id", given.requestID)
	}
	if given.traceparent != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "traceparent", given.traceparent)
	}
	return ctx, nil
}
