//! Records: the values of the rows of a page, under column names.

use serde::{Serialize, Serializer};

/// Records of one kind. Every row has exactly one cell for each column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

/// One record; the cells are in the order of the table's columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct Row {
    pub cells: Vec<Option<String>>,
    /// The page of the run, counted from 0.
    pub page: u32,
}

#[cfg(test)]
impl Table {
    /// A table of these texts; an empty one is a cell without value.
    pub fn of_texts(columns: &[&str], rows: &[&[&str]]) -> Table {
        let cell = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
        let row = |cells: &&[&str]| Row { cells: cells.iter().map(cell).collect(), page: 0 };
        Table { columns: columns.iter().map(|&it| it.to_owned()).collect(), rows: rows.iter().map(row).collect() }
    }
}

impl Table {
    /// Maximum number of columns of a published table, without the columns of typed values. SQLite allows 2,000 and
    /// PostgreSQL 1,600, of which a row with long texts has to fit into 8 kB.
    pub const MAX_COLUMNS: usize = 500;
    /// Maximum characters of [`Table::first_row`].
    pub const FIRST_ROW_CHARS: usize = 200;

    /// The records as `[{"name": "text", …}, …]`, empty cells left out: what `--json` prints.
    pub fn records(&self) -> Records<'_> {
        Records(self)
    }

    /// The first row as one text, for recognising the table.
    pub fn first_row(&self) -> String {
        let cells = self.rows.first().map(|row| row.cells.iter().flatten().cloned().collect::<Vec<_>>());
        cells.unwrap_or_default().join(" | ").chars().take(Table::FIRST_ROW_CHARS).collect()
    }

    /// Renames the columns; those without a name are dropped.
    pub fn with_column_names(&self, names: &[Option<String>]) -> Table {
        let kept = |row: &Row| {
            let cells = row.cells.iter().zip(names).filter(|(_, name)| name.is_some()).map(|(cell, _)| cell.clone());
            Row { cells: cells.collect(), page: row.page }
        };
        Table { columns: names.iter().flatten().cloned().collect(), rows: self.rows.iter().map(kept).collect() }
    }
}

pub struct Records<'a>(&'a Table);

struct Record<'a>(&'a [String], &'a Row);

impl Serialize for Records<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.rows.iter().map(|row| Record(&self.0.columns, row)))
    }
}

impl Serialize for Record<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.0.iter().zip(&self.1.cells);
        serializer.collect_map(cells.filter_map(|(name, cell)| Some((name, cell.as_ref()?))))
    }
}
