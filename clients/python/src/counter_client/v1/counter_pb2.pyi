from google.api import annotations_pb2 as _annotations_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.rpc import status_pb2 as _status_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Consistency(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONSISTENCY_UNSPECIFIED: _ClassVar[Consistency]
    CONSISTENCY_CACHED: _ClassVar[Consistency]
    CONSISTENCY_STRONG: _ClassVar[Consistency]

class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    SOURCE_UNSPECIFIED: _ClassVar[Source]
    SOURCE_CACHE: _ClassVar[Source]
    SOURCE_REPLICA: _ClassVar[Source]
    SOURCE_PRIMARY: _ClassVar[Source]

class LikeStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIKE_STATUS_UNSPECIFIED: _ClassVar[LikeStatus]
    LIKE_STATUS_LIKED: _ClassVar[LikeStatus]
    LIKE_STATUS_ALREADY_LIKED: _ClassVar[LikeStatus]

class UnlikeStatus(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    UNLIKE_STATUS_UNSPECIFIED: _ClassVar[UnlikeStatus]
    UNLIKE_STATUS_UNLIKED: _ClassVar[UnlikeStatus]
    UNLIKE_STATUS_NOT_LIKED: _ClassVar[UnlikeStatus]

class Action(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ACTION_UNSPECIFIED: _ClassVar[Action]
    ACTION_LIKE: _ClassVar[Action]
    ACTION_UNLIKE: _ClassVar[Action]

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_LIKED: _ClassVar[Outcome]
    OUTCOME_ALREADY_LIKED: _ClassVar[Outcome]
    OUTCOME_UNLIKED: _ClassVar[Outcome]
    OUTCOME_NOT_LIKED: _ClassVar[Outcome]
    OUTCOME_FAILED: _ClassVar[Outcome]
CONSISTENCY_UNSPECIFIED: Consistency
CONSISTENCY_CACHED: Consistency
CONSISTENCY_STRONG: Consistency
SOURCE_UNSPECIFIED: Source
SOURCE_CACHE: Source
SOURCE_REPLICA: Source
SOURCE_PRIMARY: Source
LIKE_STATUS_UNSPECIFIED: LikeStatus
LIKE_STATUS_LIKED: LikeStatus
LIKE_STATUS_ALREADY_LIKED: LikeStatus
UNLIKE_STATUS_UNSPECIFIED: UnlikeStatus
UNLIKE_STATUS_UNLIKED: UnlikeStatus
UNLIKE_STATUS_NOT_LIKED: UnlikeStatus
ACTION_UNSPECIFIED: Action
ACTION_LIKE: Action
ACTION_UNLIKE: Action
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_LIKED: Outcome
OUTCOME_ALREADY_LIKED: Outcome
OUTCOME_UNLIKED: Outcome
OUTCOME_NOT_LIKED: Outcome
OUTCOME_FAILED: Outcome

class Item(_message.Message):
    __slots__ = ("item_type", "item_id")
    ITEM_TYPE_FIELD_NUMBER: _ClassVar[int]
    ITEM_ID_FIELD_NUMBER: _ClassVar[int]
    item_type: str
    item_id: int
    def __init__(self, item_type: _Optional[str] = ..., item_id: _Optional[int] = ...) -> None: ...

class LikeRequest(_message.Message):
    __slots__ = ("user_id", "item")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    user_id: int
    item: Item
    def __init__(self, user_id: _Optional[int] = ..., item: _Optional[_Union[Item, _Mapping]] = ...) -> None: ...

class LikeResponse(_message.Message):
    __slots__ = ("status", "count", "consistency_token")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    status: LikeStatus
    count: int
    consistency_token: str
    def __init__(self, status: _Optional[_Union[LikeStatus, str]] = ..., count: _Optional[int] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class UnlikeRequest(_message.Message):
    __slots__ = ("user_id", "item")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    user_id: int
    item: Item
    def __init__(self, user_id: _Optional[int] = ..., item: _Optional[_Union[Item, _Mapping]] = ...) -> None: ...

class UnlikeResponse(_message.Message):
    __slots__ = ("status", "count", "consistency_token")
    STATUS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    status: UnlikeStatus
    count: int
    consistency_token: str
    def __init__(self, status: _Optional[_Union[UnlikeStatus, str]] = ..., count: _Optional[int] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class Mutation(_message.Message):
    __slots__ = ("user_id", "item", "action")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    user_id: int
    item: Item
    action: Action
    def __init__(self, user_id: _Optional[int] = ..., item: _Optional[_Union[Item, _Mapping]] = ..., action: _Optional[_Union[Action, str]] = ...) -> None: ...

class WriteLikesRequest(_message.Message):
    __slots__ = ("mutations",)
    MUTATIONS_FIELD_NUMBER: _ClassVar[int]
    mutations: _containers.RepeatedCompositeFieldContainer[Mutation]
    def __init__(self, mutations: _Optional[_Iterable[_Union[Mutation, _Mapping]]] = ...) -> None: ...

class MutationResult(_message.Message):
    __slots__ = ("outcome", "count", "consistency_token", "error")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    outcome: Outcome
    count: int
    consistency_token: str
    error: _status_pb2.Status
    def __init__(self, outcome: _Optional[_Union[Outcome, str]] = ..., count: _Optional[int] = ..., consistency_token: _Optional[str] = ..., error: _Optional[_Union[_status_pb2.Status, _Mapping]] = ...) -> None: ...

class WriteLikesResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[MutationResult]
    def __init__(self, results: _Optional[_Iterable[_Union[MutationResult, _Mapping]]] = ...) -> None: ...

class GetCountRequest(_message.Message):
    __slots__ = ("item", "consistency", "consistency_token")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    item: Item
    consistency: Consistency
    consistency_token: str
    def __init__(self, item: _Optional[_Union[Item, _Mapping]] = ..., consistency: _Optional[_Union[Consistency, str]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class GetCountResponse(_message.Message):
    __slots__ = ("count", "source", "as_of_time", "consistency_token")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_TIME_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    count: int
    source: Source
    as_of_time: _timestamp_pb2.Timestamp
    consistency_token: str
    def __init__(self, count: _Optional[int] = ..., source: _Optional[_Union[Source, str]] = ..., as_of_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class BatchGetCountsRequest(_message.Message):
    __slots__ = ("items", "consistency", "consistency_tokens")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKENS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    consistency: Consistency
    consistency_tokens: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., consistency: _Optional[_Union[Consistency, str]] = ..., consistency_tokens: _Optional[_Iterable[str]] = ...) -> None: ...

class ItemCount(_message.Message):
    __slots__ = ("item", "count", "source", "as_of_time", "consistency_token")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_TIME_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKEN_FIELD_NUMBER: _ClassVar[int]
    item: Item
    count: int
    source: Source
    as_of_time: _timestamp_pb2.Timestamp
    consistency_token: str
    def __init__(self, item: _Optional[_Union[Item, _Mapping]] = ..., count: _Optional[int] = ..., source: _Optional[_Union[Source, str]] = ..., as_of_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., consistency_token: _Optional[str] = ...) -> None: ...

class BatchGetCountsResponse(_message.Message):
    __slots__ = ("counts",)
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.RepeatedCompositeFieldContainer[ItemCount]
    def __init__(self, counts: _Optional[_Iterable[_Union[ItemCount, _Mapping]]] = ...) -> None: ...

class HasLikedRequest(_message.Message):
    __slots__ = ("user_id", "items", "consistency", "consistency_tokens")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKENS_FIELD_NUMBER: _ClassVar[int]
    user_id: int
    items: _containers.RepeatedCompositeFieldContainer[Item]
    consistency: Consistency
    consistency_tokens: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, user_id: _Optional[int] = ..., items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., consistency: _Optional[_Union[Consistency, str]] = ..., consistency_tokens: _Optional[_Iterable[str]] = ...) -> None: ...

class HasLikedResponse(_message.Message):
    __slots__ = ("liked", "source", "as_of_time")
    LIKED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    AS_OF_TIME_FIELD_NUMBER: _ClassVar[int]
    liked: _containers.RepeatedScalarFieldContainer[bool]
    source: Source
    as_of_time: _timestamp_pb2.Timestamp
    def __init__(self, liked: _Optional[_Iterable[bool]] = ..., source: _Optional[_Union[Source, str]] = ..., as_of_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListLikesRequest(_message.Message):
    __slots__ = ("user_id", "item_types", "page_size", "page_token")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    ITEM_TYPES_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    user_id: int
    item_types: _containers.RepeatedScalarFieldContainer[str]
    page_size: int
    page_token: str
    def __init__(self, user_id: _Optional[int] = ..., item_types: _Optional[_Iterable[str]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class LikedItem(_message.Message):
    __slots__ = ("item", "liked_at")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    LIKED_AT_FIELD_NUMBER: _ClassVar[int]
    item: Item
    liked_at: _timestamp_pb2.Timestamp
    def __init__(self, item: _Optional[_Union[Item, _Mapping]] = ..., liked_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListLikesResponse(_message.Message):
    __slots__ = ("likes", "next_page_token")
    LIKES_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    likes: _containers.RepeatedCompositeFieldContainer[LikedItem]
    next_page_token: str
    def __init__(self, likes: _Optional[_Iterable[_Union[LikedItem, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class ListLikersRequest(_message.Message):
    __slots__ = ("item", "page_size", "page_token")
    ITEM_FIELD_NUMBER: _ClassVar[int]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    item: Item
    page_size: int
    page_token: str
    def __init__(self, item: _Optional[_Union[Item, _Mapping]] = ..., page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class Liker(_message.Message):
    __slots__ = ("user_id", "liked_at")
    USER_ID_FIELD_NUMBER: _ClassVar[int]
    LIKED_AT_FIELD_NUMBER: _ClassVar[int]
    user_id: int
    liked_at: _timestamp_pb2.Timestamp
    def __init__(self, user_id: _Optional[int] = ..., liked_at: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class ListLikersResponse(_message.Message):
    __slots__ = ("likers", "next_page_token")
    LIKERS_FIELD_NUMBER: _ClassVar[int]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    likers: _containers.RepeatedCompositeFieldContainer[Liker]
    next_page_token: str
    def __init__(self, likers: _Optional[_Iterable[_Union[Liker, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class WatchCountsRequest(_message.Message):
    __slots__ = ("items", "consistency_tokens")
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    CONSISTENCY_TOKENS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[Item]
    consistency_tokens: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, items: _Optional[_Iterable[_Union[Item, _Mapping]]] = ..., consistency_tokens: _Optional[_Iterable[str]] = ...) -> None: ...

class WatchCountsResponse(_message.Message):
    __slots__ = ("counts", "snapshot")
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    counts: _containers.RepeatedCompositeFieldContainer[ItemCount]
    snapshot: bool
    def __init__(self, counts: _Optional[_Iterable[_Union[ItemCount, _Mapping]]] = ..., snapshot: bool = ...) -> None: ...
