//! Fills a form and encodes it as a request, field by field in the page's order.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::BuildHasher;

use encoding_rs::Encoding;
use foldhash::quality::FixedState;
use url::{Url, form_urlencoded};

use super::purpose::{is_query, is_user};
use super::{Button, FieldKind, Form, FormField};
use crate::page::NodeId;
use crate::page::post_back::PostBack;

/// A form ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilledForm {
    pub post: bool,
    pub url: Url,
    /// For POST; a GET has all fields in its URL.
    pub body: Option<Vec<u8>>,
    pub content_type: String,
}

/// Which button sends the form.
#[derive(Clone, Copy, Debug)]
pub enum SubmitButton<'a> {
    /// The first one, as a browser does on Enter.
    First,
    /// By its name, id or text.
    Named(&'a str),
    Node(NodeId),
    /// A script sends it.
    NoButton,
}

const URLENCODED: &str = "application/x-www-form-urlencoded";
const MULTIPART: &str = "multipart/form-data";
const PLAIN: &str = "text/plain";

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    #[error("has no field “{wanted}”; it has: {there}")]
    NoField { wanted: String, there: String },
    #[error("has no choice “{wanted}” in “{field}”; it has: {there}")]
    NoChoice { field: String, wanted: String, there: String },
    #[error("has no button “{wanted}”; it has: {there}")]
    NoButton { wanted: String, there: String },
    #[error("sends to “{0}”, which is not a URL")]
    Action(String),
}

impl FilledForm {
    /// Types `values` into the form on `page` and presses a button. `encoding` is the page's own.
    pub fn new(
        form: &Form,
        page: &Url,
        encoding: &'static Encoding,
        values: &BTreeMap<String, String>,
        press: SubmitButton<'_>,
    ) -> Result<FilledForm, FormError> {
        let fields = fields_with(form, values)?;
        let button = press.find_in(form)?;
        FilledForm::encode(form, page, encoding, &entries(&fields, button), button)
    }

    /// The form as a POST-back sends it.
    pub fn post_back(
        form: &Form,
        page: &Url,
        encoding: &'static Encoding,
        event: &PostBack,
    ) -> Result<FilledForm, FormError> {
        let mut entries = entries(&form.fields, None);
        for (name, value) in [("__EVENTTARGET", &event.target), ("__EVENTARGUMENT", &event.argument)] {
            match entries.iter_mut().find(|(it, _)| it == name) {
                Some(entry) => entry.1 = value.clone(),
                None => entries.push((name.to_owned(), value.clone())),
            }
        }
        FilledForm::encode(form, page, encoding, &entries, None)
    }

    fn encode(
        form: &Form,
        page: &Url,
        encoding: &'static Encoding,
        entries: &[NameValue],
        button: Option<&Button>,
    ) -> Result<FilledForm, FormError> {
        let mut url = action_url(form, page, button)?;
        let encoding = form_encoding(form, encoding);
        if !form.post {
            url.set_query(Some(&urlencoded(entries, encoding)));
            return Ok(FilledForm { post: false, url, body: None, content_type: URLENCODED.to_owned() });
        }
        let (body, content_type) = match form.enctype.as_str() {
            MULTIPART => multipart(entries, &form.fields, encoding),
            PLAIN => (plain(entries, encoding), PLAIN.to_owned()),
            _ => (urlencoded(entries, encoding).into_bytes(), URLENCODED.to_owned()),
        };
        Ok(FilledForm { post: true, url, body: Some(body), content_type })
    }
}

/// The form's fields after `values` were typed in.
pub(super) fn fields_with(form: &Form, values: &BTreeMap<String, String>) -> Result<Vec<FormField>, FormError> {
    let mut fields = form.fields.clone();
    for (wanted, value) in values {
        type_in(form, &mut fields, wanted, value)?;
    }
    Ok(fields)
}

