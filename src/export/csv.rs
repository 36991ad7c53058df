//! CSV by RFC 4180, in UTF-8, and safe for spreadsheets: a cell of a web page is never read as a formula.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};

use super::fields::instant;
use super::{ColumnOptions, ExportError, OutputCell, OutputFields, RowWriter};
use crate::model::TaskName;
use crate::store::Rows;

/// Characters that make a spreadsheet read a formula or a command, also in full width, which some fold (OWASP, “CSV
/// injection”).
const FORMULA_STARTS: &[char] = &['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'];

pub(super) struct CsvWriter<W: Write> {
    out: csv::Writer<W>,
    choices: ColumnOptions,
    fields: OutputFields,
}

impl<W: Write> CsvWriter<W> {
    pub fn new(out: W, choices: ColumnOptions) -> CsvWriter<W> {
        let out = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(out);
        CsvWriter { out, choices, fields: OutputFields::default() }
    }

    fn cell_text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.choices.raw { Cow::Borrowed(text) } else { escape_formula(text) }
    }
}

impl<W: Write> RowWriter for CsvWriter<W> {
    fn begin(&mut self, _task: &TaskName, heading: &Rows) -> Result<(), ExportError> {
        self.fields = OutputFields::of(heading, self.choices);
        for field in self.fields.0.clone() {
            // A column's name is untrusted text, too.
            let name = self.cell_text(&field.name).into_owned();
            self.out.write_field(name).map_err(io_error)?;
        }
        end_record(&mut self.out)
    }

    fn write_rows(&mut self, rows: &Rows) -> Result<(), ExportError> {
        for row in 0..rows.table.rows.len() {
            for at in 0..self.fields.0.len() {
                let cell = self.fields.0[at].cell(rows, row);
                let text = match &cell {
                    OutputCell::Empty => Cow::Borrowed(""),
                    OutputCell::Text(text) => self.cell_text(text),
                    OutputCell::Int(number) => Cow::Owned(number.to_string()),
                    OutputCell::Number(number) => Cow::Owned(number.to_string()),
                    OutputCell::Bool(is_so) => Cow::Borrowed(if *is_so { "true" } else { "false" }),
                    OutputCell::Date(date) => Cow::Borrowed(*date),
                    OutputCell::Instant(at) => Cow::Owned(instant(*at)),
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

/// With an apostrophe before it, a spreadsheet reads it as text. Blanks in front of a formula do not hide it.
fn escape_formula(text: &str) -> Cow<'_, str> {
    let blank = |c: char| c == ' ' || c == '\u{a0}' || c == '\u{feff}' || c == '\u{3000}';
    if text.trim_start_matches(blank).starts_with(FORMULA_STARTS) {
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
            assert_eq!(escape_formula(formula), format!("'{formula}"));
        }
        for text in ["", "a=b", "1-2", "’=1", "'=1", "mail@example.org"] {
            assert_eq!(escape_formula(text), text);
        }
    }
}
