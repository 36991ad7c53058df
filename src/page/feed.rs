//! Hands the source to html5ever piece by piece, and leaves out the attributes that no tag has.
//!
//! html5ever looks through all attributes of a tag for each further one (20,000 of them took 1.8 s, safety.md 28), and offers
//! no hook in between. So the tags are measured here first. What is a tag and what is a comment the standard says; what is
//! raw text depends on where it stands, and there the builder is asked.

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer};

use super::build::Guard;
use super::tree::{Cut, MAX_ATTRIBUTES};

/// Feeds all of the source.
pub(super) fn feed(tokenizer: &Tokenizer<Guard>, html: &str) {
    let mut feeder = Feeder { tokenizer, html, fed: 0 };
    let mut at = 0;
    while let Some(found) = html[at..].find('<') {
        at = feeder.markup(at + found);
    }
    feeder.up_to(html.len());
}

struct Feeder<'a> {
    tokenizer: &'a Tokenizer<Guard>,
    html: &'a str,
    /// Bytes that the tokenizer has seen, or that were left out.
    fed: usize,
}

impl Feeder<'_> {
    /// What begins with the `<` at `at`: answers where to look on.
    fn markup(&mut self, at: usize) -> usize {
        let rest = &self.html.as_bytes()[at + 1..];
        match rest {
            [b'a'..=b'z' | b'A'..=b'Z', ..] => self.start_tag(at),
            [b'/', b'a'..=b'z' | b'A'..=b'Z', ..] => self.tag(at + 2),
            [b'!', b'-', b'-', ..] => comment_end(self.html, at + 4),
            [b'!', b'[', b'C', b'D', b'A', b'T', b'A', b'[', ..] if self.is_foreign(at) => after(self.html, at, "]]>"),
            [b'!' | b'?' | b'/', ..] => after(self.html, at, ">"),
            _ => at + 1,
        }
    }

    fn start_tag(&mut self, at: usize) -> usize {
        let name_len = self.html.as_bytes()[at + 1..].iter().take_while(|it| it.is_ascii_alphanumeric()).count();
        let name = &self.html[at + 1..at + 1 + name_len];
        let end = self.tag(at + 1);
        if !may_hold_raw_text(name) {
            return end;
        }
        self.up_to(end);
        if self.tokenizer.sink.in_raw_text.get() { self.raw_text(end, name) } else { end }
    }

    /// The end tag that the tokenizer takes for one; a script can hold some that it reads as text.
    fn raw_text(&mut self, mut at: usize, name: &str) -> usize {
        let bytes = self.html.as_bytes();
        while let Some(found) = self.html[at..].find("</") {
            let (open, delimiter) = (at + found, at + found + 2 + name.len());
            at = open + 2;
            let is_name = bytes.get(at..delimiter).is_some_and(|it| it.eq_ignore_ascii_case(name.as_bytes()));
            if is_name && bytes.get(delimiter).is_some_and(|&it| is_space(it) || matches!(it, b'/' | b'>')) {
                self.up_to(open);
                let texts = self.tokenizer.sink.texts.get();
                self.up_to(delimiter + 1);
                if self.tokenizer.sink.texts.get() == texts {
                    return self.tag(at);
                }
            }
        }
        self.html.len()
    }

    /// Measures the tag whose name begins at `at`, leaves out what it has too many of, and answers where it ends.
    fn tag(&mut self, at: usize) -> usize {
        let (end, too_many) = tag_end(self.html.as_bytes(), at);
        if let Some(from) = too_many {
            self.up_to(from);
            // The closing `>` still comes.
            self.fed = end.saturating_sub(1).max(from);
            self.tokenizer.sink.cut.set(self.tokenizer.sink.cut.get().or(Some(Cut::TooManyAttributes)));
        }
        end
    }

    fn is_foreign(&mut self, at: usize) -> bool {
        self.up_to(at);
        self.tokenizer.sink.is_foreign()
    }

    fn up_to(&mut self, end: usize) {
        if self.fed >= end {
            return;
        }
        let input = BufferQueue::default();
        input.push_back(StrTendril::from_slice(&self.html[self.fed..end]));
        // A script's end or a `<meta charset>` only hands control back so that a browser could act on it.
        while !matches!(self.tokenizer.feed(&input), TokenizerResult::Done) {}
        self.fed = end;
    }
}

