"""The values that calls take and give. All are immutable."""

from __future__ import annotations

import dataclasses
import datetime
import enum
from typing import NamedTuple, Optional, Sequence, Tuple, Union

from .errors import CounterError


class Item(NamedTuple):
    """A thing that can be liked. A plain tuple ("post", 456) will do wherever an Item is asked for."""

    type: str  #: One that the server is configured with: "post", "reel", "comment".
    id: int  #: 1 to 2^63-1.


class Action(enum.Enum):
    LIKE = 1
    UNLIKE = 2


class Consistency(enum.Enum):
    CACHED = 1  #: True at some instant within the last second while all is well. The fastest.
    STRONG = 2  #: Sees every write acknowledged before the read began.


class Source(enum.Enum):
    """Where an answer came from."""

    UNKNOWN = 0
    CACHE = 1
    REPLICA = 2
    PRIMARY = 3


class Mutation(NamedTuple):
    """One like or unlike of write_likes."""

    user_id: int
    item: Union[Item, Tuple[str, int]]
    action: Action = Action.LIKE


@dataclasses.dataclass(frozen=True)
class Written:
    """What became of a like or an unlike."""

    changed: bool  #: False: it was so already.
    count: int  #: Likes of the item after it.
    consistency_token: str
    request_id: str = ""


@dataclasses.dataclass(frozen=True)
class WriteResults:
    #: results[i] is of mutations[i]: what became of it, or the error that refused it.
    results: Sequence[Union[Written, CounterError]]
    request_id: str = ""


@dataclasses.dataclass(frozen=True)
class Count:
    item: Item
    count: int  #: 0 for an item that nobody ever liked.
    source: Source
    as_of: datetime.datetime  #: An instant at which the store held this count.
    consistency_token: str
    request_id: str = ""


@dataclasses.dataclass(frozen=True)
class Counts:
    counts: Sequence[Count]  #: counts[i] is of items[i].
    request_id: str = ""


@dataclasses.dataclass(frozen=True)
class Update:
    """What is new to a watch."""

    counts: Sequence[Count]  #: Each item once at most.
    #: Whether these are the counts of all items, but for those of which tokens were given: the first update of a watch,
    #: and the first after the store got another history, in which counts may be lower than they were.
    snapshot: bool


@dataclasses.dataclass(frozen=True)
class Liked:
    liked: Sequence[bool]  #: liked[i] is of items[i].
    source: Source
    as_of: datetime.datetime
    request_id: str = ""


@dataclasses.dataclass(frozen=True)
class Like:
    """One like of a user."""

    item: Item
    liked_at: datetime.datetime  #: To the second.


@dataclasses.dataclass(frozen=True)
class LikesPage:
    likes: Sequence[Like]  #: Newest first.
    next_page_token: str  #: Pass it to get the next page; "" if no more follow.
    request_id: str = ""


@dataclasses.dataclass(frozen=True)
class Liker:
    """One user who likes an item."""

    user_id: int
    liked_at: datetime.datetime  #: To the second.


@dataclasses.dataclass(frozen=True)
class LikersPage:
    likers: Sequence[Liker]  #: Newest like first.
    next_page_token: str  #: Pass it to get the next page; "" if no more follow.
    request_id: str = ""


@dataclasses.dataclass(frozen=True)
class Tls:
    """How to secure the channel; contents of PEM files. With a certificate and its key it is mTLS."""

    ca: Optional[bytes] = None  #: Who may sign the server's certificate; None: the system's authorities.
    certificate: Optional[bytes] = None
    key: Optional[bytes] = None
