//! A column of the row group that is being collected.

use chrono::{DateTime, Datelike, NaiveDate};
use parquet::basic::{LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::writer::SerializedColumnWriter;
use parquet::schema::types::Type;

use super::super::{OutputCell, OutputField, OutputKind};

/// Memory of a cell beside its bytes: the positions of a text in two lists, and that it is present.
const CELL_BYTES: usize = 48;

pub(super) struct ParquetColumn {
    /// Index of its field.
    pub field: usize,
    name: String,
    cells: ColumnBuffer,
    /// 1 for each row that has a cell, 0 for one that has none.
    present: Vec<i16>,
}

enum ColumnBuffer {
    Text(Vec<ByteArray>),
    Int(Vec<i64>),
    Number(Vec<f64>),
    Bool(Vec<bool>),
    /// Days since 1970.
    Day(Vec<i32>),
    /// Milliseconds since 1970.
    Instant(Vec<i64>),
}

impl ParquetColumn {
    /// The columns of a field. A date has two, since Parquet has days and instants only: the day, and the instant where
    /// the text says a time.
    pub fn of(field: usize, it: &OutputField) -> Vec<ParquetColumn> {
        let column = |name: String, cells: ColumnBuffer| ParquetColumn { field, name, cells, present: Vec::new() };
        let name = it.name.clone();
        match it.kind {
            OutputKind::Text => vec![column(name, ColumnBuffer::Text(Vec::new()))],
            OutputKind::Int => vec![column(name, ColumnBuffer::Int(Vec::new()))],
            OutputKind::Number => vec![column(name, ColumnBuffer::Number(Vec::new()))],
            OutputKind::Bool => vec![column(name, ColumnBuffer::Bool(Vec::new()))],
            OutputKind::Instant => vec![column(name, ColumnBuffer::Instant(Vec::new()))],
            OutputKind::Date => {
                let time = format!("_time_{name}");
                vec![column(name, ColumnBuffer::Day(Vec::new())), column(time, ColumnBuffer::Instant(Vec::new()))]
            }
        }
    }

    pub fn schema(&self) -> Result<Type, ParquetError> {
        let (physical, logical) = match self.cells {
            ColumnBuffer::Text(_) => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            ColumnBuffer::Int(_) => (Physical::INT64, None),
            ColumnBuffer::Number(_) => (Physical::DOUBLE, None),
            ColumnBuffer::Bool(_) => (Physical::BOOLEAN, None),
            ColumnBuffer::Day(_) => (Physical::INT32, Some(LogicalType::Date)),
            ColumnBuffer::Instant(_) => (Physical::INT64, Some(LogicalType::timestamp(true, TimeUnit::MILLIS))),
        };
        Type::primitive_type_builder(&self.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
    }

    /// Appends a cell, and returns how much memory it takes.
    pub(super) fn push_cell(&mut self, cell: &OutputCell<'_>) -> usize {
        let mut bytes = CELL_BYTES;
        let is_there = match (&mut self.cells, cell) {
            (ColumnBuffer::Text(texts), OutputCell::Text(text)) => {
                bytes += text.len();
                push(texts, Some(ByteArray::from(text.as_bytes().to_vec())))
            }
            (ColumnBuffer::Int(numbers), OutputCell::Int(number)) => push(numbers, Some(*number)),
            (ColumnBuffer::Number(numbers), OutputCell::Number(number)) => push(numbers, Some(*number)),
            (ColumnBuffer::Bool(values), OutputCell::Bool(is_so)) => push(values, Some(*is_so)),
            (ColumnBuffer::Day(days), OutputCell::Date(date)) => push(days, day(date)),
            (ColumnBuffer::Instant(instants), OutputCell::Date(date)) => push(instants, instant(date)),
            (ColumnBuffer::Instant(instants), OutputCell::Instant(at)) => push(instants, Some(at.timestamp_millis())),
            _ => false,
        };
        self.present.push(i16::from(is_there));
        bytes
    }

    /// Writes all cells and clears the column.
    pub fn write(&mut self, to: &mut SerializedColumnWriter<'_>) -> Result<(), ParquetError> {
        let present = Some(&self.present[..]);
        match &mut self.cells {
            ColumnBuffer::Text(texts) => {
                to.typed::<ByteArrayType>().write_batch(texts, present, None).map(|_| texts.clear())
            }
            ColumnBuffer::Int(numbers) | ColumnBuffer::Instant(numbers) => {
                to.typed::<Int64Type>().write_batch(numbers, present, None).map(|_| numbers.clear())
            }
            ColumnBuffer::Number(numbers) => {
                to.typed::<DoubleType>().write_batch(numbers, present, None).map(|_| numbers.clear())
            }
            ColumnBuffer::Bool(values) => {
                to.typed::<BoolType>().write_batch(values, present, None).map(|_| values.clear())
            }
            ColumnBuffer::Day(days) => to.typed::<Int32Type>().write_batch(days, present, None).map(|_| days.clear()),
        }?;
        self.present.clear();
        Ok(())
    }
}

fn push<T>(values: &mut Vec<T>, value: Option<T>) -> bool {
    let is_there = value.is_some();
    values.extend(value);
    is_there
}

/// The day as written in the text; of a month or a year alone the first.
fn day(date: &str) -> Option<i32> {
    let day = date.get(..10).unwrap_or(date);
    let whole = match day.len() {
        4 => format!("{day}-01-01"),
        7 => format!("{day}-01"),
        _ => day.to_owned(),
    };
    let day = NaiveDate::parse_from_str(&whole, "%Y-%m-%d").ok()?;
    Some(day.num_days_from_ce() - NaiveDate::default().num_days_from_ce())
}

/// The instant, where the text says a time.
fn instant(date: &str) -> Option<i64> {
    DateTime::parse_from_rfc3339(date).ok().map(|at| at.timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_a_day_and_an_instant_where_it_says_a_time() {
        assert_eq!((day("1970-01-02"), instant("1970-01-02")), (Some(1), None));
        assert_eq!((day("1970"), day("1970-02"), day("1969-12-31")), (Some(0), Some(31), Some(-1)));
        let late = "1970-01-02T00:30:00+01:00";
        assert_eq!((day(late), instant(late)), (Some(1), Some(84_600_000)));
        assert_eq!((day("soon"), instant("soon"), day("２０２４"), day("")), (None, None, None, None));
    }
}
