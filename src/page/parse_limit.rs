//! The limits of the parser.

/// A limit of the parser: html5ever is quadratic on hostile nesting (docs/design/safety.md 1.7). Rows of a page that
/// reached one may be missing or wrong, so a run that meets such a page fails with cause `limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseLimit {
    /// More open elements than this; deeper ones were flattened.
    TooDeep(u32),
    /// More nodes than this; the rest of the page was left out.
    TooManyNodes(usize),
    /// More than [`MAX_ATTRIBUTES`] attributes on one tag; the rest of them were left out.
    TooManyAttributes,
}

impl ParseLimit {
    /// A sentence for a person: which limit was reached, how large the page is, and what to do.
    pub fn sentence(self, page: &str, bytes: usize) -> String {
        let size = match bytes as f64 {
            few if few < 1e6 => format!("{:.0} kB", (few / 1e3).ceil()),
            many => format!("{:.1} MB", many / 1e6),
        };
        let (reached, remedy) = match self {
            ParseLimit::TooManyNodes(most) => (
                format!("has more than {} elements and texts, the limit of one page", grouped(most)),
                "ask the site for smaller pages: a filter or a page size in the address, `paginate` in robot.toml",
            ),
            ParseLimit::TooDeep(most) => (
                format!("nests elements more than {most} levels deep, so its rows would be read wrongly"),
                "use another page of the site that shows this list, or its JSON",
            ),
            ParseLimit::TooManyAttributes => (
                format!("has a tag with more than {MAX_ATTRIBUTES} attributes, so its rows would be read wrongly"),
                "use another page of the site that shows this list, or its JSON",
            ),
        };
        format!("{page} ({size}) {reached}; {remedy}")
    }
}

/// A number with thousands separators: 5,000,000.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let parts = digits.as_bytes().rchunks(3).rev().map(|part| String::from_utf8_lossy(part).into_owned());
    parts.collect::<Vec<_>>().join(",")
}

/// The same depth as in Blink and WebKit.
pub const MAX_DEPTH: u32 = 512;
/// Maximum number of nodes of a page. The largest page of the corpus (2.3 MB) has some 60,000; a table of 20,000 rows
/// with 15 columns has 640,000.
pub(crate) const MAX_NODES: usize = 5_000_000;
/// Number of nodes that is always allowed, however small the page. Beyond it a page may have at most half as many nodes
/// as bytes, because misnested tags make the parser multiply them: 61 kB of misnested `<b><i>` came to 9 million.
/// `<br>x` is a node in 2.5 bytes.
pub const MIN_NODE_LIMIT: usize = 500_000;

/// Maximum number of nodes for a page of this many bytes.
pub(super) fn max_nodes(bytes: usize) -> usize {
    (bytes / 2).clamp(MIN_NODE_LIMIT, MAX_NODES)
}

/// The tag of the corpus with the most attributes has 20.
pub const MAX_ATTRIBUTES: usize = 256;
