use std::error::Error as _;
use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::{sleep_until, timeout_at, Instant};
use tonic::metadata::AsciiMetadataValue;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Response, Status};

use crate::pb::counter::v1::{self, counter_service_client::CounterServiceClient};
use crate::retry::{RetryPolicy, Throttle};
use crate::tokens::{Tokens, TOKENS_MAX};
use crate::types::*;
use crate::{Error, SERVICE_CONFIG, VERSION};

pub(crate) type Stub = CounterServiceClient<Channel>;

const RECONNECT_FIRST: Duration = Duration::from_millis(100);
const RECONNECT_MAX: Duration = Duration::from_secs(1);

/// Makes the calls. Clones share one channel; any number of tasks may use them at once.
#[derive(Clone)]
pub struct Client {
    stub: Stub,
    shared: Arc<Shared>,
}

struct Shared {
    deadline: Duration,
    policy: RetryPolicy,
    throttle: Throttle,
    authorization: Option<AsciiMetadataValue>,
    tokens: Option<Tokens>,
}

impl Client {
    /// Never blocks: connections are made when calls need them, and made again when they break. Fails only for
    /// options that cannot be. A target is `host:port` or `dns:///name:port`. Requires a tokio runtime.
    pub fn connect(target: &str, options: Options) -> Result<Self, Error> {
        let scheme = if options.tls.is_some() { "https" } else { "http" };
        let host = target.strip_prefix("dns:///").unwrap_or(target);
        let user_agent = format!("{} counter-rust/{}", options.user_agent, VERSION);
        let mut endpoint = Endpoint::from_shared(format!("{}://{}", scheme, host))
            .map_err(|_| Error::refused("target", "expected host:port or dns:///name:port"))?
            .user_agent(user_agent.trim())
            .map_err(|_| Error::refused("user_agent", "expected what a header may hold"))?;
        if let Some(tls) = &options.tls {
            endpoint = endpoint
                .tls_config(tls_config(tls))
                .map_err(|_| Error::refused("tls", "expected the contents of PEM files"))?;
        }
        Self::with_channel(endpoint.connect_lazy(), options)
    }

    /// The same over a channel of the caller's, for example one that balances over several endpoints. The `tls` and
    /// `user_agent` of the options are the channel's business then.
    pub fn with_channel(channel: Channel, options: Options) -> Result<Self, Error> {
        let policy = RetryPolicy::parse(SERVICE_CONFIG).expect("the service config is well formed");
        let policy = if options.retries { policy } else { policy.off() };
        let authorization = match options.bearer_token {
            Some(_) if options.tls.is_none() => {
                return Err(Error::refused("bearer_token", "expected tls with it; it must not travel in plain text"))
            }
            Some(token) => Some(
                AsciiMetadataValue::try_from(format!("Bearer {}", token))
                    .map_err(|_| Error::refused("bearer_token", "expected what a header may hold"))?,
            ),
            None => None,
        };
        let shared = Shared {
            deadline: options.deadline,
            throttle: Throttle::new(&policy),
            policy,
            authorization,
            tokens: options.read_your_writes.then(|| Tokens::new(TOKENS_MAX)),
        };
        Ok(Client { stub: Stub::new(channel), shared: Arc::new(shared) })
    }

    /// Makes the user like the item.
    pub async fn like(&self, user_id: i64, item: &Item) -> Result<Written, Error> {
        self.like_with(user_id, item, &CallOptions::default()).await
    }

    /// Makes the user like the item.
    pub async fn like_with(&self, user_id: i64, item: &Item, options: &CallOptions) -> Result<Written, Error> {
        let request = v1::LikeRequest { user_id, item: Some(encoded(item)) };
        let (reply, id) = self.call(request, options, |mut stub, r| async move { stub.like(r).await }).await?;
        Ok(self.written(item, reply.status() == v1::LikeStatus::Liked, reply.count, reply.consistency_token, id))
    }

    /// Takes a like back.
    pub async fn unlike(&self, user_id: i64, item: &Item) -> Result<Written, Error> {
        self.unlike_with(user_id, item, &CallOptions::default()).await
    }

    /// Takes a like back.
    pub async fn unlike_with(&self, user_id: i64, item: &Item, options: &CallOptions) -> Result<Written, Error> {
        let request = v1::UnlikeRequest { user_id, item: Some(encoded(item)) };
        let (reply, id) = self.call(request, options, |mut stub, r| async move { stub.unlike(r).await }).await?;
        Ok(self.written(item, reply.status() == v1::UnlikeStatus::Unliked, reply.count, reply.consistency_token, id))
    }

