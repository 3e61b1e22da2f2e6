"""WatchState: what Watch and AsyncWatch share: what a watch asks for, what its messages say, and whether it goes on
after an error. No I/O."""

from __future__ import annotations

import random
import time
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from . import errors
from .types import Count, Item, Update
from .v1 import counter_pb2 as pb

TOKENS_MAX = 1000  # That a request may carry.
_PAUSE_FIRST, _PAUSE_MAX = 0.05, 1.0  # Seconds before a watch is taken up again: doubling, while it gives nothing.


class WatchState:
    """Not thread-safe: of the one who waits for updates."""

    def __init__(self, items: Iterable[Any], tokens: Sequence[str], metadata: Sequence[Tuple[str, str]],
                 deadline: Optional[float], retries: bool) -> None:
        self.metadata = metadata
        self._items = [pb.Item(item_type=type_, item_id=id_) for type_, id_ in items]
        self._given = list(tokens)
        self._newest: Dict[Item, str] = {}  # Token of the last count of each item that was told.
        self._ends = None if deadline is None else time.monotonic() + deadline
        self._retries = retries
        self._stood = False  # It has given something.
        self._anew = True  # What the next stream begins with is all there is.
        self._goes_on = False  # The stream that is open, from where another one ended.
        self._pause = 0.0

    def begin(self) -> Any:
        """The request of a new stream."""
        self._goes_on = not self._anew
        # Of an item the newest counts, so that it does no harm to send older ones.
        known: List[str] = list(self._newest.values()) + self._given
        return pb.WatchCountsRequest(items=self._items, consistency_tokens=known[:TOKENS_MAX] if self._stood else known)

    def timeout(self) -> Optional[float]:
        return None if self._ends is None else max(0.0, self._ends - time.monotonic())

    def take(self, message: Any, counts: Sequence[Count]) -> Optional[Update]:
        """What a message says; None if a watch that goes on has missed nothing."""
        for count in counts:
            self._newest[count.item] = count.consistency_token
        self._stood, self._anew, self._pause = True, False, 0.0
        if message.snapshot and self._goes_on and not counts:
            return None
        return Update(counts, message.snapshot and not self._goes_on)

    def pause_after(self, error: errors.CounterError) -> Optional[float]:
        """Seconds until to begin again; None if that cannot mend it. What never stood is the caller's to try again."""
        if not self._retries:
            return None
        if isinstance(error, errors.OutOfRange):
            if not self._given and not self._newest:
                return None
            self._given, self._newest, self._anew = [], {}, True
        elif not self._stood or not isinstance(error, (errors.Unavailable, errors.Overloaded)):
            return None
        self._pause = min(_PAUSE_MAX, 2 * self._pause) or _PAUSE_FIRST
        pause = max(self._pause * random.uniform(0.8, 1.2), error.retry_after or 0.0)
        left = self.timeout()
        return pause if left is None else min(pause, left)


def ended() -> errors.CounterError:
    """Of a stream that ends without an error."""
    return errors.Unavailable("the server ended the watch", 14)


def stopped() -> errors.CounterError:
    return errors.Cancelled("the watch was stopped", 1)
