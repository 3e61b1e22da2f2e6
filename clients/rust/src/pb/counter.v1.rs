#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Item {
    #[prost(string, tag = "1")]
    pub item_type: ::prost::alloc::string::String,
    #[prost(int64, tag = "2")]
    pub item_id: i64,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct LikeRequest {
    #[prost(int64, tag = "1")]
    pub user_id: i64,
    #[prost(message, optional, tag = "2")]
    pub item: ::core::option::Option<Item>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct LikeResponse {
    #[prost(enumeration = "LikeStatus", tag = "1")]
    pub status: i32,
    #[prost(int64, tag = "2")]
    pub count: i64,
    #[prost(string, tag = "3")]
    pub consistency_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UnlikeRequest {
    #[prost(int64, tag = "1")]
    pub user_id: i64,
    #[prost(message, optional, tag = "2")]
    pub item: ::core::option::Option<Item>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct UnlikeResponse {
    #[prost(enumeration = "UnlikeStatus", tag = "1")]
    pub status: i32,
    #[prost(int64, tag = "2")]
    pub count: i64,
    #[prost(string, tag = "3")]
    pub consistency_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Mutation {
    #[prost(int64, tag = "1")]
    pub user_id: i64,
    #[prost(message, optional, tag = "2")]
    pub item: ::core::option::Option<Item>,
    #[prost(enumeration = "Action", tag = "3")]
    pub action: i32,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct WriteLikesRequest {
    #[prost(message, repeated, tag = "1")]
    pub mutations: ::prost::alloc::vec::Vec<Mutation>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct MutationResult {
    #[prost(enumeration = "Outcome", tag = "1")]
    pub outcome: i32,
    #[prost(int64, tag = "2")]
    pub count: i64,
    #[prost(string, tag = "3")]
    pub consistency_token: ::prost::alloc::string::String,
    #[prost(message, optional, tag = "4")]
    pub error: ::core::option::Option<super::super::google::rpc::Status>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct WriteLikesResponse {
    #[prost(message, repeated, tag = "1")]
    pub results: ::prost::alloc::vec::Vec<MutationResult>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetCountRequest {
    #[prost(message, optional, tag = "1")]
    pub item: ::core::option::Option<Item>,
    #[prost(enumeration = "Consistency", tag = "2")]
    pub consistency: i32,
    #[prost(string, tag = "3")]
    pub consistency_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct GetCountResponse {
    #[prost(int64, tag = "1")]
    pub count: i64,
    #[prost(enumeration = "Source", tag = "2")]
    pub source: i32,
    #[prost(message, optional, tag = "3")]
    pub as_of_time: ::core::option::Option<::prost_types::Timestamp>,
    #[prost(string, tag = "4")]
    pub consistency_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchGetCountsRequest {
    #[prost(message, repeated, tag = "1")]
    pub items: ::prost::alloc::vec::Vec<Item>,
    #[prost(enumeration = "Consistency", tag = "2")]
    pub consistency: i32,
    #[prost(string, repeated, tag = "3")]
    pub consistency_tokens: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ItemCount {
    #[prost(message, optional, tag = "1")]
    pub item: ::core::option::Option<Item>,
    #[prost(int64, tag = "2")]
    pub count: i64,
    #[prost(enumeration = "Source", tag = "3")]
    pub source: i32,
    #[prost(message, optional, tag = "4")]
    pub as_of_time: ::core::option::Option<::prost_types::Timestamp>,
    #[prost(string, tag = "5")]
    pub consistency_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct BatchGetCountsResponse {
    #[prost(message, repeated, tag = "1")]
    pub counts: ::prost::alloc::vec::Vec<ItemCount>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct HasLikedRequest {
    #[prost(int64, tag = "1")]
    pub user_id: i64,
    #[prost(message, repeated, tag = "2")]
    pub items: ::prost::alloc::vec::Vec<Item>,
    #[prost(enumeration = "Consistency", tag = "3")]
    pub consistency: i32,
    #[prost(string, repeated, tag = "4")]
    pub consistency_tokens: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct HasLikedResponse {
    #[prost(bool, repeated, tag = "1")]
    pub liked: ::prost::alloc::vec::Vec<bool>,
    #[prost(enumeration = "Source", tag = "2")]
    pub source: i32,
    #[prost(message, optional, tag = "3")]
    pub as_of_time: ::core::option::Option<::prost_types::Timestamp>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListLikesRequest {
    #[prost(int64, tag = "1")]
    pub user_id: i64,
    #[prost(string, repeated, tag = "2")]
    pub item_types: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
    #[prost(int32, tag = "3")]
    pub page_size: i32,
    #[prost(string, tag = "4")]
    pub page_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct LikedItem {
    #[prost(message, optional, tag = "1")]
    pub item: ::core::option::Option<Item>,
    #[prost(message, optional, tag = "2")]
    pub liked_at: ::core::option::Option<::prost_types::Timestamp>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListLikesResponse {
    #[prost(message, repeated, tag = "1")]
    pub likes: ::prost::alloc::vec::Vec<LikedItem>,
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListLikersRequest {
    #[prost(message, optional, tag = "1")]
    pub item: ::core::option::Option<Item>,
    #[prost(int32, tag = "2")]
    pub page_size: i32,
    #[prost(string, tag = "3")]
    pub page_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct Liker {
    #[prost(int64, tag = "1")]
    pub user_id: i64,
    #[prost(message, optional, tag = "2")]
    pub liked_at: ::core::option::Option<::prost_types::Timestamp>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct ListLikersResponse {
    #[prost(message, repeated, tag = "1")]
    pub likers: ::prost::alloc::vec::Vec<Liker>,
    #[prost(string, tag = "2")]
    pub next_page_token: ::prost::alloc::string::String,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct WatchCountsRequest {
    #[prost(message, repeated, tag = "1")]
    pub items: ::prost::alloc::vec::Vec<Item>,
    #[prost(string, repeated, tag = "2")]
    pub consistency_tokens: ::prost::alloc::vec::Vec<::prost::alloc::string::String>,
}
#[allow(clippy::derive_partial_eq_without_eq)]
#[derive(Clone, PartialEq, ::prost::Message)]
pub struct WatchCountsResponse {
    #[prost(message, repeated, tag = "1")]
    pub counts: ::prost::alloc::vec::Vec<ItemCount>,
    #[prost(bool, tag = "2")]
    pub snapshot: bool,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Consistency {
    Unspecified = 0,
    Cached = 1,
    Strong = 2,
}
impl Consistency {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Consistency::Unspecified => "CONSISTENCY_UNSPECIFIED",
            Consistency::Cached => "CONSISTENCY_CACHED",
            Consistency::Strong => "CONSISTENCY_STRONG",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "CONSISTENCY_UNSPECIFIED" => Some(Self::Unspecified),
            "CONSISTENCY_CACHED" => Some(Self::Cached),
            "CONSISTENCY_STRONG" => Some(Self::Strong),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Source {
    Unspecified = 0,
    Cache = 1,
    Replica = 2,
    Primary = 3,
}
impl Source {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Source::Unspecified => "SOURCE_UNSPECIFIED",
            Source::Cache => "SOURCE_CACHE",
            Source::Replica => "SOURCE_REPLICA",
            Source::Primary => "SOURCE_PRIMARY",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "SOURCE_UNSPECIFIED" => Some(Self::Unspecified),
            "SOURCE_CACHE" => Some(Self::Cache),
            "SOURCE_REPLICA" => Some(Self::Replica),
            "SOURCE_PRIMARY" => Some(Self::Primary),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum LikeStatus {
    Unspecified = 0,
    Liked = 1,
    AlreadyLiked = 2,
}
impl LikeStatus {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            LikeStatus::Unspecified => "LIKE_STATUS_UNSPECIFIED",
            LikeStatus::Liked => "LIKE_STATUS_LIKED",
            LikeStatus::AlreadyLiked => "LIKE_STATUS_ALREADY_LIKED",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "LIKE_STATUS_UNSPECIFIED" => Some(Self::Unspecified),
            "LIKE_STATUS_LIKED" => Some(Self::Liked),
            "LIKE_STATUS_ALREADY_LIKED" => Some(Self::AlreadyLiked),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum UnlikeStatus {
    Unspecified = 0,
    Unliked = 1,
    NotLiked = 2,
}
impl UnlikeStatus {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            UnlikeStatus::Unspecified => "UNLIKE_STATUS_UNSPECIFIED",
            UnlikeStatus::Unliked => "UNLIKE_STATUS_UNLIKED",
            UnlikeStatus::NotLiked => "UNLIKE_STATUS_NOT_LIKED",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "UNLIKE_STATUS_UNSPECIFIED" => Some(Self::Unspecified),
            "UNLIKE_STATUS_UNLIKED" => Some(Self::Unliked),
            "UNLIKE_STATUS_NOT_LIKED" => Some(Self::NotLiked),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Action {
    Unspecified = 0,
    Like = 1,
    Unlike = 2,
}
impl Action {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Action::Unspecified => "ACTION_UNSPECIFIED",
            Action::Like => "ACTION_LIKE",
            Action::Unlike => "ACTION_UNLIKE",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "ACTION_UNSPECIFIED" => Some(Self::Unspecified),
            "ACTION_LIKE" => Some(Self::Like),
            "ACTION_UNLIKE" => Some(Self::Unlike),
            _ => None,
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum Outcome {
    Unspecified = 0,
    Liked = 1,
    AlreadyLiked = 2,
    Unliked = 3,
    NotLiked = 4,
    Failed = 5,
}
impl Outcome {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            Outcome::Unspecified => "OUTCOME_UNSPECIFIED",
            Outcome::Liked => "OUTCOME_LIKED",
            Outcome::AlreadyLiked => "OUTCOME_ALREADY_LIKED",
            Outcome::Unliked => "OUTCOME_UNLIKED",
            Outcome::NotLiked => "OUTCOME_NOT_LIKED",
            Outcome::Failed => "OUTCOME_FAILED",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "OUTCOME_UNSPECIFIED" => Some(Self::Unspecified),
            "OUTCOME_LIKED" => Some(Self::Liked),
            "OUTCOME_ALREADY_LIKED" => Some(Self::AlreadyLiked),
            "OUTCOME_UNLIKED" => Some(Self::Unliked),
            "OUTCOME_NOT_LIKED" => Some(Self::NotLiked),
            "OUTCOME_FAILED" => Some(Self::Failed),
            _ => None,
        }
    }
}
/// Generated client implementations.
pub mod counter_service_client {
    #![allow(unused_variables, dead_code, missing_docs, clippy::let_unit_value)]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Counts likes of items by users.
    #[derive(Debug, Clone)]
    pub struct CounterServiceClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl<T> CounterServiceClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::BoxBody>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> CounterServiceClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::BoxBody>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::BoxBody>,
            >>::Error: Into<StdError> + Send + Sync,
        {
            CounterServiceClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Makes the pair (user, item) liked. Safe to repeat: a repeat answers ALREADY_LIKED.
        /// Charged to the user's rate limit when it changes something.
        /// Errors: INVALID_ARGUMENT (INVALID_REQUEST), RESOURCE_EXHAUSTED (RATE_LIMITED, OVERLOADED),
        /// UNAVAILABLE (STORE_UNAVAILABLE, SHUTTING_DOWN), DEADLINE_EXCEEDED, CANCELLED, INTERNAL.
        pub async fn like(
            &mut self,
            request: impl tonic::IntoRequest<super::LikeRequest>,
        ) -> std::result::Result<tonic::Response<super::LikeResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/Like",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "Like"));
            self.inner.unary(req, path, codec).await
        }
        /// Makes the pair (user, item) not liked. Safe to repeat: a repeat answers NOT_LIKED.
        /// Free of the rate limit. Errors as for Like, without RATE_LIMITED.
        pub async fn unlike(
            &mut self,
            request: impl tonic::IntoRequest<super::UnlikeRequest>,
        ) -> std::result::Result<tonic::Response<super::UnlikeResponse>, tonic::Status> {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/Unlike",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "Unlike"));
            self.inner.unary(req, path, codec).await
        }
        /// Applies up to 1000 likes and unlikes: the high-throughput door. Every mutation has an outcome of
        /// its own; one that is refused or fails does not touch its neighbours. The mutations are not one
        /// transaction. Those on one pair (user, item) apply in the order of the request. Safe to repeat.
        /// Charged to each user's rate limit for every like that changes something.
        /// Errors of the whole call: INVALID_ARGUMENT (INVALID_REQUEST: more than 1000 mutations),
        /// RESOURCE_EXHAUSTED (OVERLOADED), UNAVAILABLE (SHUTTING_DOWN), DEADLINE_EXCEEDED, CANCELLED.
        pub async fn write_likes(
            &mut self,
            request: impl tonic::IntoRequest<super::WriteLikesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::WriteLikesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/WriteLikes",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "WriteLikes"));
            self.inner.unary(req, path, codec).await
        }
        /// The number of users who like the item; 0 for an item that nobody ever liked.
        /// Errors: INVALID_ARGUMENT (INVALID_REQUEST), RESOURCE_EXHAUSTED (OVERLOADED),
        /// UNAVAILABLE (STORE_UNAVAILABLE, SHUTTING_DOWN), DEADLINE_EXCEEDED, CANCELLED, INTERNAL.
        pub async fn get_count(
            &mut self,
            request: impl tonic::IntoRequest<super::GetCountRequest>,
        ) -> std::result::Result<
            tonic::Response<super::GetCountResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/GetCount",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "GetCount"));
            self.inner.unary(req, path, codec).await
        }
        /// The counts of up to 1000 items. Answer i is for request i; an item that is asked for twice is
        /// answered twice; an item that nobody ever liked has count 0. Errors as for GetCount.
        pub async fn batch_get_counts(
            &mut self,
            request: impl tonic::IntoRequest<super::BatchGetCountsRequest>,
        ) -> std::result::Result<
            tonic::Response<super::BatchGetCountsResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/BatchGetCounts",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "BatchGetCounts"));
            self.inner.unary(req, path, codec).await
        }
        /// Which of up to 1000 items the user likes. Answer i is for request i. Errors as for GetCount.
        pub async fn has_liked(
            &mut self,
            request: impl tonic::IntoRequest<super::HasLikedRequest>,
        ) -> std::result::Result<
            tonic::Response<super::HasLikedResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/HasLiked",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "HasLiked"));
            self.inner.unary(req, path, codec).await
        }
        /// What the user likes, newest first, a page at a time. Read from the primary store: a page sees
        /// every write that was acknowledged before it was asked for. A like that is there from the first
        /// page to the last is listed exactly once, whatever comes and goes meanwhile; one that is made
        /// meanwhile may be missing, one that is taken back meanwhile may be listed.
        /// Errors as for GetCount; INVALID_ARGUMENT (INVALID_REQUEST) also for a page token that is not of
        /// this list. The cost of a page rises with the number of likes that the user has.
        pub async fn list_likes(
            &mut self,
            request: impl tonic::IntoRequest<super::ListLikesRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListLikesResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/ListLikes",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "ListLikes"));
            self.inner.unary(req, path, codec).await
        }
        /// Who likes the item, newest first, a page at a time; otherwise as ListLikes. Needs an index that
        /// the operator of the service may leave out, and by default does.
        /// Errors as for ListLikes, and FAILED_PRECONDITION (LIKERS_NOT_INDEXED) without that index.
        pub async fn list_likers(
            &mut self,
            request: impl tonic::IntoRequest<super::ListLikersRequest>,
        ) -> std::result::Result<
            tonic::Response<super::ListLikersResponse>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/ListLikers",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "ListLikers"));
            self.inner.unary(req, path, codec).await
        }
        /// Tells the counts of up to 100 items, and then each change, until the caller goes. The first message
        /// is a snapshot; each later one holds the newest counts of those items that have changed since the
        /// message before. A caller that reads slowly gets fewer messages: the counts in between are left out,
        /// the last one never is. The version of an item never goes back within a watch. A change shows
        /// within half a second (a setting) more than a read with CONSISTENCY_CACHED may be behind.
        ///
        /// To go on after a break, on any server, send the newest consistency_token of each item: the
        /// snapshot then leaves out what has not changed since. Tokens hold for as long as the store has the
        /// same history; from another one they are OUT_OF_RANGE, and a watch without tokens begins anew.
        /// A watch without a deadline stands until its caller goes or the server shuts down; then it ends
        /// with UNAVAILABLE (SHUTTING_DOWN): watch again, another server answers.
        /// Over gRPC only.
        /// Errors: INVALID_ARGUMENT (INVALID_REQUEST), OUT_OF_RANGE (RESUME_OUT_OF_RANGE),
        /// RESOURCE_EXHAUSTED (OVERLOADED: the server has as many watches, or watches as many items, as it
        /// may), UNAVAILABLE (STORE_UNAVAILABLE, SHUTTING_DOWN), DEADLINE_EXCEEDED, CANCELLED, INTERNAL.
        pub async fn watch_counts(
            &mut self,
            request: impl tonic::IntoRequest<super::WatchCountsRequest>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::WatchCountsResponse>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::new(
                        tonic::Code::Unknown,
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic::codec::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/counter.v1.CounterService/WatchCounts",
            );
            let mut req = request.into_request();
            req.extensions_mut()
                .insert(GrpcMethod::new("counter.v1.CounterService", "WatchCounts"));
            self.inner.server_streaming(req, path, codec).await
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, ::prost::Enumeration)]
#[repr(i32)]
pub enum ErrorReason {
    Unspecified = 0,
    InvalidRequest = 1,
    RateLimited = 2,
    Overloaded = 3,
    ShuttingDown = 4,
    StoreUnavailable = 5,
    DeadlineExceeded = 6,
    Cancelled = 7,
    Internal = 8,
    Unimplemented = 9,
    LikersNotIndexed = 10,
    ResumeOutOfRange = 11,
    Unauthenticated = 12,
    CallerNotAllowed = 13,
    UserNotAllowed = 14,
}
impl ErrorReason {
    /// String value of the enum field names used in the ProtoBuf definition.
    ///
    /// The values are not transformed in any way and thus are considered stable
    /// (if the ProtoBuf definition does not change) and safe for programmatic use.
    pub fn as_str_name(&self) -> &'static str {
        match self {
            ErrorReason::Unspecified => "ERROR_REASON_UNSPECIFIED",
            ErrorReason::InvalidRequest => "ERROR_REASON_INVALID_REQUEST",
            ErrorReason::RateLimited => "ERROR_REASON_RATE_LIMITED",
            ErrorReason::Overloaded => "ERROR_REASON_OVERLOADED",
            ErrorReason::ShuttingDown => "ERROR_REASON_SHUTTING_DOWN",
            ErrorReason::StoreUnavailable => "ERROR_REASON_STORE_UNAVAILABLE",
            ErrorReason::DeadlineExceeded => "ERROR_REASON_DEADLINE_EXCEEDED",
            ErrorReason::Cancelled => "ERROR_REASON_CANCELLED",
            ErrorReason::Internal => "ERROR_REASON_INTERNAL",
            ErrorReason::Unimplemented => "ERROR_REASON_UNIMPLEMENTED",
            ErrorReason::LikersNotIndexed => "ERROR_REASON_LIKERS_NOT_INDEXED",
            ErrorReason::ResumeOutOfRange => "ERROR_REASON_RESUME_OUT_OF_RANGE",
            ErrorReason::Unauthenticated => "ERROR_REASON_UNAUTHENTICATED",
            ErrorReason::CallerNotAllowed => "ERROR_REASON_CALLER_NOT_ALLOWED",
            ErrorReason::UserNotAllowed => "ERROR_REASON_USER_NOT_ALLOWED",
        }
    }
    /// Creates an enum from field names used in the ProtoBuf definition.
    pub fn from_str_name(value: &str) -> ::core::option::Option<Self> {
        match value {
            "ERROR_REASON_UNSPECIFIED" => Some(Self::Unspecified),
            "ERROR_REASON_INVALID_REQUEST" => Some(Self::InvalidRequest),
            "ERROR_REASON_RATE_LIMITED" => Some(Self::RateLimited),
            "ERROR_REASON_OVERLOADED" => Some(Self::Overloaded),
            "ERROR_REASON_SHUTTING_DOWN" => Some(Self::ShuttingDown),
            "ERROR_REASON_STORE_UNAVAILABLE" => Some(Self::StoreUnavailable),
            "ERROR_REASON_DEADLINE_EXCEEDED" => Some(Self::DeadlineExceeded),
            "ERROR_REASON_CANCELLED" => Some(Self::Cancelled),
            "ERROR_REASON_INTERNAL" => Some(Self::Internal),
            "ERROR_REASON_UNIMPLEMENTED" => Some(Self::Unimplemented),
            "ERROR_REASON_LIKERS_NOT_INDEXED" => Some(Self::LikersNotIndexed),
            "ERROR_REASON_RESUME_OUT_OF_RANGE" => Some(Self::ResumeOutOfRange),
            "ERROR_REASON_UNAUTHENTICATED" => Some(Self::Unauthenticated),
            "ERROR_REASON_CALLER_NOT_ALLOWED" => Some(Self::CallerNotAllowed),
            "ERROR_REASON_USER_NOT_ALLOWED" => Some(Self::UserNotAllowed),
            _ => None,
        }
    }
}
