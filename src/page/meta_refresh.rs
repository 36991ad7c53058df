//! `<meta http-equiv=refresh content="0;url=…">`: redirects inside a page, followed as browsers do.

use super::{NodeId, Tree};

/// A page with a longer delay is meant to be read and is not a redirect.
const MAX_DELAY_SECONDS: f64 = 5.0;

/// The target of the page's meta refresh, as written.
pub fn target(tree: &Tree) -> Option<String> {
    let says_refresh =
        |node: &NodeId| tree.attribute(*node, "http-equiv").is_some_and(|it| it.trim().eq_ignore_ascii_case("refresh"));
    // A browser with scripts ignores what is inside <noscript>.
    let counts = |node: &NodeId| !tree.ancestors(*node).any(|it| tree.tag(it) == "noscript");
    let meta = tree.elements("meta").filter(says_refresh).find(counts)?;
    parse_content(tree.attribute(meta, "content")?)
}

/// `0; url='/next'` → `/next`. `None` without a target, or with a long delay.
fn parse_content(content: &str) -> Option<String> {
    let content = content.trim_start();
    let number = content.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(content.len());
    if content[..number].parse::<f64>().ok()? > MAX_DELAY_SECONDS {
        return None;
    }
    let rest = content[number..].trim_start().strip_prefix([';', ','])?.trim_start();
    let named = rest.get(..3).filter(|start| start.eq_ignore_ascii_case("url"));
    let after_name = named.and_then(|_| rest[3..].trim_start().strip_prefix('='));
    let address = after_name.unwrap_or(rest).trim();
    let quote = address.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let address = match quote {
        Some(quote) => address[1..].split(quote).next().unwrap_or_default(),
        None => address,
    };
    (!address.is_empty()).then(|| address.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_sends_its_visitor_on_in_every_spelling() {
        for (content, target) in [
            ("0;url=/next", Some("/next")),
            ("0; URL='/a b'", Some("/a b")),
            (" 5 ;url = \"x\" ", Some("x")),
            ("0,url=/next", Some("/next")),
            ("0;/next", Some("/next")),
            ("0.5; url=/next", Some("/next")),
            ("0;url=javascript:alert(1)", Some("javascript:alert(1)")),
            ("6;url=/next", None),
            ("300", None),
            ("0", None),
            ("0;", None),
            ("0;url=", None),
            ("", None),
            ("url=/next", None),
            ("-1;url=/next", None),
            ("1.2.3;url=/next", None),
        ] {
            assert_eq!(parse_content(content).as_deref(), target, "{content:?}");
        }
    }

    #[test]
    fn what_is_for_browsers_without_scripts_is_not_followed() {
        let on = "<meta http-equiv=Refresh content='0;url=/on'>";
        for (page, target) in [
            (format!("<head>{on}</head>"), Some("/on")),
            (format!("<head><noscript>{on}</noscript></head>"), None),
            (format!("<body><p>{on}"), Some("/on")),
            ("<meta name=refresh content='0;url=/on'>".to_owned(), None),
        ] {
            assert_eq!(super::target(&Tree::parse(&page)).as_deref(), target, "{page}");
        }
    }
}
