//! Page numbers in URLs: `?page=2`, `/list/page/3`, `?start=40`.

use url::Url;

/// Parameters and path segments before a page number.
const NAMES: &[&str] = &[
    "page", "p", "pg", "paged", "pagenum", "pageno", "page_no", "pn", "start", "offset", "from", "seite", "pagina",
    "strona",
];

/// Whether the target's number is one more than this page's. Some sites count from zero: a page without a number is 0
/// or 1.
pub fn is_next_page(here: &Url, target: &Url) -> bool {
    page_number(target).is_some_and(|there| match page_number(here) {
        Some(here) => there.checked_sub(1) == Some(here),
        None => there == 1 || there == 2,
    })
}

/// Whether both URLs have a number, and the target's is smaller.
pub fn is_earlier_page(here: &Url, target: &Url) -> bool {
    matches!((page_number(here), page_number(target)), (Some(here), Some(there)) if there < here)
}

/// The page number or offset in a URL.
pub fn page_number(url: &Url) -> Option<u64> {
    let is_name = |name: &str| NAMES.contains(&name.to_ascii_lowercase().as_str());
    let in_query = url.query_pairs().find_map(|(name, value)| value.parse().ok().filter(|_| is_name(&name)));
    in_query.or_else(|| {
        let parts: Vec<&str> = url.path().split('/').collect();
        parts.windows(2).rev().find_map(|two| two[1].parse().ok().filter(|_| is_name(two[0])))
    })
}
