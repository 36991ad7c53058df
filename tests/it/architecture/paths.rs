//! Reads the paths of a Rust source, without its tests: `use` declarations with nested braces, and the paths in
//! expressions, types and macros.

use std::iter::Peekable;
use std::str::Chars;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Token {
    text: String,
    line: usize,
}

impl Token {
    fn is_name(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// In an expression, a type or a macro.
    Inline,
    /// A `use` that binds this name.
    Use(String),
    /// `use a::b::*`
    Glob,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourcePath {
    /// The inline modules around it, outermost first.
    pub scope: Vec<String>,
    pub segments: Vec<String>,
    pub kind: PathKind,
    pub line: usize,
}

/// Names, numbers, `::` and single punctuation characters. Comments, strings, characters and lifetimes are left out.
fn tokens(source: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = source.chars().peekable();
    let mut line = 1;
    while let Some(&c) = rest.peek() {
        if c.is_alphanumeric() || c == '_' {
            let text: String = std::iter::from_fn(|| rest.next_if(|c| c.is_alphanumeric() || *c == '_')).collect();
            match (text.as_str(), rest.peek()) {
                ("r" | "br" | "cr", Some('"' | '#')) => line += skip_raw(&mut rest),
                // The next turn skips the string.
                ("b" | "c", Some('"' | '\'')) => {}
                _ => found.push(Token { text, line }),
            }
            continue;
        }
        rest.next();
        match (c, rest.peek()) {
            ('\n', _) => line += 1,
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => line += skip_comment(&mut rest),
            ('"', _) => line += skip_quoted(&mut rest, '"'),
            ('\'', _) => skip_char_or_lifetime(&mut rest),
            (':', Some(':')) => {
                rest.next();
                found.push(Token { text: "::".to_owned(), line });
            }
            (c, _) if c.is_whitespace() => {}
            (c, _) => found.push(Token { text: c.to_string(), line }),
        }
    }
    found
}

/// Each of these returns how many lines it has passed.
fn skip_quoted(rest: &mut Peekable<Chars<'_>>, end: char) -> usize {
    let mut lines = 0;
    while let Some(c) = rest.next() {
        let escaped = if c == '\\' { rest.next() } else { None };
        lines += usize::from(c == '\n' || escaped == Some('\n'));
        if c == end {
            break;
        }
    }
    lines
}

fn skip_raw(rest: &mut Peekable<Chars<'_>>) -> usize {
    let hashes = std::iter::from_fn(|| rest.next_if_eq(&'#')).count();
    // `r#name` is a name, which the next turn reads.
    if rest.next_if_eq(&'"').is_none() {
        return 0;
    }
    let mut lines = 0;
    while let Some(c) = rest.next() {
        lines += usize::from(c == '\n');
        if c == '"' && (0..hashes).all(|_| rest.next_if_eq(&'#').is_some()) {
            break;
        }
    }
    lines
}

fn skip_comment(rest: &mut Peekable<Chars<'_>>) -> usize {
    let (mut depth, mut lines) = (0, 0);
    let mut last = '/';
    for c in rest.by_ref() {
        lines += usize::from(c == '\n');
        (depth, last) = match (last, c) {
            ('/', '*') => (depth + 1, ' '),
            ('*', '/') => (depth - 1, ' '),
            _ => (depth, c),
        };
        if depth == 0 {
            break;
        }
    }
    lines
}

fn skip_char_or_lifetime(rest: &mut Peekable<Chars<'_>>) {
    let mut after = rest.clone();
    let is_char = match after.next() {
        Some('\\') => true,
        _ => after.next() == Some('\''),
    };
    if is_char {
        skip_quoted(rest, '\'');
    } else {
        while rest.next_if(|c| c.is_alphanumeric() || *c == '_').is_some() {}
    }
}

/// The paths of two and more segments, in the order of the text.
pub fn paths(source: &str) -> Vec<SourcePath> {
    let mut reader = Reader { tokens: tokens(source), at: 0, found: Vec::new() };
    reader.items(&mut Vec::new());
    reader.found
}

struct Reader {
    tokens: Vec<Token>,
    at: usize,
    found: Vec<SourcePath>,
}

impl Reader {
    fn text(&self, ahead: usize) -> &str {
        self.tokens.get(self.at + ahead).map_or("", |token| token.text.as_str())
    }

    fn matches(&self, texts: &[&str]) -> bool {
        texts.iter().enumerate().all(|(ahead, text)| self.text(ahead) == *text)
    }

    /// Reads to the brace that closes this scope, or to the end.
    fn items(&mut self, scope: &mut Vec<String>) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "#" if self.matches(&["#", "[", "cfg", "(", "test", ")", "]"]) => self.skip_item(),
                "mod" if self.text(2) == "{" => {
                    scope.push(self.text(1).to_owned());
                    self.at += 3;
                    self.items(scope);
                    scope.pop();
                }
                "use" if self.text(1) != "<" => {
                    self.at += 1;
                    self.use_tree(scope, &[]);
                }
                "}" if depth == 0 && !scope.is_empty() => {
                    self.at += 1;
                    return;
                }
                brace @ ("{" | "}") => {
                    depth += if brace == "{" { 1 } else { -1 };
                    self.at += 1;
                }
                _ => self.inline_path(scope),
            }
        }
    }

    /// A name with what follows it, if it is the head of a path.
    fn inline_path(&mut self, scope: &[String]) {
        let is_head = self.tokens[self.at].is_name() && (self.at == 0 || self.tokens[self.at - 1].text != "::");
        let line = self.tokens[self.at].line;
        let mut segments = vec![self.text(0).to_owned()];
        self.at += 1;
        if !is_head {
            return;
        }
        while self.text(0) == "::" && self.tokens.get(self.at + 1).is_some_and(Token::is_name) {
            segments.push(self.text(1).to_owned());
            self.at += 2;
        }
        if segments.len() > 1 {
            self.found.push(SourcePath { scope: scope.to_vec(), segments, kind: PathKind::Inline, line });
        }
    }

    /// One tree of a `use`, up to the comma, brace or semicolon behind it.
    fn use_tree(&mut self, scope: &[String], before: &[String]) {
        let mut segments = before.to_vec();
        let line = self.tokens.get(self.at).map_or(0, |token| token.line);
        let path = |segments, kind| SourcePath { scope: scope.to_vec(), segments, kind, line };
        while self.at < self.tokens.len() {
            match self.text(0) {
                "::" => self.at += 1,
                "*" => {
                    self.at += 1;
                    self.found.push(path(segments, PathKind::Glob));
                    return;
                }
                "{" => {
                    self.at += 1;
                    while !matches!(self.text(0), "}" | "") {
                        self.use_tree(scope, &segments);
                        self.at += usize::from(self.text(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "as" => {
                    let name = self.text(1).to_owned();
                    self.at += 2;
                    self.found.push(path(without_self(segments), PathKind::Use(name)));
                    return;
                }
                "," | "}" | ";" => {
                    let segments = without_self(segments);
                    let name = segments.last().cloned().unwrap_or_default();
                    self.found.push(path(segments, PathKind::Use(name)));
                    return;
                }
                name => {
                    segments.push(name.to_owned());
                    self.at += 1;
                }
            }
        }
    }

    /// Skips an attribute, those behind it, and the item, statement or field that they belong to.
    fn skip_item(&mut self) {
        while self.text(0) == "#" {
            self.at += 1;
            self.skip_group();
        }
        if self.text(0) == "pub" {
            self.at += 1;
            if self.text(0) == "(" {
                self.skip_group();
            }
        }
        let ends_with_semicolon = matches!(self.text(0), "use" | "let" | "const" | "static" | "type");
        let is_field = self.text(1) == ":";
        while self.at < self.tokens.len() {
            match self.text(0) {
                ";" => return self.at += 1,
                "," if is_field => return self.at += 1,
                "}" => return,
                "{" if !ends_with_semicolon => return self.skip_group(),
                "{" | "(" | "[" => self.skip_group(),
                _ => self.at += 1,
            }
        }
    }

    /// Skips a bracket with what it contains.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.text(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

/// `use a::b::{self}` binds `b`.
fn without_self(mut segments: Vec<String>) -> Vec<String> {
    if segments.len() > 1 && segments.last().is_some_and(|last| last == "self") {
        segments.pop();
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(source: &str) -> Vec<String> {
        let show = |path: SourcePath| match path.kind {
            PathKind::Inline => path.segments.join("::"),
            PathKind::Use(name) => format!("use {} as {name}", path.segments.join("::")),
            PathKind::Glob => format!("use {}::*", path.segments.join("::")),
        };
        paths(source).into_iter().map(show).collect()
    }

    #[test]
    fn a_use_with_nested_braces_is_one_path_a_name() {
        let source = "pub(crate) use crate::a::{self, b, c::{d as e, f::*}, };\nuse super::super::x;";
        let expected = [
            "use crate::a as a",
            "use crate::a::b as b",
            "use crate::a::c::d as e",
            "use crate::a::c::f::*",
            "use super::super::x as x",
        ];
        assert_eq!(joined(source), expected);
    }

    #[test]
    fn paths_in_expressions_types_and_macros_are_found() {
        let source = "fn f(a: &super::A<crate::b::B>) -> ::std::io::Error { html! { (crate::c::d()) }; x::<u8>::y() }";
        assert_eq!(joined(source), ["super::A", "crate::b::B", "crate::c::d"]);
    }

    #[test]
    fn comments_strings_characters_and_lifetimes_hold_no_path() {
        let source = r####"
            // crate::a::b
            /* crate::a /* nested */ crate::b */
            const T: &str = "crate::c \" crate::d";
            const R: &str = r#"crate::e " crate::f"#;
            fn f<'a>(c: char) -> bool { c == '"' || c == '\'' || c == '\\' || crate::g::h::<'a>(b"x::y") }
        "####;
        assert_eq!(joined(source), ["crate::g::h"]);
        assert_eq!(paths(source)[0].line, 6);
    }

    #[test]
    fn what_only_tests_have_is_left_out() {
        let source = "
            #[cfg(test)]
            pub use crate::a::{b, c};
            struct S { #[cfg(test)] pub f: crate::d::E, g: crate::f::G }
            fn h() { #[cfg(test)] if x { crate::i::j(); } crate::k::l() }
            #[cfg(test)]
            #[path = \"x.rs\"]
            mod tests { use super::*; fn t() { crate::m::n() } }
            use crate::o::p;";
        assert_eq!(joined(source), ["crate::f::G", "crate::k::l", "use crate::o::p as p"]);
    }

    #[test]
    fn an_inline_module_is_the_scope_of_its_paths() {
        let found = paths("mod a { fn f() { super::g::h() } mod b { use self::c; } } use d::e;");
        let scopes: Vec<String> = found.iter().map(|path| path.scope.join("::")).collect();
        assert_eq!(scopes, ["a", "a::b", ""]);
    }
}
