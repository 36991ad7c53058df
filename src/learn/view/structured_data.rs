//! Values that the page also states with a name: in structured data (JSON-LD) and in the options of its forms.

use std::collections::HashMap;

use super::grouping::count_keys;
use super::text::clean_key;
use crate::page::{NodeId, Tree};

/// Maximum bytes of structured data, and maximum number of values, that are read from one page.
const MAX_BYTES: usize = 1_000_000;
const MAX_VALUES: usize = 20_000;
/// Minimum share of a column's values that must be stated under the name.
const MIN_STATED_SHARE: f64 = 0.5;
/// Minimum number of options: a choice of two (yes and no) fits too many columns.
const MIN_CHOICES: usize = 3;

/// The names under which each value is stated.
pub struct StructuredData(HashMap<String, Vec<String>>);

impl StructuredData {
    pub fn read(tree: &Tree) -> StructuredData {
        let mut stated = StructuredData(HashMap::new());
        let labels: HashMap<&str, NodeId> =
            tree.elements("label").filter_map(|label| Some((tree.attribute(label, "for")?, label))).collect();
        let mut bytes = 0;
        for node in tree.subtree(tree.root()) {
            match tree.tag(node) {
                "script" if tree.attribute(node, "type").is_some_and(|it| it.contains("ld+json")) => {
                    let source: String = tree.subtree(node).filter_map(|it| tree.own_text(it)).collect();
                    bytes += source.len();
                    if bytes <= MAX_BYTES
                        && let Ok(data) = serde_json::from_str(&source)
                    {
                        stated.properties("", &data);
                    }
                }
                "select" => stated.choices(tree, node, &labels),
                _ => {}
            }
        }
        stated
    }

    /// The name under which most of these values are stated.
    pub fn name(&self, values: &[&str]) -> Option<String> {
        let counts = count_keys(values.iter().filter_map(|value| self.0.get(&key(value))).flatten());
        let (name, count) = counts.into_iter().max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(a.0)))?;
        (count >= 2 && count as f64 >= MIN_STATED_SHARE * values.len() as f64).then(|| name.to_owned())
    }

    fn properties(&mut self, name: &str, data: &serde_json::Value) {
        use serde_json::Value;
        match data {
            Value::Object(object) => {
                // `"brand": {"@type": "Brand", "name": "Oak & Co"}` states the brand, not a name.
                let holds_a_list = object.values().any(Value::is_array);
                for (own, value) in object {
                    let outer = own == "name" && !name.is_empty() && !holds_a_list && object.len() <= 3;
                    self.properties(if outer { name } else { own }, value);
                }
            }
            Value::Array(list) => list.iter().for_each(|value| self.properties(name, value)),
            Value::String(text) => self.add_name(text, name),
            Value::Number(number) => self.add_name(&number.to_string(), name),
            Value::Bool(_) | Value::Null => {}
        }
    }

    fn choices(&mut self, tree: &Tree, select: NodeId, labels: &HashMap<&str, NodeId>) {
        let options: Vec<NodeId> = tree.subtree(select).filter(|&node| tree.tag(node) == "option").collect();
        let Some(name) = label(tree, select, labels).filter(|_| options.len() >= MIN_CHOICES) else { return };
        for option in options {
            self.add_name(&tree.text(option), &name);
        }
    }

    fn add_name(&mut self, value: &str, name: &str) {
        let Some(name) = clean_key(name).filter(|_| self.0.len() < MAX_VALUES) else { return };
        let names = self.0.entry(key(value)).or_default();
        if !names.contains(&name) && names.len() < 8 {
            names.push(name);
        }
    }
}

/// The name of a form field: its label, the label around it, or else its `aria-label` or `name`.
fn label(tree: &Tree, field: NodeId, labels: &HashMap<&str, NodeId>) -> Option<String> {
    let by_id = tree.attribute(field, "id").and_then(|id| labels.get(id));
    let own = |label: NodeId| tree.children(label).find_map(|node| tree.own_text(node)).map(str::to_owned);
    let around = || tree.ancestors(field).find(|&node| tree.tag(node) == "label").and_then(own);
    let said = by_id.map(|&label| tree.text(label)).or_else(around);
    said.or_else(|| tree.attribute(field, "aria-label").or(tree.attribute(field, "name")).map(str::to_owned))
}

fn key(value: &str) -> String {
    value.trim().to_lowercase()
}
