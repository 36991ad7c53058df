//! Applies the `[[column]]` tables of task.toml to a table: names, `pattern` and `split`, `join`, `default`. Every
//! reader of pages uses this one place.

mod split;

use std::collections::BTreeSet;

use crate::model::{Column, Row, Table};

use split::{ColumnSplit, column_split};

const JOIN_SEPARATOR: &str = " ";

/// The columns of a task, ready to be applied to table after table.
#[derive(Default)]
pub struct ColumnTransform {
    columns: Vec<Column>,
    splits: Vec<Option<ColumnSplit>>,
    /// The columns only rename; nothing is split, joined or filled.
    is_plain: bool,
}

/// An invalid `[[column]]`: which one, under which key, what is wrong and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ColumnTransformError {
    pub column: usize,
    pub key: &'static str,
    pub message: String,
    pub hint: &'static str,
}

/// Where a column of the result comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ColumnOrigin {
    Slot(usize),
    /// A slot, the column that splits it, and the index of the piece.
    Piece(usize, usize, usize),
    Join(usize),
}

struct OutputColumn<'s> {
    name: &'s str,
    origin: ColumnOrigin,
    default: Option<&'s str>,
}

impl ColumnTransform {
    pub fn new(columns: &[Column]) -> Result<ColumnTransform, ColumnTransformError> {
        let cuts =
            columns.iter().enumerate().map(|(at, column)| column_split(at, column)).collect::<Result<Vec<_>, _>>()?;
        let is_cut = cuts.iter().any(Option::is_some);
        let is_plain = !is_cut && columns.iter().all(|it| it.join.is_none() && it.default.is_none());
        let shape = ColumnTransform { columns: columns.to_vec(), splits: cuts, is_plain };
        shape.check()?;
        Ok(shape)
    }

    /// Do the columns only rename those of the template?
    pub fn is_plain(&self) -> bool {
        self.is_plain
    }

    /// The table under the task's columns. Columns that are not derived name the slots, in order.
    pub fn apply(&self, mut table: Table) -> Table {
        if self.is_plain {
            for (name, column) in table.columns.iter_mut().zip(&self.columns) {
                name.clone_from(&column.name);
            }
            return table;
        }
        let made = self.output_columns(&table.columns);
        let kept: Vec<usize> = self.unjoined_columns(&made);
        let rows = table.rows.iter().map(|row| self.row(&made, &kept, row)).collect();
        Table { columns: kept.iter().map(|&at| made[at].name.to_owned()).collect(), rows }
    }

    /// Maps a flag of each slot to the output columns.
    pub fn map_slot_flags(&self, of_slots: &[bool]) -> Vec<bool> {
        if self.is_plain {
            return of_slots.to_vec();
        }
        let names = vec![String::new(); of_slots.len()];
        let made = self.output_columns(&names);
        let held = |at: usize| match made[at].origin {
            ColumnOrigin::Slot(slot) | ColumnOrigin::Piece(slot, ..) => of_slots.get(slot).copied().unwrap_or(true),
            ColumnOrigin::Join(_) => true,
        };
        self.unjoined_columns(&made).into_iter().map(held).collect()
    }

    /// Columns derived from others, without a slot of their own, each with its source columns.
    pub fn derived_columns(&self) -> Vec<(&Column, Vec<&str>)> {
        let each = self.columns.iter().filter_map(|column| {
            let joined = column.join.as_ref().map(|names| names.iter().map(String::as_str).collect());
            let source = self.split_producing(&column.name).map(|at| vec![self.columns[at].name.as_str()]);
            Some((column, joined.or(source)?))
        });
        each.collect()
    }

