//! Compares where in their templates the values of two columns come from.

use crate::learn::template::{ColumnSource, Recipe, Slot, Template, Variant};

// Scores, in order: the same label before the value; the same recipe for a derived column; the same way to split; the
// same class of the innermost element; the same path; both plain slots.
const SAME_LABEL: f64 = 3.0;
const SAME_RECIPE: f64 = 2.0;
const SAME_PIECE: f64 = 0.6;
const SAME_CLASS: f64 = 0.8;
const SAME_PATH: f64 = 0.3;
const SAME_SOURCE_KIND: f64 = 0.3;

/// How much the origins of two columns, of two different templates, suggest that they are the same column.
pub fn origins_alike(before: (&Template, usize), now: (&Template, usize)) -> f64 {
    match (origin(before), origin(now)) {
        (Some((_, ColumnSource::Derived(was))), Some((_, ColumnSource::Derived(is)))) => recipes_alike(was, is),
        (Some((was_in, ColumnSource::Slot(was))), Some((is_in, ColumnSource::Slot(is)))) => {
            SAME_SOURCE_KIND + slots_alike(&was_in.slots[*was], &is_in.slots[*is])
        }
        _ => 0.0,
    }
}

fn origin((template, column): (&Template, usize)) -> Option<(&Variant, &ColumnSource)> {
    template.variants.iter().find_map(|variant| Some((variant, variant.sources[column].as_ref()?)))
}

fn recipes_alike(was: &Recipe, is: &Recipe) -> f64 {
    match (was, is) {
        (Recipe::Label { label: was }, Recipe::Label { label: is }) if was == is => SAME_LABEL,
        // Slot numbers of two templates are unrelated.
        (Recipe::Piece { cut, first, last, .. }, Recipe::Piece { cut: other, first: from, last: to, .. })
            if (cut, first, last) == (other, from, to) =>
        {
            SAME_PIECE
        }
        _ if was == is => SAME_RECIPE,
        _ => 0.0,
    }
}

fn slots_alike(was: &Slot, is: &Slot) -> f64 {
    let last = |slot: &Slot| Some(slot.class_paths.first()?.0.rsplit('/').next()?.to_owned());
    let class = last(was).is_some_and(|step| step.contains('.') && Some(step) == last(is));
    let path = was.paths.first().map(|(path, _)| path) == is.paths.first().map(|(path, _)| path);
    let if_so = |is_so: bool, worth: f64| if is_so { worth } else { 0.0 };
    if_so(class, SAME_CLASS) + if_so(path, SAME_PATH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::template::SplitRule;

    #[test]
    fn a_label_says_more_than_a_cut_and_the_number_of_a_slot_nothing() {
        let label = |text: &str| Recipe::Label { label: text.to_owned() };
        let piece = |slot: usize, first: i32| Recipe::Piece { slot, cut: SplitRule::default(), first, last: first };
        let check = |was: &Recipe, is: &Recipe, expected: f64| {
            assert!((recipes_alike(was, is) - expected).abs() < 1e-9, "{was:?} {is:?}");
        };
        check(&label("Case Type"), &label("Case Type"), SAME_LABEL);
        check(&label("Case Type"), &label("Author"), 0.0);
        check(&piece(3, 1), &piece(3, 1), SAME_PIECE);
        check(&piece(3, 1), &piece(8, 1), SAME_PIECE);
        check(&piece(3, 1), &piece(3, 2), 0.0);
        check(&Recipe::Heading, &Recipe::Heading, SAME_RECIPE);
        check(&Recipe::Heading, &piece(3, 1), 0.0);
    }
}
