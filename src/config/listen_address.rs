//! The listen address of a server: a TCP address, a Unix socket, or off.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

const OFF: &str = "off";
const UNIX: &str = "unix:";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ListenAddress {
    Off,
    Tcp(SocketAddr),
    /// The socket's mode is 0660: the owner and the group may connect.
    Unix(PathBuf),
}

/// The text is not a listen address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not an address to listen on; write \"127.0.0.1:8642\", \"unix:/run/pieme/web.sock\" or \"off\"")]
pub struct ListenAddressError(String);

impl Default for ListenAddress {
    fn default() -> ListenAddress {
        ListenAddress::Tcp(SocketAddr::from(([127, 0, 0, 1], 8642)))
    }
}

impl ListenAddress {
    /// The TCP port; none where the system chooses one.
    pub(super) fn port(&self) -> Option<u16> {
        match self {
            ListenAddress::Tcp(address) => Some(address.port()).filter(|port| *port != 0),
            ListenAddress::Off | ListenAddress::Unix(_) => None,
        }
    }

    /// A relative path is relative to the folder of config.toml.
    pub(super) fn relative_to(self, folder: &Path) -> ListenAddress {
        match self {
            ListenAddress::Unix(path) => ListenAddress::Unix(folder.join(path)),
            other => other,
        }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Off => f.write_str(OFF),
            ListenAddress::Tcp(address) => address.fmt(f),
            ListenAddress::Unix(path) => write!(f, "{UNIX}{}", path.display()),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = ListenAddressError;

    fn from_str(text: &str) -> Result<ListenAddress, ListenAddressError> {
        if text == OFF {
            return Ok(ListenAddress::Off);
        }
        if let Some(path) = text.strip_prefix(UNIX).filter(|path| !path.is_empty()) {
            return Ok(ListenAddress::Unix(PathBuf::from(path)));
        }
        text.parse().map(ListenAddress::Tcp).map_err(|_| ListenAddressError(text.to_owned()))
    }
}

impl TryFrom<String> for ListenAddress {
    type Error = ListenAddressError;

    fn try_from(text: String) -> Result<ListenAddress, ListenAddressError> {
        text.parse()
    }
}

impl From<ListenAddress> for String {
    fn from(place: ListenAddress) -> String {
        place.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_its_text() {
        for text in ["off", "127.0.0.1:8642", "[::1]:80", "unix:/run/pieme/web.sock"] {
            assert_eq!(text.parse::<ListenAddress>().map(|place| place.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "8642", "localhost:8642", "unix:", "on"] {
            assert!(
                text.parse::<ListenAddress>().is_err_and(|why| why.to_string().contains("127.0.0.1:8642")),
                "{text}"
            );
        }
    }
}