    /// Names of the slots that are split or joined, with the columns derived from them.
    pub fn transformed_slots(&self) -> Vec<(String, Vec<String>)> {
        let mut made = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            if column.join.is_some() || self.split_producing(&column.name).is_some() {
                continue;
            }
            let pieces = self.splits[at].as_ref().map_or(vec![column.name.clone()], |cut| cut.names.clone());
            let joined_into = |name: &String| {
                let into = self.columns.iter().find(|it| it.join.as_ref().is_some_and(|names| names.contains(name)));
                into.map_or(name.clone(), |it| it.name.clone())
            };
            let outcomes: Vec<String> = pieces.iter().map(joined_into).collect();
            if outcomes != [column.name.clone()] || self.splits[at].is_some() {
                made.push((column.name.clone(), outcomes));
            }
        }
        made
    }

    /// Is the column missing from the output because others are derived from it?
    pub fn is_consumed(&self, name: &str) -> bool {
        let is_joined = self.columns.iter().flat_map(|it| it.join.iter().flatten()).any(|it| it == name);
        let at = self.columns.iter().position(|it| it.name == name);
        let is_replaced =
            at.and_then(|at| self.splits[at].as_ref()).is_some_and(|cut| !cut.names.iter().any(|it| it == name));
        is_joined || is_replaced
    }

    /// The other column whose split has a piece of this name.
    fn split_producing(&self, name: &str) -> Option<usize> {
        let has = |at: &usize| self.splits[*at].as_ref().is_some_and(|cut| cut.names.iter().any(|it| it == name));
        (0..self.columns.len()).filter(|&at| self.columns[at].name != name).find(has)
    }

    /// Columns whose slot does not exist in a template with this many slots.
    pub fn columns_without_slot(&self, slots: usize) -> Vec<usize> {
        let slot_of = self.slot_indices();
        (0..slot_of.len()).filter(|&column| slot_of[column].is_some_and(|slot| slot >= slots)).collect()
    }

    /// The slot that each column names; `None` for derived columns.
    fn slot_indices(&self) -> Vec<Option<usize>> {
        let is_slot = |column: &Column| column.join.is_none() && self.split_producing(&column.name).is_none();
        let numbered = self.columns.iter();
        numbered.scan(0, |next, column| Some(is_slot(column).then(|| std::mem::replace(next, *next + 1)))).collect()
    }

    fn output_columns<'s>(&'s self, slots: &'s [String]) -> Vec<OutputColumn<'s>> {
        let mut made: Vec<OutputColumn<'s>> = Vec::new();
        let slot_of = self.slot_indices();
        let piece = |maker: usize, name: &str| {
            let cut = self.splits[maker].as_ref()?;
            let piece = cut.names.iter().position(|it| it == name)?;
            Some(ColumnOrigin::Piece(slot_of[maker].filter(|&slot| slot < slots.len())?, maker, piece))
        };
        let default_of =
            |name: &str| self.columns.iter().find(|it| it.name == name).and_then(|it| it.default.as_deref());
        let mut push = |name: &'s str, from: ColumnOrigin| {
            made.push(OutputColumn { name, origin: from, default: default_of(name) })
        };
        for (at, column) in self.columns.iter().enumerate() {
            let own = self.split_producing(&column.name).unwrap_or(at);
            match (&column.join, &self.splits[own], slot_of[at]) {
                (Some(_), ..) => push(&column.name, ColumnOrigin::Join(at)),
                (None, Some(_), _) => piece(own, &column.name).into_iter().for_each(|from| push(&column.name, from)),
                (None, None, Some(slot)) if slot < slots.len() => push(&column.name, ColumnOrigin::Slot(slot)),
                (None, None, _) => {}
            }
            let unnamed = self.splits[at].iter().flat_map(|cut| &cut.names);
            for name in unnamed.filter(|name| !self.columns.iter().any(|it| it.name == **name)) {
                piece(at, name).into_iter().for_each(|from| push(name, from));
            }
        }
        let named = slot_of.iter().flatten().count();
        for (slot, name) in slots.iter().enumerate().skip(named) {
            push(name, ColumnOrigin::Slot(slot));
        }
        made
    }

    fn unjoined_columns(&self, made: &[OutputColumn<'_>]) -> Vec<usize> {
        let joined: BTreeSet<&str> =
            self.columns.iter().flat_map(|it| it.join.iter().flatten()).map(String::as_str).collect();
        (0..made.len()).filter(|&at| !joined.contains(made[at].name)).collect()
    }

    fn row(&self, made: &[OutputColumn<'_>], kept: &[usize], row: &Row) -> Row {
        let single = |it: &OutputColumn<'_>| -> Option<String> {
            let found = match it.origin {
                ColumnOrigin::Slot(slot) => row.cells.get(slot)?.clone(),
                ColumnOrigin::Piece(slot, maker, piece) => {
                    let text = row.cells.get(slot)?.as_deref()?;
                    self.splits[maker].as_ref()?.piece(text, piece)
                }
                ColumnOrigin::Join(_) => None,
            };
            found.filter(|text| !text.is_empty())
        };
        let with_default =
            |it: &OutputColumn<'_>, found: Option<String>| found.or_else(|| it.default.map(str::to_owned));
        let joined = |column: usize| -> Option<String> {
            let names = self.columns[column].join.as_ref()?;
            let part =
                |name: &String| made.iter().find(|it| it.name == name).and_then(|it| with_default(it, single(it)));
            let parts: Vec<String> = names.iter().filter_map(part).collect();
            (!parts.is_empty()).then(|| parts.join(JOIN_SEPARATOR))
        };
        let is_empty = row.cells.iter().all(Option::is_none);
        let cell = |&at: &usize| match made[at].origin {
            // Defaults do not fill a row that is completely empty.
            _ if is_empty => None,
            ColumnOrigin::Join(column) => with_default(&made[at], joined(column)),
            ColumnOrigin::Slot(_) | ColumnOrigin::Piece(..) => with_default(&made[at], single(&made[at])),
        };
        Row { cells: kept.iter().map(cell).collect(), page: row.page }
    }
}

