package counter

import (
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// Kind of a failure; the same names in every language's client. errors.Is(err, counter.RateLimited) tells
// whether err is of a kind.
type Kind string

// The kinds.
const (
	InvalidArgument    Kind = "InvalidArgument"    // The request is wrong: see Violations. Do not repeat it unchanged.
	RateLimited        Kind = "RateLimited"        // The user's likes per window are used up; nothing was applied.
	Overloaded         Kind = "Overloaded"         // The server has as much work as it may hold; nothing was applied.
	Unavailable        Kind = "Unavailable"        // The server or its store could not be reached. Repeated already.
	DeadlineExceeded   Kind = "DeadlineExceeded"   // The call's time was used up.
	Cancelled          Kind = "Cancelled"          // The caller gave up.
	Unimplemented      Kind = "Unimplemented"      // This server does not offer the method.
	ResourceExhausted  Kind = "ResourceExhausted"  // Another limit, for example a message that is too large.
	FailedPrecondition Kind = "FailedPrecondition" // The service is not in a state for this call.
	OutOfRange         Kind = "OutOfRange"         // What was asked for is past.
	NotFound           Kind = "NotFound"           // There is no such thing.
	Unauthenticated    Kind = "Unauthenticated"    // The server wants to know who calls: a token, a certificate.
	PermissionDenied   Kind = "PermissionDenied"   // The server knows who calls, and refuses.
	Internal           Kind = "Internal"           // A fault of the server; report it with the request id.
)

func (k Kind) Error() string { return string(k) }

// FieldViolation is a field of the request that is wrong: its path ("items[3].item_id"), what came and what was
// expected.
type FieldViolation struct{ Field, Description string }

// QuotaViolation is a quota that was exceeded: whose ("user:123"), and a sentence with the limit.
type QuotaViolation struct{ Subject, Description string }

// Error of a call. Repeating the call is safe: any number of times has the effect of one.
type Error struct {
	Kind       Kind
	Code       uint32 // The canonical code of gRPC, 1 to 16.
	Reason     string // The value of counter.v1.ErrorReason; empty if it did not come from the service.
	Message    string
	Violations []FieldViolation // Of InvalidArgument: all of them.
	Quota      *QuotaViolation  // Of RateLimited.
	RetryAfter *time.Duration   // Of RateLimited and Overloaded.
	NotApplied bool             // Nothing was applied, for certain. Otherwise it was, zero or one time.
	RequestID  string           // The server's name of the call, to report it by.
}

func (e *Error) Error() string {
	text := fmt.Sprintf("counter: %s: %s", e.Kind, e.Message)
	if e.RetryAfter != nil {
		text += fmt.Sprintf("; retry after %v", *e.RetryAfter)
	}
	if e.RequestID != "" {
		text += fmt.Sprintf(" (request %s)", e.RequestID)
	}
	return text
}

// Is tells errors.Is whether the error is of the Kind target.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

const errorDomain = "counter.v1"

var kindOfCode = map[uint32]Kind{1: Cancelled, 3: InvalidArgument, 4: DeadlineExceeded, 5: NotFound,
	7: PermissionDenied, 8: ResourceExhausted, 9: FailedPrecondition, 11: OutOfRange, 12: Unimplemented,
	14: Unavailable, 16: Unauthenticated}

// The reason tells apart what shares a code.
func kindOf(code uint32, reason string) Kind {
	switch reason {
	case "RATE_LIMITED":
		return RateLimited
	case "OVERLOADED":
		return Overloaded
	}
	if kind, known := kindOfCode[code]; known {
		return kind
	}
	return Internal
}

// An error that this client found before it sent anything.
func refused(field, description string) *Error {
	return &Error{Kind: InvalidArgument, Code: 3, Message: field + ": " + description, NotApplied: true,
		Violations: []FieldViolation{{field, description}}}
}

func errorOfCall(err error, trailer metadata.MD, requestID string) *Error {
	rpc := status.Convert(err)
	var details *rpcstatus.Status
	for _, text := range trailer.Get("grpc-status-details-bin") {
		read := &rpcstatus.Status{}
		if proto.Unmarshal([]byte(text), read) == nil {
			details = read
		}
	}
	if details == nil {
		details = rpc.Proto()
	}
	// Code and message are always the call's own.
	failed := decodeError(&rpcstatus.Status{Code: int32(rpc.Code()), Message: rpc.Message(), Details: details.Details},
		requestID)
	for _, outcome := range trailer.Get("outcome") {
		failed.NotApplied = failed.NotApplied || outcome == "not-applied"
	}
	return failed
}

func decodeError(from *rpcstatus.Status, requestID string) *Error {
	failed := &Error{Code: uint32(from.Code), Message: from.Message, RequestID: requestID}
	for _, packed := range from.Details {
		detail, err := packed.UnmarshalNew()
		if err != nil {
			continue // Details that cannot be read are as good as none.
		}
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.Domain == errorDomain {
				failed.Reason = detail.Reason
				failed.NotApplied = detail.Metadata["outcome"] == "not-applied"
			}
		case *errdetails.BadRequest:
			for _, violation := range detail.FieldViolations {
				failed.Violations = append(failed.Violations, FieldViolation{violation.Field, violation.Description})
			}
		case *errdetails.RetryInfo:
			after := detail.RetryDelay.AsDuration()
			failed.RetryAfter = &after
		case *errdetails.QuotaFailure:
			if len(detail.Violations) > 0 {
				failed.Quota = &QuotaViolation{detail.Violations[0].Subject, detail.Violations[0].Description}
			}
		}
	}
	failed.Kind = kindOf(failed.Code, failed.Reason)
	return failed
}
