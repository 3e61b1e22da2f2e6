// Package counter is the client of Counter: who likes what, and how often it is liked; over gRPC.
//
//	likes, err := counter.Connect("dns:///counter:50051", counter.Options{})
//	liked, err := likes.Like(ctx, 123, counter.Item{Type: "post", ID: 456})
//
// Use one Client for a whole program: it owns one channel and may be shared by any number of goroutines.
// A call ends at the deadline of its context or, if that has none, at the client's, 2 s by default. A failed
// call gives an *Error. Every call may be repeated with the effect of one, and UNAVAILABLE is repeated by the
// client itself.
package counter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/health" // Lets the channel ask servers for their health.
	"google.golang.org/grpc/metadata"

	pb "counter/clients/go/counterpb"
)

// Version of this client, as the user-agent tells it.
const Version = "0.1.0"

const (
	defaultDeadline = 2 * time.Second
	reconnectFirst  = 100 * time.Millisecond
	reconnectMax    = time.Second
)

// Options say what is true of all calls of a Client. The zero value is a good one.
type Options struct {
	Deadline       time.Duration // Of a call whose context has none; 0: 2 s.
	NoRetries      bool          // One attempt a call, which fails at once where no server is ready.
	UserAgent      string        // Put before this client's own: "feed/1.2".
	TLS            *tls.Config   // Nil: plain text. With Certificates it is mTLS.
	BearerToken    string        // Sent with each call; needs TLS.
	ReadYourWrites bool          // Keep the tokens of writes and pass them to reads that come without tokens.
}

// Client makes the calls.
type Client struct {
	connection *grpc.ClientConn
	stub       pb.CounterServiceClient
	deadline   time.Duration
	tokens     *tokens
	noRetries  bool
}

// Connect never blocks: connections are made when calls need them, and made again when they break. It fails
// only for options that cannot be. A target is host:port, dns:///name:port, unix:path ...
func Connect(target string, options Options) (*Client, error) {
	if options.BearerToken != "" && options.TLS == nil {
		return nil, errors.New("counter: BearerToken without TLS; a token must not travel in plain text")
	}
	if options.Deadline < 0 {
		return nil, fmt.Errorf("counter: Deadline: expected 0 or more, got %v", options.Deadline)
	}
	config, err := serviceConfig(!options.NoRetries)
	if err != nil {
		return nil, err
	}
	transport := insecure.NewCredentials()
	if options.TLS != nil {
		transport = credentials.NewTLS(options.TLS)
	}
	reconnect := backoff.Config{BaseDelay: reconnectFirst, Multiplier: 1.6, Jitter: 0.2, MaxDelay: reconnectMax}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultServiceConfig(config),
		// What the resolver's own TXT records may say must not override the published config.
		grpc.WithDisableServiceConfig(),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 20 * time.Second}),
		grpc.WithUserAgent(strings.TrimSpace(options.UserAgent + " counter-go/" + Version)),
	}
	if options.NoRetries {
		dial = append(dial, grpc.WithDisableRetry())
	}
	if options.BearerToken != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(options.BearerToken)))
	}
	if !strings.Contains(target, "://") && !strings.HasPrefix(target, "unix:") {
		target = "dns:///" + target // As every other language's gRPC reads it.
	}
	connection, err := grpc.Dial(target, dial...)
	if err != nil {
		return nil, err
	}
	client := &Client{connection: connection, stub: pb.NewCounterServiceClient(connection), deadline: options.Deadline,
		noRetries: options.NoRetries}
	if client.deadline == 0 {
		client.deadline = defaultDeadline
	}
	if options.ReadYourWrites {
		client.tokens = newTokens(tokensMax)
	}
	return client, nil
}

// Close ends the channel; calls that are running end as Cancelled.
func (c *Client) Close() error { return c.connection.Close() }

// Like makes the user like the item.
func (c *Client) Like(ctx context.Context, userID int64, item Item, options ...CallOption) (*Written, error) {
	request := &pb.LikeRequest{UserId: userID, Item: encode(item)}
	reply, requestID, err := call(ctx, c, c.stub.Like, request, options)
	if err != nil {
		return nil, err
	}
	c.tokens.keep(item, reply.ConsistencyToken)
	return &Written{reply.Status == pb.LikeStatus_LIKE_STATUS_LIKED, reply.Count, reply.ConsistencyToken, requestID}, nil
}

// Unlike takes a like back.
func (c *Client) Unlike(ctx context.Context, userID int64, item Item, options ...CallOption) (*Written, error) {
	request := &pb.UnlikeRequest{UserId: userID, Item: encode(item)}
	reply, requestID, err := call(ctx, c, c.stub.Unlike, request, options)
	if err != nil {
		return nil, err
	}
	c.tokens.keep(item, reply.ConsistencyToken)
	return &Written{reply.Status == pb.UnlikeStatus_UNLIKE_STATUS_UNLIKED, reply.Count, reply.ConsistencyToken,
		requestID}, nil
}

