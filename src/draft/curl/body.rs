//! Parses the body of a request.

use serde_json::Value;
use url::form_urlencoded;

use crate::draft::recorded_request::RecordedBody;

/// Parses a body by its content type and its appearance.
pub fn parse_body(kind: Option<&str>, body: &str) -> RecordedBody {
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
