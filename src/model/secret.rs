//! A secret, with where it may be sent.

use std::fmt;

use serde::{Deserialize, Serialize};
use url::Url;

use super::origin::Origin;

/// The value of a secret, with the origins that config.toml grants it for. `Debug` prints no value.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GrantedSecret {
    pub value: String,
    pub origins: Vec<Origin>,
}

impl GrantedSecret {
    /// Whether the secret may be part of a request to this address.
    pub fn may_go_to(&self, url: &Url) -> bool {
        Origin::of(url).is_some_and(|origin| self.origins.contains(&origin))
    }

    /// The origins as a person reads them; `no origin` without one.
    pub fn origins_text(&self) -> String {
        let origins: Vec<&str> = self.origins.iter().map(Origin::as_str).collect();
        if origins.is_empty() { "no origin".to_owned() } else { origins.join(", ") }
    }
}

impl fmt::Debug for GrantedSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GrantedSecret").field("origins", &self.origins).finish_non_exhaustive()
    }
}
