//! A run that finds what is published writes nothing (`store/same.rs`). The rows that it was compared with stay until it ends,
//! whoever publishes meanwhile (`generation::removable`).

use tokio_postgres::Row;

use super::names::{quoted, rows_table};
use super::session::get;
use super::stage::{Staged, Written};
use super::view::{Type, column, read_list};
use super::{Member, Session, StoreError, generation, runs};
use crate::model::{RunId, TaskName};
use crate::store::batch::Record;
use crate::store::same::{self, Same};

impl Staged {
    /// Whether what waits is what comes next in the published rows; then it need not wait any longer.
    pub fn follow(&mut self, session: &Session, task: &TaskName) -> Result<bool, StoreError> {
        if self.written.is_some() {
            return Ok(false);
        }
        let published = generation::published(session, task)?;
        let Some(same) = Same::so_far(self.same, published.as_ref(), &self.batch) else { return Ok(false) };
        if !session.moment(|| self.is_next(session, same))? {
            return Ok(false);
        }
        self.same = Some(same.and(self.batch.waiting().len()));
        self.batch.written();
        Ok(true)
    }

    fn is_next(&self, session: &Session, same: Same) -> Result<bool, StoreError> {
        let columns = read_list(&self.batch.columns);
        let table = quoted(&rows_table(same.table));
        let sql = format!(
            "SELECT _key, _page{columns} FROM {table} WHERE _generation = $1 AND _n > $2 AND _n <= $3 ORDER BY _n"
        );
        let types: Vec<Type> = self.batch.columns.iter().map(Type::of).collect();
        let end = same.rows + same::number(self.batch.waiting().len());
        let mut waiting = self.batch.waiting().iter();
        let mut is_same = true;
        session.each(&sql, &[&same.of, &same.rows, &end], |row| {
            let record = waiting.next().filter(|_| is_same);
            is_same = record.map_or(Ok(false), |record| self.is_same(record, row, &types))?;
            Ok(())
        })?;
        Ok(is_same && waiting.next().is_none())
    }

    fn is_same(&self, record: &Record, row: &Row, types: &[Type]) -> Result<bool, StoreError> {
        if get::<&[u8]>(row, 0)? != record.key || get::<i64>(row, 1)? != i64::from(record.page) {
            return Ok(false);
        }
        for ((at, kind), text) in types.iter().enumerate().zip(self.batch.cells(record)) {
            if !is_same_cell(row, at + 2, *kind, text)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Copies the rows that are as published into the run's own, in transactions of their own. Cut short by an error, it goes
    /// on where it was.
    pub fn copy_same(
        &mut self,
        session: &Session,
        member: Option<&Member>,
        (run, task): (RunId, &TaskName),
    ) -> Result<(), StoreError> {
        while let Some((same, next)) = self.same.and_then(|same| Some((same, same.after_next_copy()?))) {
            let written = session.in_one(|| {
                runs::must_be_open(session, member, run)?;
                let written = self.place(session, run, task)?;
                copy(session, same, next, written)?;
                Ok(Written { rows: next.copied, ..written })
            })?;
            self.written = Some(written);
            self.same = Some(next);
        }
        Ok(())
    }
}

fn copy(session: &Session, same: Same, next: Same, to: Written) -> Result<(), StoreError> {
    let names: String = (0..same.columns).map(|at| format!(", {}", column(at))).collect();
    let (from, to, generation) = (quoted(&rows_table(same.table)), quoted(&rows_table(to.table)), to.generation);
    let sql = format!(
        "INSERT INTO {to} (_generation, _n, _key, _first_seen, _page{names})
         SELECT $1::bigint, _n, _key, _first_seen, _page{names} FROM {from} WHERE _generation = $2 AND _n > $3 AND _n <= $4"
    );
    let copied = session.execute(&sql, &[&generation, &same.of, &same.copied, &next.copied])?;
    match i64::try_from(copied) == Ok(next.copied - same.copied) {
        true => Ok(()),
        false => Err(StoreError::Value(format!("generation {} has lost rows that a run was compared with", same.of))),
    }
}

/// As COPY would have written it.
fn is_same_cell(row: &Row, at: usize, kind: Type, text: Option<&str>) -> Result<bool, StoreError> {
    let cell = text.and_then(|text| kind.cell(text));
    let number = || cell.as_deref().and_then(|text| text.parse::<f64>().ok());
    Ok(match kind {
        Type::Text => get::<Option<&str>>(row, at)? == cell.as_deref(),
        Type::Bigint => get::<Option<i64>>(row, at)? == cell.and_then(|text| text.parse().ok()),
        Type::Double | Type::Numeric => get::<Option<f64>>(row, at)? == number(),
        Type::Boolean => get::<Option<bool>>(row, at)? == cell.map(|text| text == "t"),
    })
}
