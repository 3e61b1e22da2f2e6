"""Calls: what Client and AsyncClient share. Turns arguments into requests and replies into values; no I/O."""

from __future__ import annotations

import collections
import datetime
import importlib.resources
import json
import re
import threading
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple

import grpc

from . import errors
from ._watch import WatchState
from .types import (Action, Consistency, Count, Counts, Item, Like, Liked, Liker, LikersPage, LikesPage, Mutation, Source,
                    Tls, WriteResults, Written)
from .v1 import counter_pb2 as pb

VERSION = "0.1.0"
_RECONNECT_FIRST_MS, _RECONNECT_MAX_MS = 100, 1000
TOKENS_MAX = 10_000  # Items whose last token a client with read_your_writes keeps.
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{0,64}")
_TRACEPARENT = re.compile(r"[A-Za-z0-9._-]*")


def service_config() -> Dict[str, Any]:
    """The published service config: how every client of Counter picks servers and repeats calls."""
    config: Dict[str, Any] = json.loads(importlib.resources.read_text("counter_client", "service_config.json"))
    return config


class Call(NamedTuple):
    """A call to make: the stub's method, its arguments, and what turns the reply and its request id into a value."""

    method: str
    request: Any
    metadata: Sequence[Tuple[str, str]]
    timeout: float
    decode: Callable[[Any, str], Any]


class Tokens:
    """The last consistency token of each item written, of the last TOKENS_MAX items. Thread-safe."""

    def __init__(self, items_max: int = TOKENS_MAX) -> None:
        self._lock = threading.Lock()
        self._tokens: "collections.OrderedDict[Item, str]" = collections.OrderedDict()
        self._items_max = items_max

    def keep(self, item: Item, token: str) -> None:
        with self._lock:
            self._tokens[item] = token
            self._tokens.move_to_end(item)
            if len(self._tokens) > self._items_max:
                self._tokens.popitem(last=False)

    def of(self, items: Iterable[Item]) -> List[str]:
        with self._lock:
            return [self._tokens[item] for item in dict.fromkeys(items) if item in self._tokens]


