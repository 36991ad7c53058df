//! ASP.NET POST-backs: `javascript:__doPostBack('grid','Page$2')` sends the page's own form with two fields set. Pure.

use super::{NodeId, Tree};

/// The values of `__EVENTTARGET` and `__EVENTARGUMENT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostBack {
    pub target: String,
    pub argument: String,
}

/// The POST-back that a click on this element makes.
pub fn post_back_of(tree: &Tree, node: NodeId) -> Option<PostBack> {
    ["href", "onclick"].iter().filter_map(|name| tree.attribute(node, name)).find_map(parse)
}

/// Reads `__doPostBack('a','b')` and `WebForm_DoPostBackWithOptions(new WebForm_PostBackOptions("a", "b", …))`.
fn parse(script: &str) -> Option<PostBack> {
    // In an `href` the quotes may be percent-encoded.
    let script = script.replace("%27", "'").replace("%22", "\"").replace("%24", "$").replace("%20", " ");
    let calls = ["__doPostBack(", "WebForm_PostBackOptions("];
    let arguments = calls.iter().find_map(|call| script.split_once(call).map(|(_, rest)| rest))?;
    let (target, rest) = quoted(arguments)?;
    let argument = rest.trim_start().strip_prefix(',').and_then(quoted).map(|(argument, _)| argument);
    Some(PostBack { target, argument: argument.unwrap_or_default() })
}

/// The quoted text at the beginning, and the rest.
fn quoted(script: &str) -> Option<(String, &str)> {
    let script = script.trim_start();
    let quote = script.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inside = &script[1..];
    let mut text = String::new();
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => {
                text.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            c if c == quote => return Some((text, &inside[at + 1..])),
            c => text.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_post_back_is_read_in_all_its_spellings() {
        for (script, target, argument) in [
            ("javascript:__doPostBack('ctl00$grid','Page$2')", "ctl00$grid", "Page$2"),
            ("javascript:__doPostBack(&#39;", "", ""),
            ("javascript:__doPostBack(%27ctl00%24grid%27,%27Page%242%27)", "ctl00$grid", "Page$2"),
            ("return false; __doPostBack(\"a\" , \"\")", "a", ""),
            (
                "javascript:WebForm_DoPostBackWithOptions(new WebForm_PostBackOptions(\"ctl00$next\", \"\", true))",
                "ctl00$next",
                "",
            ),
            ("__doPostBack('it\\'s','x')", "it's", "x"),
            ("javascript:next(2)", "", ""),
        ] {
            let expected = PostBack { target: target.to_owned(), argument: argument.to_owned() };
            assert_eq!(parse(script), Some(expected).filter(|_| !target.is_empty()), "{script}");
        }
    }
}
