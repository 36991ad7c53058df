//! Converts one recorded request into the step that sends it again.

use std::collections::BTreeMap;

use serde_json::Value;
use url::{Url, form_urlencoded};

use super::secret::{Vault, is_key, is_sensitive};
use crate::model::script::RequestStep;

/// A request as recorded, before secrets are replaced and headers left out.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    pub method: String,
    pub url: Url,
    pub headers: Vec<(String, String)>,
    pub body: RecordedBody,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RecordedBody {
    Empty,
    Form(Vec<(String, String)>),
    Multipart(Vec<(String, String)>),
    Json(Value),
    /// Content that a script cannot send: its type.
    Other(String),
}

impl RecordedBody {
    /// Parses a body by its content type and its appearance.
    pub fn parse(kind: Option<&str>, body: &str) -> RecordedBody {
        let kind = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim().to_lowercase();
        let looks_like_json = body.trim_start().starts_with(['{', '[']);
        if (kind.contains("json") || looks_like_json && !kind.contains("multipart"))
            && let Ok(json) = serde_json::from_str::<Value>(body)
            && (json.is_object() || json.is_array())
        {
            return RecordedBody::Json(json);
        }
        if kind.contains("multipart/form-data") {
            return RecordedBody::Multipart(multipart(body));
        }
        if kind.is_empty() || kind.contains("x-www-form-urlencoded") {
            return RecordedBody::Form(
                form_urlencoded::parse(body.as_bytes()).map(|(name, value)| (name.into(), value.into())).collect(),
            );
        }
        RecordedBody::Other(kind)
    }
}

/// The fields of a multipart body; the boundary is its first line. Files are left out.
fn multipart(body: &str) -> Vec<(String, String)> {
    let Some(boundary) = body.lines().next().map(str::trim_end).filter(|line| line.starts_with("--")) else {
        return Vec::new();
    };
    let text = body.replace("\r\n", "\n");
    let parts = text.split(boundary).filter_map(|part| {
        let (head, content) = part.trim_start_matches('\n').split_once("\n\n")?;
        let name = head.split("name=\"").nth(1)?.split('"').next()?;
        (!head.contains("filename="))
            .then(|| (name.to_owned(), content.strip_suffix('\n').unwrap_or(content).to_owned()))
    });
    parts.collect()
}

/// The value of a header, whatever the case of its name.
pub fn header<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

impl RecordedRequest {
    /// A plain request for a page.
    pub fn get(url: Url) -> RecordedRequest {
        RecordedRequest { method: "GET".to_owned(), url, headers: Vec::new(), body: RecordedBody::Empty }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.headers, name)
    }

    pub fn is_post(&self) -> bool {
        !matches!(self.method.as_str(), "GET" | "HEAD")
    }

    /// The fields of a form in any encoding.
    pub fn fields(&self) -> &[(String, String)] {
        match &self.body {
            RecordedBody::Form(fields) | RecordedBody::Multipart(fields) => fields,
            RecordedBody::Empty | RecordedBody::Json(_) | RecordedBody::Other(_) => &[],
        }
    }

    /// The request as `get` or `post`, with comments. Fields and headers in `taken` are written as the variable given
    /// there: their values come from an earlier page.
    pub fn to_request_step(&self, vault: &mut Vault, taken: &BTreeMap<String, String>) -> (RequestStep, Vec<String>) {
        let mut comments = Vec::new();
        if !matches!(self.method.as_str(), "GET" | "POST") {
            let instead = if self.is_post() { "post" } else { "get" };
            comments.push(format!(
                "The browser's method was {}; a robot supports only `get` and `post`, so this is a `{instead}`.",
                self.method
            ));
        }
        let (url, query) = redacted_url(&self.url, vault, &mut comments);
        let mut ask = RequestStep { url, query, headers: self.headers(vault, taken), ..RequestStep::default() };
        match &self.body {
            RecordedBody::Empty => {}
            RecordedBody::Form(fields) => ask.form = redacted_form(fields, vault, taken, &mut comments),
            RecordedBody::Multipart(fields) => {
                comments.push(
                    "The browser sent this as multipart; `post` sends a URL-encoded form. \
                     If the site needs multipart, `submit` its form."
                        .to_owned(),
                );
                ask.form = redacted_form(fields, vault, taken, &mut comments);
            }
            RecordedBody::Json(json) => ask.json = Some(redacted_json(json, "json", vault, &mut comments)),
            RecordedBody::Other(kind) => {
                comments.push(format!("The browser also sent {kind}, which a robot cannot send; it is left out."));
            }
        }
        (ask, comments)
    }

    fn headers(&self, vault: &mut Vault, taken: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut kept = BTreeMap::new();
        for (name, value) in &self.headers {
            let name = name.to_lowercase();
            if is_browser_header(&name, value) {
                continue;
            }
            let value = taken.get(&name).cloned().unwrap_or_else(|| redacted_header(&name, value, vault));
            kept.insert(name, value);
        }
        kept
    }
}

/// True if any browser, or pieme, sends this header by itself.
pub fn is_browser_header(name: &str, value: &str) -> bool {
    match name {
        "accept" => !["json", "graphql", "text/csv"].iter().any(|kind| value.contains(kind)),
        // Headers of browsers, of the connection, and of monitoring tools.
        "accept-encoding" | "accept-language" | "alt-used" | "cache-control" | "connection" | "content-length"
        | "content-type" | "cookie" | "device-memory" | "dnt" | "dpr" | "downlink" | "ect" | "expect" | "host"
        | "if-match" | "if-modified-since" | "if-none-match" | "if-range" | "keep-alive" | "origin" | "pragma"
        | "priority" | "proxy-connection" | "purpose" | "range" | "referer" | "rtt" | "save-data" | "te"
        | "trailer" | "transfer-encoding" | "upgrade" | "user-agent" | "viewport-width" | "width" | "x-client-data"
        | "traceparent" | "tracestate" | "sentry-trace" | "baggage" | "newrelic" | "x-b3-traceid" | "x-b3-spanid" => {
            true
        }
        "upgrade-insecure-requests" => true,
        _ => [":", "sec-", "x-datadog-", "x-newrelic-", "x-forwarded-"].iter().any(|start| name.starts_with(start)),
    }
}

