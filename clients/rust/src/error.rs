use std::fmt;
use std::time::Duration;

use prost::Message;

use crate::pb::google::rpc;

const DOMAIN: &str = "counter.v1";

/// What kind of failure it was; the same names in every language's client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request is wrong: see `violations`. Do not repeat it unchanged.
    InvalidArgument,
    /// The user's likes per window are used up; nothing was applied. `retry_after` says when the window ends.
    RateLimited,
    /// The server has as much work as it may hold; nothing was applied. `retry_after` says when to try again.
    Overloaded,
    /// The server or its store could not be reached. Repeated already.
    Unavailable,
    /// The call's time was used up.
    DeadlineExceeded,
    /// The caller gave up.
    Cancelled,
    /// This server does not offer the method.
    Unimplemented,
    /// Another limit than the two above, for example a message that is too large.
    ResourceExhausted,
    /// The service is not in a state for this call.
    FailedPrecondition,
    /// What was asked for is past.
    OutOfRange,
    /// There is no such thing.
    NotFound,
    /// The server wants to know who calls: a token, a certificate.
    Unauthenticated,
    /// The server knows who calls, and refuses.
    PermissionDenied,
    /// A fault of the server; report it with the request id.
    Internal,
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

/// A field of the request that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldViolation {
    /// Its path: "items[3].item_id".
    pub field: String,
    /// What came and what was expected.
    pub description: String,
}

/// A quota that was exceeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaViolation {
    /// Whose: "user:123".
    pub subject: String,
    /// A sentence with the limit.
    pub description: String,
}

/// A call that failed. Repeating it is safe: any number of times has the effect of one.
#[derive(Clone, Debug)]
pub struct Error {
    /// What to do about it.
    pub kind: ErrorKind,
    /// The canonical code of gRPC, 1 to 16.
    pub code: i32,
    /// The value of counter.v1.ErrorReason; empty if it did not come from the service.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Of InvalidArgument: all of them.
    pub violations: Vec<FieldViolation>,
    /// Of RateLimited.
    pub quota: Option<QuotaViolation>,
    /// Of RateLimited and Overloaded.
    pub retry_after: Option<Duration>,
    /// Of a write: nothing was applied, for certain. Otherwise it was applied zero or one time.
    pub not_applied: bool,
    /// The server's name of the call, to report it by.
    pub request_id: String,
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.kind, self.message)?;
        if let Some(after) = self.retry_after {
            write!(out, "; retry after {:?}", after)?;
        }
        if !self.request_id.is_empty() {
            write!(out, " (request {})", self.request_id)?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(code: i32, message: impl Into<String>) -> Self {
        Error {
            kind: kind_of(code, ""),
            code,
            reason: String::new(),
            message: message.into(),
            violations: Vec::new(),
            quota: None,
            retry_after: None,
            not_applied: false,
            request_id: String::new(),
        }
    }

    /// An error that this client found before it sent anything.
    pub(crate) fn refused(field: &str, description: &str) -> Self {
        Error {
            violations: vec![FieldViolation { field: field.into(), description: description.into() }],
            not_applied: true,
            ..Error::new(3, format!("{}: {}", field, description))
        }
    }

    pub(crate) fn of_call(status: &tonic::Status) -> Self {
        // Details that cannot be read are as good as none; code and message are always the call's own.
        let details = rpc::Status::decode(status.details()).map(|s| s.details).unwrap_or_default();
        let header = |key| status.metadata().get(key).and_then(|value| value.to_str().ok()).unwrap_or("");
        let code = status.code() as i32;
        let mut error = Error::decoded(&rpc::Status { code, message: status.message().into(), details });
        error.not_applied |= header("outcome") == "not-applied";
        error.request_id = header("x-request-id").into();
        error
    }

    pub(crate) fn decoded(status: &rpc::Status) -> Self {
        let mut error = Error::new(status.code, status.message.clone());
        for any in &status.details {
            match any.type_url.rsplit('/').next() {
                Some("google.rpc.ErrorInfo") => error.take_info(rpc::ErrorInfo::decode(&*any.value)),
                Some("google.rpc.BadRequest") => error.take_bad_request(rpc::BadRequest::decode(&*any.value)),
                Some("google.rpc.RetryInfo") => error.take_retry(rpc::RetryInfo::decode(&*any.value)),
                Some("google.rpc.QuotaFailure") => error.take_quota(rpc::QuotaFailure::decode(&*any.value)),
                _ => {}
            }
        }
        error.kind = kind_of(error.code, &error.reason);
        error
    }

    fn take_info(&mut self, info: Result<rpc::ErrorInfo, prost::DecodeError>) {
        if let Some(info) = info.ok().filter(|info| info.domain == DOMAIN) {
            self.not_applied = info.metadata.get("outcome").map_or(false, |outcome| outcome == "not-applied");
            self.reason = info.reason;
        }
    }

    fn take_bad_request(&mut self, bad: Result<rpc::BadRequest, prost::DecodeError>) {
        for violation in bad.map(|bad| bad.field_violations).unwrap_or_default() {
            let (field, description) = (violation.field, violation.description);
            self.violations.push(FieldViolation { field, description });
        }
    }

    fn take_retry(&mut self, retry: Result<rpc::RetryInfo, prost::DecodeError>) {
        let delay = retry.ok().and_then(|retry| retry.retry_delay);
        self.retry_after = delay.and_then(|delay| Duration::try_from(delay).ok());
    }

    fn take_quota(&mut self, quota: Result<rpc::QuotaFailure, prost::DecodeError>) {
        let first = quota.ok().and_then(|quota| quota.violations.into_iter().next());
        self.quota = first.map(|v| QuotaViolation { subject: v.subject, description: v.description });
    }
}

// The reason tells apart what shares a code.
fn kind_of(code: i32, reason: &str) -> ErrorKind {
    match (reason, code) {
        ("RATE_LIMITED", _) => ErrorKind::RateLimited,
        ("OVERLOADED", _) => ErrorKind::Overloaded,
        (_, 1) => ErrorKind::Cancelled,
        (_, 3) => ErrorKind::InvalidArgument,
        (_, 4) => ErrorKind::DeadlineExceeded,
        (_, 5) => ErrorKind::NotFound,
        (_, 7) => ErrorKind::PermissionDenied,
        (_, 8) => ErrorKind::ResourceExhausted,
        (_, 9) => ErrorKind::FailedPrecondition,
        (_, 11) => ErrorKind::OutOfRange,
        (_, 12) => ErrorKind::Unimplemented,
        (_, 14) => ErrorKind::Unavailable,
        (_, 16) => ErrorKind::Unauthenticated,
        _ => ErrorKind::Internal,
    }
}