/// Validation: finds mistakes that are valid TOML, such as a join of unknown columns.
impl ColumnTransform {
    fn check(&self) -> Result<(), ColumnTransformError> {
        let problem =
            |column: usize, key, message: String, hint| Err(ColumnTransformError { column, key, message, hint });
        let mut makers: Vec<(&str, usize)> = Vec::new();
        for (at, column) in self.columns.iter().enumerate() {
            let names = self.splits[at].iter().flat_map(|cut| &cut.names);
            for name in names {
                if let Some((_, other)) = makers.iter().find(|(it, _)| it == name) {
                    let message = format!("`{name}` is already a piece of `{}`", self.columns[*other].name);
                    return problem(at, key_of(column), message, "give the piece another name");
                }
                makers.push((name, at));
            }
            let is_made = self.split_producing(&column.name).is_some();
            if is_made && (self.splits[at].is_some() || column.join.is_some()) {
                let message =
                    format!("`{}` is a piece of another column and cannot be split or joined again", column.name);
                return problem(at, key_of(column), message, "write one `pattern` in the other column for all pieces");
            }
        }
        self.check_joins()
    }

    fn check_joins(&self) -> Result<(), ColumnTransformError> {
        let is_known = |name: &str| {
            self.columns.iter().any(|it| it.name == name && it.join.is_none()) || self.split_producing(name).is_some()
        };
        for (column, named) in self.columns.iter().enumerate() {
            let Some(join) = &named.join else { continue };
            let problem = |message: String, hint| Err(ColumnTransformError { column, key: "join", message, hint });
            if self.splits[column].is_some() {
                return problem("a column has `split` or `join`, not both".to_owned(), "make it two columns");
            }
            if join.len() < 2 {
                return problem("`join` needs at least two columns".to_owned(), "write join = [\"day\", \"time\"]");
            }
            if let Some(name) = join.iter().find(|name| !is_known(name)) {
                let message = format!("there is no column `{name}` to join");
                return problem(
                    message,
                    "each joined column has its own [[column]], in the order of the template's slots",
                );
            }
        }
        Ok(())
    }
}

fn key_of(column: &Column) -> &'static str {
    match (&column.pattern, &column.split) {
        (Some(_), _) => "pattern",
        (None, Some(_)) => "split",
        (None, None) => "join",
    }
}

#[cfg(test)]
mod tests;
