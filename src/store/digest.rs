//! Hashes of records: the key hash identifies a record from run to run, the digest tells whether two generations are
//! equal. Both are stored, so the algorithm never changes: SipHash-1-3 of 128 bits with zero keys.

use siphasher::sip128::{Hasher128, SipHasher13};
use std::hash::Hasher;

use super::{StoreError, StoreResult};

/// Hash of the cells that identify a record from run to run.
pub(super) type KeyHash = [u8; 16];

/// Digest of one record, from its non-empty cells under their column names. Empty cells do not count, so that a column
/// which only a later page has does not change the records before it.
pub(super) fn record_digest<'a>(cells: impl Iterator<Item = (&'a str, &'a str)>) -> u128 {
    let mut hasher = SipHasher13::new();
    for (name, text) in cells {
        hasher.write(name.as_bytes());
        // Neither byte occurs in UTF-8, so two different records never have the same encoding.
        hasher.write(&[0xff]);
        hasher.write(text.as_bytes());
        hasher.write(&[0xfe]);
    }
    hasher.finish128().as_u128()
}

/// Half of a record's digest, enough to tell whether it has changed.
pub(super) fn first_half(record: u128) -> u64 {
    (record >> 64) as u64
}

/// Digest of a record's texts, as long as the full-text index stores it.
pub(super) fn short(record: u128) -> i64 {
    record as i64
}

/// Digest of a generation: the sum over its records, so it does not depend on the order in which a site lists them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Digest(u128);

impl Digest {
    pub fn add(&mut self, record: u128) {
        self.0 = self.0.wrapping_add(record);
    }

    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }

    pub fn from_bytes(bytes: &[u8]) -> StoreResult<Digest> {
        let bytes = bytes.try_into().map_err(|_| StoreError::InvalidValue("a digest without 16 bytes".to_owned()))?;
        Ok(Digest(u128::from_be_bytes(bytes)))
    }
}
