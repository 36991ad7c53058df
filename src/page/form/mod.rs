//! The forms of a page: finds them, fills them and encodes their requests as a browser does. Pure.

mod browser_input;
mod fill;
mod find;
mod purpose;
mod words;

use std::collections::HashMap;

use crate::page::text::collapse;
use crate::page::{NodeId, Tree};

pub use browser_input::{BrowserInput, ElementPosition};
pub use fill::{FilledForm, FormError, SubmitButton};
pub use find::{find, form_of_element};
pub use purpose::FormPurpose;

#[derive(Clone, Debug)]
pub struct Form {
    pub node: NodeId,
    pub name: Option<String>,
    pub id: Option<String>,
    pub action: Option<String>,
    pub post: bool,
    enctype: String,
    accept_charset: Option<String>,
    /// The page's `<base href>`, against which a relative action is resolved.
    base: Option<String>,
    /// Role, class and aria-label, from which the form's purpose is guessed.
    hints: String,
    /// The beginning of its visible text, in lower case.
    text: String,
    /// How many password fields have no name, so that only a script sends them.
    nameless_passwords: usize,
    pub fields: Vec<FormField>,
    pub buttons: Vec<Button>,
}

#[derive(Clone, Debug)]
pub struct FormField {
    node: NodeId,
    pub name: String,
    id: Option<String>,
    pub label: String,
    /// The attribute of that name: `username`, `new-password`.
    autocomplete: String,
    pub kind: FieldKind,
    /// A `<textarea>`.
    multiline: bool,
    pub value: String,
    /// Of checkboxes and radio buttons; all other fields are always sent.
    checked: bool,
    options: Vec<SelectOption>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    Text,
    Search,
    Email,
    Password,
    Hidden,
    Checkbox,
    Radio,
    Select,
    File,
}

#[derive(Clone, Debug)]
struct SelectOption {
    value: String,
    label: String,
    selected: bool,
}

#[derive(Clone, Debug)]
pub struct Button {
    node: NodeId,
    pub name: Option<String>,
    id: Option<String>,
    value: String,
    pub text: String,
    action: Option<String>,
    /// `<input type=image>`: its name is sent with the coordinates of the click.
    image: bool,
}

/// All forms of the page, in document order.
pub fn find_all(tree: &Tree) -> Vec<Form> {
    let base = tree.elements("base").find_map(|it| tree.attribute(it, "href")).map(str::to_owned);
    let mut forms: Vec<Form> = tree.elements("form").map(|node| form(tree, node, base.clone())).collect();
    let index = FormIndex::of(tree);
    for node in tree.subtree(tree.root()).filter(|_| !index.forms.is_empty()) {
        if !matches!(tree.tag(node), "input" | "select" | "textarea" | "button") || is_disabled(tree, node) {
            continue;
        }
        let Some(owner) = index.owner(node) else { continue };
        match button(tree, node) {
            Some(button) => forms[owner].buttons.push(button),
            None => match field(&index, node) {
                Some(field) => forms[owner].fields.push(field),
                None => forms[owner].nameless_passwords += usize::from(is_password(tree, node)),
            },
        }
    }
    forms
}

/// Forms and labels by id, gathered once: a hostile page has a hundred thousand of them.
struct FormIndex<'t> {
    tree: &'t Tree,
    forms: Vec<NodeId>,
    form_ids: HashMap<&'t str, usize>,
    /// Labels by the id that they are for.
    labels: HashMap<&'t str, NodeId>,
}

