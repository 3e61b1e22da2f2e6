"""Client: the like counter from Python, blocking. AsyncClient (aio.py) is the same for asyncio."""

from __future__ import annotations

import threading
from typing import Any, Iterable, Iterator, Optional, Sequence, Tuple, Union, cast

import grpc

from . import errors
from ._calls import Call, Calls, item_counts
from ._watch import WatchState, ended, stopped
from .types import (Consistency, Count, Counts, Item, Like, Liked, Liker, LikersPage, LikesPage, Mutation, Tls,
                    Update, WriteResults, Written)
from .v1 import counter_pb2_grpc

AnyItem = Union[Item, Tuple[str, int]]


class Client:
    """One client for a whole program: it owns one channel, which any number of threads may share.

    Every call takes, by name: `deadline` in seconds, all attempts and pauses included (default: the client's);
    `request_id`, 1 to 64 characters of [A-Za-z0-9._-], which names the call in the server's logs; `traceparent`, the
    W3C trace context to pass on. Reads also take `consistency` and `consistency_tokens`, tokens of earlier answers
    about items of the call: the answer includes the writes that they name. A failed call raises a CounterError.
    Every call may be repeated with the effect of one, and UNAVAILABLE is repeated by the client itself.
    """

    def __init__(self, target: str = "127.0.0.1:50051", *, deadline: float = 2.0, retries: bool = True,
                 user_agent: str = "", tls: Optional[Tls] = None, bearer_token: Optional[str] = None,
                 read_your_writes: bool = False) -> None:
        """Never blocks: connections are made when calls need them, and made again when they break.

        retries=False: one attempt a call, which fails at once where no server is ready. user_agent is put before
        this client's own ("feed/1.2"). bearer_token needs tls. read_your_writes: the client keeps the tokens of
        its writes (of the last 10,000 items) and passes them to reads that come without tokens.
        """
        self._calls = Calls(deadline, retries, user_agent, tls, bearer_token, read_your_writes)
        if self._calls.credentials is None:
            self._channel = grpc.insecure_channel(target, self._calls.options)
        else:
            self._channel = grpc.secure_channel(target, self._calls.credentials, self._calls.options)
        self._stub: Any = cast(Any, counter_pb2_grpc.CounterServiceStub)(self._channel)

    def like(self, user_id: int, item: AnyItem, **options: Any) -> Written:
        """Makes the user like the item."""
        return cast(Written, self._run(self._calls.like(user_id, item, options)))

    def unlike(self, user_id: int, item: AnyItem, **options: Any) -> Written:
        """Takes a like back."""
        return cast(Written, self._run(self._calls.unlike(user_id, item, options)))

    def write_likes(self, mutations: Iterable[Mutation], **options: Any) -> WriteResults:
        """Up to 1000 likes and unlikes; each has a result of its own."""
        return cast(WriteResults, self._run(self._calls.write_likes(mutations, options)))

    def count(self, item: AnyItem, *, consistency: Consistency = Consistency.CACHED,
              consistency_tokens: Sequence[str] = (), **options: Any) -> Count:
        """How many users like the item. Takes at most one token."""
        return cast(Count, self._run(self._calls.count(item, consistency, consistency_tokens, options)))

    def counts(self, items: Iterable[AnyItem], *, consistency: Consistency = Consistency.CACHED,
               consistency_tokens: Sequence[str] = (), **options: Any) -> Counts:
        """How many users like each of up to 1000 items, which may repeat."""
        return cast(Counts, self._run(self._calls.counts(items, consistency, consistency_tokens, options)))

    def has_liked(self, user_id: int, items: Iterable[AnyItem], *, consistency: Consistency = Consistency.CACHED,
                  consistency_tokens: Sequence[str] = (), **options: Any) -> Liked:
        """Which of up to 1000 items, which may repeat, the user likes."""
        return cast(Liked, self._run(self._calls.has_liked(user_id, items, consistency, consistency_tokens, options)))

    def list_likes(self, user_id: int, *, item_types: Iterable[str] = (), page_size: int = 0, page_token: str = "",
                   **options: Any) -> LikesPage:
        """A page of what the user likes, newest first: up to page_size (1 to 1000; 0: 100) of these types (none: all)."""
        return cast(LikesPage, self._run(
            self._calls.list_likes(user_id, item_types, page_size, page_token, options)))

    def list_likers(self, item: AnyItem, *, page_size: int = 0, page_token: str = "", **options: Any) -> LikersPage:
        """A page of who likes the item, newest like first. FailedPrecondition where the service has no index of them."""
        return cast(LikersPage, self._run(self._calls.list_likers(item, page_size, page_token, options)))

    def all_likes(self, user_id: int, *, item_types: Iterable[str] = (), page_size: int = 0, page_token: str = "",
                  **options: Any) -> Iterator[Like]:
        """All that the user likes, newest first: list_likes page after page, each when it is needed."""
        types, token = list(item_types), page_token
        while True:
            page = self.list_likes(user_id, item_types=types, page_size=page_size, page_token=token, **options)
            for like in page.likes:
                yield like
            token = page.next_page_token
            if not token:
                return

    def all_likers(self, item: AnyItem, *, page_size: int = 0, page_token: str = "",
                   **options: Any) -> Iterator[Liker]:
        """All who like the item, newest like first: list_likers page after page, each when it is needed."""
        token = page_token
        while True:
            page = self.list_likers(item, page_size=page_size, page_token=token, **options)
            for liker in page.likers:
                yield liker
            token = page.next_page_token
            if not token:
                return

    def watch_counts(self, items: Iterable[AnyItem], *, consistency_tokens: Sequence[str] = (), **options: Any) -> Watch:
        """The counts of up to 100 items, and then each change, as a Watch: `for update in watch: ...`

        It goes on by itself from what it has told: when its server goes, on another one, and from now when the store
        has got another history. What is known already is left out: that of which the newest tokens are given, from any
        answer. It has no deadline but its own: without one it stands until stop().
        """
        return Watch(self._stub.WatchCounts, self._calls.watch(items, consistency_tokens, options))

    def close(self) -> None:
        """Calls that are running end as Cancelled."""
        self._channel.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *unused: object) -> None:
        self.close()

    def _run(self, call: Call) -> Any:
        try:
            reply, rpc = getattr(self._stub, call.method).with_call(
                call.request, timeout=call.timeout, metadata=call.metadata)
        except grpc.RpcError as failed:
            raise errors.of_call(failed) from None
        return call.decode(reply, errors.by_key(rpc.initial_metadata()).get("x-request-id", ""))


