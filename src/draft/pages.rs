//! Analyses recorded pages: the form that was submitted, the location of a token, the links of the rows, lists in JSON.

use std::collections::BTreeSet;

use serde_json::Value;
use url::{Url, form_urlencoded};

use super::secret::is_csrf_token_name;
use crate::learn;
use crate::learn::LearnOptions;
use crate::page::form::{self, FilledForm, Form, FormPurpose, SubmitButton};
use crate::page::{NodeId, Tree, links};

/// A parsed page of the recording.
pub struct RecordedPage {
    pub url: Url,
    pub tree: Tree,
}

/// A form by its name in a script, and the fields that a person changed.
#[derive(Debug, PartialEq)]
pub struct SubmittedForm {
    pub form: String,
    pub typed: Vec<(String, String)>,
    pub button: Option<String>,
}

impl RecordedPage {
    pub fn new(url: Url, text: &str) -> RecordedPage {
        RecordedPage { tree: Tree::parse(text), url }
    }

    /// The login form whose password field has this name.
    pub fn login_form(&self, password: &str) -> Option<Form> {
        form::find_all(&self.tree).into_iter().find(|form| form.fields.iter().any(|field| field.name == password))
    }

    /// The form that sent these fields to this address, recognised by the names of its fields.
    pub fn submitted_form(&self, to: &Url, sent: &[(String, String)]) -> Option<SubmittedForm> {
        let forms = form::find_all(&self.tree);
        let fits = |form: &&Form| {
            let has = |name: &str| {
                form.fields.iter().any(|field| field.name == name)
                    || form.buttons.iter().any(|it| it.name.as_deref() == Some(name))
            };
            let goes_there = self
                .untouched(form)
                .is_some_and(|filled| filled.url.path() == to.path() && filled.url.origin() == to.origin());
            form.post && goes_there && sent.iter().all(|(name, _)| has(name))
        };
        let form = forms.iter().find(fits)?;
        let defaults = self.defaults(form);
        let is_button = |name: &str| form.buttons.iter().any(|it| it.name.as_deref() == Some(name));
        let button = sent.iter().map(|(name, _)| name).find(|name| is_button(name)).cloned();
        let typed = sent
            .iter()
            .filter(|(name, _)| !is_button(name) && !is_csrf_token_name(name))
            .filter(|pair| !defaults.contains(pair))
            .cloned()
            .collect();
        let button = button.filter(|_| form.buttons.len() > 1);
        Some(SubmittedForm { form: self.shortest_form_name(form)?, typed, button })
    }

    /// The form as it is sent when nothing is typed in.
    fn untouched(&self, form: &Form) -> Option<FilledForm> {
        FilledForm::new(form, &self.url, encoding_rs::UTF_8, &Default::default(), SubmitButton::First).ok()
    }

    /// The fields that the form would send unchanged.
    fn defaults(&self, form: &Form) -> Vec<(String, String)> {
        let body = self.untouched(form).and_then(|filled| filled.body).unwrap_or_default();
        form_urlencoded::parse(&body).map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    /// The shortest name or selector by which a script finds exactly this form.
    fn shortest_form_name(&self, wanted: &Form) -> Option<String> {
        let action = wanted.action.as_deref().filter(|action| !action.contains(['"', '\\']));
        let purpose = match wanted.purpose() {
            purpose @ (FormPurpose::Search | FormPurpose::Login) => Some(purpose.name().to_owned()),
            _ => None,
        };
        let ways = [
            purpose,
            wanted.name.clone(),
            wanted.id.clone(),
            action.map(|it| format!("form[action=\"{it}\"]")),
            Some("form".to_owned()),
        ];
        ways.into_iter()
            .flatten()
            .find(|way| form::find(&self.tree, way).is_some_and(|found| found.node == wanted.node))
    }

    /// Selector and attribute of the element with this attribute value.
    pub fn attribute_holding(&self, value: &str) -> Option<(String, String)> {
        let holds =
            |&node: &NodeId| ["value", "content"].iter().any(|name| self.tree.attribute(node, name) == Some(value));
        let node = self.tree.subtree(self.tree.root()).find(holds)?;
        let attribute = if self.tree.attribute(node, "value") == Some(value) { "value" } else { "content" };
        let by = ["name", "id"].iter().find_map(|name| Some((name, self.tree.attribute(node, name)?)));
        let (name, its) = by.filter(|(_, its)| !its.contains(['"', '\\']))?;
        Some((format!("{}[{name}=\"{its}\"]", self.tree.tag(node)), attribute.to_owned()))
    }

    /// The links in the rows that would be learned from this page.
    pub fn row_links(&self) -> BTreeSet<String> {
        let candidates = learn::learn(std::slice::from_ref(&self.tree), &LearnOptions::default());
        let Some(best) = candidates.into_iter().find(learn::is_plausible) else { return BTreeSet::new() };
        let base = links::base(&self.tree, &self.url);
        let cells = best.table.rows.iter().flat_map(|row| row.cells.iter().flatten());
        cells
            .filter(|cell| looks_like_link(cell))
            .filter_map(|cell| links::resolve(&base, cell))
            .map(|url| url.to_string())
            .collect()
    }
}

fn looks_like_link(cell: &str) -> bool {
    !cell.contains(char::is_whitespace) && (cell.contains('/') || cell.contains('?') || cell.contains(".htm"))
}

/// Minimum number of objects for a list in a JSON response.
const MIN_ROWS: usize = 3;

/// The longest list of objects in a JSON document.
pub fn longest_list(json: &Value) -> &[Value] {
    let mut best: &[Value] = &[];
    let mut waiting = vec![json];
    while let Some(value) = waiting.pop() {
        match value {
            Value::Array(items) => {
                let is_table = items.len() >= MIN_ROWS
                    && items.iter().all(|item| item.as_object().is_some_and(|it| it.len() >= 2));
                if is_table && items.len() > best.len() {
                    best = items;
                }
                waiting.extend(items);
            }
            Value::Object(map) => waiting.extend(map.values()),
            _ => {}
        }
    }
    best
}

/// True if the page's text contains these rows. Then the page is the list, and the data only repeat it.
pub fn are_on_page(rows: &[Value], page: &RecordedPage) -> bool {
    const LOOKED_AT: usize = 3;
    const MIN_LEN: usize = 4;
    let text = page.tree.text(page.tree.root());
    let said = rows.iter().take(LOOKED_AT).filter_map(Value::as_object).map(|row| {
        row.values().filter_map(Value::as_str).filter(|it| it.chars().count() >= MIN_LEN).any(|it| text.contains(it))
    });
    let said: Vec<bool> = said.collect();
    !said.is_empty() && said.into_iter().all(|it| it)
}

/// Path of this text in a JSON document: `data.token`.
pub fn path_of(json: &Value, wanted: &str) -> Option<String> {
    match json {
        Value::String(text) => (text == wanted).then(String::new),
        Value::Number(number) => (number.to_string() == wanted).then(String::new),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| join_path(&index.to_string(), path_of(item, wanted)?))
        }
        Value::Object(map) => map
            .iter()
            .filter(|(key, _)| !key.contains('.'))
            .find_map(|(key, item)| join_path(key, path_of(item, wanted)?)),
        Value::Null | Value::Bool(_) => None,
    }
}

fn join_path(key: &str, rest: String) -> Option<String> {
    Some(if rest.is_empty() { key.to_owned() } else { format!("{key}.{rest}") })
}
