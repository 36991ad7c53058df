//! A form as a person fills it in a browser: which element gets what, and which is pressed. Pure.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Field, Form, FormError, Kind, Press};
use crate::page::{NodeId, Tree};

/// An element of a page that a browser shows: the so-many-th of its tag. What a browser hands out and what we read of it agree
/// on that, however odd the page is nested.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    tag: String,
    nth: usize,
}

/// What is typed, and what sends it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Filling {
    form: Place,
    fields: Vec<Typed>,
    /// None: the form is sent as by Enter.
    button: Option<Place>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Typed {
    place: Place,
    #[serde(flatten)]
    what: What,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum What {
    Value(String),
    On(bool),
    Chosen(Vec<String>),
}

impl Place {
    pub fn of(tree: &Tree, node: NodeId) -> Place {
        let tag = tree.tag(node).to_owned();
        let nth = tree.elements(&tag).take_while(|&it| it != node).count();
        Place { tag, nth }
    }
}

impl Form {
    /// What changes when `values` are typed in, and nothing else: a page's scripts may watch every field.
    pub fn filling(
        &self,
        tree: &Tree,
        values: &BTreeMap<String, String>,
        press: Press<'_>,
    ) -> Result<Filling, FormError> {
        let mut fields = self.fields.clone();
        for (wanted, value) in values {
            self.type_in(&mut fields, wanted, value)?;
        }
        let changed = self.fields.iter().zip(&fields).filter_map(|(before, after)| change(before, after));
        Ok(Filling {
            form: Place::of(tree, self.node),
            fields: changed.map(|(node, what)| Typed { place: Place::of(tree, node), what }).collect(),
            button: self.press(press)?.map(|button| Place::of(tree, button.node)),
        })
    }
}

fn change(before: &Field, after: &Field) -> Option<(NodeId, What)> {
    let chosen = |field: &Field| -> Vec<String> {
        field.options.iter().filter(|it| it.chosen).map(|it| it.value.clone()).collect()
    };
    let what = match after.kind {
        Kind::Checkbox | Kind::Radio if before.on != after.on => What::On(after.on),
        Kind::Select if chosen(before) != chosen(after) => What::Chosen(chosen(after)),
        Kind::Checkbox | Kind::Radio | Kind::Select | Kind::File => return None,
        _ if before.value != after.value => What::Value(after.value.clone()),
        _ => return None,
    };
    Some((after.node, what))
}

#[cfg(test)]
mod tests {
    use super::super::all;
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
        let filling = all(&tree)[1].filling(&tree, &values, Press::Named("go")).expect("all are there");
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
