//! An arena of element names: each name is stored once at a fixed address, so that a reference to it can be copied
//! freely.

use std::cell::{Cell, OnceCell};

use html5ever::QualName;

/// An append-only list in chunks. Each chunk is twice as large as the last, so there are few however many names a page
/// invents.
#[derive(Default)]
pub(super) struct NameArena {
    pieces: [OnceCell<Box<[OnceCell<QualName>]>>; PIECES],
    /// The chunk being filled, and its length.
    at: Cell<(usize, usize)>,
}

/// Distinct tags of an ordinary page.
const FIRST: usize = 64;
/// Chunks double in size: this many hold more names than a page can have nodes.
const PIECES: usize = 20;

impl NameArena {
    pub fn intern(&self, name: QualName) -> &QualName {
        let (mut piece, mut place) = self.at.get();
        if place == FIRST << piece {
            (piece, place) = (piece + 1, 0);
        }
        self.at.set((piece, place + 1));
        let cells = self.pieces[piece].get_or_init(|| (0..FIRST << piece).map(|_| OnceCell::new()).collect());
        cells[place].get_or_init(|| name)
    }
}

#[cfg(test)]
mod tests {
    use html5ever::{LocalName, ns};

    use super::*;

    #[test]
    fn names_stay_where_they_are_while_more_come() {
        let names = NameArena::default();
        let name = |i: usize| QualName::new(None, ns!(html), LocalName::from(format!("x{i}")));
        let kept: Vec<&QualName> = (0..1_000).map(|i| names.intern(name(i))).collect();
        assert!(kept.iter().enumerate().all(|(i, it)| **it == name(i)));
    }
}
