//! RSS 2.0 and Atom feeds of a task's changes, newest first. Texts of web pages are escaped as XML 1.0; characters that
//! it does not allow are left out.

use std::io::Write;

use chrono::{DateTime, SecondsFormat, Utc};

use super::ExportError;

/// Title and origin of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub title: String,
    /// The site, where the task's folder names one.
    pub link: Option<String>,
    /// Never changes: readers identify a feed by it.
    pub id: String,
    pub updated: DateTime<Utc>,
}

/// One item of a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewsItem {
    /// The same whenever it is written: readers show an item once.
    pub id: String,
    pub title: String,
    pub link: Option<String>,
    pub at: DateTime<Utc>,
    /// The content, line by line.
    pub lines: Vec<String>,
}

pub fn rss(out: &mut impl Write, head: &Head, items: &[NewsItem]) -> Result<(), ExportError> {
    let when = |at: DateTime<Utc>| at.to_rfc2822();
    // RSS requires a link; without a site it is the feed's id.
    let link = head.link.as_ref().unwrap_or(&head.id);
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<rss version=\"2.0\"><channel>")?;
    writeln!(out, "<title>{}</title><link>{}</link>", xml(&head.title), xml(link))?;
    writeln!(out, "<description>{}</description>", xml(&head.title))?;
    writeln!(out, "<lastBuildDate>{}</lastBuildDate>", when(head.updated))?;
    for item in items {
        let link = item.link.as_ref().map(|link| format!("<link>{}</link>", xml(link))).unwrap_or_default();
        writeln!(
            out,
            "<item><title>{}</title>{link}<guid isPermaLink=\"false\">{}</guid><pubDate>{}</pubDate>\
             <description>{}</description></item>",
            xml(&item.title),
            xml(&item.id),
            when(item.at),
            xml(&html(&item.lines)),
        )?;
    }
    writeln!(out, "</channel></rss>")?;
    Ok(out.flush()?)
}

pub fn atom(out: &mut impl Write, head: &Head, items: &[NewsItem]) -> Result<(), ExportError> {
    let when = |at: DateTime<Utc>| at.to_rfc3339_opts(SecondsFormat::Secs, true);
    let link =
        |link: &Option<String>| link.as_ref().map(|link| format!("<link href=\"{}\"/>", xml(link))).unwrap_or_default();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">")?;
    writeln!(out, "<title>{}</title><id>{}</id>{}", xml(&head.title), xml(&head.id), link(&head.link))?;
    writeln!(out, "<updated>{}</updated><author><name>pieme</name></author>", when(head.updated))?;
    for item in items {
        writeln!(
            out,
            "<entry><title>{}</title><id>{}</id>{}<updated>{}</updated><content type=\"html\">{}</content></entry>",
            xml(&item.title),
            xml(&item.id),
            link(&item.link),
            when(item.at),
            xml(&html(&item.lines)),
        )?;
    }
    writeln!(out, "</feed>")?;
    Ok(out.flush()?)
}

/// Feed readers read descriptions as HTML, so texts of web pages are escaped there, too.
fn html(lines: &[String]) -> String {
    lines.iter().map(|line| xml(line)).collect::<Vec<_>>().join("<br/>")
}

/// Escapes a text for elements and attributes of XML 1.0.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            // XML 1.0 has no way to write these, not even by number.
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_strangers_are_texts_in_both_feeds() {
        let at = DateTime::<Utc>::UNIX_EPOCH;
        let head = Head { title: "a & b".to_owned(), link: None, id: "urn:x".to_owned(), updated: at };
        let item = NewsItem {
            id: "urn:x:1".to_owned(),
            title: "<b>\u{0}\u{1b}]]>\u{fffe}\"".to_owned(),
            link: Some("https://example.org/?a=1&b=\"".to_owned()),
            at,
            lines: vec!["<script>".to_owned(), "95 → 120".to_owned()],
        };
        let (mut first, mut second) = (Vec::new(), Vec::new());
        rss(&mut first, &head, std::slice::from_ref(&item)).expect("bytes");
        atom(&mut second, &head, &[item]).expect("bytes");
        for feed in [first, second].map(|it| String::from_utf8(it).expect("UTF-8")) {
            assert!(feed.contains("<title>&lt;b&gt;]]&gt;&quot;</title>"), "{feed}");
            assert!(feed.contains("&amp;lt;script&amp;gt;&lt;br/&gt;95 → 120"), "{feed}");
            assert!(!feed.chars().any(|c| c.is_control() && c != '\n'), "{feed}");
        }
    }
}