fn redacted_header(name: &str, value: &str, vault: &mut Vault) -> String {
    if !is_sensitive(name, value) {
        return escape_variables(value);
    }
    // `Bearer …`: the scheme is no secret, and the same token may occur elsewhere without it.
    match value.split_once(' ') {
        Some((scheme, token)) if !token.contains(' ') && scheme.chars().all(|c| c.is_ascii_alphabetic()) => {
            // A copy of the whole value stays out of the draft, however short the token is.
            vault.suppress(value);
            format!(
                "{} {}",
                escape_variables(scheme),
                vault.replace_secret(name, format!("the header {name}, without “{scheme} ”"), token)
            )
        }
        _ => vault.replace_secret(name, format!("the header {name}"), value),
    }
}

/// The address without its secrets; parameters with a secret move to `query`, where the robot encodes them.
pub fn redacted_url(url: &Url, vault: &mut Vault, comments: &mut Vec<String>) -> (String, BTreeMap<String, String>) {
    let mut url = url.clone();
    // Fails only for addresses that cannot have a user or password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    if let Some(at) = url.path().to_lowercase().find(";jsessionid=") {
        let path = url.path()[..at].to_owned();
        url.set_path(&path);
        comments.push("The session id in the address is left out: every run gets its own from the site.".to_owned());
    }
    let mut query = BTreeMap::new();
    let pairs: Vec<(String, String)> = url.query_pairs().map(|(key, value)| (key.into(), value.into())).collect();
    if pairs.iter().any(|(key, value)| is_sensitive(key, value)) {
        let (secret, open): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(key, value)| is_sensitive(key, value));
        for (key, value) in secret {
            let hidden = vault.replace_secret(&key, format!("the parameter {key} of the address"), &value);
            query.insert(escape_variables(&key), hidden);
        }
        url.set_query(None);
        if !open.is_empty() {
            url.query_pairs_mut().extend_pairs(open);
        }
    }
    let segments: Vec<String> = url
        .path()
        .split('/')
        .map(|part| {
            if is_key(part) {
                vault.replace_secret("path", "a part of the address", part)
            } else {
                escape_variables(part)
            }
        })
        .collect();
    let mut text = url.as_str().to_owned();
    let path = url.path().to_owned();
    if let Some(at) = text.find("://").and_then(|scheme| text[scheme + 3..].find('/').map(|slash| scheme + 3 + slash)) {
        text.replace_range(at..at + path.len(), &segments.join("/"));
    }
    (text, query)
}

fn redacted_form(
    fields: &[(String, String)],
    vault: &mut Vault,
    taken: &BTreeMap<String, String>,
    comments: &mut Vec<String>,
) -> BTreeMap<String, String> {
    let mut form = BTreeMap::new();
    for (name, value) in fields {
        let value = taken.get(name).cloned().unwrap_or_else(|| redacted_field(name, value, vault));
        if form.insert(escape_variables(name), value).is_some() {
            comments.push(format!(
                "The field {name} was sent several times; a script can send it only once, so this is the last value."
            ));
        }
    }
    form
}

/// A field's value with secrets replaced.
pub fn redacted_field(name: &str, value: &str, vault: &mut Vault) -> String {
    if is_sensitive(name, value) {
        vault.replace_secret(name, format!("the field {name}"), value)
    } else {
        escape_variables(value)
    }
}

/// A JSON document without its secrets. TOML has no null: such keys are left out.
fn redacted_json(json: &Value, key: &str, vault: &mut Vault, comments: &mut Vec<String>) -> Value {
    match json {
        Value::String(text) if is_sensitive(key, text) => {
            Value::String(vault.replace_secret(key, format!("{key} in the JSON that is sent"), text))
        }
        Value::Number(number) if is_sensitive(key, "1") => {
            Value::String(vault.replace_secret(key, format!("{key} in the JSON that is sent"), &number.to_string()))
        }
        Value::String(text) => Value::String(escape_variables(text)),
        Value::Array(items) => {
            let has_null = items.iter().any(Value::is_null);
            if has_null {
                comments
                    .push(format!("The list {key} had null values, which TOML does not support; they are left out."));
            }
            Value::Array(
                items.iter().filter(|it| !it.is_null()).map(|item| redacted_json(item, key, vault, comments)).collect(),
            )
        }
        Value::Object(map) => {
            let (empty, full): (Vec<_>, Vec<_>) = map.iter().partition(|(_, value)| value.is_null());
            if !empty.is_empty() {
                let names: Vec<&str> = empty.into_iter().map(|(key, _)| key.as_str()).collect();
                comments.push(format!(
                    "These keys of the JSON are null, which TOML does not support, and left out: {}.",
                    names.join(", ")
                ));
            }
            Value::Object(
                full.into_iter().map(|(key, item)| (key.clone(), redacted_json(item, key, vault, comments))).collect(),
            )
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => json.clone(),
    }
}

/// Escapes `${`, which would begin a variable.
pub fn escape_variables(text: &str) -> String {
    text.replace("${", "$${")
}