class Calls:
    """Builds the calls of one client. Thread-safe."""

    def __init__(self, deadline: float, retries: bool, user_agent: str, tls: Optional[Tls],
                 bearer_token: Optional[str], read_your_writes: bool) -> None:
        if deadline <= 0:
            raise ValueError("deadline: expected more than 0 s, got %r" % deadline)
        if bearer_token is not None and tls is None:
            raise ValueError("bearer_token: expected tls with it; a token must not travel in plain text")
        self._deadline = deadline
        self._retries = retries
        self._tokens = Tokens() if read_your_writes else None
        self._config = service_config()
        if not retries:
            for method in self._config["methodConfig"]:
                del method["retryPolicy"], method["waitForReady"]
        self.options: List[Tuple[str, Any]] = [
            ("grpc.service_config", json.dumps(self._config)),
            # What the resolver's own TXT records may say must not override the published config.
            ("grpc.service_config_disable_resolution", 1),
            ("grpc.enable_retries", int(retries)),
            ("grpc.initial_reconnect_backoff_ms", _RECONNECT_FIRST_MS),
            ("grpc.max_reconnect_backoff_ms", _RECONNECT_MAX_MS),
            ("grpc.primary_user_agent", (user_agent + " counter-python/" + VERSION).strip()),
        ]
        self.credentials: Optional[grpc.ChannelCredentials] = None
        if tls is not None:
            self.credentials = grpc.ssl_channel_credentials(tls.ca, tls.key, tls.certificate)
            if bearer_token is not None:
                self.credentials = grpc.composite_channel_credentials(
                    self.credentials, grpc.access_token_call_credentials(bearer_token))

    def like(self, user_id: int, item: Any, options: Dict[str, Any]) -> Call:
        request = pb.LikeRequest(user_id=user_id, item=_item(item))
        return self._call("Like", request, options, lambda reply, request_id: self._written(
            item, Written(reply.status == pb.LIKE_STATUS_LIKED, reply.count, reply.consistency_token, request_id)))

    def unlike(self, user_id: int, item: Any, options: Dict[str, Any]) -> Call:
        request = pb.UnlikeRequest(user_id=user_id, item=_item(item))
        return self._call("Unlike", request, options, lambda reply, request_id: self._written(
            item, Written(reply.status == pb.UNLIKE_STATUS_UNLIKED, reply.count, reply.consistency_token,
                          request_id)))

    def write_likes(self, mutations: Iterable[Mutation], options: Dict[str, Any]) -> Call:
        asked = [Mutation(*mutation) for mutation in mutations]
        request = pb.WriteLikesRequest(mutations=[
            pb.Mutation(user_id=m.user_id, item=_item(m.item), action=_enum(m.action)) for m in asked])

        def decode(reply: Any, request_id: str) -> WriteResults:
            _check_number(reply.results, asked, request_id)
            return WriteResults([self._result(m, r, request_id) for m, r in zip(asked, reply.results)], request_id)

        return self._call("WriteLikes", request, options, decode)

    def count(self, item: Any, consistency: Consistency, tokens: Sequence[str], options: Dict[str, Any]) -> Call:
        if len(tokens) > 1:
            raise errors.refused("consistency_tokens", "expected at most one for the count of one item")
        request = pb.GetCountRequest(item=_item(item), consistency=_enum(consistency),
                                     consistency_token="".join(self._read_tokens([item], tokens)))
        return self._call("GetCount", request, options, lambda reply, request_id: _count(
            Item(*item), reply, request_id))

    def counts(self, items: Iterable[Any], consistency: Consistency, tokens: Sequence[str],
               options: Dict[str, Any]) -> Call:
        asked = list(items)
        request = pb.BatchGetCountsRequest(items=map(_item, asked), consistency=_enum(consistency),
                                           consistency_tokens=self._read_tokens(asked, tokens))

        def decode(reply: Any, request_id: str) -> Counts:
            _check_number(reply.counts, asked, request_id)
            return Counts(item_counts(reply, request_id), request_id)

        return self._call("BatchGetCounts", request, options, decode)

    def has_liked(self, user_id: int, items: Iterable[Any], consistency: Consistency, tokens: Sequence[str],
                  options: Dict[str, Any]) -> Call:
        asked = list(items)
        request = pb.HasLikedRequest(user_id=user_id, items=map(_item, asked), consistency=_enum(consistency),
                                     consistency_tokens=self._read_tokens(asked, tokens))

        def decode(reply: Any, request_id: str) -> Liked:
            _check_number(reply.liked, asked, request_id)
            return Liked(list(reply.liked), _source(reply.source), _time(reply.as_of_time), request_id)

        return self._call("HasLiked", request, options, decode)

    def list_likes(self, user_id: int, item_types: Iterable[str], page_size: int, page_token: str,
                   options: Dict[str, Any]) -> Call:
        request = pb.ListLikesRequest(user_id=user_id, item_types=item_types, page_size=page_size, page_token=page_token)
        return self._call("ListLikes", request, options, lambda reply, request_id: LikesPage(
            [Like(Item(like.item.item_type, like.item.item_id), _time(like.liked_at)) for like in reply.likes],
            reply.next_page_token, request_id))

    def list_likers(self, item: Any, page_size: int, page_token: str, options: Dict[str, Any]) -> Call:
        request = pb.ListLikersRequest(item=_item(item), page_size=page_size, page_token=page_token)
        return self._call("ListLikers", request, options, lambda reply, request_id: LikersPage(
            [Liker(liker.user_id, _time(liker.liked_at)) for liker in reply.likers], reply.next_page_token, request_id))

    def watch(self, items: Iterable[Any], tokens: Sequence[str], options: Dict[str, Any]) -> WatchState:
        deadline, metadata = self._described(options)
        return WatchState(items, tokens, metadata, deadline, self._retries)

    def _call(self, method: str, request: Any, options: Dict[str, Any], decode: Callable[[Any, str], Any]) -> Call:
        deadline, metadata = self._described(options)
        return Call(method, request, metadata, self._deadline if deadline is None else deadline, decode)

    def _described(self, options: Dict[str, Any]) -> Tuple[Optional[float], Sequence[Tuple[str, str]]]:
        """The call's own deadline, if it has one, and its metadata."""
        deadline = options.pop("deadline", None)
        request_id, traceparent = options.pop("request_id", ""), options.pop("traceparent", "")
        if options:
            raise TypeError("unknown options: %s" % ", ".join(sorted(options)))
        if not _REQUEST_ID.fullmatch(request_id):
            raise errors.refused("request_id", "expected at most 64 characters of [A-Za-z0-9._-]")
        if not _TRACEPARENT.fullmatch(traceparent):
            raise errors.refused("traceparent", "expected a W3C trace context")
        return deadline, [pair for pair in (("x-request-id", request_id), ("traceparent", traceparent)) if pair[1]]

    def _written(self, item: Any, written: Written) -> Written:
        if self._tokens is not None:
            self._tokens.keep(Item(*item), written.consistency_token)
        return written

    def _result(self, mutation: Mutation, result: Any, request_id: str) -> Any:
        if result.error.code:
            return errors.decoded(result.error, request_id)
        changed = result.outcome in (pb.OUTCOME_LIKED, pb.OUTCOME_UNLIKED)
        if not changed and result.outcome not in (pb.OUTCOME_ALREADY_LIKED, pb.OUTCOME_NOT_LIKED):
            return errors.Internal("the server answered an outcome that this client does not know", 13, request_id)
        return self._written(mutation.item, Written(changed, result.count, result.consistency_token, request_id))

    def _read_tokens(self, items: Iterable[Any], tokens: Sequence[str]) -> List[str]:
        if tokens or self._tokens is None:
            return list(tokens)
        return self._tokens.of(Item(*item) for item in items)


def _item(item: Any) -> Any:
    type_, id_ = item
    return pb.Item(item_type=type_, item_id=id_)


def _enum(value: Any) -> Any:
    return value.value  # The same numbers as in the protocol.


def _time(timestamp: Any) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(timestamp.seconds + timestamp.nanos / 1e9, datetime.timezone.utc)


def _source(source: int) -> Source:
    return Source(source) if source in (1, 2, 3) else Source.UNKNOWN


def _count(item: Item, message: Any, request_id: str) -> Count:
    return Count(item, message.count, _source(message.source), _time(message.as_of_time), message.consistency_token,
                 request_id)


def item_counts(message: Any, request_id: str) -> List[Count]:
    return [_count(Item(c.item.item_type, c.item.item_id), c, request_id) for c in message.counts]


def _check_number(answers: Sequence[Any], asked: Sequence[Any], request_id: str) -> None:
    if len(answers) != len(asked):
        raise errors.Internal("the server gave %d answers, not %d" % (len(answers), len(asked)), 13, request_id)
