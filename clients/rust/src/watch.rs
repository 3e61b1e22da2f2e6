use std::collections::HashMap;
use std::time::Duration;

use tokio::time::{sleep, timeout_at, Instant};
use tonic::{Status, Streaming};

use crate::client::{deadline_exceeded, encoded, is_not_connected, is_unavailable, item_counts};
use crate::pb::counter::v1;
use crate::retry::RetryPolicy;
use crate::types::*;
use crate::{Client, Error, ErrorKind};

/// That a request may carry.
const TOKENS_MAX: usize = 1000;

impl Client {
    /// The counts of up to 100 items, and then each change.
    ///
    /// A watch goes on by itself from what it has told: when its server goes, on another one, and from now when the
    /// store has got another history. Without a deadline it stands until it is dropped. Fails only for options that
    /// cannot be.
    pub fn watch_counts(&self, items: &[Item], options: &WatchOptions) -> Result<Watch, Error> {
        Self::check(&options.call)?;
        Ok(Watch {
            client: self.clone(),
            call: options.call.clone(),
            end: options.call.deadline.map(|deadline| Instant::now() + deadline),
            state: WatchState::new(items, &options.consistency_tokens, self.policy().clone()),
            stream: None,
            failed: None,
        })
    }
}

/// Counts as they change. Dropping it ends it.
pub struct Watch {
    client: Client,
    call: CallOptions,
    end: Option<Instant>,
    state: WatchState,
    stream: Option<(Streaming<v1::WatchCountsResponse>, String)>, // And the server's name of the call.
    failed: Option<Error>,
}

impl Watch {
    /// The next update. It fails with what the watch ended with: what is not mended by watching again, or anything
    /// without retries. It may be dropped while it waits; no update is lost by that.
    pub async fn next(&mut self) -> Result<Update, Error> {
        loop {
            if let Some(error) = &self.failed {
                return Err(error.clone());
            }
            let received = match self.end {
                Some(end) => timeout_at(end, self.receive()).await.unwrap_or_else(|_| Err(deadline_exceeded())),
                None => self.receive().await,
            };
            let status = match received {
                Ok(Some(update)) => return Ok(update),
                Ok(None) => continue,
                Err(status) => status,
            };
            let request_id = self.stream.take().map(|(_, id)| id).unwrap_or_default();
            match self.pause_after(&status, request_id) {
                Ok(pause) => sleep(pause).await,
                Err(error) => self.failed = Some(error),
            }
        }
    }

    /// Of the next message, of a new stream if there is none; none if a watch that goes on has missed nothing.
    async fn receive(&mut self) -> Result<Option<Update>, Status> {
        if self.stream.is_none() {
            let request = self.client.request(self.state.begin(), &self.call, self.end);
            let response = self.client.stub().watch_counts(request).await?;
            let id = response.metadata().get("x-request-id").and_then(|id| id.to_str().ok()).unwrap_or("").to_owned();
            self.stream = Some((response.into_inner(), id));
        }
        let (stream, request_id) = self.stream.as_mut().expect("it was made above");
        let message = stream.message().await?.ok_or_else(|| Status::unavailable("the server ended the watch"))?;
        Ok(self.state.take(message.snapshot, item_counts(message.counts, request_id)))
    }

    /// How long to wait before a new stream, or what the watch ends with.
    fn pause_after(&mut self, status: &Status, request_id: String) -> Result<Duration, Error> {
        let is_over = self.end.map_or(false, |end| Instant::now() >= end);
        // tonic ends a call at its own time limit as Cancelled.
        let mut error = if is_over { Error::of_call(&deadline_exceeded()) } else { Error::of_call(status) };
        if error.request_id.is_empty() {
            error.request_id = request_id;
        }
        if is_over {
            return Err(error);
        }
        if is_unavailable(status) {
            error = Error { code: 14, kind: ErrorKind::Unavailable, ..error };
        }
        let pause = self.state.pause_after(&error, is_not_connected(status)).ok_or(error)?;
        let left = self.end.map(|end| end.saturating_duration_since(Instant::now()));
        Ok(left.map_or(pause, |left| pause.min(left)))
    }
}

