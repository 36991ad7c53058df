//! The names of a page's elements, each kept once and where it is: what points at one can be copied at no cost.

use std::cell::{Cell, OnceCell};

use html5ever::QualName;

/// A list that only grows. Its pieces grow too, so that there are few of them however many names a page makes up.
#[derive(Default)]
pub(super) struct NameArena {
    pieces: [OnceCell<Box<[OnceCell<QualName>]>>; PIECES],
    /// The piece that is being filled, and how far.
    at: Cell<(usize, usize)>,
}

/// Tags of an ordinary page.
const FIRST: usize = 64;
/// Each piece is twice as long as the one before: more than there can be nodes.
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
