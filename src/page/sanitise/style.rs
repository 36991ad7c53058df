//! A sheet, or a `style` attribute, that fetches nothing.

/// What a sheet may fetch with. Written by numbers (`u\72l(`) or cut by comments they are none of these; numbers go first.
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

/// Nothing to fetch, and nothing that could end the element which it stands in.
pub fn without_fetches(sheet: &str) -> String {
    let mut sheet: String = sheet.chars().filter(|c| !matches!(c, '\\' | '<' | '\0')).collect();
    for (what, instead) in FETCHING_CONSTRUCTS {
        sheet = replace_ignoring_case(&sheet, what, instead);
    }
    sheet
}

/// As `replace`, in letters of either case.
fn replace_ignoring_case(text: &str, what: &str, instead: &str) -> String {
    // ASCII letters only, so that places in both are the same.
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