    /// Up to 1000 likes and unlikes; each has a result of its own.
    pub async fn write_likes(&self, mutations: &[Mutation], options: &CallOptions) -> Result<WriteResults, Error> {
        let encode = |m: &Mutation| v1::Mutation {
            user_id: m.user_id,
            item: Some(encoded(&m.item)),
            action: match m.action {
                Action::Like => v1::Action::Like.into(),
                Action::Unlike => v1::Action::Unlike.into(),
            },
        };
        let request = v1::WriteLikesRequest { mutations: mutations.iter().map(encode).collect() };
        let (reply, id) = self.call(request, options, |mut stub, r| async move { stub.write_likes(r).await }).await?;
        check_number(reply.results.len(), mutations.len(), &id)?;
        let decode = |(mutation, result): (&Mutation, v1::MutationResult)| match &result.error {
            Some(error) if error.code != 0 => Err(Error { request_id: id.clone(), ..Error::decoded(error) }),
            _ => {
                let changed = match result.outcome() {
                    v1::Outcome::Liked | v1::Outcome::Unliked => true,
                    v1::Outcome::AlreadyLiked | v1::Outcome::NotLiked => false,
                    _ => {
                        let message = "the server answered an outcome that this client does not know";
                        return Err(Error { request_id: id.clone(), ..Error::new(13, message) });
                    }
                };
                Ok(self.written(&mutation.item, changed, result.count, result.consistency_token, id.clone()))
            }
        };
        let results = mutations.iter().zip(reply.results).map(decode).collect();
        Ok(WriteResults { results, request_id: id })
    }

    /// How many users like the item. Takes at most one token.
    pub async fn count(&self, item: &Item, options: &ReadOptions) -> Result<Count, Error> {
        if options.consistency_tokens.len() > 1 {
            return Err(Error::refused("consistency_tokens", "expected at most one for the count of one item"));
        }
        let request = v1::GetCountRequest {
            item: Some(encoded(item)),
            consistency: consistency(options),
            consistency_token: self.tokens(std::slice::from_ref(item), options).pop().unwrap_or_default(),
        };
        let call = |mut stub: Stub, r| async move { stub.get_count(r).await };
        let (reply, request_id) = self.call(request, &options.call, call).await?;
        Ok(Count {
            item: item.clone(),
            count: reply.count,
            source: source(reply.source()),
            as_of: time(reply.as_of_time),
            consistency_token: reply.consistency_token,
            request_id,
        })
    }

    /// How many users like each of up to 1000 items, which may repeat.
    pub async fn counts(&self, items: &[Item], options: &ReadOptions) -> Result<Counts, Error> {
        let request = v1::BatchGetCountsRequest {
            items: items.iter().map(encoded).collect(),
            consistency: consistency(options),
            consistency_tokens: self.tokens(items, options),
        };
        let call = |mut stub: Stub, r| async move { stub.batch_get_counts(r).await };
        let (reply, request_id) = self.call(request, &options.call, call).await?;
        check_number(reply.counts.len(), items.len(), &request_id)?;
        Ok(Counts { counts: item_counts(reply.counts, &request_id), request_id })
    }

    /// Which of up to 1000 items, which may repeat, the user likes.
    pub async fn has_liked(&self, user_id: i64, items: &[Item], options: &ReadOptions) -> Result<Liked, Error> {
        let request = v1::HasLikedRequest {
            user_id,
            items: items.iter().map(encoded).collect(),
            consistency: consistency(options),
            consistency_tokens: self.tokens(items, options),
        };
        let call = |mut stub: Stub, r| async move { stub.has_liked(r).await };
        let (reply, request_id) = self.call(request, &options.call, call).await?;
        check_number(reply.liked.len(), items.len(), &request_id)?;
        let (source, as_of) = (source(reply.source()), time(reply.as_of_time));
        Ok(Liked { liked: reply.liked, source, as_of, request_id })
    }

    /// One call with its attempts: the reply and the server's name of the call.
    pub(crate) async fn call<Q, R, M, F>(&self, request: Q, options: &CallOptions, method: M) -> Result<(R, String), Error>
    where
        Q: Clone,
        M: Fn(Stub, Request<Q>) -> F,
        F: Future<Output = Result<Response<R>, Status>>,
    {
        Self::check(options)?;
        let end = Instant::now() + options.deadline.unwrap_or(self.shared.deadline);
        let mut attempt = 1;
        let mut reconnect = RECONNECT_FIRST;
        loop {
            let attempted = method(self.stub.clone(), self.request(request.clone(), options, Some(end)));
            let status = match timeout_at(end, attempted).await {
                Ok(Ok(response)) => {
                    self.shared.throttle.succeeded();
                    let id = response.metadata().get("x-request-id").and_then(|id| id.to_str().ok());
                    let id = id.unwrap_or("").to_owned();
                    return Ok((response.into_inner(), id));
                }
                // tonic ends a call at its own time limit as Cancelled.
                Ok(Err(status)) if Instant::now() >= end && status.source().is_some() => deadline_exceeded(),
                Ok(Err(status)) => status,
                Err(_) => deadline_exceeded(),
            };
            let policy = &self.shared.policy;
            let pause = if policy.wait_for_ready && is_not_connected(&status) {
                let pause = reconnect; // No server took the call: it waits, and no attempt is used up.
                reconnect = (reconnect * 2).min(RECONNECT_MAX);
                pause
            } else if is_unavailable(&status) {
                if !policy.is_retryable(Code::Unavailable)
                    || !self.shared.throttle.failed()
                    || attempt == policy.attempts_max
                {
                    return Err(Error { code: 14, kind: crate::ErrorKind::Unavailable, ..Error::of_call(&status) });
                }
                attempt += 1;
                policy.pause(attempt - 1)
            } else {
                return Err(Error::of_call(&status));
            };
            if Instant::now() + pause >= end {
                sleep_until(end).await;
                return Err(Error::of_call(&deadline_exceeded()));
            }
            tokio::time::sleep(pause).await;
        }
    }

