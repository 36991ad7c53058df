//! Recognises pages that cannot be used: an error status, a file that is not a web page. Pure.

use super::manners::retry;
use crate::model::address::display_url;
use crate::model::{Failure, Page};

/// Why the page cannot be used: an error status, or a file that is not a web page.
pub fn page_problem(page: &Page) -> Option<(Failure, String)> {
    let (url, status) = (|| display_url(&page.meta.url), page.meta.status);
    // A 304 here answers a request that was not conditional.
    if status >= 400 || status == 304 {
        let cause = match status {
            401 => Failure::Login,
            403 | 407 | 429 | 451 => Failure::Blocked,
            503 if is_challenge_page(&page.body) => Failure::Blocked,
            _ => Failure::Http,
        };
        let reason =
            reqwest::StatusCode::from_u16(status).ok().and_then(|it| it.canonical_reason()).unwrap_or_default();
        let said = format!("{} answered with status {status} {reason}", url()).trim_end().to_owned();
        let wish = retry::retry_after(&page.meta, page.meta.fetched_at);
        let wish =
            wish.map(|wait| format!(" and asks for a pause of {}; the next run tries again", retry::rounded(wait)));
        return Some((cause, said + &wish.unwrap_or_default()));
    }
    let kind = file_kind(&page.body)?;
    Some((Failure::Http, format!("{} is {kind}, not a web page", url())))
}

/// Recognises pages of bot protection by their words.
fn is_challenge_page(body: &[u8]) -> bool {
    const WORDS: &[&str] =
        &["captcha", "are you human", "verify you are human", "just a moment", "unusual traffic", "access denied"];
    let text = String::from_utf8_lossy(body).to_lowercase();
    WORDS.iter().any(|word| text.contains(word))
}

/// Recognises files by their first bytes: some servers send them as text/html.
fn file_kind(body: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"%PDF-", "a PDF file"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"\x7fELF", "a program"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"\x1f\x8b", "a gzip archive"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive"),
        (b"BZh", "a bzip2 archive"),
        (b"7z\xbc\xaf", "a 7z archive"),
        (b"Rar!", "a RAR archive"),
        (b"\xfd7zXZ", "an xz archive"),
        (b"\xd0\xcf\x11\xe0", "an Office document"),
        (b"RIFF", "an audio, video or image file"),
        (b"\0asm", "a program"),
    ];
    KINDS.iter().find(|(magic, _)| body.starts_with(magic)).map(|(_, kind)| *kind)
}