fn may_hold_raw_text(name: &str) -> bool {
    const RAW: [&str; 10] =
        ["script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "noscript", "plaintext"];
    RAW.iter().any(|it| name.eq_ignore_ascii_case(it))
}

/// One past the next `mark`.
fn after(html: &str, at: usize, mark: &str) -> usize {
    html[at..].find(mark).map_or(html.len(), |found| at + found + mark.len())
}

/// One past the end of the comment whose inside begins at `at`.
fn comment_end(html: &str, mut at: usize) -> usize {
    if html[at..].starts_with('>') {
        return at + 1;
    }
    if html[at..].starts_with("->") {
        return at + 2;
    }
    while let Some(found) = html[at..].find("--") {
        at += found;
        match html.as_bytes()[at + 2..] {
            [b'>', ..] => return at + 3,
            [b'!', b'>', ..] => return at + 4,
            _ => at += 1,
        }
    }
    html.len()
}

/// One past the end of the tag whose name begins at `at`, and where the first attribute beyond the cap begins.
fn tag_end(bytes: &[u8], at: usize) -> (usize, Option<usize>) {
    let skip =
        |from: usize, go_on: fn(u8) -> bool| from + bytes[from..].iter().take_while(|&&byte| go_on(byte)).count();
    let mut at = skip(at, |byte| !is_space(byte) && !matches!(byte, b'/' | b'>'));
    let (mut count, mut too_many) = (0, None);
    loop {
        at = skip(at, |byte| is_space(byte) || byte == b'/');
        match bytes.get(at) {
            None => return (at, too_many),
            Some(b'>') => return (at + 1, too_many),
            Some(_) => {}
        }
        count += 1;
        if count == MAX_ATTRIBUTES + 1 {
            too_many = Some(at);
        }
        // Whatever stands first belongs to the name, even `=`.
        at = skip(at + 1, |byte| !is_space(byte) && !matches!(byte, b'/' | b'>' | b'='));
        at = skip(at, is_space);
        if bytes.get(at) == Some(&b'=') {
            at = skip(at + 1, is_space);
            at = match bytes.get(at) {
                Some(b'"') => (skip(at + 1, |byte| byte != b'"') + 1).min(bytes.len()),
                Some(b'\'') => (skip(at + 1, |byte| byte != b'\'') + 1).min(bytes.len()),
                _ => skip(at, |byte| !is_space(byte) && byte != b'>'),
            };
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use super::super::tree::Tree;
    use super::*;

    fn many(count: usize) -> String {
        (0..count).map(|i| format!(" a{i}='>{i}'")).collect()
    }

    fn attributes(tree: &Tree, tag: &str) -> usize {
        let node = tree.elements(tag).next().unwrap_or_else(|| panic!("{tag} is there"));
        tree.element(node).map_or(0, |it| it.attributes.len())
    }

    #[test]
    fn twenty_thousand_attributes_are_cut_and_the_rest_of_the_page_is_not() {
        let tree = Tree::parse(&format!("<p{} / class=x>one</p><p class=y>two</p>", many(20_000)));
        assert_eq!(tree.cut, Some(Cut::TooManyAttributes));
        assert_eq!(attributes(&tree, "p"), MAX_ATTRIBUTES);
        assert_eq!(tree.text(tree.root()), "one two");
        let few = Tree::parse(&format!("<p{}>one</p>", many(MAX_ATTRIBUTES)));
        assert_eq!((few.cut, attributes(&few, "p")), (None, MAX_ATTRIBUTES));
    }

    #[test]
    fn attributes_are_cut_wherever_a_tag_can_stand() {
        let p = format!("<p{}>kept</p>", many(1_000));
        for before in [
            "<!-- > <a b=' -->",
            "<!-->",
            "<!--->",
            "<!-- --!>",
            "<!doctype html '>",
            "<? '>",
            "</ '>",
            "</>",
            "< a '",
            "<script>x = '<a b=\"'; <!-- <script> </script> '</script>",
            "<script>'</scripty b=\"'</script>",
            "<script><!--<script></script b='--></script>",
            "<script></script b c='>'>",
            "<style><a b='</STYLE >",
            "<title><a b='</title/>",
            "<textarea></text b='></textarea>",
            "<svg><title>",
            "<svg><style>",
            "<svg><![CDATA[ <a b=' > ]]>",
            "<![CDATA[ <a b='>",
            "<noscript>",
            "<select><option>",
            "<a b=c/ d = '>' e=\">\" f=>",
            "<a =' >",
            "<a\u{e4}\u{1f600}='\u{e4}'>",
            "\u{e4}<\u{e4}",
            "<b\0 c>\0",
        ] {
            let tree = Tree::parse(&format!("{before}{p}<i>after</i>"));
            assert_eq!(tree.cut, Some(Cut::TooManyAttributes), "{before}");
            assert!(
                tree.subtree(tree.root())
                    .filter_map(|it| tree.element(it))
                    .all(|it| it.attributes.len() <= MAX_ATTRIBUTES)
            );
            let shown = format!("{} {}", tree.text(tree.root()), before);
            assert!(before.contains("select") || shown.contains("kept"), "{before}: {shown}");
        }
    }

    #[test]
    fn what_only_looks_like_a_tag_is_not_cut() {
        let words = format!("<a{} ", " w".repeat(1_000));
        for (before, after) in [
            ("<!--", "-->"),
            ("<script>", "</script>"),
            ("<style>", "</style>"),
            ("<title>", "</title>"),
            ("<p title='", "'>"),
        ] {
            let tree = Tree::parse(&format!("{before}{words}{after}<p>kept</p>"));
            assert_eq!(tree.cut, None, "{before}");
            let last = tree.elements("p").last().expect("the paragraph is there");
            assert_eq!(tree.text(last), "kept", "{before}");
        }
    }

    #[test]
    fn a_tag_that_never_ends_is_no_tag() {
        let tree = Tree::parse(&format!("<p>one<p{}", many(1_000)));
        assert_eq!(tree.text(tree.root()), "one");
    }

    #[test]
    fn html_and_body_tags_that_come_again_add_no_attributes_without_end() {
        for tag in ["html", "body"] {
            let html: String = (0..5_000).map(|i| format!("<{tag} a{i}>")).collect();
            let tree = Tree::parse(&html);
            assert_eq!((tree.cut, attributes(&tree, tag)), (Some(Cut::TooManyAttributes), MAX_ATTRIBUTES));
        }
    }
}
