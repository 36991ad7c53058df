//! Retries with exponential backoff: only temporary failures, only idempotent requests, and never sooner than
//! `Retry-After` asks.

use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use chrono::{DateTime, Utc};

use crate::model::{PageMeta, TimeSpan};
use crate::robot::error::{ConnectionLoss, SessionError};
use crate::robot::request::{PageRequest, RequestOutcome};

/// The longest pause of our own backoff.
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// A longer `Retry-After` is a mistake, or an attempt to get rid of us (docs/design/safety.md 6.23).
const MAX_RETRY_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);

/// The retries of one request.
pub struct Retries {
    pauses: ExponentialBackoff,
    most: u32,
    made: u32,
}

impl Retries {
    pub fn new(most: u32, first_delay: Duration) -> Retries {
        let pauses = ExponentialBuilder::default()
            .with_min_delay(first_delay)
            .with_max_delay(MAX_BACKOFF)
            .with_max_times(usize::try_from(most).unwrap_or(usize::MAX))
            .with_jitter()
            .build();
        Retries { pauses, most, made: 0 }
    }

    /// The pause before the next attempt, at least as long as the site wishes; `None` if this outcome is final.
    pub fn next_pause(
        &mut self,
        request: &PageRequest,
        came: &Result<RequestOutcome, SessionError>,
        wish: Option<Duration>,
        deadline: Instant,
    ) -> Option<Duration> {
        let pause = if is_retryable(request, came) { self.pauses.next() } else { None };
        let wait = pause.map(|pause| pause.max(wish.unwrap_or_default()));
        let wait = wait.filter(|wait| Instant::now() + *wait < deadline)?;
        self.made += 1;
        Some(wait)
    }

    /// `retry 1 of 2 in 1s`
    pub fn describe(&self, wait: Duration) -> String {
        format!("retry {} of {} in {}", self.made, self.most, rounded(wait))
    }
}

/// The pause that the site asks for.
pub fn wished_pause(came: &Result<RequestOutcome, SessionError>, now: DateTime<Utc>) -> Option<Duration> {
    match came {
        Ok(RequestOutcome::Page(page)) => retry_after(&page.meta, now),
        Ok(RequestOutcome::Redirect { .. } | RequestOutcome::CacheMiss) | Err(_) => None,
    }
}

/// Whether a retry may help and is allowed. A form that was sent may have taken effect although no response came.
fn is_retryable(request: &PageRequest, came: &Result<RequestOutcome, SessionError>) -> bool {
    match came {
        Ok(RequestOutcome::Page(page)) => !request.post && matches!(page.meta.status, 429 | 502 | 503 | 504),
        Ok(RequestOutcome::Redirect { .. } | RequestOutcome::CacheMiss) => false,
        Err(error) => match error.connection_loss() {
            Some(ConnectionLoss::BeforeSend) => true,
            Some(ConnectionLoss::AfterSend) => !request.post,
            Some(ConnectionLoss::InvalidResponse) | None => false,
        },
    }
}

/// The pause that `Retry-After` asks for, in seconds or as a date; an invalid value is ignored.
pub fn retry_after(page: &PageMeta, now: DateTime<Utc>) -> Option<Duration> {
    if !matches!(page.status, 429 | 503) {
        return None;
    }
    let text = page.header("retry-after")?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that does not fit is a very long time.
        let seconds = text.parse().unwrap_or(u64::MAX);
        return Some(Duration::from_secs(seconds).min(MAX_RETRY_AFTER));
    }
    let date = DateTime::parse_from_rfc2822(text).ok()?;
    let wait = (date.with_timezone(&Utc) - now).to_std().unwrap_or_default();
    Some(wait.min(MAX_RETRY_AFTER))
}

/// A duration rounded up for showing: to 100 ms, from 10 s on to whole seconds.
pub fn rounded(time: Duration) -> TimeSpan {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    TimeSpan(Duration::from_millis(if ms < 10_000 { ms.div_ceil(100) * 100 } else { ms.div_ceil(1_000) * 1_000 }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robot::tests::meta;

    fn answer(status: u16, retry_after: &str) -> PageMeta {
        meta("https://shop.test/", status, &[("retry-after", retry_after)])
    }

    fn now() -> DateTime<Utc> {
        DateTime::parse_from_rfc3339("2026-11-16T08:00:00Z").expect("a time of the test").to_utc()
    }

    #[test]
    fn a_wish_for_peace_is_read_in_every_spelling_and_nonsense_is_none() {
        const WEEK: u64 = 7 * 24 * 3600;
        for (text, seconds) in [
            ("120", Some(120)),
            (" 0 ", Some(0)),
            ("99999999999", Some(WEEK)),
            ("99999999999999999999999999999", Some(WEEK)),
            ("-1", None),
            ("", None),
            ("soon", None),
            ("1e9", None),
            ("Mon, 16 Nov 2026 08:01:00 GMT", Some(60)),
            ("Mon, 16 Nov 2026 07:00:00 GMT", Some(0)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(WEEK)),
        ] {
            assert_eq!(retry_after(&answer(429, text), now()).map(|it| it.as_secs()), seconds, "{text:?}");
        }
        assert_eq!(retry_after(&answer(200, "120"), now()), None, "only who turns us away has a wish");
    }

    #[test]
    fn pauses_are_said_in_round_figures() {
        for (ms, said) in [(1_234, "1s300ms"), (12_345, "13s"), (2_000, "2s"), (7_200_000, "2h")] {
            assert_eq!(rounded(Duration::from_millis(ms)).to_string(), said);
        }
    }
}
