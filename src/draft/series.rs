//! Recognises two addresses of one paginated list, and how the one leads to the other.

use url::Url;

/// How a list's addresses are numbered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Series {
    /// A parameter that grows.
    Param { name: String, from: u64, step: u64 },
    /// A number in the path: the address with `${page}` instead.
    Path { url: String, from: u64 },
    /// A parameter with a value from the previous page.
    Cursor { name: String, value: String },
}

/// Parameters that are new with every request and have no meaning.
const CACHE_BUSTERS: &[&str] = &["_", "ts", "t", "timestamp", "cb", "rnd", "nocache", "_ts"];

/// Common names of page parameters, separated by bars.
const PAGE_NAMES: &str = "\
    page|p|pg|pn|paged|pageno|page_no|pagenumber|pagenum|page_number|currentpage|start|offset|skip|from|first|\
    begin|startindex|start_index|seite|pagina|strana|sida|sayfa|batch|page[number]|page[offset]";

pub fn is_page_name(name: &str) -> bool {
    let name = name.to_lowercase();
    PAGE_NAMES.split('|').any(|it| it == name)
}

/// How `second` follows `first`, directly or further on; `None` if it does not.
pub fn between(first: &Url, second: &Url) -> Option<Series> {
    if first.origin() != second.origin() {
        return None;
    }
    if first.path().trim_end_matches('/') == second.path().trim_end_matches('/') {
        by_query(first, second)
    } else {
        by_path(first, second)
    }
}

fn by_query(first: &Url, second: &Url) -> Option<Series> {
    let (before, after) = (pairs(first), pairs(second));
    let value =
        |all: &[(String, String)], name: &str| all.iter().find(|(it, _)| it == name).map(|(_, value)| value.clone());
    if before.iter().any(|(name, _)| value(&after, name).is_none()) {
        return None;
    }
    let mut changed = after.iter().filter(|(name, it)| value(&before, name).as_deref() != Some(it));
    let ((name, now), None) = (changed.next()?, changed.next()) else { return None };
    let was = value(&before, name);
    let Ok(now_number) = now.parse::<u64>() else {
        return Some(Series::Cursor { name: name.clone(), value: now.clone() });
    };
    match was.map(|was| was.parse::<u64>()) {
        Some(Ok(was)) if was < now_number => {
            Some(Series::Param { name: name.clone(), from: now_number, step: now_number - was })
        }
        Some(_) => None,
        // The first page has no number: the second is 2, or 1 if counted from 0, or the number of rows per page.
        None if now_number == 0 => None,
        None => Some(Series::Param {
            name: name.clone(),
            from: now_number,
            step: if now_number <= 2 { 1 } else { now_number },
        }),
    }
}

fn pairs(url: &Url) -> Vec<(String, String)> {
    let all = url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned()));
    all.filter(|(name, value)| !CACHE_BUSTERS.contains(&name.as_str()) && !value.is_empty()).collect()
}

/// `/list/page/2` after `/list/page/1`, or after `/list`.
fn by_path(first: &Url, second: &Url) -> Option<Series> {
    let parts = |url: &Url| url.path().trim_end_matches('/').split('/').map(str::to_owned).collect::<Vec<_>>();
    let (before, after) = (parts(first), parts(second));
    if pairs(first) != pairs(second) {
        return None;
    }
    let at = (0..after.len()).find(|&at| before.get(at) != after.get(at))?;
    let at = if after[at].chars().all(|c| c.is_ascii_digit()) { at } else { at + 1 };
    let number = after.get(at)?.parse::<u64>().ok()?;
    let is_next = if before.len() == after.len() {
        before[..at] == after[..at]
            && before[at + 1..] == after[at + 1..]
            && before[at].parse::<u64>().ok()? + 1 == number
    } else {
        before.len() < after.len() && after.starts_with(&before) && at + 1 == after.len() && number == 2
    };
    if !is_next {
        return None;
    }
    let mut template = after.clone();
    template[at] = "${page}".to_owned();
    let query = second.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(Series::Path {
        url: format!("{}{}{query}", second.origin().ascii_serialization(), template.join("/")),
        from: number,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_one_list_are_told_from_others() {
        let param = |name: &str, from, step| Some(Series::Param { name: name.to_owned(), from, step });
        let path = |url: &str| Some(Series::Path { url: url.to_owned(), from: 2 });
        for (first, second, series) in [
            ("https://a.test/l", "https://a.test/l?page=2", param("page", 2, 1)),
            ("https://a.test/l?q=x&page=1", "https://a.test/l?page=2&q=x", param("page", 2, 1)),
            ("https://a.test/l?start=0", "https://a.test/l?start=20", param("start", 20, 20)),
            ("https://a.test/l", "https://a.test/l?start=20", param("start", 20, 20)),
            ("https://a.test/l?page=0&_=1", "https://a.test/l?page=1&_=2", param("page", 1, 1)),
            ("https://a.test/l?page=2", "https://a.test/l?page=1", None),
            ("https://a.test/l?q=x", "https://a.test/l?q=y&page=2", None),
            ("https://a.test/l", "https://b.test/l?page=2", None),
            ("https://a.test/l/page/1", "https://a.test/l/page/2", path("https://a.test/l/page/${page}")),
            ("https://a.test/l/", "https://a.test/l/page/2/?q=x", None),
            ("https://a.test/l/?q=x", "https://a.test/l/page/2/?q=x", path("https://a.test/l/page/${page}?q=x")),
            ("https://a.test/l", "https://a.test/l/7", None),
            ("https://a.test/a/1", "https://a.test/a/9", None),
            (
                "https://a.test/api?n=9",
                "https://a.test/api?n=9&after=b64",
                Some(Series::Cursor { name: "after".to_owned(), value: "b64".to_owned() }),
            ),
        ] {
            let (a, b) = (Url::parse(first).expect("a URL"), Url::parse(second).expect("a URL"));
            assert_eq!(between(&a, &b), series, "{first} → {second}");
        }
    }
}
