//! The history of one record, and the values of one of its columns over time.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::change_set::{CellValue, ChangeKind, RecordChange, RecordKey};
use crate::model::RunId;

/// One event in the history of a record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordEvent {
    pub run: RunId,
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    pub record: RecordChange,
}

/// A record's history, as far back as it is kept.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordHistory {
    pub key: RecordKey,
    pub name: String,
    pub first_seen: Option<DateTime<Utc>>,
    /// Oldest first.
    pub events: Vec<RecordEvent>,
    /// Its present cells by column, where it is published.
    pub now: Option<Vec<(String, CellValue)>>,
}

/// A column's value from an instant on; an empty cell from when the record was removed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimedValue {
    pub at: DateTime<Utc>,
    #[serde(flatten)]
    pub cell: CellValue,
}

impl RecordHistory {
    /// The values of one column and the instants from which they hold, oldest first.
    pub fn series(&self, column: &str) -> Vec<TimedValue> {
        let mut points: Vec<TimedValue> = Vec::new();
        for event in &self.events {
            let Some(cell) = event.record.cells.iter().find(|cell| cell.column == column) else { continue };
            if points.is_empty() && event.record.what != ChangeKind::Added {
                let at = self.first_seen.unwrap_or(event.at).min(event.at);
                points.push(TimedValue { at, cell: cell.from.clone() });
            }
            points.push(TimedValue { at: event.at, cell: cell.to.clone() });
        }
        let now = self.now.iter().flatten().find(|(name, _)| name == column);
        if let (true, Some((_, cell)), Some(at)) = (points.is_empty(), now, self.first_seen) {
            points.push(TimedValue { at, cell: cell.clone() });
        }
        points
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use serde_json::Value as Json;

    use super::*;
    use crate::store::CellChange;

    fn cell(text: &str) -> CellValue {
        CellValue { text: (text != "-").then(|| text.to_owned()), value: Json::Null }
    }

    fn event(day: i64, what: ChangeKind, from: &str, to: &str) -> RecordEvent {
        let cells = vec![CellChange { column: "price".to_owned(), from: cell(from), to: cell(to) }];
        let record = RecordChange { id: day, key: RecordKey(1), what, name: "a".to_owned(), cells };
        RecordEvent { run: RunId::new(), at: at(day), record }
    }

    fn at(day: i64) -> DateTime<Utc> {
        DateTime::<Utc>::UNIX_EPOCH + TimeDelta::days(day)
    }

    fn check(events: Vec<RecordEvent>, now: Option<&str>, expected: &[(i64, &str)]) {
        let now = now.map(|text| vec![("price".to_owned(), cell(text))]);
        let life = RecordHistory { key: RecordKey(1), name: "a".to_owned(), first_seen: Some(at(1)), events, now };
        let series: Vec<(i64, String)> = life
            .series("price")
            .into_iter()
            .map(|it| ((it.at - at(0)).num_days(), it.cell.text.unwrap_or_else(|| "-".to_owned())))
            .collect();
        let series: Vec<(i64, &str)> = series.iter().map(|(day, text)| (*day, text.as_str())).collect();
        assert_eq!(series, expected);
        assert_eq!(life.series("rating"), [], "a column that it has not");
    }

    #[test]
    fn a_series_begins_when_the_record_was_first_seen() {
        check(vec![], Some("5"), &[(1, "5")]);
        check(vec![event(3, ChangeKind::Changed, "5", "6")], Some("6"), &[(1, "5"), (3, "6")]);
        check(vec![event(3, ChangeKind::Added, "-", "6")], Some("6"), &[(3, "6")]);
        check(
            vec![event(3, ChangeKind::Removed, "5", "-"), event(4, ChangeKind::Added, "-", "7")],
            Some("7"),
            &[(1, "5"), (3, "-"), (4, "7")],
        );
    }
}
