//! Random ids, and tokens that prove that an id was given out here: an HMAC of it, with a key that nobody else knows.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Length of an id: 128 random bits cannot be guessed.
const BYTES: usize = 16;

/// Header in which scripts send the CSRF token; forms send it in a field.
pub(super) const CSRF_HEADER: &str = "x-pieme-token";
pub(super) const CSRF_FIELD: &str = "token";

pub(super) struct KeyedHash(hmac::Key);

impl KeyedHash {
    pub fn new(key: &[u8]) -> KeyedHash {
        KeyedHash(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The token that belongs to this id.
    pub fn token(&self, id: &str) -> String {
        hex(hmac::sign(&self.0, id.as_bytes()).as_ref())
    }

    /// Compares in constant time.
    pub fn verify(&self, id: &str, token: &str) -> bool {
        unhex(token).is_some_and(|tag| hmac::verify(&self.0, id.as_bytes(), &tag).is_ok())
    }
}

/// A new unguessable id, in hexadecimal.
pub(super) fn random_id() -> String {
    hex(&random_bytes::<BYTES>())
}

/// Cryptographically secure random bytes.
pub(super) fn random_bytes<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the kernel has random bytes");
    bytes
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pair = |at: usize| text.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
    (text.len() <= 128).then(|| (0..text.len()).step_by(2).map(pair).collect())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_one_name_and_one_key() {
        let (key, other) = (KeyedHash::new(&[1]), KeyedHash::new(&[2]));
        let token = key.token("a");
        assert!(key.verify("a", &token));
        for (key, id, token) in [
            (&key, "b", token.as_str()),
            (&other, "a", &token),
            (&key, "a", ""),
            (&key, "a", "é"),
            (&key, "a", "0"),
            (&key, "a", &token[2..]),
        ] {
            assert!(!key.verify(id, token), "{id} {token}");
        }
        assert_ne!(random_id(), random_id());
    }
}
