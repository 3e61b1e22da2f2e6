use std::time::{Duration, SystemTime};

use crate::Error;

/// A thing that can be liked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// One that the server is configured with: "post", "reel", "comment".
    pub kind: String,
    /// 1 to 2^63-1.
    pub id: i64,
}

impl Item {
    /// An item of this type and id.
    pub fn new(kind: impl Into<String>, id: i64) -> Self {
        Item { kind: kind.into(), id }
    }
}

/// What a mutation does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make the user like the item.
    Like,
    /// Take the like back.
    Unlike,
}

/// One like or unlike of `write_likes`.
#[derive(Clone, Debug)]
pub struct Mutation {
    /// Who.
    pub user_id: i64,
    /// What.
    pub item: Item,
    /// What to do.
    pub action: Action,
}

/// How fresh a read must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consistency {
    /// True at some instant within the last second while all is well. The fastest.
    #[default]
    Cached,
    /// Sees every write acknowledged before the read began.
    Strong,
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The server did not say.
    Unknown,
    /// From a cache.
    Cache,
    /// From a read replica of the store.
    Replica,
    /// From the primary store.
    Primary,
}

/// What became of a like or an unlike.
#[derive(Clone, Debug)]
pub struct Written {
    /// False: it was so already.
    pub changed: bool,
    /// Likes of the item after it.
    pub count: i64,
    /// Pass it to a read to see this write.
    pub consistency_token: String,
    /// The server's name of the call.
    pub request_id: String,
}

/// What became of the mutations of `write_likes`.
#[derive(Clone, Debug)]
pub struct WriteResults {
    /// `results[i]` is of `mutations[i]`.
    pub results: Vec<Result<Written, Error>>,
    /// The server's name of the call.
    pub request_id: String,
}

/// The count of likes of one item.
#[derive(Clone, Debug)]
pub struct Count {
    /// The item.
    pub item: Item,
    /// 0 for an item that nobody ever liked.
    pub count: i64,
    /// Where the count came from.
    pub source: Source,
    /// An instant at which the store held this count.
    pub as_of: SystemTime,
    /// Pass it to a later read to never see an older state.
    pub consistency_token: String,
    /// The server's name of the call.
    pub request_id: String,
}

/// The counts of several items.
#[derive(Clone, Debug)]
pub struct Counts {
    /// `counts[i]` is of `items[i]`.
    pub counts: Vec<Count>,
    /// The server's name of the call.
    pub request_id: String,
}

/// What is new to a watch.
#[derive(Clone, Debug)]
pub struct Update {
    /// Each item once at most.
    pub counts: Vec<Count>,
    /// Whether these are the counts of all items, but for those of which tokens were given: the first update of a
    /// watch, and the first after the store got another history, in which counts may be lower than they were.
    pub snapshot: bool,
}

/// Which items a user likes.
#[derive(Clone, Debug)]
pub struct Liked {
    /// `liked[i]` is of `items[i]`.
    pub liked: Vec<bool>,
    /// Where the answer came from.
    pub source: Source,
    /// An instant at which the store said so.
    pub as_of: SystemTime,
    /// The server's name of the call.
    pub request_id: String,
}

/// One like of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Like {
    /// What is liked.
    pub item: Item,
    /// When, to the second.
    pub liked_at: SystemTime,
}

/// A page of what a user likes.
#[derive(Clone, Debug)]
pub struct LikesPage {
    /// Newest first.
    pub likes: Vec<Like>,
    /// Gets the next page; empty if no more follow.
    pub next_page_token: String,
    /// The server's name of the call.
    pub request_id: String,
}

/// One user who likes an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liker {
    /// The user.
    pub user_id: i64,
    /// When, to the second.
    pub liked_at: SystemTime,
}

/// A page of who likes an item.
#[derive(Clone, Debug)]
pub struct LikersPage {
    /// Newest like first.
    pub likers: Vec<Liker>,
    /// Gets the next page; empty if no more follow.
    pub next_page_token: String,
    /// The server's name of the call.
    pub request_id: String,
}

/// Which part of a list to get. The default is the first page.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// 1 to 1000; 0: 100.
    pub size: i32,
    /// The `next_page_token` of the page before.
    pub token: String,
    /// Of the likes of a user: only those of these types. Empty: of all.
    pub item_types: Vec<String>,
    /// As for any call.
    pub call: CallOptions,
}

/// What may be said about any call.
#[derive(Clone, Debug, Default)]
pub struct CallOptions {
    /// From now, all attempts and pauses included. Absent: the client's.
    pub deadline: Option<Duration>,
    /// Names the call in the server's logs: 1 to 64 characters of `[A-Za-z0-9._-]`. Empty: the server makes one.
    pub request_id: String,
    /// The W3C trace context to pass on ("00-<trace>-<span>-01"). Empty: none.
    pub traceparent: String,
}

/// What may be said about a read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// How fresh the answer must be.
    pub consistency: Consistency,
    /// Tokens of earlier answers about items of the call, in any order: the answer includes the writes they name.
    pub consistency_tokens: Vec<String>,
    /// As for any call.
    pub call: CallOptions,
}

/// What may be said about a watch.
#[derive(Clone, Debug, Default)]
pub struct WatchOptions {
    /// Tokens of what is known already, of any answer: it is left out.
    pub consistency_tokens: Vec<String>,
    /// As for any call, but without a deadline a watch stands until it is dropped.
    pub call: CallOptions,
}

/// Contents of PEM files. With a certificate and its key it is mTLS.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// Who may sign the server's certificate. Absent: the system's authorities.
    pub ca: Option<Vec<u8>>,
    /// The client's certificate.
    pub certificate: Option<Vec<u8>>,
    /// Its key.
    pub key: Option<Vec<u8>>,
}

/// What is true of all calls of a client.
#[derive(Clone, Debug)]
pub struct Options {
    /// Of a call that names none; 2 s.
    pub deadline: Duration,
    /// False: one attempt a call, which fails at once where no server is ready.
    pub retries: bool,
    /// Put before this client's own: "feed/1.2".
    pub user_agent: String,
    /// Absent: plain text.
    pub tls: Option<Tls>,
    /// Sent with each call; needs `tls`.
    pub bearer_token: Option<String>,
    /// Keep the tokens of writes, of the last 10,000 items, and pass them to reads that come without tokens.
    pub read_your_writes: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            deadline: Duration::from_secs(2),
            retries: true,
            user_agent: String::new(),
            tls: None,
            bearer_token: None,
            read_your_writes: false,
        }
    }
}
