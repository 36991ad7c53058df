//! Translates XPath to CSS, as far as people copy it from browsers.
//!
//! Supported: steps by tag or `*`, `/` and `//`, an attribute or `text()` at the end, and predicates: a position,
//! `last()`, `@a`, `@a='v'`, `contains(@a, 'v')`, `starts-with(@a, 'v')`, a child's tag, several joined by `and`.

/// A translated path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CssPath {
    pub css: String,
    /// The attribute at its end, if any.
    pub attribute: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the part `{part}` of the XPath `{path}` is not supported; supported are steps by tag, positions, attributes, \
     contains() and starts-with(); use a CSS selector instead"
)]
pub struct XPathError {
    path: String,
    part: String,
}

/// A path that starts with `//` matches anywhere in the scope, one that starts with `./` or a tag only its children.
pub fn to_css(xpath: &str) -> Result<CssPath, XPathError> {
    let error = |part: &str| XPathError { path: xpath.to_owned(), part: part.to_owned() };
    let whole = xpath.trim();
    let mut rest = whole.strip_prefix('.').unwrap_or(whole);
    let mut css = String::new();
    // Without a slash, or after a dot, the first step is a child of the scope.
    let is_relative = !whole.starts_with('/');
    if is_relative && !rest.starts_with('/') && !rest.is_empty() {
        rest = whole;
    }
    let mut attribute = None;
    let mut is_first = true;
    while !rest.is_empty() {
        let (anywhere, after) = match (rest.strip_prefix("//"), rest.strip_prefix('/')) {
            (Some(after), _) => (true, after),
            (None, Some(after)) => (false, after),
            (None, None) if is_first => (false, rest),
            (None, None) => return Err(error(rest)),
        };
        let (step, next) = after.split_at(step_end(after));
        rest = next;
        match step.strip_prefix('@') {
            Some(name) if is_name(name) && rest.is_empty() => attribute = Some(name.to_lowercase()),
            None if step == "text()" && rest.is_empty() => {}
            _ => {
                css.push_str(match (is_first, anywhere, is_relative) {
                    (true, false, true) => ":scope > ",
                    (true, ..) => "",
                    (false, true, _) => " ",
                    (false, false, _) => " > ",
                });
                css.push_str(&compound(step).ok_or_else(|| error(step))?);
            }
        }
        is_first = false;
    }
    if css.is_empty() {
        css.push_str(":scope");
    }
    Ok(CssPath { css, attribute })
}

/// Position of the end of a step: a slash outside of brackets and quotation marks.
fn step_end(text: &str) -> usize {
    let mut depth = 0_usize;
    for (i, c) in unquoted(text) {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => return i,
            _ => {}
        }
    }
    text.len()
}

/// Position of the bracket that ends a predicate; `None` without one, or where another predicate is inside.
fn predicate_end(text: &str) -> Option<usize> {
    unquoted(text).find(|(_, c)| matches!(c, '[' | ']')).filter(|(_, c)| *c == ']').map(|(i, _)| i)
}

/// The characters outside of quotation marks.
fn unquoted(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut quote = None;
    text.char_indices().filter(move |&(_, c)| match quote {
        Some(open) => {
            quote = quote.filter(|_| c != open);
            false
        }
        None => {
            quote = Some(c).filter(|c| matches!(c, '\'' | '"'));
            quote.is_none()
        }
    })
}

fn compound(step: &str) -> Option<String> {
    let step = step.strip_prefix("child::").unwrap_or(step);
    let (tag, predicates) = step.split_at(step.find('[').unwrap_or(step.len()));
    let tag = tag.trim();
    if tag != "*" && !is_name(tag) {
        return None;
    }
    let mut css = tag.to_lowercase();
    let mut rest = predicates;
    while !rest.is_empty() {
        let inside = rest.strip_prefix('[')?;
        let (predicate, next) = inside.split_at(predicate_end(inside)?);
        rest = next.strip_prefix(']')?.trim_start();
        for part in predicate.split(" and ") {
            css = narrowed(css, part.trim())?;
        }
    }
    Some(css)
}

