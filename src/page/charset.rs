//! Decodes bytes to text: byte order mark, strict UTF-8, header, `<meta>`, then detection from the content.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use memchr::memmem::find;

/// A page's text and how it was read.
pub struct DecodedText {
    pub text: String,
    pub encoding: &'static Encoding,
    /// Some bytes were invalid in that encoding and became U+FFFD.
    pub had_errors: bool,
}

/// How far into the page a `<meta charset>` is searched for, as browsers do.
const META_WINDOW: usize = 1024 * 4;
/// How much of the page is searched for the NULs of UTF-16.
const UTF_16_WINDOW: usize = 512;
/// Fewer NULs than this are no evidence of UTF-16.
const UTF_16_NULS: usize = 4;
/// How much of the page the detector reads; it is the slowest method (19 to 74 MB/s).
const GUESS_WINDOW: usize = 256 * 1024;

/// Decodes bytes to text. `told` is what a person or the Content-Type header says, and may be wrong: valid UTF-8
/// overrides it, because text in another encoding is practically never valid UTF-8.
pub fn decode(bytes: &[u8], told: Option<&str>) -> DecodedText {
    if let Some((encoding, mark_len)) = Encoding::for_bom(bytes) {
        return read(&bytes[mark_len..], encoding);
    }
    if let Some(encoding) = utf_16_without_mark(bytes) {
        return read(bytes, encoding);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return DecodedText { text: text.to_owned(), encoding: UTF_8, had_errors: false };
    }
    let declared = told.and_then(|label| Encoding::for_label(label.trim().as_bytes())).or_else(|| from_meta(bytes));
    if let Some(encoding) = declared.filter(|&it| it != UTF_8) {
        return read(bytes, encoding);
    }
    // Declared UTF-8 with errors: a stray byte in a UTF-8 page is far commoner than a wrong label, unless there are
    // many.
    let as_utf8 = read(bytes, UTF_8);
    if declared == Some(UTF_8) && is_mostly_valid(&as_utf8.text) {
        return as_utf8;
    }
    read(bytes, guess(bytes))
}

/// Detects UTF-16 without a byte order mark. Western text in UTF-16 is also valid UTF-8, with a NUL beside every
/// letter.
fn utf_16_without_mark(bytes: &[u8]) -> Option<&'static Encoding> {
    let window = &bytes[..bytes.len().min(UTF_16_WINDOW)];
    let nuls = |from: usize| window.iter().skip(from).step_by(2).filter(|&&byte| byte == 0).count();
    let (first, second, pairs) = (nuls(0), nuls(1), window.len() / 2);
    let most = |count: usize| count >= UTF_16_NULS && count * 10 >= pairs * 8;
    match (first, second) {
        (0, second) if most(second) => Some(UTF_16LE),
        (first, 0) if most(first) => Some(UTF_16BE),
        _ => None,
    }
}

/// The charset of a Content-Type header.
pub fn from_content_type(header: &str) -> Option<&str> {
    header.split(';').skip(1).find_map(|parameter| {
        let (key, value) = parameter.split_once('=')?;
        key.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches(['"', '\'']))
    })
}

fn read(bytes: &[u8], encoding: &'static Encoding) -> DecodedText {
    let (text, had_errors) = encoding.decode_without_bom_handling(bytes);
    DecodedText { text: text.into_owned(), encoding, had_errors }
}

fn guess(bytes: &[u8]) -> &'static Encoding {
    let mut detector = chardetng::EncodingDetector::new(chardetng::Iso2022JpDetection::Allow);
    let window = &bytes[..bytes.len().min(GUESS_WINDOW)];
    detector.feed(window, window.len() == bytes.len());
    detector.guess(None, chardetng::Utf8Detection::Allow)
}

fn is_mostly_valid(text: &str) -> bool {
    let broken = text.chars().filter(|&c| c == char::REPLACEMENT_CHARACTER).count();
    let beyond_ascii = text.chars().filter(|c| !c.is_ascii()).count();
    broken * 4 <= beyond_ascii || broken <= 3
}

