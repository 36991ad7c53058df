//! The input that fills a form in the browser engine: which element gets which value, and which button is pressed.
//! Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::fill::{FormError, SubmitButton, fields_with};
use super::{FieldKind, Form, FormField};
use crate::page::{NodeId, Tree};

/// An element of the browser's page, as the n-th element of its tag. The browser's DOM and our parsed copy agree on
/// that, however the page is nested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ElementPosition {
    tag: String,
    nth: usize,
}

/// The values of a form, and the button that sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrowserInput {
    form: ElementPosition,
    fields: Vec<FieldInput>,
    /// `None`: the form is sent as by the Enter key.
    button: Option<ElementPosition>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct FieldInput {
    place: ElementPosition,
    #[serde(flatten)]
    what: InputValue,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum InputValue {
    Value(String),
    On(bool),
    Chosen(Vec<String>),
}

impl ElementPosition {
    pub fn of(tree: &Tree, node: NodeId) -> ElementPosition {
        let tag = tree.tag(node).to_owned();
        let nth = tree.elements(&tag).take_while(|&it| it != node).count();
        ElementPosition { tag, nth }
    }
}

impl BrowserInput {
    /// Only the fields that `values` change: a page's scripts may watch every field.
    pub fn new(
        form: &Form,
        tree: &Tree,
        values: &BTreeMap<String, String>,
        press: SubmitButton<'_>,
    ) -> Result<BrowserInput, FormError> {
        let fields = fields_with(form, values)?;
        let changed = form.fields.iter().zip(&fields).filter_map(|(before, after)| change(before, after));
        Ok(BrowserInput {
            form: ElementPosition::of(tree, form.node),
            fields: changed.map(|(node, what)| FieldInput { place: ElementPosition::of(tree, node), what }).collect(),
            button: press.find_in(form)?.map(|button| ElementPosition::of(tree, button.node)),
        })
    }
}

fn change(before: &FormField, after: &FormField) -> Option<(NodeId, InputValue)> {
    let chosen = |field: &FormField| -> Vec<String> {
        field.options.iter().filter(|it| it.selected).map(|it| it.value.clone()).collect()
    };
    let what = match after.kind {
        FieldKind::Checkbox | FieldKind::Radio if before.checked != after.checked => InputValue::On(after.checked),
        FieldKind::Select if chosen(before) != chosen(after) => InputValue::Chosen(chosen(after)),
        FieldKind::Checkbox | FieldKind::Radio | FieldKind::Select | FieldKind::File => return None,
        _ if before.value != after.value => InputValue::Value(after.value.clone()),
        _ => return None,
    };
    Some((after.node, what))
}

#[cfg(test)]
mod tests {
    use super::super::find_all;
    use super::*;

    #[test]
    fn only_what_changes_is_typed_and_each_element_is_named_by_its_place() {
        let tree = Tree::parse(
            "<form><input name=other></form><form><input name=user value=old><input type=password name=pw>\
             <input type=checkbox name=stay checked><select name=town><option>Truro<option>Halifax</select>\
             <button>Help</button><button name=go>Go</button></form>",
        );
        let values = [("user", "anna"), ("stay", "no"), ("town", "halifax")];
        let values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let filling =
            BrowserInput::new(&find_all(&tree)[1], &tree, &values, SubmitButton::Named("go")).expect("all are there");
        let expected = serde_json::json!({
            "form": { "tag": "form", "nth": 1 },
            "fields": [
                { "place": { "tag": "input", "nth": 1 }, "value": "anna" },
                { "place": { "tag": "input", "nth": 3 }, "on": false },
                { "place": { "tag": "select", "nth": 0 }, "chosen": ["Halifax"] },
            ],
            "button": { "tag": "button", "nth": 1 },
        });
        assert_eq!(serde_json::to_value(&filling).expect("plain data"), expected);
    }
}
