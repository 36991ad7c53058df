//! Finds the links of the rows to their detail pages.

use std::collections::HashSet;

use url::Url;

use crate::model::Row;

/// Minimum share of links in a link column.
const MIN_LINK_SHARE: f64 = 0.6;

/// Why no links to detail pages can be followed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DetailLinksError {
    #[error("there is no column `{name}` to follow; there are {}", columns.join(", "))]
    NoSuchColumn { name: String, columns: Vec<String> },
    #[error("no column of the rows holds links; name one in the step's `column`")]
    NoLinks,
}

/// Row and address of each link in `column`, or else in the link column with the most distinct addresses.
pub fn detail_links(
    columns: &[String],
    rows: &[Row],
    bases: &[Url],
    column: Option<&str>,
) -> Result<Vec<(usize, Url)>, DetailLinksError> {
    let wanted = match column {
        Some(name) => columns
            .iter()
            .position(|it| it == name)
            .ok_or_else(|| DetailLinksError::NoSuchColumn { name: name.to_owned(), columns: columns.to_vec() })?,
        None if rows.is_empty() => return Ok(Vec::new()),
        None => (0..columns.len())
            .filter_map(|column| Some((column, distinct_targets(rows, bases, column)?)))
            .rev()
            .max_by_key(|(_, different)| *different)
            .map(|(column, _)| column)
            .ok_or(DetailLinksError::NoLinks)?,
    };
    let link = |(index, row): (usize, &Row)| Some((index, address(row, bases, wanted)?));
    Ok(rows.iter().enumerate().filter_map(link).collect())
}

/// How many distinct pages a column links to; `None` if it is not a link column.
fn distinct_targets(rows: &[Row], bases: &[Url], column: usize) -> Option<usize> {
    let links: Vec<Url> = rows
        .iter()
        .filter(|row| row.cells.get(column).is_some_and(|cell| cell.as_deref().is_some_and(looks_like_link)))
        .filter_map(|row| address(row, bases, column))
        .filter(|url| !is_image(url))
        .collect();
    (links.len() as f64 >= MIN_LINK_SHARE * rows.len() as f64).then(|| links.iter().collect::<HashSet<_>>().len())
}

fn address(row: &Row, bases: &[Url], column: usize) -> Option<Url> {
    let cell = row.cells.get(column)?.as_deref()?.trim();
    let mut url = bases.get(row.page as usize)?.join(cell).ok()?;
    url.set_fragment(None);
    matches!(url.scheme(), "http" | "https").then_some(url)
}

fn looks_like_link(cell: &str) -> bool {
    let cell = cell.trim();
    !cell.contains(char::is_whitespace) && (cell.contains('/') || cell.contains('?') || cell.ends_with(".html"))
}

fn is_image(url: &Url) -> bool {
    let path = url.path().to_ascii_lowercase();
    [".jpg", ".jpeg", ".png", ".gif", ".webp", ".svg", ".avif"].iter().any(|ending| path.ends_with(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cells: &[&str]) -> Row {
        Row { cells: cells.iter().map(|cell| Some((*cell).to_owned())).collect(), page: 0 }
    }

    #[test]
    fn the_column_whose_links_differ_is_followed() {
        let columns: Vec<String> = ["name", "image", "shop", "link"].map(str::to_owned).to_vec();
        let rows = [
            row(&["Chair", "/i/1.jpg", "/shops/a", "product/1#top"]),
            row(&["Desk", "/i/2.jpg", "/shops/a", "product/2"]),
        ];
        let bases = [Url::parse("http://shop.test/list/").expect("a URL")];
        let shown = |found: Result<Vec<(usize, Url)>, DetailLinksError>| {
            found.map(|all| all.iter().map(|(row, url)| format!("{row} {url}")).collect::<Vec<_>>().join(", "))
        };
        let products = "0 http://shop.test/list/product/1, 1 http://shop.test/list/product/2";
        assert_eq!(shown(detail_links(&columns, &rows, &bases, None)).as_deref(), Ok(products));
        let shops = "0 http://shop.test/shops/a, 1 http://shop.test/shops/a";
        assert_eq!(shown(detail_links(&columns, &rows, &bases, Some("shop"))).as_deref(), Ok(shops));
        assert!(
            detail_links(&columns, &rows, &bases, Some("link_2"))
                .is_err_and(|why| why.to_string().contains("name, image, shop, link"))
        );
        assert!(detail_links(&columns[..1], &rows, &bases, None).is_err());
    }
}