impl<'t> FormIndex<'t> {
    fn of(tree: &'t Tree) -> FormIndex<'t> {
        let forms: Vec<NodeId> = tree.elements("form").collect();
        let mut form_ids = HashMap::new();
        for (index, &form) in forms.iter().enumerate() {
            if let Some(id) = tree.attribute(form, "id") {
                form_ids.entry(id).or_insert(index);
            }
        }
        let mut labels = HashMap::new();
        for label in tree.elements("label") {
            if let Some(id) = tree.attribute(label, "for") {
                labels.entry(id).or_insert(label);
            }
        }
        FormIndex { tree, forms, form_ids, labels }
    }

    /// The form that a field belongs to: the one it names, the one around it, or the one that was opened inside the
    /// same table, where the parser closes it at once (`<table><form><tr><td><input>`).
    fn owner(&self, node: NodeId) -> Option<usize> {
        let tree = self.tree;
        if let Some(id) = tree.attribute(node, "form") {
            return self.form_ids.get(id).copied();
        }
        if let Some(around) = tree.ancestors(node).find(|&it| tree.tag(it) == "form") {
            return self.forms.binary_search(&around).ok();
        }
        let before = self.forms.partition_point(|&form| form < node).checked_sub(1)?;
        let parent = tree.parent(self.forms[before])?;
        let in_table = matches!(tree.tag(parent), "table" | "tbody" | "thead" | "tfoot" | "tr");
        (in_table && tree.contains(parent, node)).then_some(before)
    }
}

impl Form {
    /// The form's name in messages: its name, its id, its purpose or its fields.
    pub fn describe(&self) -> String {
        let named = self.name.clone().or_else(|| self.id.clone());
        named.unwrap_or_else(|| {
            let fields: Vec<&str> = self.visible().map(|field| field.name.as_str()).take(4).collect();
            match self.purpose() {
                purpose @ (FormPurpose::Login | FormPurpose::Search) => purpose.name().to_owned(),
                _ if fields.is_empty() => "a form with only buttons".to_owned(),
                _ => format!("a form with {}", fields.join(", ")),
            }
        })
    }

    pub fn has_button(&self, node: NodeId) -> bool {
        self.buttons.iter().any(|button| button.node == node)
    }

    pub fn visible(&self) -> impl Iterator<Item = &FormField> {
        self.fields.iter().filter(|field| field.kind != FieldKind::Hidden)
    }
}

impl FormField {
    pub fn is_text(&self) -> bool {
        matches!(self.kind, FieldKind::Text | FieldKind::Search | FieldKind::Email)
    }

    /// Name, id and label, in lower case.
    fn description(&self) -> String {
        format!("{} {} {}", self.name, self.id.as_deref().unwrap_or_default(), self.label).to_lowercase()
    }
}

fn form(tree: &Tree, node: NodeId, base: Option<String>) -> Form {
    let said = |name: &str| tree.attribute(node, name).map(str::to_owned);
    let is =
        |name: &str, value: &str| tree.attribute(node, name).is_some_and(|it| it.trim().eq_ignore_ascii_case(value));
    let around = tree.parent(node).map(|parent| (tree.tag(parent), tree.attribute(parent, "role").unwrap_or_default()));
    let (tag, role) = around.unwrap_or_default();
    let own = |name: &str| said(name).unwrap_or_default();
    let hints = format!(
        "{} {} {} {role} {}",
        own("role"),
        own("class"),
        own("aria-label"),
        if tag == "search" { tag } else { "" }
    );
    Form {
        node,
        name: said("name").filter(|name| !name.is_empty()),
        id: said("id").filter(|id| !id.is_empty()),
        action: said("action"),
        post: is("method", "post"),
        enctype: said("enctype").unwrap_or_default().trim().to_ascii_lowercase(),
        accept_charset: said("accept-charset"),
        base,
        hints: hints.to_lowercase(),
        text: leading_text(tree, node),
        nameless_passwords: 0,
        fields: Vec::new(),
        buttons: Vec::new(),
    }
}

/// How much of a form's text is read: titles come first, and a form may enclose the whole page.
const TEXT_NODES: usize = 120;

fn leading_text(tree: &Tree, node: NodeId) -> String {
    let is_option =
        |it: NodeId| tree.parent(it).is_some_and(|parent| matches!(tree.tag(parent), "option" | "script" | "style"));
    let texts = tree.subtree(node).take(TEXT_NODES).filter(|&it| !is_option(it)).filter_map(|it| tree.own_text(it));
    collapse(&texts.collect::<Vec<_>>().join(" ")).to_lowercase()
}

fn is_disabled(tree: &Tree, node: NodeId) -> bool {
    let is = |it: NodeId| tree.attribute(it, "disabled").is_some();
    is(node) || tree.ancestors(node).any(|it| tree.tag(it) == "fieldset" && is(it))
}

fn button(tree: &Tree, node: NodeId) -> Option<Button> {
    let kind = tree.attribute(node, "type").unwrap_or_default().trim().to_ascii_lowercase();
    let presses = match tree.tag(node) {
        "input" => matches!(kind.as_str(), "submit" | "image"),
        "button" => !matches!(kind.as_str(), "button" | "reset"),
        _ => false,
    };
    let said = |name: &str| tree.attribute(node, name).map(str::to_owned).filter(|it| !it.is_empty());
    let value = said("value").unwrap_or_default();
    let text = if tree.tag(node) == "button" { tree.text(node) } else { value.clone() };
    presses.then(|| Button {
        node,
        name: said("name"),
        id: said("id"),
        text: if text.is_empty() { said("alt").or_else(|| said("aria-label")).unwrap_or_default() } else { text },
        value,
        action: said("formaction"),
        image: kind == "image",
    })
}

fn is_password(tree: &Tree, node: NodeId) -> bool {
    tree.attribute(node, "type").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("password"))
}

