"""What a failed call raises: a CounterError of the kind that tells what to do about it."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence, Type

from google.rpc import error_details_pb2, status_pb2

_DOMAIN = "counter.v1"


class FieldViolation(NamedTuple):
    """A field of the request that is wrong: its path ("items[3].item_id"), what came and what was expected."""

    field: str
    description: str


class QuotaViolation(NamedTuple):
    """A quota that was exceeded: whose ("user:123"), and a sentence with the limit."""

    subject: str
    description: str


class CounterError(Exception):
    """A call that failed. Repeating it is safe: any number of times has the effect of one."""

    def __init__(self, message: str, code: int, request_id: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code  #: The canonical code of gRPC, 1 to 16.
        #: The value of counter.v1.ErrorReason, "STORE_UNAVAILABLE"; "" if it did not come from the service.
        self.reason = ""
        self.violations: Sequence[FieldViolation] = []  #: Of InvalidArgument: all of them.
        self.quota: Optional[QuotaViolation] = None  #: Of RateLimited.
        self.retry_after: Optional[float] = None  #: Seconds. Of RateLimited and Overloaded.
        #: Of a write: nothing was applied, for certain. Otherwise it was applied zero or one time.
        self.not_applied = False
        self.request_id = request_id  #: The server's name of the call, to report it by.

    @property
    def kind(self) -> str:
        """The name of the class; the same in every language's client."""
        return type(self).__name__

    def __str__(self) -> str:
        text = "%s: %s" % (self.kind, self.message)
        if self.retry_after is not None:
            text += "; retry after %gs" % self.retry_after
        return text + (" (request %s)" % self.request_id if self.request_id else "")


class InvalidArgument(CounterError):
    """The request is wrong: see violations. Do not repeat it unchanged."""


class RateLimited(CounterError):
    """The user's likes per window are used up; nothing was applied. retry_after says when the window ends."""


class Overloaded(CounterError):
    """The server has as much work as it may hold; nothing was applied. retry_after says when to try again."""


class Unavailable(CounterError):
    """The server or its store could not be reached. Repeated already."""


class DeadlineExceeded(CounterError):
    """The call's time was used up."""


class Cancelled(CounterError):
    """The caller gave up."""


class Unimplemented(CounterError):
    """This server does not offer the method."""


class ResourceExhausted(CounterError):
    """Another limit than RateLimited and Overloaded, for example a message that is too large."""


class FailedPrecondition(CounterError):
    """The service is not in a state for this call."""


class OutOfRange(CounterError):
    """What was asked for is past."""


class NotFound(CounterError):
    """There is no such thing."""


class Unauthenticated(CounterError):
    """The server wants to know who calls: a token, a certificate."""


class PermissionDenied(CounterError):
    """The server knows who calls, and refuses."""


class Internal(CounterError):
    """A fault of the server; report it with the request id."""


_KINDS: Dict[int, Type[CounterError]] = {
    1: Cancelled, 3: InvalidArgument, 4: DeadlineExceeded, 5: NotFound, 7: PermissionDenied, 8: ResourceExhausted,
    9: FailedPrecondition, 11: OutOfRange, 12: Unimplemented, 14: Unavailable, 16: Unauthenticated,
}
# The reason tells apart what shares a code.
_KINDS_OF_REASONS: Dict[str, Type[CounterError]] = {"RATE_LIMITED": RateLimited, "OVERLOADED": Overloaded}


def refused(field: str, description: str) -> CounterError:
    """An error that this client found before it sent anything."""
    error = InvalidArgument("%s: %s" % (field, description), code=3)
    error.violations = [FieldViolation(field, description)]
    error.not_applied = True
    return error


def decoded(status: Any, request_id: str, not_applied: bool = False) -> CounterError:
    """The error of a google.rpc.Status. Requires status.code != 0."""
    details: Dict[str, Any] = {}
    for any_ in status.details:
        for kind in (error_details_pb2.ErrorInfo, error_details_pb2.BadRequest, error_details_pb2.RetryInfo,
                     error_details_pb2.QuotaFailure):
            message = kind()
            if any_.Is(message.DESCRIPTOR) and any_.Unpack(message):
                details.setdefault(message.DESCRIPTOR.name, message)
    info = details.get("ErrorInfo")
    ours = info is not None and info.domain == _DOMAIN
    reason = info.reason if info is not None and ours else ""
    kind_of_error = _KINDS_OF_REASONS.get(reason) or _KINDS.get(status.code, Internal)
    error = kind_of_error(status.message, status.code, request_id)
    error.reason = reason
    error.not_applied = not_applied or bool(ours and info and info.metadata.get("outcome") == "not-applied")
    if "BadRequest" in details:
        error.violations = [FieldViolation(v.field, v.description) for v in details["BadRequest"].field_violations]
    if "RetryInfo" in details:
        delay = details["RetryInfo"].retry_delay
        error.retry_after = delay.seconds + delay.nanos / 1e9
    if "QuotaFailure" in details and details["QuotaFailure"].violations:
        violation = details["QuotaFailure"].violations[0]
        error.quota = QuotaViolation(violation.subject, violation.description)
    return error


def by_key(metadata: Any) -> Dict[str, Any]:
    """The metadata of a call, synchronous or not, or of none."""
    return dict(list(metadata or ()))  # A list, since grpc.aio's is a mapping that dict() misreads.


def of_call(failed: Any) -> CounterError:
    """The error of a grpc.RpcError, synchronous or not."""
    initial, trailing = by_key(failed.initial_metadata()), by_key(failed.trailing_metadata())
    status = status_pb2.Status()
    try:
        status.ParseFromString(trailing.get("grpc-status-details-bin", b""))
    except Exception:  # Details that cannot be read are as good as none.
        status.Clear()
    # Code and message are always the call's own.
    status.code, status.message = failed.code().value[0], failed.details() or ""
    request_id = initial.get("x-request-id") or trailing.get("x-request-id", "")
    return decoded(status, request_id, trailing.get("outcome") == "not-applied")
