//! Addresses that count pages: `?page=2`, `/list/page/3`, `?start=40`.

use url::Url;

/// Parameters and path parts that announce a page's number.
const NAMES: &[&str] = &[
    "page", "p", "pg", "paged", "pagenum", "pageno", "page_no", "pn", "start", "offset", "from", "seite", "pagina",
    "strona",
];

/// Does the target count one page more than this one? Some count from zero: a page that does not say is 0 or 1.
pub fn is_next_page(here: &Url, target: &Url) -> bool {
    page_number(target).is_some_and(|there| match page_number(here) {
        Some(here) => there.checked_sub(1) == Some(here),
        None => there == 1 || there == 2,
    })
}

/// Do both count pages, and the target less?
pub fn is_earlier_page(here: &Url, target: &Url) -> bool {
    matches!((page_number(here), page_number(target)), (Some(here), Some(there)) if there < here)
}

/// The number by which an address counts.
pub fn page_number(url: &Url) -> Option<u64> {
    let is_name = |name: &str| NAMES.contains(&name.to_ascii_lowercase().as_str());
    let in_query = url.query_pairs().find_map(|(name, value)| value.parse().ok().filter(|_| is_name(&name)));
    in_query.or_else(|| {
        let parts: Vec<&str> = url.path().split('/').collect();
        parts.windows(2).rev().find_map(|two| two[1].parse().ok().filter(|_| is_name(two[0])))
    })
}
