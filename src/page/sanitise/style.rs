//! Removes from a style sheet or `style` attribute everything that would be fetched.

/// Constructs that fetch, with harmless replacements. Backslashes are removed first, so that an escape (`u\72l(`)
/// cannot hide one.
const FETCHING_CONSTRUCTS: &[(&str, &str)] = &[
    ("url(", "none("),
    ("image-set(", "none("),
    ("image(", "none("),
    ("src(", "none("),
    ("@import", "@none"),
    ("@namespace", "@none"),
    ("expression(", "none("),
    ("-moz-binding", "none"),
    ("behavior", "none"),
];

/// Removes fetches, and everything that could end the surrounding element.
pub fn without_fetches(sheet: &str) -> String {
    let mut sheet: String = sheet.chars().filter(|c| !matches!(c, '\\' | '<' | '\0')).collect();
    for (what, instead) in FETCHING_CONSTRUCTS {
        sheet = replace_ignoring_case(&sheet, what, instead);
    }
    sheet
}

/// Case-insensitive `replace`.
fn replace_ignoring_case(text: &str, what: &str, instead: &str) -> String {
    // Only ASCII letters change case, so positions in both texts are the same.
    let lower = text.to_ascii_lowercase();
    let (mut out, mut from) = (String::with_capacity(text.len()), 0);
    for (place, _) in lower.match_indices(what) {
        out.push_str(&text[from..place]);
        out.push_str(instead);
        from = place + what.len();
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sheet_fetches_nothing() {
        for sheet in [
            "body{background:url(http://x/)}",
            "a{b:URL( 'x')}",
            "a{b:u\\72l(x)}",
            "@import 'x';",
            "@IMPORT url(x);",
            "a{b:-webkit-image-set('x' 1x)}",
            "x</style><script>alert(1)</script>",
            "a{b:ururl(l(x)}",
        ] {
            let cleaned = without_fetches(sheet).to_ascii_lowercase();
            for (what, _) in FETCHING_CONSTRUCTS {
                assert!(!cleaned.contains(what), "{sheet}: {cleaned}");
            }
            assert!(!cleaned.contains('<') && !cleaned.contains('\\'), "{sheet}: {cleaned}");
        }
        assert_eq!(without_fetches("li > a{color:#333}"), "li > a{color:#333}");
    }
}
