//! The published service config as this client carries it out, since tonic has no retries of its own.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

/// What the service config says about repeating a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RetryPolicy {
    pub(crate) attempts_max: u32,
    pub(crate) wait_for_ready: bool,
    first_pause: Duration,
    pause_max: Duration,
    multiplier: f64,
    codes: Vec<String>,
    tokens_max: f64,
    token_ratio: f64,
}

impl RetryPolicy {
    /// Of a config that is known to be well formed; a test parses the one that is shipped.
    pub(crate) fn parse(config: &str) -> Option<Self> {
        let config: Value = serde_json::from_str(config).ok()?;
        let method = config.get("methodConfig")?.get(0)?;
        let retry = method.get("retryPolicy")?;
        let throttling = config.get("retryThrottling")?;
        let codes = retry.get("retryableStatusCodes")?.as_array()?;
        Some(RetryPolicy {
            attempts_max: u32::try_from(retry.get("maxAttempts")?.as_u64()?).ok()?,
            wait_for_ready: method.get("waitForReady")?.as_bool()?,
            first_pause: seconds(retry.get("initialBackoff")?)?,
            pause_max: seconds(retry.get("maxBackoff")?)?,
            multiplier: retry.get("backoffMultiplier")?.as_f64()?,
            codes: codes.iter().filter_map(|code| Some(code.as_str()?.to_owned())).collect(),
            tokens_max: throttling.get("maxTokens")?.as_f64()?,
            token_ratio: throttling.get("tokenRatio")?.as_f64()?,
        })
    }

    /// One attempt, and no waiting.
    pub(crate) fn off(self) -> Self {
        RetryPolicy { attempts_max: 1, wait_for_ready: false, ..self }
    }

    /// Whether anything is repeated at all.
    pub(crate) fn repeats(&self) -> bool {
        self.attempts_max > 1
    }

    pub(crate) fn is_retryable(&self, code: tonic::Code) -> bool {
        // The names of the config are those of gRPC; only one of them is in it.
        code == tonic::Code::Unavailable && self.codes.iter().any(|name| name == "UNAVAILABLE")
    }

    /// Before attempt `attempt` + 1, within 20 %.
    pub(crate) fn pause(&self, attempt: u32) -> Duration {
        let exponent = i32::try_from(attempt.min(30)).unwrap_or(0) - 1;
        let pause = self.first_pause.mul_f64(self.multiplier.powi(exponent)).min(self.pause_max);
        pause.mul_f64(0.8 + 0.4 * random())
    }
}

fn seconds(value: &Value) -> Option<Duration> {
    value.as_str()?.strip_suffix('s')?.parse().ok().map(Duration::from_secs_f64)
}

// From 0 to 1. Good enough to spread pauses, and no reason for a dependency.
fn random() -> f64 {
    let bits = RandomState::new().build_hasher().finish();
    (bits >> 11) as f64 / (1u64 << 53) as f64
}

/// Stops the repeating while most calls fail, so that a crowd does not press on a service that is down.
pub(crate) struct Throttle {
    tokens: Mutex<f64>,
    tokens_max: f64,
    ratio: f64,
}

impl Throttle {
    pub(crate) fn new(policy: &RetryPolicy) -> Self {
        Throttle { tokens: Mutex::new(policy.tokens_max), tokens_max: policy.tokens_max, ratio: policy.token_ratio }
    }

    pub(crate) fn succeeded(&self) {
        let mut tokens = self.tokens.lock().expect("nothing panics under it");
        *tokens = (*tokens + self.ratio).min(self.tokens_max);
    }

    /// Whether the failed attempt may be repeated.
    pub(crate) fn failed(&self) -> bool {
        let mut tokens = self.tokens.lock().expect("nothing panics under it");
        *tokens = (*tokens - 1.0).max(0.0);
        *tokens > self.tokens_max / 2.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn published() -> RetryPolicy {
        RetryPolicy::parse(crate::SERVICE_CONFIG).expect("the service config is well formed")
    }

    #[test]
    fn the_service_config_says_what_the_documentation_says() {
        let policy = published();
        assert_eq!(policy.attempts_max, 4);
        assert!(policy.wait_for_ready);
        assert_eq!(policy.first_pause, Duration::from_millis(50));
        assert_eq!(policy.pause_max, Duration::from_secs(1));
        assert_eq!(policy.multiplier, 2.0);
        assert_eq!(policy.codes, ["UNAVAILABLE"]);
        assert_eq!((policy.tokens_max, policy.token_ratio), (100.0, 0.1));
    }

    #[test]
    fn pauses_double_to_the_longest_within_a_fifth() {
        let policy = published();
        for (attempt, wanted) in [(1, 50.0), (2, 100.0), (3, 200.0), (6, 1000.0), (60, 1000.0)] {
            let ms = policy.pause(attempt).as_secs_f64() * 1000.0;
            assert!((wanted * 0.79..=wanted * 1.21).contains(&ms), "{} before {}", ms, attempt + 1);
        }
    }

    #[test]
    fn repeating_stops_after_fifty_failures_and_comes_back_with_successes() {
        let throttle = Throttle::new(&published());
        assert_eq!((0..100).take_while(|_| throttle.failed()).count(), 49);
        for _ in 0..600 {
            throttle.succeeded();
        }
        assert!(throttle.failed());
    }
}
