//! The stored profile of a slot.

use serde::{Deserialize, Serialize};

use crate::learn::view::LeafKind;

/// The stored profile of a slot. Every list is bounded, commonest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    pub kind: LeafKind,
    /// Number of rows that have it.
    pub count: u32,
    pub paths: Vec<(String, u32)>,
    pub class_paths: Vec<(String, u32)>,
    /// Repeated values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<(String, u32)>,
    pub types: Vec<(u8, u32)>,
    /// Sibling counts, if other slots have the same path and only order distinguishes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<SiblingCounts>,
}

/// How many elements every row has at a slot's path, empty ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiblingCounts {
    pub elements: u32,
    /// The same for the path with classes, if all rows have the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classed: Option<u32>,
}

impl Slot {
    /// The value of all rows that have the slot, if it is the same in at least two.
    pub fn constant(&self) -> Option<&str> {
        let (value, count) = self.values.first()?;
        (self.count >= 2 && *count == self.count).then_some(value)
    }
}
