//! The client of Counter: who likes what, and how often it is liked; over gRPC.
//!
//! ```no_run
//! # async fn example() -> Result<(), counter_client::Error> {
//! use counter_client::{Client, Item, Options};
//!
//! let likes = Client::connect("dns:///counter:50051", Options::default())?;
//! let liked = likes.like(123, &Item::new("post", 456)).await?;
//! println!("{}", liked.count);
//! # Ok(())
//! # }
//! ```
//!
//! Use one [`Client`] for a whole program and clone it freely: the clones share one channel. A call ends after 2 s
//! unless the client or the call says otherwise. Every call may be repeated with the effect of one, and UNAVAILABLE
//! is repeated by the client itself.
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod client;
mod error;
mod lists;
mod retry;
mod tokens;
mod types;
mod watch;

/// The generated code of the protocol.
#[allow(missing_docs, clippy::all)]
pub mod pb {
    /// counter.v1.
    pub mod counter {
        /// counter.v1.
        pub mod v1 {
            include!("pb/counter.v1.rs");
        }
    }
    /// google.rpc, of the errors.
    pub mod google {
        /// google.rpc.
        pub mod rpc {
            include!("pb/google.rpc.rs");
        }
    }
}

pub use client::Client;
pub use error::{Error, ErrorKind, FieldViolation, QuotaViolation};
pub use lists::{AllLikers, AllLikes};
pub use types::{
    Action, CallOptions, Consistency, Count, Counts, Item, Like, Liked, Liker, LikersPage, LikesPage, Mutation, Options,
    Page, ReadOptions, Source, Tls, Update, WatchOptions, WriteResults, Written,
};
pub use watch::Watch;

/// The version of this client, as the user-agent tells it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The published service config: how every client of Counter picks servers and repeats calls.
pub const SERVICE_CONFIG: &str = include_str!("../service_config.json");
