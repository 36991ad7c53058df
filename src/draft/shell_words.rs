//! Splits a pasted command line into words, as the shell it was copied for does: bash (with `$'…'`) or Windows' cmd.
//!
//! Nothing is expanded: a `$HOME` or `%PATH%` in the text stays as written.

/// A command line that a shell would reject too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WordsError {
    #[error("a quotation mark ({0}) is never closed; copy the whole command")]
    Unclosed(char),
}

/// The commands of a text, each split into words; commands end at `;` and at line ends.
pub fn commands(text: &str) -> Result<Vec<Vec<String>>, WordsError> {
    let all = if is_for_cmd(text) { split_cmd(text)? } else { split_bash(text)? };
    Ok(all.into_iter().filter(|words| !words.is_empty()).collect())
}

/// True if the text escapes with `^`, as cmd does: every quote, or at least the end of every line.
fn is_for_cmd(text: &str) -> bool {
    text.contains("^\"") || text.lines().any(|line| line.trim_end().ends_with(" ^"))
}

/// Collects words and commands.
#[derive(Default)]
struct CommandSplitter {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    /// The word being read; `None` between two.
    word: Option<String>,
}

impl CommandSplitter {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    /// Begins a quoted part: an empty one is a word too.
    fn begin(&mut self) {
        self.word.get_or_insert_default();
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        self.commands.push(std::mem::take(&mut self.words));
    }

    fn finish(mut self) -> Vec<Vec<String>> {
        self.end_command();
        self.commands
    }
}

fn split_bash(text: &str) -> Result<Vec<Vec<String>>, WordsError> {
    let mut cut = CommandSplitter::default();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\'' => {
                cut.begin();
                until(&mut rest, '\'', |c, _| cut.push(c))?;
            }
            '"' => {
                cut.begin();
                until(&mut rest, '"', |c, rest| match (c, rest.peek().copied()) {
                    ('\\', Some('\n')) => _ = rest.next(),
                    ('\\', Some(next @ ('"' | '\\' | '$' | '`'))) => {
                        rest.next();
                        cut.push(next);
                    }
                    _ => cut.push(c),
                })?;
            }
            '$' if rest.peek() == Some(&'\'') => {
                rest.next();
                cut.begin();
                ansi_c_quoted(&mut rest, &mut cut)?;
            }
            // PowerShell continues on the next line after a backtick.
            '\\' | '`' if matches!(rest.peek(), Some('\n' | '\r')) => end_of_line(&mut rest),
            '\\' => cut.push(rest.next().unwrap_or('\\')),
            '#' if cut.word.is_none() => while rest.next_if(|&c| c != '\n').is_some() {},
            ';' | '\n' => cut.end_command(),
            '&' | '|' if cut.word.is_none() => cut.end_command(),
            ' ' | '\t' | '\r' => cut.end_word(),
            // An address without quotes: bash would end the command here, but the address continues.
            c => cut.push(c),
        }
    }
    Ok(cut.finish())
}