/// A field that a browser would send; `None` for buttons and for fields without a name.
fn field(index: &FormIndex<'_>, node: NodeId) -> Option<FormField> {
    let tree = index.tree;
    let kind =
        match (tree.tag(node), tree.attribute(node, "type").unwrap_or_default().trim().to_ascii_lowercase().as_str()) {
            ("select", _) => FieldKind::Select,
            ("textarea", _) => FieldKind::Text,
            ("button", _) | ("input", "button" | "reset" | "submit" | "image") => return None,
            ("input", "hidden") => FieldKind::Hidden,
            ("input", "password") => FieldKind::Password,
            ("input", "checkbox") => FieldKind::Checkbox,
            ("input", "radio") => FieldKind::Radio,
            ("input", "search") => FieldKind::Search,
            ("input", "email") => FieldKind::Email,
            ("input", "file") => FieldKind::File,
            _ => FieldKind::Text,
        };
    let name = tree.attribute(node, "name").filter(|name| !name.is_empty())?.to_owned();
    let value = match (kind, tree.tag(node)) {
        (FieldKind::Checkbox | FieldKind::Radio, _) => tree.attribute(node, "value").unwrap_or("on").to_owned(),
        (_, "textarea") => tree.children(node).filter_map(|it| tree.own_text(it)).collect(),
        _ => tree.attribute(node, "value").unwrap_or_default().to_owned(),
    };
    Some(FormField {
        node,
        name,
        id: tree.attribute(node, "id").map(str::to_owned),
        label: label(index, node),
        autocomplete: tree.attribute(node, "autocomplete").unwrap_or_default().to_ascii_lowercase(),
        kind,
        multiline: tree.tag(node) == "textarea",
        value,
        checked: tree.attribute(node, "checked").is_some(),
        options: if kind == FieldKind::Select { select_options(tree, node) } else { Vec::new() },
    })
}

/// The options of a select. If none is selected, a browser sends the first.
fn select_options(tree: &Tree, select: NodeId) -> Vec<SelectOption> {
    let options =
        tree.subtree(select).filter(|&it| tree.tag(it) == "option" && tree.attribute(it, "disabled").is_none());
    let mut choices: Vec<SelectOption> = options
        .map(|it| {
            let label = tree.text(it);
            let value = tree.attribute(it, "value").map_or_else(|| label.clone(), str::to_owned);
            SelectOption { value, label, selected: tree.attribute(it, "selected").is_some() }
        })
        .collect();
    if tree.attribute(select, "multiple").is_some() {
        return choices;
    }
    let last = choices.iter().rposition(|choice| choice.selected).unwrap_or(0);
    for (index, choice) in choices.iter_mut().enumerate() {
        choice.selected = index == last;
    }
    choices
}

fn label(index: &FormIndex<'_>, node: NodeId) -> String {
    let tree = index.tree;
    let told = tree.attribute(node, "id").and_then(|id| index.labels.get(id).copied());
    let around = || tree.ancestors(node).find(|&it| tree.tag(it) == "label");
    let text = told.or_else(around).map(|label| label_text(tree, label, node)).unwrap_or_default();
    let said = ["aria-label", "placeholder", "title"].iter().find_map(|name| tree.attribute(node, name));
    let text = if text.is_empty() { said.unwrap_or_default().trim().to_owned() } else { text };
    text.trim_end_matches(['*', ':', ' ']).to_owned()
}

/// How many nodes of a label are read on both sides of its field: a `<label>` may enclose the whole page.
const LABEL_NODES: u32 = 32;

/// A label's text without that of the field itself, such as the options of a select.
fn label_text(tree: &Tree, label: NodeId, field: NodeId) -> String {
    let end = tree.end(label).0;
    let stretches = if tree.contains(label, field) {
        [label.0.max(field.0.saturating_sub(LABEL_NODES))..field.0, tree.end(field).0..end]
    } else {
        [label.0..end, end..end]
    };
    let nodes = stretches.into_iter().flat_map(|stretch| stretch.take(LABEL_NODES as usize)).map(NodeId);
    collapse(&nodes.filter_map(|it| tree.own_text(it)).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests;