    pub(crate) fn check(options: &CallOptions) -> Result<(), Error> {
        check_text("request_id", &options.request_id, 64, "expected at most 64 characters of [A-Za-z0-9._-]")?;
        check_text("traceparent", &options.traceparent, usize::MAX, "expected a W3C trace context")
    }

    pub(crate) fn stub(&self) -> Stub {
        self.stub.clone()
    }

    pub(crate) fn policy(&self) -> &RetryPolicy {
        &self.shared.policy
    }

    pub(crate) fn request<Q>(&self, message: Q, options: &CallOptions, end: Option<Instant>) -> Request<Q> {
        let mut request = Request::new(message);
        if let Some(end) = end {
            request.set_timeout(end.saturating_duration_since(Instant::now()));
        }
        let headers = request.metadata_mut();
        for (key, text) in [("x-request-id", &options.request_id), ("traceparent", &options.traceparent)] {
            if let Some(value) = text.parse().ok().filter(|_| !text.is_empty()) {
                headers.insert(key, value);
            }
        }
        if let Some(authorization) = &self.shared.authorization {
            headers.insert("authorization", authorization.clone());
        }
        request
    }

    fn written(
        &self,
        item: &Item,
        changed: bool,
        count: i64,
        consistency_token: String,
        request_id: String,
    ) -> Written {
        if let Some(tokens) = &self.shared.tokens {
            tokens.keep(item, &consistency_token);
        }
        Written { changed, count, consistency_token, request_id }
    }

    fn tokens(&self, items: &[Item], options: &ReadOptions) -> Vec<String> {
        match &self.shared.tokens {
            Some(tokens) if options.consistency_tokens.is_empty() => tokens.of(items),
            _ => options.consistency_tokens.clone(),
        }
    }
}

fn tls_config(tls: &Tls) -> ClientTlsConfig {
    let mut config = ClientTlsConfig::new();
    if let Some(ca) = &tls.ca {
        config = config.ca_certificate(Certificate::from_pem(ca));
    }
    if let (Some(certificate), Some(key)) = (&tls.certificate, &tls.key) {
        config = config.identity(Identity::from_pem(certificate, key));
    }
    config
}

pub(crate) fn deadline_exceeded() -> Status {
    Status::deadline_exceeded("the call's time was used up")
}

/// Whether the status was made here because there was no connection to make the call on.
pub(crate) fn is_not_connected(status: &Status) -> bool {
    let mut cause = status.source();
    while let Some(error) = cause {
        if error.downcast_ref::<hyper::Error>().map_or(false, hyper::Error::is_connect) {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Whether the server could not be reached, by its own word or because the connection broke: tonic reports the latter
/// as UNKNOWN or INTERNAL, with the cause beside it.
pub(crate) fn is_unavailable(status: &Status) -> bool {
    status.code() == Code::Unavailable
        || matches!(status.code(), Code::Unknown | Code::Internal) && status.source().is_some()
}

fn check_text(field: &str, text: &str, length_max: usize, expected: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    if text.len() <= length_max && text.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::refused(field, expected))
}

fn check_number(answers: usize, asked: usize, request_id: &str) -> Result<(), Error> {
    if answers == asked {
        return Ok(());
    }
    let message = format!("the server gave {} answers, not {}", answers, asked);
    Err(Error { request_id: request_id.into(), ..Error::new(13, message) })
}

pub(crate) fn item_counts(counts: Vec<v1::ItemCount>, request_id: &str) -> Vec<Count> {
    let decode = |c: v1::ItemCount| Count {
        source: source(c.source()),
        item: c.item.map(|item| Item::new(item.item_type, item.item_id)).unwrap_or_else(|| Item::new("", 0)),
        count: c.count,
        as_of: time(c.as_of_time),
        consistency_token: c.consistency_token,
        request_id: request_id.into(),
    };
    counts.into_iter().map(decode).collect()
}

pub(crate) fn encoded(item: &Item) -> v1::Item {
    v1::Item { item_type: item.kind.clone(), item_id: item.id }
}

fn consistency(options: &ReadOptions) -> i32 {
    match options.consistency {
        Consistency::Cached => v1::Consistency::Cached.into(),
        Consistency::Strong => v1::Consistency::Strong.into(),
    }
}

fn source(source: v1::Source) -> Source {
    match source {
        v1::Source::Cache => Source::Cache,
        v1::Source::Replica => Source::Replica,
        v1::Source::Primary => Source::Primary,
        v1::Source::Unspecified => Source::Unknown,
    }
}

pub(crate) fn time(time: Option<prost_types::Timestamp>) -> SystemTime {
    time.and_then(|time| SystemTime::try_from(time).ok()).unwrap_or(SystemTime::UNIX_EPOCH)
}
