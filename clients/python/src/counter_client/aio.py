"""AsyncClient: the like counter from Python, for asyncio. Client (client.py) is the same, blocking."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Iterable, Optional, Sequence, cast

import grpc
import grpc.aio

from . import errors
from ._calls import Call, Calls, item_counts
from ._watch import WatchState, ended, stopped
from .client import AnyItem
from .types import (Consistency, Count, Counts, Like, Liked, Liker, LikersPage, LikesPage, Mutation, Tls, Update,
                    WriteResults, Written)
from .v1 import counter_pb2_grpc

_EOF: Any = getattr(grpc.aio, "EOF")  # The types that are published for grpc do not know it.


class AsyncClient:
    """One client for a whole event loop: it owns one channel, which any number of tasks may share.

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
            self._channel = grpc.aio.insecure_channel(target, self._calls.options)
        else:
            self._channel = grpc.aio.secure_channel(target, self._calls.credentials, self._calls.options)
        self._stub: Any = cast(Any, counter_pb2_grpc.CounterServiceStub)(self._channel)

    async def like(self, user_id: int, item: AnyItem, **options: Any) -> Written:
        """Makes the user like the item."""
        return cast(Written, await self._run(self._calls.like(user_id, item, options)))

    async def unlike(self, user_id: int, item: AnyItem, **options: Any) -> Written:
        """Takes a like back."""
        return cast(Written, await self._run(self._calls.unlike(user_id, item, options)))

    async def write_likes(self, mutations: Iterable[Mutation], **options: Any) -> WriteResults:
        """Up to 1000 likes and unlikes; each has a result of its own."""
        return cast(WriteResults, await self._run(self._calls.write_likes(mutations, options)))

    async def count(self, item: AnyItem, *, consistency: Consistency = Consistency.CACHED,
              consistency_tokens: Sequence[str] = (), **options: Any) -> Count:
        """How many users like the item. Takes at most one token."""
        return cast(Count, await self._run(self._calls.count(item, consistency, consistency_tokens, options)))

    async def counts(self, items: Iterable[AnyItem], *, consistency: Consistency = Consistency.CACHED,
               consistency_tokens: Sequence[str] = (), **options: Any) -> Counts:
        """How many users like each of up to 1000 items, which may repeat."""
        return cast(Counts, await self._run(self._calls.counts(items, consistency, consistency_tokens, options)))

    async def has_liked(self, user_id: int, items: Iterable[AnyItem], *, consistency: Consistency = Consistency.CACHED,
                  consistency_tokens: Sequence[str] = (), **options: Any) -> Liked:
        """Which of up to 1000 items, which may repeat, the user likes."""
        return cast(Liked, await self._run(self._calls.has_liked(user_id, items, consistency, consistency_tokens, options)))

    async def list_likes(self, user_id: int, *, item_types: Iterable[str] = (), page_size: int = 0, page_token: str = "",
                   **options: Any) -> LikesPage:
        """A page of what the user likes, newest first: up to page_size (1 to 1000; 0: 100) of these types (none: all)."""
        return cast(LikesPage, await self._run(
            self._calls.list_likes(user_id, item_types, page_size, page_token, options)))

    async def list_likers(self, item: AnyItem, *, page_size: int = 0, page_token: str = "", **options: Any) -> LikersPage:
        """A page of who likes the item, newest like first. FailedPrecondition where the service has no index of them."""
        return cast(LikersPage, await self._run(self._calls.list_likers(item, page_size, page_token, options)))

    async def all_likes(self, user_id: int, *, item_types: Iterable[str] = (), page_size: int = 0, page_token: str = "",
                  **options: Any) -> AsyncIterator[Like]:
        """All that the user likes, newest first: list_likes page after page, each when it is needed."""
        types, token = list(item_types), page_token
        while True:
            page = await self.list_likes(user_id, item_types=types, page_size=page_size, page_token=token, **options)
            for like in page.likes:
                yield like
            token = page.next_page_token
            if not token:
                return

    async def all_likers(self, item: AnyItem, *, page_size: int = 0, page_token: str = "",
                   **options: Any) -> AsyncIterator[Liker]:
        """All who like the item, newest like first: list_likers page after page, each when it is needed."""
        token = page_token
        while True:
            page = await self.list_likers(item, page_size=page_size, page_token=token, **options)
            for liker in page.likers:
                yield liker
            token = page.next_page_token
            if not token:
                return

    def watch_counts(self, items: Iterable[AnyItem], *, consistency_tokens: Sequence[str] = (),
                     **options: Any) -> AsyncWatch:
        """The counts of up to 100 items, and then each change, as an AsyncWatch: `async for update in watch: ...`

        It goes on by itself from what it has told: when its server goes, on another one, and from now when the store
        has got another history. What is known already is left out: that of which the newest tokens are given, from any
        answer. It has no deadline but its own: without one it stands until stop().
        """
        return AsyncWatch(self._stub.WatchCounts, self._calls.watch(items, consistency_tokens, options))

    async def close(self) -> None:
        """Calls that are running end as Cancelled."""
        await self._channel.close(None)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *unused: object) -> None:
        await self.close()

    async def _run(self, call: Call) -> Any:
        running = getattr(self._stub, call.method)(call.request, timeout=call.timeout, metadata=call.metadata)
        try:
            reply = await running
        except grpc.aio.AioRpcError as failed:
            raise errors.of_call(failed) from None
        return call.decode(reply, errors.by_key(await running.initial_metadata()).get("x-request-id", ""))


class AsyncWatch:
    """Counts as they change: an asynchronous iterator of Updates. For one task, but for stop().

    It raises the CounterError that it ended with: one that is not mended by watching again, or any with retries=False.
    """

    def __init__(self, method: Any, state: WatchState) -> None:
        self._method, self._state = method, state
        self._stopped = asyncio.Event()
        self._stream: Any = None
        self._failed: Optional[errors.CounterError] = None

    def stop(self) -> None:
        """Ends the watch; who waits for an update gets Cancelled. Again it does nothing."""
        self._stopped.set()
        if self._stream is not None:
            self._stream.cancel()

    async def __aenter__(self) -> "AsyncWatch":
        return self

    async def __aexit__(self, *unused: object) -> None:
        self.stop()

    def __aiter__(self) -> "AsyncWatch":
        return self

    async def __anext__(self) -> Update:
        while self._failed is None:
            try:
                update = await self._receive()
                if update is not None:
                    return update
            except errors.CounterError as error:
                self._stream = None
                pause = self._state.pause_after(error)
                if pause is None or await self._is_stopped_within(pause):
                    self._failed = stopped() if self._stopped.is_set() else error
        raise self._failed

    async def _is_stopped_within(self, seconds: float) -> bool:
        try:
            return await asyncio.wait_for(self._stopped.wait(), seconds)
        except asyncio.TimeoutError:
            return False

    async def _receive(self) -> Optional[Update]:
        if self._stopped.is_set():
            raise stopped()
        try:
            if self._stream is None:
                self._stream = self._method(self._state.begin(), timeout=self._state.timeout(),
                                            metadata=self._state.metadata)
            message = await self._stream.read()
            if message is _EOF:
                raise ended()
            request_id = errors.by_key(await self._stream.initial_metadata()).get("x-request-id", "")
            return self._state.take(message, item_counts(message, request_id))
        except grpc.aio.AioRpcError as failed:
            raise errors.of_call(failed) from None
        except grpc.aio.UsageError:  # The channel is closed.
            raise stopped() from None
        except asyncio.CancelledError:
            if not self._stopped.is_set():
                raise
            raise stopped() from None
