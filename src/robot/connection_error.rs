//! Classifies failed connections by walking the chain of error sources.

use std::error::Error as StdError;
use std::time::Duration;

use hyper_util::client::legacy;
use url::Url;

use super::error::{ConnectionLoss, SessionError};
use crate::model::ConnectError;
use crate::model::address::display_url;

/// The error of a request whose connection failed; `waited` is the timeout of connecting.
pub(super) fn connection_error(url: &Url, error: &(dyn StdError + 'static), waited: Duration) -> SessionError {
    let url = display_url(url);
    let reason = root_cause(error);
    match connect_failure(error) {
        Some(ConnectError::Refused(refusal)) => SessionError::Refused { url, refusal },
        Some(ConnectError::Name(reason)) => SessionError::UnknownHost { url, reason },
        Some(ConnectError::TooLong) => SessionError::NoConnection { url, waited },
        Some(ConnectError::Declined(reason)) => {
            SessionError::Connection { url, reason, loss: ConnectionLoss::BeforeSend }
        }
        Some(ConnectError::Shortage(reason)) => SessionError::ResourceShortage { url, reason },
        Some(ConnectError::Connection(reason)) => {
            SessionError::Connection { url, reason, loss: ConnectionLoss::InvalidResponse }
        }
        None if causes(error).any(|it| it.is::<rustls::Error>()) => SessionError::Tls { url, reason },
        None => SessionError::Connection { url, reason, loss: connection_loss(error) },
    }
}

fn connection_loss(error: &(dyn StdError + 'static)) -> ConnectionLoss {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};
    let kinds = causes(error).filter_map(|it| it.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
    if causes(error).filter_map(|it| it.downcast_ref::<legacy::Error>()).any(legacy::Error::is_connect) {
        return ConnectionLoss::InvalidResponse;
    }
    let broke = |kind| matches!(kind, BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof);
    let cut = causes(error).filter_map(|it| it.downcast_ref::<hyper::Error>()).any(hyper::Error::is_incomplete_message);
    if cut || kinds.into_iter().any(broke) { ConnectionLoss::AfterSend } else { ConnectionLoss::InvalidResponse }
}

/// The guard's or connector's error inside the chain, if the connection was never made.
pub(super) fn connect_failure(error: &(dyn StdError + 'static)) -> Option<ConnectError> {
    causes(error).find_map(|it| it.downcast_ref::<ConnectError>()).cloned()
}

/// The last error of the chain: it says what happened, the ones above say only where.
pub fn root_cause(error: &(dyn StdError + 'static)) -> String {
    causes(error).last().map_or_else(String::new, ToString::to_string)
}

/// The error and its chain of sources.
pub(super) fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&it| {
        // `source()` of an io::Error skips the error that it wraps.
        let wrapped = it.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        wrapped.map(|it| it as &(dyn StdError + 'static)).or_else(|| it.source())
    })
}