/// What a watch asks for, what its messages say, and whether it goes on after an error. No I/O.
struct WatchState {
    items: Vec<v1::Item>,
    given: Vec<String>,            // Tokens of the caller.
    newest: HashMap<Item, String>, // The token of the last count of each item that was told.
    policy: RetryPolicy,
    stood: bool,   // It has given something.
    anew: bool,    // What the next stream begins with is all there is.
    goes_on: bool, // The stream that is open, from where another one ended.
    failures: u32, // Since it last gave something.
}

impl WatchState {
    fn new(items: &[Item], tokens: &[String], policy: RetryPolicy) -> Self {
        WatchState {
            items: items.iter().map(encoded).collect(),
            given: tokens.to_vec(),
            newest: HashMap::new(),
            policy,
            stood: false,
            anew: true,
            goes_on: false,
            failures: 0,
        }
    }

    /// The request of a new stream.
    fn begin(&mut self) -> v1::WatchCountsRequest {
        self.goes_on = !self.anew;
        // Of an item the newest counts, so that it does no harm to send older ones.
        let mut known: Vec<String> = self.newest.values().chain(&self.given).cloned().collect();
        if self.stood {
            known.truncate(TOKENS_MAX);
        }
        v1::WatchCountsRequest { items: self.items.clone(), consistency_tokens: known }
    }

    /// What a message says; none if a watch that goes on has missed nothing.
    fn take(&mut self, snapshot: bool, counts: Vec<Count>) -> Option<Update> {
        for count in &counts {
            self.newest.insert(count.item.clone(), count.consistency_token.clone());
        }
        self.stood = true;
        self.anew = false;
        self.failures = 0;
        if snapshot && self.goes_on && counts.is_empty() {
            return None;
        }
        Some(Update { counts, snapshot: snapshot && !self.goes_on })
    }

