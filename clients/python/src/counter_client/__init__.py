"""The client of Counter: who likes what, and how often it is liked; over gRPC.

    with counter_client.Client("dns:///counter:50051") as likes:
        print(likes.like(123, ("post", 456)).count)
"""

from ._calls import VERSION as __version__
from ._calls import service_config
from .aio import AsyncClient, AsyncWatch
from .client import Client, Watch
from .errors import (Cancelled, CounterError, DeadlineExceeded, FailedPrecondition, FieldViolation, Internal,
                     InvalidArgument, NotFound, OutOfRange, Overloaded, PermissionDenied, QuotaViolation, RateLimited,
                     ResourceExhausted, Unauthenticated, Unavailable, Unimplemented)
from .types import (Action, Consistency, Count, Counts, Item, Like, Liked, Liker, LikersPage, LikesPage, Mutation, Source,
                    Tls, Update, WriteResults, Written)

__all__ = [
    "Action", "AsyncClient", "AsyncWatch", "Cancelled", "Client", "Consistency", "Count", "CounterError", "Counts",
    "DeadlineExceeded", "FailedPrecondition", "FieldViolation", "Internal", "InvalidArgument", "Item", "Like", "Liked",
    "Liker", "LikersPage", "LikesPage", "Mutation", "NotFound", "OutOfRange", "Overloaded", "PermissionDenied", "QuotaViolation", "RateLimited",
    "ResourceExhausted", "Source", "Tls", "Unauthenticated", "Unavailable", "Unimplemented", "Update", "Watch", "WriteResults",
    "Written",
    "__version__", "service_config",
]
