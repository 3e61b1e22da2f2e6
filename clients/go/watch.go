package counter

import (
	"context"

	"google.golang.org/grpc/metadata"

	pb "counter/clients/go/counterpb"
)

// Update is one message of a watch.
type Update struct {
	Counts   []Count // Those that are new to the caller, each item once at most.
	Snapshot bool    // Whether it is the first message of the watch.
}

// Watch of counts; of one goroutine.
type Watch struct {
	stream pb.CounterService_WatchCountsClient
	cancel context.CancelFunc
}

// WatchCounts tells the counts of up to 100 items, and then each change:
//
//	watch, err := likes.WatchCounts(ctx, items)
//	defer watch.Stop()
//	for {
//		update, err := watch.Next()
//		if err != nil { ...
//
// What is known already is left out: that of which the newest tokens are given with WithTokens, from any answer; so a
// watch goes on after Unavailable. OutOfRange says that the store has another history: watch again without tokens. It
// has the deadline of the context alone: without one it stands until Stop.
func (c *Client) WatchCounts(ctx context.Context, items []Item, options ...CallOption) (*Watch, error) {
	given := applied(options)
	ctx, err := described(ctx, given)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.stub.WatchCounts(ctx,
		&pb.WatchCountsRequest{Items: encodeAll(items), ConsistencyTokens: given.tokens})
	if err != nil {
		cancel()
		return nil, errorOfCall(err, nil, "")
	}
	return &Watch{stream, cancel}, nil
}

// Next waits for the next message. It fails with the *Error that the watch ended with.
func (w *Watch) Next() (*Update, error) {
	message, err := w.stream.Recv()
	header, _ := w.stream.Header()
	requestID := first(header, nil, "x-request-id")
	if err != nil {
		trailer := w.stream.Trailer()
		return nil, errorOfCall(err, trailer, first(header, trailer, "x-request-id"))
	}
	update := &Update{Snapshot: message.Snapshot}
	for _, count := range message.Counts {
		update.Counts = append(update.Counts, Count{Item{count.Item.GetItemType(), count.Item.GetItemId()}, count.Count,
			source(count.Source), count.AsOfTime.AsTime(), count.ConsistencyToken, requestID})
	}
	return update, nil
}

// Stop ends the watch; a Next that waits fails with Cancelled. It may be called more than once and from any goroutine.
func (w *Watch) Stop() { w.cancel() }

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