fn from_meta(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes[..bytes.len().min(META_WINDOW)].to_ascii_lowercase();
    let mut at = 0;
    while let Some(found) = find(&head[at..], b"<meta") {
        let start = at + found;
        let tag_len = find(&head[start..], b">").unwrap_or(head.len() - start);
        let tag = &head[start..start + tag_len];
        if let Some(place) = find(tag, b"charset") {
            let value: Vec<u8> = tag[place + b"charset".len()..]
                .iter()
                .copied()
                .skip_while(|b| b.is_ascii_whitespace() || b"=\"'".contains(b))
                .take_while(|b| b.is_ascii_alphanumeric() || b"-_:.".contains(b))
                .collect();
            // A page that could be read this far is not UTF-16, whatever it says (WHATWG).
            if let Some(encoding) = Encoding::for_label(&value) {
                return Some(if encoding.output_encoding() == encoding { encoding } else { UTF_8 });
            }
        }
        at = start + tag_len;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], told: Option<&str>, text: &str, encoding: &str) {
        let decoded = decode(bytes, told);
        assert_eq!((decoded.text.as_str(), decoded.encoding.name()), (text, encoding));
    }

    #[test]
    fn charset_is_found_by_content_header_and_meta() {
        check("Käse".as_bytes(), Some("windows-1251"), "Käse", "UTF-8");
        check(b"K\xe4se", Some("ISO-8859-1"), "Käse", "windows-1252");
        check(b"<meta charset=windows-1251>\xcf\xf0", None, "<meta charset=windows-1251>Пр", "windows-1251");
        check(
            b"<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>\x93\xfa\x96{",
            None,
            "<META http-equiv=Content-Type content='text/html; charset=Shift_JIS'>日本",
            "Shift_JIS",
        );
        check(b"\xff\xfeK\0", Some("utf-8"), "K", "UTF-16LE");
        check(b"one bad byte \xff in plain text", Some("utf-8"), "one bad byte \u{fffd} in plain text", "UTF-8");
    }

    #[test]
    fn utf_16_without_a_mark_is_seen_by_its_nuls() {
        let wide = |text: &str, bytes: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        check(&wide("<p>Käse", u16::to_le_bytes), Some("utf-8"), "<p>Käse", "UTF-16LE");
        check(&wide("<p>Käse", u16::to_be_bytes), None, "<p>Käse", "UTF-16BE");
        check(b"a\0b", None, "a\0b", "UTF-8");
        check(b"\0\0\0\0", None, "\0\0\0\0", "UTF-8");
        check(b"", None, "", "UTF-8");
    }

    #[test]
    fn a_page_whose_header_meta_and_bytes_all_differ_is_read_and_the_damage_noted() {
        let body = encoding_rs::SHIFT_JIS.encode("<p>日本の天気はとても良いです。").0;
        let page = [b"<meta charset=windows-1251>".as_slice(), &body].concat();
        let decoded = decode(&page, Some("utf-8"));
        assert!(decoded.text.starts_with("<meta charset=windows-1251><p>"), "{}", decoded.text);
        assert!(decoded.encoding == encoding_rs::SHIFT_JIS || decoded.had_errors, "{}", decoded.text);
        // UTF-7 is no encoding of the web: its bytes are what they look like.
        check(b"+ADw-p+AD4-", Some("utf-7"), "+ADw-p+AD4-", "UTF-8");
        let lone = decode(b"\xff\xfe\x00\xd8a\x00", None);
        assert_eq!((lone.text.as_str(), lone.had_errors), ("\u{fffd}a", true));
    }

    #[test]
    fn a_page_that_calls_itself_utf_8_but_is_not_is_guessed() {
        let page = encoding_rs::WINDOWS_1251.encode("Привет, это довольно длинный русский текст о погоде и о людях.").0;
        let decoded = decode(&page, Some("utf-8"));
        assert_eq!(decoded.encoding.name(), "windows-1251");
    }

    #[test]
    fn content_type_charset_is_read_in_all_its_spellings() {
        assert_eq!(from_content_type("text/html; charset=utf-8"), Some("utf-8"));
        assert_eq!(from_content_type("text/html;Charset=\"latin1\""), Some("latin1"));
        assert_eq!(from_content_type("text/html"), None);
    }
}