type CharStream<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Reads to the closing quote.
fn until(
    rest: &mut CharStream<'_>,
    end: char,
    mut take: impl FnMut(char, &mut CharStream<'_>),
) -> Result<(), WordsError> {
    while let Some(c) = rest.next() {
        if c == end {
            return Ok(());
        }
        take(c, rest);
    }
    Err(WordsError::Unclosed(end))
}

fn end_of_line(rest: &mut CharStream<'_>) {
    rest.next_if_eq(&'\r');
    rest.next_if_eq(&'\n');
}

/// `$'…'`: escapes as in C. Collects bytes, since `\xc3\xa9` is one letter.
fn ansi_c_quoted(rest: &mut CharStream<'_>, cut: &mut CommandSplitter) -> Result<(), WordsError> {
    let mut bytes = Vec::new();
    let put = |bytes: &mut Vec<u8>, c: char| bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    until(rest, '\'', |c, rest| {
        if c != '\\' {
            return put(&mut bytes, c);
        }
        match rest.next() {
            Some('n') => bytes.push(b'\n'),
            Some('r') => bytes.push(b'\r'),
            Some('t') => bytes.push(b'\t'),
            Some('a') => bytes.push(7),
            Some('b') => bytes.push(8),
            Some('e' | 'E') => bytes.push(27),
            Some('f') => bytes.push(12),
            Some('v') => bytes.push(11),
            Some('x') => bytes.push(number(rest, 16, 2) as u8),
            Some('u') => put(&mut bytes, code_unit(rest)),
            Some('U') => put(&mut bytes, char::from_u32(number(rest, 16, 8)).unwrap_or(char::REPLACEMENT_CHARACTER)),
            Some(digit @ '0'..='7') => {
                let first = digit.to_digit(8).unwrap_or(0);
                let more = rest.next_if(|c| c.is_digit(8)).and_then(|c| c.to_digit(8));
                let most = more.and_then(|_| rest.next_if(|c| c.is_digit(8))).and_then(|c| c.to_digit(8));
                bytes.push([more, most].into_iter().flatten().fold(first, |sum, digit| sum * 8 + digit) as u8);
            }
            Some(other) => put(&mut bytes, other),
            None => bytes.push(b'\\'),
        }
    })?;
    String::from_utf8_lossy(&bytes).chars().for_each(|c| cut.push(c));
    Ok(())
}

/// `\u00e9`. Chrome writes characters beyond the first plane as surrogate pairs.
fn code_unit(rest: &mut CharStream<'_>) -> char {
    let first = number(rest, 16, 4);
    let mut ahead = rest.clone();
    if (0xd800..0xdc00).contains(&first) && ahead.next() == Some('\\') && ahead.next() == Some('u') {
        let second = number(&mut ahead, 16, 4);
        if (0xdc00..0xe000).contains(&second) {
            *rest = ahead;
            return char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00))
                .unwrap_or(char::REPLACEMENT_CHARACTER);
        }
    }
    char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn number(rest: &mut CharStream<'_>, radix: u32, most: usize) -> u32 {
    let mut sum = 0;
    for _ in 0..most {
        let Some(digit) = rest.next_if(|c| c.is_digit(radix)).and_then(|c| c.to_digit(radix)) else { break };
        sum = sum * radix + digit;
    }
    sum
}

/// cmd removes its carets first; the program itself splits the rest by Microsoft's rules.
fn split_cmd(text: &str) -> Result<Vec<Vec<String>>, WordsError> {
    let mut all = Vec::new();
    for line in without_carets(text) {
        all.push(split_msvcrt(&line)?);
    }
    Ok(all)
}

/// The lines after removing carets. Outside of quotes a caret escapes the next character, including the end of a line,
/// which joins two lines.
fn without_carets(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut quoted = false;
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let line = lines.last_mut().expect("there is always a line");
        match c {
            '^' if !quoted => match rest.next() {
                Some('\r' | '\n') => {
                    rest.next_if_eq(&'\n');
                    // A second line end after it is literal.
                    if rest.next_if(|c| matches!(c, '\r' | '\n')).is_some() {
                        rest.next_if_eq(&'\n');
                        line.push('\n');
                    } else {
                        line.push(' ');
                    }
                }
                Some(next) => line.push(next),
                None => {}
            },
            '"' => {
                quoted = !quoted;
                line.push('"');
            }
            '\r' => {}
            '\n' => lines.push(String::new()),
            '&' if !quoted && line.ends_with(char::is_whitespace) => lines.push(String::new()),
            c => line.push(c),
        }
    }
    lines
}

