//! What a failed connection means: found inside reqwest's layers of errors.

use std::error::Error as StdError;

use url::Url;

use super::guard::Refusal;
use super::session::{Session, shown};
use super::trouble::{Lost, SessionError};

impl Session {
    /// Finds the reason inside reqwest's layers of errors.
    pub(super) fn connection_error(&self, url: &Url, error: &reqwest::Error) -> SessionError {
        let url = shown(url);
        let reason = innermost(error);
        if let Some(refusal) = causes(error).find_map(|it| it.downcast_ref::<Refusal>()) {
            return SessionError::Refused { url, refusal: refusal.clone() };
        }
        if causes(error).any(|it| it.is::<rustls::Error>()) {
            return SessionError::Tls { url, reason };
        }
        if error.is_dns() {
            return SessionError::Name { url, reason };
        }
        if error.is_connect() && error.is_timeout() {
            return SessionError::NoConnection { url, waited: self.patience.connect };
        }
        SessionError::Connection { url, reason, lost: lost(error) }
    }
}

/// When did it go wrong?
fn lost(error: &reqwest::Error) -> Lost {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionRefused, ConnectionReset, UnexpectedEof};
    let kinds = causes(error).filter_map(|it| it.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    if error.is_connect() {
        return if kinds.into_iter().any(|kind| kind == ConnectionRefused) { Lost::Before } else { Lost::Nonsense };
    }
    let broke = |kind| matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof);
    let cut = causes(error).filter_map(|it| it.downcast_ref::<hyper::Error>()).any(hyper::Error::is_incomplete_message);
    if cut || kinds.into_iter().any(broke) { Lost::MidWay } else { Lost::Nonsense }
}

/// The last error of the chain says what happened; the ones above say only where.
pub fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// An error and all that it came from.
fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&it| {
        // What an io::Error wraps is not its source.
        let wrapped = it.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        wrapped.map(|it| it as &(dyn StdError + 'static)).or_else(|| it.source())
    })
}