fn type_in(form: &Form, fields: &mut [FormField], wanted: &str, value: &str) -> Result<(), FormError> {
    let name = field_name(form, wanted).ok_or_else(|| FormError::NoField {
        wanted: wanted.to_owned(),
        there: listed(form.visible().map(|field| field.name.as_str())),
    })?;
    let mut group: Vec<&mut FormField> = fields.iter_mut().filter(|field| field.name == name).collect();
    let no_choice = |there: String| FormError::NoChoice { field: name.clone(), wanted: value.to_owned(), there };
    match group[0].kind {
        FieldKind::Select => {
            let field = &mut *group[0];
            let at = choice(field.options.iter().map(|it| (it.value.as_str(), it.label.as_str())), value)
                .ok_or_else(|| no_choice(listed(field.options.iter().map(|it| it.label.as_str()))))?;
            for (index, option) in field.options.iter_mut().enumerate() {
                option.selected = index == at;
            }
        }
        FieldKind::Radio | FieldKind::Checkbox if group.len() > 1 || group[0].kind == FieldKind::Radio => {
            let at = choice(group.iter().map(|it| (it.value.as_str(), it.label.as_str())), value)
                .ok_or_else(|| no_choice(listed(group.iter().map(|it| it.value.as_str()))))?;
            for (index, field) in group.iter_mut().enumerate() {
                field.checked = index == at;
            }
        }
        FieldKind::Checkbox => {
            group[0].checked = !matches!(value.trim().to_lowercase().as_str(), "" | "false" | "no" | "off" | "0")
        }
        _ => group[0].value = value.to_owned(),
    }
    Ok(())
}

/// The name of the field that a person means by its name, id, label or purpose.
fn field_name(form: &Form, wanted: &str) -> Option<String> {
    let low = wanted.trim().to_lowercase();
    let by = |fits: &dyn Fn(&FormField) -> bool| {
        form.fields.iter().find(|field| fits(field)).map(|field| field.name.clone())
    };
    by(&|field| field.name == wanted)
        .or_else(|| by(&|field| field.name.to_lowercase() == low))
        .or_else(|| by(&|field| field.id.as_deref() == Some(wanted)))
        .or_else(|| by(&|field| field.kind != FieldKind::Hidden && field.label.to_lowercase() == low))
        .or_else(|| match low.as_str() {
            "password" => by(&|field| field.kind == FieldKind::Password),
            "user" | "username" | "email" | "login" => {
                by(&is_user).or_else(|| by(&|field| field.kind != FieldKind::Hidden && field.is_text()))
            }
            "q" | "query" | "search" => by(&is_query).or_else(|| by(&|field| field.is_text())),
            _ => None,
        })
}

fn action_url(form: &Form, page: &Url, button: Option<&Button>) -> Result<Url, FormError> {
    let action = button.and_then(|it| it.action.as_deref()).or(form.action.as_deref()).unwrap_or_default().trim();
    // An empty action is the page's own URL, whatever its `<base>` is.
    let base = if action.is_empty() { None } else { form.base.as_deref().and_then(|base| page.join(base.trim()).ok()) };
    let mut url = base.as_ref().unwrap_or(page).join(action).map_err(|_| FormError::Action(action.to_owned()))?;
    url.set_fragment(None);
    Ok(url)
}

/// `accept-charset`, or the page's own encoding; browsers never send UTF-16.
fn form_encoding(form: &Form, page: &'static Encoding) -> &'static Encoding {
    let labels = form.accept_charset.as_deref().unwrap_or_default().split([' ', ',']);
    let asked = labels.filter_map(|label| Encoding::for_label(label.trim().as_bytes())).next();
    asked.unwrap_or(page).output_encoding()
}

impl SubmitButton<'_> {
    pub(super) fn find_in(self, form: &Form) -> Result<Option<&Button>, FormError> {
        let wanted = match self {
            SubmitButton::First => return Ok(form.buttons.first()),
            SubmitButton::Node(node) => return Ok(form.buttons.iter().find(|button| button.node == node)),
            SubmitButton::NoButton => return Ok(None),
            SubmitButton::Named(wanted) => wanted,
        };
        let low = wanted.trim().to_lowercase();
        let exact = |it: &&Button| {
            it.name.as_deref() == Some(wanted) || it.id.as_deref() == Some(wanted) || it.text.to_lowercase() == low
        };
        let found = form
            .buttons
            .iter()
            .find(exact)
            .or_else(|| form.buttons.iter().find(|it| it.text.to_lowercase().contains(&low)));
        let there = || listed(form.buttons.iter().map(|it| it.text.as_str()));
        found.map(Some).ok_or_else(|| FormError::NoButton { wanted: wanted.to_owned(), there: there() })
    }
}

type NameValue = (String, String);

