//! Validates the `[[column]]` tables: finds mistakes that are valid TOML, such as a join of unknown columns.

use super::{ColumnTransform, ColumnTransformError};
use crate::model::Column;

impl ColumnTransform {
    pub(super) fn check(&self) -> Result<(), ColumnTransformError> {
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