/// Adds a condition to a compound selector. A position counts among the siblings that meet the conditions before it.
fn narrowed(css: String, predicate: &str) -> Option<String> {
    let position = predicate.strip_prefix("position()").map_or(predicate, |it| it.trim_start_matches([' ', '=']));
    if position == "last()" {
        return Some(format!(":nth-last-child(1 of {css})"));
    }
    if let Ok(number) = position.parse::<u32>() {
        return Some(format!(":nth-child({number} of {css})"));
    }
    for (function, sign) in [("contains(", "*="), ("starts-with(", "^=")] {
        if let Some(inside) = predicate.strip_prefix(function).and_then(|it| it.strip_suffix(')')) {
            return by_function(&css, inside, sign);
        }
    }
    match (predicate.strip_prefix('@'), predicate.split_once('=')) {
        (Some(_), Some((name, value))) => {
            let name = name.trim().trim_start_matches('@');
            is_name(name).then_some(())?;
            Some(format!("{css}[{name}={}]", quoted(value)?))
        }
        (Some(name), None) if is_name(name) => Some(format!("{css}[{name}]")),
        (None, None) if is_name(predicate) => Some(format!("{css}:has(> {predicate})")),
        _ => None,
    }
}

/// Translates `@class, 'x'`, or the long form that tests for one class among several.
fn by_function(css: &str, inside: &str, sign: &str) -> Option<String> {
    let (subject, value) = inside.rsplit_once(',')?;
    let value = quoted(value)?;
    let subject: String = subject.chars().filter(|c| !c.is_whitespace()).collect();
    if let Some(name) = subject.strip_prefix('@').filter(|name| is_name(name)) {
        return Some(format!("{css}[{name}{sign}{value}]"));
    }
    let among = ["concat('',normalize-space(@class),'')", "concat('',@class,'')"];
    let word = value.trim_matches('"').trim();
    let is_class = sign == "*=" && among.contains(&subject.replace('"', "'").as_str());
    (is_class && !word.contains(char::is_whitespace)).then(|| format!("{css}[class~=\"{word}\"]"))
}

/// A quoted text in CSS notation.
fn quoted(text: &str) -> Option<String> {
    let text = text.trim();
    let quoted_by = |it: char| text.strip_prefix(it)?.strip_suffix(it).filter(|inside| !inside.contains(it));
    let inside = ['\'', '"'].into_iter().find_map(quoted_by)?;
    (!inside.contains(['"', '\\', '\n'])).then(|| format!("\"{inside}\""))
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

#[cfg(test)]
mod tests {
    use super::super::{Selector, Tree};
    use super::*;

    #[test]
    fn what_a_browser_copies_finds_the_same_as_css() {
        let tree = Tree::parse(
            "<table><tr class='odd x'><td>1<td><a href=/1>a</a><tr class=even><td>2<td><a href=/2 title='x/y'>b</a>\
             </table>",
        );
        for (xpath, css, found) in [
            ("//tr", "tr", 2),
            ("//tr[@class='even']/td", "tr[class=\"even\"] > td", 2),
            (
                "/html/body/table/tbody/tr[2]/td[2]/a",
                "html > body > table > tbody > :nth-child(2 of tr) > :nth-child(2 of td) > a",
                1,
            ),
            ("//table//td[last()]", "table :nth-last-child(1 of td)", 2),
            ("//tr[contains(@class, 'odd')]", "tr[class*=\"odd\"]", 1),
            ("//tr[contains(concat(' ', normalize-space(@class), ' '), ' x ')]", "tr[class~=\"x\"]", 1),
            ("//*[@href and starts-with(@title, 'x/')]", "*[href][title^=\"x/\"]", 1),
            ("//td[a]/text()", "td:has(> a)", 2),
        ] {
            let path = to_css(xpath).expect(xpath);
            assert_eq!((path.css.as_str(), path.attribute), (css, None), "{xpath}");
            let selector = Selector::parse(&path.css).expect("CSS");
            assert_eq!(selector.all(&tree, tree.root()).len(), found, "{xpath}");
        }
    }

    #[test]
    fn paths_of_columns_start_at_the_row_and_may_end_in_an_attribute() {
        for (xpath, css, attribute) in [
            (".//a/@href", "a", Some("href")),
            ("./td/a/@href", ":scope > td > a", Some("href")),
            ("td[1]", ":scope > :nth-child(1 of td)", None),
            ("@id", ":scope", Some("id")),
            (".", ":scope", None),
        ] {
            let path = to_css(xpath).expect(xpath);
            assert_eq!((path.css.as_str(), path.attribute.as_deref()), (css, attribute), "{xpath}");
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (xpath, part) in [
            ("//tr/following-sibling::td", "following-sibling::td"),
            ("//tr[count(td)=2]", "tr[count(td)=2]"),
            ("//a[@x='1' or @y='2']", "a[@x='1' or @y='2']"),
            ("//a/..", ".."),
            ("//", ""),
            ("//a[", "a["),
        ] {
            let error = to_css(xpath).expect_err(xpath);
            assert_eq!(error.part, part, "{xpath}");
        }
    }
}