/// The fields that a browser sends, in the order of the page.
fn entries(fields: &[FormField], button: Option<&Button>) -> Vec<NameValue> {
    let mut entries = Vec::new();
    let mut pressed = button;
    for field in fields {
        if let Some(button) = pressed.take_if(|button| button.node < field.node) {
            entries.extend(button_entries(button));
        }
        match field.kind {
            FieldKind::Checkbox | FieldKind::Radio if !field.checked => {}
            FieldKind::Select => {
                let chosen = field.options.iter().filter(|it| it.selected);
                entries.extend(chosen.map(|it| (field.name.clone(), it.value.clone())));
            }
            // No file is ever selected; a browser then sends an empty file name.
            FieldKind::File => entries.push((field.name.clone(), String::new())),
            _ => entries.push((field.name.clone(), field.value.clone())),
        }
    }
    entries.extend(pressed.into_iter().flat_map(button_entries));
    entries
}

fn button_entries(button: &Button) -> Vec<(String, String)> {
    match (&button.name, button.image) {
        (Some(name), false) => vec![(name.clone(), button.value.clone())],
        (name, true) => {
            let dot = name.as_ref().map_or_else(String::new, |name| format!("{name}."));
            vec![(format!("{dot}x"), "0".to_owned()), (format!("{dot}y"), "0".to_owned())]
        }
        (None, false) => Vec::new(),
    }
}

fn urlencoded(entries: &[NameValue], encoding: &'static Encoding) -> String {
    let bytes: &dyn for<'t> Fn(&'t str) -> Cow<'t, [u8]> = &|text| encoding.encode(text).0;
    let mut out = form_urlencoded::Serializer::new(String::new());
    out.encoding_override(Some(bytes));
    for (name, value) in entries {
        out.append_pair(name, &with_line_ends(value));
    }
    out.finish()
}

/// One part for each field. No file is ever selected, so its part has an empty file name, as browsers send it.
fn multipart(entries: &[NameValue], fields: &[FormField], encoding: &'static Encoding) -> (Vec<u8>, String) {
    let boundary = boundary(entries);
    let mut body = Vec::new();
    for (name, value) in entries {
        let is_file = fields.iter().any(|field| field.kind == FieldKind::File && field.name == *name);
        let file = if is_file { "; filename=\"\"\r\nContent-Type: application/octet-stream" } else { "" };
        let name = name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
        let head = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(&encoding.encode(&head).0);
        body.extend_from_slice(&encoding.encode(&with_line_ends(value)).0);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    (body, format!("{MULTIPART}; boundary={boundary}"))
}

/// A text that occurs in no name and no value.
fn boundary(entries: &[NameValue]) -> String {
    let occurs = |text: &str| entries.iter().any(|(name, value)| name.contains(text) || value.contains(text));
    let candidate = |number: u32| format!("----pieme{:016x}", FixedState::default().hash_one((number, entries)));
    (0..).map(candidate).find(|text| !occurs(text)).expect("the entries are finite")
}

fn plain(entries: &[NameValue], encoding: &'static Encoding) -> Vec<u8> {
    let text: String = entries.iter().map(|(name, value)| format!("{name}={}\r\n", with_line_ends(value))).collect();
    encoding.encode(&text).0.into_owned()
}

fn with_line_ends(value: &str) -> String {
    value.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// The index of an option: by value, by label, then by label in any case.
fn choice<'f>(choices: impl Iterator<Item = (&'f str, &'f str)> + Clone, wanted: &str) -> Option<usize> {
    let low = wanted.trim().to_lowercase();
    let by_value = choices.clone().position(|(value, _)| value == wanted);
    by_value
        .or_else(|| choices.clone().position(|(_, label)| label == wanted))
        .or_else(|| choices.clone().position(|(_, label)| label.trim().to_lowercase() == low))
}

/// The first dozen distinct words, for messages.
fn listed<'f>(words: impl Iterator<Item = &'f str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        if !seen.contains(&word) {
            seen.push(word);
        }
        if seen.len() == 12 {
            break;
        }
    }
    if seen.is_empty() { "nothing".to_owned() } else { seen.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boundary_occurs_in_no_value() {
        let entry = |value: &str| vec![("a".to_owned(), value.to_owned())];
        let first = boundary(&entry("x"));
        assert_eq!(boundary(&entry("x")), first);
        let second = boundary(&entry(&first));
        assert!(first.starts_with("----pieme") && first.len() == 25 && second != first, "{first} {second}");
    }
}