class Watch:
    """Counts as they change: an iterator of Updates. For one thread, but for stop().

    It raises the CounterError that it ended with: one that is not mended by watching again, or any with retries=False.
    """

    def __init__(self, method: Any, state: WatchState) -> None:
        self._method, self._state = method, state
        self._stopped = threading.Event()
        self._lock = threading.Lock()  # Of the stream, between stop() and the thread that waits.
        self._stream: Any = None
        self._failed: Optional[errors.CounterError] = None

    def stop(self) -> None:
        """Ends the watch; who waits for an update gets Cancelled. From any thread; again it does nothing."""
        with self._lock:
            self._stopped.set()
            if self._stream is not None:
                self._stream.cancel()

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, *unused: object) -> None:
        self.stop()

    def __iter__(self) -> "Watch":
        return self

    def __next__(self) -> Update:
        while self._failed is None:
            try:
                update = self._receive()
                if update is not None:
                    return update
            except errors.CounterError as error:
                self._stream = None
                pause = self._state.pause_after(error)
                if pause is None or self._stopped.wait(pause):
                    self._failed = stopped() if self._stopped.is_set() else error
        raise self._failed

    def _receive(self) -> Optional[Update]:
        try:
            with self._lock:
                if self._stopped.is_set():
                    raise stopped()
                if self._stream is None:
                    self._stream = self._method(self._state.begin(), timeout=self._state.timeout(),
                                                metadata=self._state.metadata)
            message = next(self._stream)
            request_id = errors.by_key(self._stream.initial_metadata()).get("x-request-id", "")
            return self._state.take(message, item_counts(message, request_id))
        except grpc.RpcError as failed:
            raise errors.of_call(failed) from None
        except StopIteration:
            raise ended() from None
        except ValueError:  # The channel is closed.
            raise stopped() from None