    /// How long until to begin again; none if that cannot mend it. What never stood is the caller's to try again, but
    /// it waits for a server.
    fn pause_after(&mut self, error: &Error, no_connection: bool) -> Option<Duration> {
        if !self.policy.repeats() {
            return None;
        }
        match error.kind {
            ErrorKind::OutOfRange if !self.given.is_empty() || !self.newest.is_empty() => {
                self.given.clear();
                self.newest.clear();
                self.anew = true;
            }
            ErrorKind::Unavailable if self.stood || no_connection => {}
            ErrorKind::Overloaded if self.stood => {}
            _ => return None,
        }
        self.failures = self.failures.saturating_add(1);
        Some(self.policy.pause(self.failures).max(error.retry_after.unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::SERVICE_CONFIG;

    fn policy() -> RetryPolicy {
        RetryPolicy::parse(SERVICE_CONFIG).expect("it is well formed")
    }

    fn state(tokens: &[&str]) -> WatchState {
        let tokens: Vec<String> = tokens.iter().map(|token| token.to_string()).collect();
        WatchState::new(&[Item::new("post", 1), Item::new("post", 2)], &tokens, policy())
    }

    fn count(id: i64, token: &str) -> Count {
        Count {
            item: Item::new("post", id),
            count: 1,
            source: Source::Cache,
            as_of: SystemTime::UNIX_EPOCH,
            consistency_token: token.into(),
            request_id: String::new(),
        }
    }

    fn tokens(state: &mut WatchState) -> Vec<String> {
        let mut tokens = state.begin().consistency_tokens;
        tokens.sort();
        tokens
    }

    fn gone() -> Error {
        Error::new(14, "gone")
    }

    fn full() -> Error {
        Error { kind: ErrorKind::Overloaded, ..Error::new(8, "full") }
    }

    fn other() -> Error {
        Error::new(11, "another history")
    }

    #[test]
    fn it_goes_on_from_the_newest_token_of_each_item() {
        let mut watch = state(&[]);
        assert!(tokens(&mut watch).is_empty());
        assert!(watch.take(true, vec![count(1, "a"), count(2, "z")]).expect("an update").snapshot);
        assert!(!watch.take(false, vec![count(1, "b")]).expect("an update").snapshot);
        assert!(watch.pause_after(&gone(), false).is_some());
        assert_eq!(tokens(&mut watch), ["b", "z"]);
        assert!(watch.take(true, vec![]).is_none());
        assert!(!watch.take(false, vec![count(1, "c")]).expect("an update").snapshot);
        watch.pause_after(&gone(), false);
        watch.begin();
        assert!(!watch.take(true, vec![count(1, "d")]).expect("an update").snapshot);
    }

    #[test]
    fn a_first_update_is_told_even_if_nothing_is_new() {
        let mut watch = state(&["known"]);
        watch.begin();
        let update = watch.take(true, vec![]).expect("an update");
        assert!(update.snapshot && update.counts.is_empty());
    }

    #[test]
    fn of_another_history_it_begins_anew_and_not_twice_without_tokens() {
        let mut watch = state(&["known"]);
        assert_eq!(tokens(&mut watch), ["known"]);
        assert!(watch.pause_after(&other(), false).is_some());
        assert!(tokens(&mut watch).is_empty());
        assert!(watch.pause_after(&other(), false).is_none());
        watch.take(true, vec![count(1, "a")]);
        assert!(watch.pause_after(&other(), false).is_some());
        assert!(watch.pause_after(&gone(), false).is_some());
        assert!(tokens(&mut watch).is_empty());
        assert!(watch.take(true, vec![count(1, "b")]).expect("an update").snapshot);
    }

    #[test]
    fn what_never_stood_and_other_errors_end_it() {
        assert!(state(&[]).pause_after(&gone(), false).is_none());
        assert!(state(&[]).pause_after(&full(), false).is_none());
        assert!(state(&[]).pause_after(&gone(), true).is_some()); // It waits for a server.
        let mut watch = state(&[]);
        watch.take(true, vec![count(1, "a")]);
        assert!(watch.pause_after(&Error::new(13, "fault"), false).is_none());
        assert!(watch.pause_after(&full(), false).is_some());
    }

    #[test]
    fn without_retries_everything_ends_it() {
        for error in [gone(), full(), other()] {
            let mut watch = WatchState::new(&[], &["known".into()], policy().off());
            watch.take(true, vec![count(1, "a")]);
            assert!(watch.pause_after(&error, true).is_none());
        }
    }

    #[test]
    fn pauses_double_to_a_second_and_no_further_and_wait_for_what_the_server_says() {
        let mut watch = state(&[]);
        watch.take(true, vec![count(1, "a")]);
        for wanted in [50, 100, 200, 400, 800, 1000, 1000, 1000] {
            let pause = watch.pause_after(&gone(), false).expect("a pause").as_millis();
            assert!(pause >= wanted * 79 / 100 && pause <= wanted * 121 / 100, "{} for {}", pause, wanted);
        }
        let full = Error { retry_after: Some(Duration::from_millis(7500)), ..full() };
        assert_eq!(watch.pause_after(&full, false), Some(Duration::from_millis(7500)));
        watch.take(false, vec![count(1, "b")]);
        assert!(watch.pause_after(&gone(), false).expect("a pause") < Duration::from_millis(70));
    }

    #[test]
    fn it_goes_on_with_no_more_tokens_than_a_request_may_carry() {
        let given: Vec<String> = (0..TOKENS_MAX).map(|i| format!("t{}", i)).collect();
        let mut watch = WatchState::new(&[], &given, policy());
        assert_eq!(watch.begin().consistency_tokens.len(), TOKENS_MAX);
        watch.take(true, vec![count(1, "a")]);
        let known = watch.begin().consistency_tokens;
        assert_eq!((known.len(), known[0].as_str()), (TOKENS_MAX, "a"));
    }
}
