//! How far two row sets are the same list.

use crate::page::tokens::{Span, Tokens};

/// Upper bound of [`overlap`], by the lengths alone.
pub fn most_overlap(a: &[Span], b: &[Span]) -> f64 {
    2.0 * a.len().min(b.len()) as f64 / (a.len() + b.len()).max(1) as f64
}

/// Dice coefficient of two row sets: 2m / (n₁ + n₂), where m counts the pairs with nearly the same text.
pub fn overlap(tokens: &Tokens<'_>, a: &[Span], b: &[Span]) -> f64 {
    let (mut i, mut j, mut same) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let both = Span { start: a[i].start.max(b[j].start), stop: a[i].stop.min(b[j].stop) };
        if both.start < both.stop {
            let shared = tokens.weight(both);
            let all = tokens.weight(a[i]) + tokens.weight(b[j]) - shared;
            if f64::from(shared) >= 0.8 * f64::from(all) {
                same += 1;
            }
        }
        if a[i].stop <= b[j].stop {
            i += 1;
        } else {
            j += 1;
        }
    }
    2.0 * f64::from(same) / (a.len() + b.len()).max(1) as f64
}
