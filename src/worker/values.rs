//! Typed values of a run's rows: normalises the texts by the column types of task.toml. Does nothing if all columns are
//! text.

use chrono_tz::Tz;

use crate::judge::NumberTally;
use crate::model::{Column, ColumnType, NumberStatistics, Page, Row, ValueColumn};
use crate::normalise::{self, DateOrder, Hints, order_of};
use crate::page::Tree;

/// Longer `lang` attributes are ignored.
const MAX_LANG: usize = 35;

pub struct RowValues {
    zone: Tz,
    /// Columns that are not plain text.
    typed_columns: Vec<(String, ColumnType)>,
    /// Hints of each page for normalisation: language, time, order of day and month.
    pages: Vec<Hints<'static>>,
    bases: Vec<url::Url>,
    /// Order of day and month of each typed column, once an unambiguous date has settled it.
    date_orders: Vec<Option<DateOrder>>,
    /// Statistics of the numeric columns.
    numbers: NumberTally,
}

impl RowValues {
    pub fn new(columns: &[Column], zone: Tz) -> RowValues {
        let typed = columns.iter().filter(|column| column.kind != ColumnType::Text);
        let typed: Vec<(String, ColumnType)> = typed.map(|column| (column.name.clone(), column.kind)).collect();
        let (orders, numbers) = (vec![None; typed.len()], NumberTally::of(typed.len()));
        RowValues { zone, date_orders: orders, numbers, typed_columns: typed, pages: Vec::new(), bases: Vec::new() }
    }

    /// Registers a page before its rows.
    pub fn add_page(&mut self, page: &Page, tree: &Tree) {
        if self.typed_columns.is_empty() {
            return;
        }
        let html = tree.elements("html").next();
        let lang = html.and_then(|node| tree.attribute(node, "lang").or_else(|| tree.attribute(node, "xml:lang")));
        let lang = lang.filter(|it| it.len() <= MAX_LANG);
        let hints = Hints::new(self.zone, page.meta.fetched_at, Some(&page.meta.url), lang);
        self.pages.push(Hints { base: None, ..hints });
        self.bases.push(page.meta.url.clone());
    }

    /// Appends the typed values to the cells of the rows and returns the layout of the appended cells. Calls `unread`
    /// with the column of each text that has no value.
    pub fn append_values(
        &mut self,
        columns: &[String],
        rows: &mut [Row],
        mut unread: impl FnMut(usize),
    ) -> Vec<ValueColumn> {
        let mut layout = Vec::new();
        for (at, (name, kind)) in self.typed_columns.iter().enumerate() {
            let Some(of) = columns.iter().position(|it| it == name) else { continue };
            if *kind == ColumnType::Date && self.date_orders[at].is_none() {
                self.date_orders[at] = rows.iter().find_map(|row| order_of(row.cells.get(of)?.as_deref()?));
            }
            layout.extend(kind.facets().iter().map(|&facet| ValueColumn { of, kind: *kind, facet }));
            for row in rows.iter_mut() {
                let page = (row.page as usize).min(self.pages.len().saturating_sub(1));
                let text = row.cells.get(of).and_then(Option::as_deref).filter(|text| !text.trim().is_empty());
                let found = text.zip(self.pages.get(page)).map(|(text, hints)| {
                    let order = self.date_orders[at].unwrap_or(hints.order);
                    normalise::read(*kind, text, &Hints { base: self.bases.get(page), order, ..hints.clone() })
                });
                if matches!(found, Some(Err(_))) {
                    unread(of);
                }
                let value = found.and_then(Result::ok).map(|found| found.value);
                value.iter().for_each(|value| self.numbers.note(at, value));
                let facets = kind.facets().iter().map(|&facet| value.as_ref().and_then(|value| value.facet(facet)));
                row.cells.extend(facets);
            }
        }
        layout
    }

    /// Statistics of the numeric columns over all rows so far.
    pub fn numbers(&self) -> Vec<NumberStatistics> {
        self.numbers.statistics(self.typed_columns.iter().map(|(name, _)| name.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Facet, PageMeta};

    fn typed(name: &str, kind: ColumnType) -> Column {
        Column { kind, ..Column::text(name) }
    }

    fn page() -> Page {
        let url = "https://shop.example/list".parse().expect("an address");
        let fetched_at = "2026-11-16T18:30:00Z".parse().expect("a moment");
        let meta = PageMeta { url, status: 200, headers: Vec::new(), fetched_at, elapsed_ms: 1, saved_as: None };
        Page { meta, body: Vec::new() }
    }

    #[test]
    fn values_stand_behind_the_texts_and_one_clear_date_settles_the_order_of_all() {
        let columns = [typed("price", ColumnType::Money), Column::text("name"), typed("day", ColumnType::Date)];
        let mut values = RowValues::new(&columns, Tz::UTC);
        values.add_page(&page(), &Tree::parse("<html lang=en-US><p>x"));
        let row = |price: &str, day: &str| Row {
            cells: [price, "Oak", day].map(|cell| (!cell.is_empty()).then(|| cell.to_owned())).to_vec(),
            page: 0,
        };
        let mut rows = [row("$5 – $7", "03/04/2024"), row("on request", "25/04/2024"), row("", "")];
        let mut unread = Vec::new();
        let names = ["price", "name", "day"].map(str::to_owned);
        let layout = values.append_values(&names, &mut rows, |column| unread.push(column));
        let laid: Vec<(usize, Facet)> = layout.iter().map(|it| (it.of, it.facet)).collect();
        assert_eq!(laid, [(0, Facet::Value), (0, Facet::To), (0, Facet::Currency), (2, Facet::Value)]);
        let behind =
            |row: &Row| row.cells[3..].iter().map(|it| it.clone().unwrap_or_default()).collect::<Vec<_>>().join(" ");
        assert_eq!(rows.each_ref().map(behind), ["5 7 USD 2024-04-03", "   2024-04-25", "   "]);
        assert_eq!(unread, [0]);
        let numbers = values.numbers();
        assert_eq!((numbers.len(), numbers[0].column.as_str(), numbers[0].median), (1, "price", 5.0));
    }

    #[test]
    fn plain_text_costs_nothing() {
        let mut values = RowValues::new(&[Column::text("price")], Tz::UTC);
        values.add_page(&page(), &Tree::parse("<p>x"));
        let mut rows = [Row { cells: vec![Some("5 €".to_owned())], page: 0 }];
        assert!(values.append_values(&["price".to_owned()], &mut rows, |_| ()).is_empty());
        assert_eq!((rows[0].cells.len(), values.pages.len()), (1, 0));
    }
}
