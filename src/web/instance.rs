//! The keys of this daemon's dashboard, and the names of its cookies. They are derived from one random key in the state
//! folder, so that they survive a restart. Browsers send a cookie to every port of a host: each dashboard of a host
//! needs names of its own.

use axum::http::header::HeaderMap;
use ring::{digest, hkdf};

use crate::config::Config;
use crate::tasks::FileError;
use crate::tasks::folder::{Folder, PRIVATE_FILE};

use super::token::{KeyedHash, hex, random_bytes, random_id};

const KEY_FILE: &str = "web-key";
const KEY_BYTES: usize = 32;

pub(super) struct Instance {
    /// Cookie of a logged-in user.
    pub session_cookie: String,
    /// Cookie of the login form, which its CSRF token belongs to.
    pub login_cookie: String,
    /// Cookie of a browser that has logged in before.
    pub device_cookie: String,
    pub csrf_key: KeyedHash,
    device_key: KeyedHash,
}

impl Instance {
    /// With the key of the state folder, which is created if necessary. Without it everything works until a restart.
    pub fn open(config: &Config) -> Instance {
        Instance::new(&stored_key(config).unwrap_or_else(|error| {
            tracing::warn!(%error, "dashboard: its key cannot be kept; everybody is logged out at the next restart");
            random_bytes()
        }))
    }

    fn new(key: &[u8; KEY_BYTES]) -> Instance {
        let name = hex(&digest::digest(&digest::SHA256, &[key, &b"name"[..]].concat()).as_ref()[..4]);
        let derived = |purpose: &[u8]| {
            let mut bytes = [0; KEY_BYTES];
            hkdf::Salt::new(hkdf::HKDF_SHA256, b"pieme dashboard")
                .extract(key)
                .expand(&[purpose], hkdf::HKDF_SHA256)
                .and_then(|derived| derived.fill(&mut bytes))
                .expect("32 bytes can be derived");
            KeyedHash::new(&bytes)
        };
        Instance {
            session_cookie: format!("pieme_session_{name}"),
            login_cookie: format!("pieme_login_{name}"),
            device_cookie: format!("pieme_device_{name}"),
            csrf_key: derived(b"csrf"),
            device_key: derived(b"device"),
        }
    }

    /// The value of a new device cookie: an id, and the proof that it was given out here.
    pub fn new_device(&self) -> String {
        let id = random_id();
        format!("{id}.{}", self.device_key.token(&id))
    }

    /// The id of the browser, if it has logged in before.
    pub fn device(&self, headers: &HeaderMap) -> Option<String> {
        let value = super::session::cookie(headers, &self.device_cookie)?;
        let (id, proof) = value.split_once('.')?;
        self.device_key.verify(id, proof).then(|| id.to_owned())
    }
}

fn stored_key(config: &Config) -> Result<[u8; KEY_BYTES], FileError> {
    let folder = Folder::open(&config.state)?;
    let known = folder.read_private(KEY_FILE, KEY_BYTES as u64)?;
    if let Some(key) = known.and_then(|bytes| bytes.try_into().ok()) {
        return Ok(key);
    }
    let key = random_bytes();
    folder.replace(KEY_FILE, &key, PRIVATE_FILE)?;
    Ok(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_to_the_instance_that_it_logged_in_to() {
        let (here, elsewhere) = (Instance::new(&[1; KEY_BYTES]), Instance::new(&[2; KEY_BYTES]));
        assert_ne!(here.session_cookie, elsewhere.session_cookie);
        let sent = |instance: &Instance, value: &str| {
            let cookie = format!("a=b; {}={value}", instance.device_cookie);
            instance.device(&HeaderMap::from_iter([(axum::http::header::COOKIE, cookie.parse().expect("a header"))]))
        };
        let value = here.new_device();
        assert_eq!(sent(&here, &value).as_deref(), value.split('.').next());
        assert_eq!(sent(&elsewhere, &value), None);
        assert_eq!(sent(&here, &value.replacen(|c: char| c.is_ascii_digit(), "f", 1)), None, "an invented id");
        assert_eq!(sent(&here, "x"), None);
    }
}