/// The rules of Microsoft's C runtime: `\"` is a quote, backslashes before one count half, `""` inside quotes is one
/// too.
fn split_msvcrt(line: &str) -> Result<Vec<String>, WordsError> {
    let mut cut = CommandSplitter::default();
    let mut quoted = false;
    let mut rest = line.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                let mut slashes = 1;
                while rest.next_if_eq(&'\\').is_some() {
                    slashes += 1;
                }
                let before_quote = rest.peek() == Some(&'"');
                (0..if before_quote { slashes / 2 } else { slashes }).for_each(|_| cut.push('\\'));
                if before_quote && slashes % 2 == 1 {
                    rest.next();
                    cut.push('"');
                }
            }
            '"' if quoted && rest.next_if_eq(&'"').is_some() => cut.push('"'),
            '"' => {
                quoted = !quoted;
                cut.begin();
            }
            c if c.is_whitespace() && !quoted => cut.end_word(),
            c => cut.push(c),
        }
    }
    if quoted { Err(WordsError::Unclosed('"')) } else { Ok(cut.finish().into_iter().flatten().collect()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, words: &[&str]) {
        let got = commands(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(got.concat(), words, "{text}");
    }

    #[test]
    fn bash_quotes_are_read_as_bash_reads_them() {
        check(
            "curl 'https://a.test/?q=1&r=2' \\\n  -H 'x: it'\\''s'",
            &["curl", "https://a.test/?q=1&r=2", "-H", "x: it's"],
        );
        check(r#"curl "a\"b\$c\d" e\ f """#, &["curl", "a\"b$c\\d", "e f", ""]);
        check(r"curl $'a\'b\n\t\u00e9\xc3\xa9\u0021\ud83d\ude00\101'", &["curl", "a'b\n\téé!😀A"]);
        check("curl https://a.test/?a=1&b=2", &["curl", "https://a.test/?a=1&b=2"]);
        check("curl 'a' \\\r\n -s # and more", &["curl", "a", "-s"]);
        check("curl.exe 'a' `\n -s", &["curl.exe", "a", "-s"]);
    }

    #[test]
    fn several_commands_are_several() {
        let got = commands("curl 'a' ;\ncurl 'b' | jq . && curl c\n\n").expect("well quoted");
        let firsts: Vec<String> = got.iter().map(|words| words.join(" ")).collect();
        assert_eq!(firsts, ["curl a", "curl b", "jq .", "curl c"]);
    }

    #[test]
    fn cmd_carets_are_read_as_windows_reads_them() {
        check(
            "curl ^\"https://a.test/?q=1^&r=2^\" ^\r\n  -H ^\"x: say ^\\^\"hi^\\^\" 100^%^\" ^\r\n  \
             --data-raw ^\"a^\r\n\r\nb^\"",
            &["curl", "https://a.test/?q=1&r=2", "-H", "x: say \"hi\" 100%", "--data-raw", "a\nb"],
        );
        check(
            "curl \"https://a.test/\" ^\r\n -H \"x: \\\"y\\\" ^ \"\"z\"\"\"",
            &["curl", "https://a.test/", "-H", "x: \"y\" ^ \"z\""],
        );
        check("curl ^\"c:\\dir\\\\^\" -s ^\n -S", &["curl", "c:\\dir\\", "-s", "-S"]);
    }

    #[test]
    fn an_open_quote_is_named() {
        for (text, quote) in [("curl 'a", '\''), ("curl \"a", '"'), ("curl $'a\\'", '\''), ("curl ^\"a", '"')] {
            assert_eq!(commands(text), Err(WordsError::Unclosed(quote)), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_another_library_quotes_is_read_back(words in proptest::collection::vec("\\PC{0,12}", 1..6)) {
            let line = shell_words::join(&words);
            prop_assume!(!is_for_cmd(&line));
            prop_assert_eq!(commands(&line).expect("well quoted").concat(), words);
        }

        #[test]
        fn no_text_breaks_the_reader(text in "[\\PC\n\r'\"\\\\^$;&|`]{0,60}") {
            let _ = commands(&text);
        }
    }
}
