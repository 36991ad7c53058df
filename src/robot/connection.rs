//! What a failed connection means: found inside layers of errors.

use std::error::Error as StdError;

use hyper_util::client::legacy;
use url::Url;

use super::session::{Session, shown};
use super::trouble::{Lost, SessionError};
use crate::model::Missed;

impl Session {
    /// Finds the reason inside the layers of errors.
    pub(super) fn connection_error(&self, url: &Url, error: &(dyn StdError + 'static)) -> SessionError {
        let url = shown(url);
        let reason = innermost(error);
        match missed(error) {
            Some(Missed::Refused(refusal)) => SessionError::Refused { url, refusal },
            Some(Missed::Name(reason)) => SessionError::Name { url, reason },
            Some(Missed::TooLong) => SessionError::NoConnection { url, waited: self.patience.connect },
            Some(Missed::Declined(reason)) => SessionError::Connection { url, reason, lost: Lost::Before },
            Some(Missed::Shortage(reason)) => SessionError::Shortage { url, reason },
            Some(Missed::Connection(reason)) => SessionError::Connection { url, reason, lost: Lost::Nonsense },
            None if causes(error).any(|it| it.is::<rustls::Error>()) => SessionError::Tls { url, reason },
            None => SessionError::Connection { url, reason, lost: lost(error) },
        }
    }
}

/// When did it go wrong?
fn lost(error: &(dyn StdError + 'static)) -> Lost {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let kinds = causes(error).filter_map(|it| it.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    if causes(error).filter_map(|it| it.downcast_ref::<legacy::Error>()).any(legacy::Error::is_connect) {
        return Lost::Nonsense;
    }
    let broke = |kind| matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof);
    let cut = causes(error).filter_map(|it| it.downcast_ref::<hyper::Error>()).any(hyper::Error::is_incomplete_message);
    if cut || kinds.into_iter().any(broke) { Lost::MidWay } else { Lost::Nonsense }
}

/// Why there was no connection, where that is what went wrong.
pub(super) fn missed(error: &(dyn StdError + 'static)) -> Option<Missed> {
    causes(error).find_map(|it| it.downcast_ref::<Missed>()).cloned()
}

/// The last error of the chain says what happened; the ones above say only where.
pub fn innermost(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// An error and all that it came from.
pub(super) fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&it| {
        // What an io::Error wraps is not its source.
        let wrapped = it.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        wrapped.map(|it| it as &(dyn StdError + 'static)).or_else(|| it.source())
    })
}