// WriteLikes applies up to 1000 likes and unlikes; each has a result of its own.
func (c *Client) WriteLikes(ctx context.Context, mutations []Mutation, options ...CallOption) (*WriteResults, error) {
	request := &pb.WriteLikesRequest{}
	for _, m := range mutations {
		request.Mutations = append(request.Mutations,
			&pb.Mutation{UserId: m.UserID, Item: encode(m.Item), Action: pb.Action(m.Action) + pb.Action_ACTION_LIKE})
	}
	reply, requestID, err := call(ctx, c, c.stub.WriteLikes, request, options)
	if err != nil {
		return nil, err
	}
	if err := checkNumber(len(reply.Results), len(mutations), requestID); err != nil {
		return nil, err
	}
	results := &WriteResults{RequestID: requestID}
	for i, result := range reply.Results {
		if result.GetError().GetCode() != 0 {
			results.Results = append(results.Results, WriteResult{Err: decodeError(result.Error, requestID)})
			continue
		}
		changed := result.Outcome == pb.Outcome_OUTCOME_LIKED || result.Outcome == pb.Outcome_OUTCOME_UNLIKED
		if !changed && result.Outcome != pb.Outcome_OUTCOME_ALREADY_LIKED && result.Outcome != pb.Outcome_OUTCOME_NOT_LIKED {
			results.Results = append(results.Results, WriteResult{Err: &Error{Kind: Internal, Code: 13, RequestID: requestID,
				Message: "the server answered an outcome that this client does not know"}})
			continue
		}
		c.tokens.keep(mutations[i].Item, result.ConsistencyToken)
		results.Results = append(results.Results,
			WriteResult{Written: Written{changed, result.Count, result.ConsistencyToken, requestID}})
	}
	return results, nil
}

// Count tells how many users like the item. It takes at most one token.
func (c *Client) Count(ctx context.Context, item Item, options ...CallOption) (*Count, error) {
	read := c.read(options, item)
	if len(read.tokens) > 1 {
		return nil, refused("consistency_tokens", "expected at most one for the count of one item")
	}
	request := &pb.GetCountRequest{Item: encode(item), Consistency: read.consistency,
		ConsistencyToken: strings.Join(read.tokens, "")}
	reply, requestID, err := call(ctx, c, c.stub.GetCount, request, options)
	if err != nil {
		return nil, err
	}
	return &Count{item, reply.Count, source(reply.Source), reply.AsOfTime.AsTime(), reply.ConsistencyToken, requestID}, nil
}

// Counts tells how many users like each of up to 1000 items, which may repeat.
func (c *Client) Counts(ctx context.Context, items []Item, options ...CallOption) (*Counts, error) {
	read := c.read(options, items...)
	request := &pb.BatchGetCountsRequest{Items: encodeAll(items), Consistency: read.consistency,
		ConsistencyTokens: read.tokens}
	reply, requestID, err := call(ctx, c, c.stub.BatchGetCounts, request, options)
	if err != nil {
		return nil, err
	}
	if err := checkNumber(len(reply.Counts), len(items), requestID); err != nil {
		return nil, err
	}
	counts := &Counts{RequestID: requestID}
	for _, count := range reply.Counts {
		counts.Counts = append(counts.Counts, Count{Item{count.Item.GetItemType(), count.Item.GetItemId()}, count.Count,
			source(count.Source), count.AsOfTime.AsTime(), count.ConsistencyToken, requestID})
	}
	return counts, nil
}

// HasLiked tells which of up to 1000 items, which may repeat, the user likes.
func (c *Client) HasLiked(ctx context.Context, userID int64, items []Item, options ...CallOption) (*Liked, error) {
	read := c.read(options, items...)
	request := &pb.HasLikedRequest{UserId: userID, Items: encodeAll(items), Consistency: read.consistency,
		ConsistencyTokens: read.tokens}
	reply, requestID, err := call(ctx, c, c.stub.HasLiked, request, options)
	if err != nil {
		return nil, err
	}
	if err := checkNumber(len(reply.Liked), len(items), requestID); err != nil {
		return nil, err
	}
	return &Liked{reply.Liked, source(reply.Source), reply.AsOfTime.AsTime(), requestID}, nil
}

// The options of a read of these items, with the tokens that the client has kept of them.
func (c *Client) read(options []CallOption, items ...Item) callOptions {
	read := applied(options)
	if len(read.tokens) == 0 {
		read.tokens = c.tokens.of(items)
	}
	return read
}

var (
	requestIDForm   = regexp.MustCompile(`^[A-Za-z0-9._-]{0,64}$`)
	traceparentForm = regexp.MustCompile(`^[A-Za-z0-9._-]*$`)
)

// One unary call: the reply and the server's name of the call, or an *Error.
func call[Request, Reply any](ctx context.Context, c *Client,
	method func(context.Context, *Request, ...grpc.CallOption) (*Reply, error), request *Request,
	options []CallOption) (*Reply, string, error) {
	ctx, err := described(ctx, applied(options))
	if err != nil {
		return nil, "", err
	}
	if _, has := ctx.Deadline(); !has {
		limited, cancel := context.WithTimeout(ctx, c.deadline)
		defer cancel()
		ctx = limited
	}
	var header, trailer metadata.MD
	reply, err := method(ctx, request, grpc.Header(&header), grpc.Trailer(&trailer))
	requestID := first(header, trailer, "x-request-id")
	if err != nil {
		return nil, "", errorOfCall(err, trailer, requestID)
	}
	return reply, requestID, nil
}

func first(header, trailer metadata.MD, key string) string {
	for _, value := range append(header.Get(key), trailer.Get(key)...) {
		return value
	}
	return ""
}

func checkNumber(answers, asked int, requestID string) error {
	if answers == asked {
		return nil
	}
	return &Error{Kind: Internal, Code: 13, RequestID: requestID,
		Message: fmt.Sprintf("the server gave %d answers, not %d", answers, asked)}
}

func source(s pb.Source) Source {
	if s < pb.Source_SOURCE_UNSPECIFIED || s > pb.Source_SOURCE_PRIMARY {
		return SourceUnknown
	}
	return Source(s)
}

func encode(item Item) *pb.Item { return &pb.Item{ItemType: item.Type, ItemId: item.ID} }

func encodeAll(items []Item) []*pb.Item {
	encoded := make([]*pb.Item, 0, len(items))
	for _, item := range items {
		encoded = append(encoded, encode(item))
	}
	return encoded
}

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (b bearer) RequireTransportSecurity() bool { return true }
