//! CSV as RFC 4180 has it, in UTF-8, and safe for spreadsheets: a cell of a stranger's is never a formula.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};

use super::fields::instant;
use super::{Cell, Choices, ExportError, Fields, Writer};
use crate::model::TaskName;
use crate::store::Rows;

/// What makes a spreadsheet read a formula or a command, also in full width, which some fold (OWASP, “CSV injection”).
const FORMULA: &[char] = &['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

pub(super) struct Csv<W: Write> {
    out: csv::Writer<W>,
    choices: Choices,
    fields: Fields,
}

impl<W: Write> Csv<W> {
    pub fn new(out: W, choices: Choices) -> Csv<W> {
        let out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
        Csv { out, choices, fields: Fields::default() }
    }

    fn safe<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.choices.raw { Cow::Borrowed(text) } else { no_formula(text) }
    }
}

impl<W: Write> Writer for Csv<W> {
    fn begin(&mut self, _task: &TaskName, heading: &Rows) -> Result<(), ExportError> {
        self.fields = Fields::of(heading, self.choices);
        for field in self.fields.0.clone() {
            // A column's name is a stranger's text, too.
            let name = self.safe(&field.name).into_owned();
            self.out.write_field(name).map_err(io_error)?;
        }
        end_record(&mut self.out)
    }

    fn take(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            for at in 0..self.fields.0.len() {
                let cell = self.fields.0[at].cell(rows, row);
                let text = match &cell {
                    Cell::Empty => Cow::Borrowed(""),
                    Cell::Text(text) => self.safe(text),
                    Cell::Int(number) => Cow::Owned(number.to_string()),
                    Cell::Number(number) => Cow::Owned(number.to_string()),
                    Cell::Bool(is_so) => Cow::Borrowed(if *is_so { "true" } else { "false" }),
                    Cell::Date(date) => Cow::Borrowed(*date),
                    Cell::Instant(at) => Cow::Owned(instant(*at)),
                };
                self.out.write_field(text.as_bytes()).map_err(io_error)?;
            }
            end_record(&mut self.out)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), ExportError> {
        Ok(self.out.flush()?)
    }
}

/// With an apostrophe before it, a spreadsheet takes it for text. Blanks in front of a formula do not hide it.
fn no_formula(text: &str) -> Cow<'_, str> {
    let blank = |c: char| c == ' ' || c == '\u{a0}' || c == '\u{feff}' || c == '\u{3000}';
    if text.trim_start_matches(blank).starts_with(FORMULA) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

fn end_record<W: Write>(out: &mut csv::Writer<W>) -> Result<(), ExportError> {
    out.write_record(None::<&[u8]>).map_err(io_error)
}

fn io_error(error: csv::Error) -> ExportError {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => ExportError::Io(error),
        other => ExportError::Io(io::Error::other(format!("{other:?}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_spreadsheet_would_run_is_text() {
        for formula in
            ["=1+1", "+1", "-2", "@SUM(A1)", "\t=1", "\r=1", "\n=1", " =1", "\u{feff}=1", "＝1", "－1", "＠a", "＋1"]
        {
            assert_eq!(no_formula(formula), format!("'{formula}"));
        }
        for text in ["", "a=b", "1-2", "’=1", "'=1", "mail@example.org"] {
            assert_eq!(no_formula(text), text);
        }
    }
}
