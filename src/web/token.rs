//! Random names, and the tokens that go with them: nobody can make one without the key, which only this process has.

use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Sixteen bytes cannot be guessed.
const BYTES: usize = 16;

pub struct Key(hmac::Key);

impl Key {
    pub fn new() -> Key {
        Key(hmac::Key::new(hmac::HMAC_SHA256, &random::<32>()))
    }

    /// What the forms carry of somebody who is known by this.
    pub fn token(&self, id: &str) -> String {
        hex(hmac::sign(&self.0, id.as_bytes()).as_ref())
    }

    /// Takes the same time whatever is wrong.
    pub fn is_token(&self, id: &str, token: &str) -> bool {
        unhex(token).is_some_and(|tag| hmac::verify(&self.0, id.as_bytes(), &tag).is_ok())
    }
}

/// A new name that nobody can guess.
pub fn name() -> String {
    hex(&random::<BYTES>())
}

/// Bytes that nobody can guess.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).expect("the kernel has random bytes");
    bytes
}

fn hex(bytes: &[u8]) -> String {
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
        let (key, other) = (Key::new(), Key::new());
        let token = key.token("a");
        assert!(key.is_token("a", &token));
        for (key, id, token) in [
            (&key, "b", token.as_str()),
            (&other, "a", &token),
            (&key, "a", ""),
            (&key, "a", "é"),
            (&key, "a", "0"),
            (&key, "a", &token[2..]),
        ] {
            assert!(!key.is_token(id, token), "{id} {token}");
        }
        assert_ne!(name(), name());
    }
}
