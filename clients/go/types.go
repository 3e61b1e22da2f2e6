package counter

import (
	"time"

	pb "counter/clients/go/counterpb"
)

// Item is a thing that can be liked.
type Item struct {
	Type string // One that the server is configured with: "post", "reel", "comment".
	ID   int64  // 1 to 2^63-1.
}

// Action is what a Mutation does.
type Action int

// The actions.
const (
	ActionLike Action = iota
	ActionUnlike
)

// Mutation is one like or unlike of WriteLikes.
type Mutation struct {
	UserID int64
	Item   Item
	Action Action
}

// Source tells where an answer came from.
type Source int

// The sources.
const (
	SourceUnknown Source = iota
	SourceCache
	SourceReplica
	SourcePrimary
)

func (s Source) String() string {
	names := [...]string{"UNKNOWN", "CACHE", "REPLICA", "PRIMARY"}
	if s < 0 || int(s) >= len(names) {
		s = SourceUnknown
	}
	return names[s]
}

// Written is what became of a like or an unlike.
type Written struct {
	Changed          bool  // False: it was so already.
	Count            int64 // Likes of the item after it.
	ConsistencyToken string
	RequestID        string
}

// WriteResult is what became of one mutation: Err is the *Error that refused it, or nil.
type WriteResult struct {
	Written
	Err error
}

// WriteResults of WriteLikes: Results[i] is of mutations[i].
type WriteResults struct {
	Results   []WriteResult
	RequestID string
}

// Count of likes of one item.
type Count struct {
	Item             Item
	Count            int64 // 0 for an item that nobody ever liked.
	Source           Source
	AsOf             time.Time // An instant at which the store held this count.
	ConsistencyToken string
	RequestID        string
}

// Counts of likes: Counts[i] is of items[i].
type Counts struct {
	Counts    []Count
	RequestID string
}

// Liked of HasLiked: Liked[i] is of items[i].
type Liked struct {
	Liked     []bool
	Source    Source
	AsOf      time.Time
	RequestID string
}

// CallOption says something about one call.
type CallOption func(*callOptions)

type callOptions struct {
	requestID, traceparent string
	consistency            pb.Consistency
	tokens                 []string
}

// WithRequestID names the call in the server's logs: 1 to 64 characters of [A-Za-z0-9._-].
func WithRequestID(id string) CallOption { return func(o *callOptions) { o.requestID = id } }

// WithTraceparent passes a W3C trace context on ("00-<trace>-<span>-01").
func WithTraceparent(traceparent string) CallOption {
	return func(o *callOptions) { o.traceparent = traceparent }
}

// Strong makes a read see every write acknowledged before it began. Without it an answer was true at some
// instant within the last second while all is well.
func Strong() CallOption {
	return func(o *callOptions) { o.consistency = pb.Consistency_CONSISTENCY_STRONG }
}

// WithTokens makes a read include the writes that the tokens name; tokens of earlier answers about items of
// the call, in any order.
func WithTokens(tokens ...string) CallOption {
	return func(o *callOptions) { o.tokens = append(o.tokens, tokens...) }
}

func applied(options []CallOption) callOptions {
	given := callOptions{consistency: pb.Consistency_CONSISTENCY_CACHED}
	for _, option := range options {
		option(&given)
	}
	return given
}
