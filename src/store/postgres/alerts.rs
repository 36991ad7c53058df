//! Alerts: which tasks have any, what was told of them, and what is still to be delivered.

use chrono::{DateTime, Utc};
use tokio_postgres::Row;

use super::session::get;
use super::{Postgres, Session, StoreError, stamp, stored};
use crate::model::TaskName;
use crate::model::task::Alert;
use crate::store::batch::storable;
use crate::store::letters::KEPT;
use crate::store::{Delivery, Letter, Letters, Outgoing, Told, Watched, Which};

/// Nothing older of its task waits for the same target.
const FIRST_IN_LINE: &str = "NOT EXISTS (SELECT 1 FROM _delivery e WHERE e.task = d.task AND e.target = d.target
    AND e.alert < d.alert AND e.next_try IS NOT NULL)";

impl Letters for Postgres {
    fn watch(&mut self, wanted: &[(TaskName, Option<Alert>)]) -> Result<(), StoreError> {
        let session = &self.session;
        session.in_one(|| {
            for (task, alert) in wanted {
                let Some(alert) = alert else {
                    session.execute("DELETE FROM _watched WHERE task = $1", &[&task.as_str()])?;
                    continue;
                };
                let json = serde_json::to_string(alert).map_err(StoreError::value)?;
                session.execute(
                    "INSERT INTO _watched (task, wanted, said) VALUES ($1, $2, '{}')
                     ON CONFLICT (task) DO UPDATE SET wanted = excluded.wanted WHERE _watched.wanted <> excluded.wanted",
                    &[&task.as_str(), &json],
                )?;
            }
            Ok(())
        })
    }

    fn watched(&self, which: &Which) -> Result<Vec<Watched>, StoreError> {
        let watched =
            format!("t.removed_at IS NULL AND t.name IN (SELECT task FROM _watched) AND {}", self.ours("t.name"));
        let rows = match which {
            Which::All => self.tasks_where(&watched, &[])?,
            Which::One(task) => self.tasks_where(&format!("{watched} AND t.name = $1"), &[&task.as_str()])?,
            Which::DueBefore(at) => self.tasks_where(&format!("{watched} AND t.next_due < $1"), &[at])?,
        };
        let mut watched = Vec::new();
        for row in rows {
            let sql = "SELECT wanted, said FROM _watched WHERE task = $1";
            let Some(found) = self.session.row(sql, &[&row.name.as_str()])? else { continue };
            let wanted = serde_json::from_str(get(&found, 0)?).map_err(StoreError::value)?;
            watched.push(Watched { row, wanted, said: get(&found, 1)? });
        }
        Ok(watched)
    }

    fn tell(&mut self, told: &[Told], now: DateTime<Utc>) -> Result<(), StoreError> {
        let session = &self.session;
        session.in_one(|| {
            for Told { task, said, outgoing } in told {
                let sql = "UPDATE _watched SET said = $2 WHERE task = $1 AND said <> $2";
                session.execute(sql, &[&task.as_str(), &storable(said)])?;
                if let Some(outgoing) = outgoing {
                    post(session, task, outgoing, now)?;
                    forget_old(session, task)?;
                }
            }
            Ok(())
        })
    }

    fn letters(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<Letter>, StoreError> {
        let sql = format!(
            "SELECT d.alert, d.task, d.target, a.notice, d.tries FROM _delivery d JOIN _alert a ON a.id = d.alert
                 WHERE d.next_try <= $1 AND {FIRST_IN_LINE} AND {} ORDER BY d.alert, d.target LIMIT $2",
            self.ours("d.task")
        );
        self.session.rows(&sql, &[&now, &i64::try_from(most).unwrap_or(i64::MAX)])?.iter().map(letter).collect()
    }

    fn next_letter(&self) -> Result<Option<DateTime<Utc>>, StoreError> {
        let sql = format!(
            "SELECT min(d.next_try) FROM _delivery d WHERE d.next_try IS NOT NULL AND {FIRST_IN_LINE} AND {}",
            self.ours("d.task")
        );
        self.session.row(&sql, &[])?.map_or(Ok(None), |row| get(&row, 0))
    }

    fn letters_waiting(&self) -> Result<u64, StoreError> {
        let count = self.session.number("SELECT count(*) FROM _delivery WHERE next_try IS NOT NULL", &[])?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    fn letters_in_trouble(&self, since: DateTime<Utc>) -> Result<u64, StoreError> {
        let sql = "SELECT count(*) FROM _delivery d JOIN _alert a ON a.id = d.alert
                   WHERE d.delivered_at IS NULL AND d.trouble IS NOT NULL AND (d.next_try IS NOT NULL OR a.made_at > $1)";
        Ok(u64::try_from(self.session.number(sql, &[&since])?).unwrap_or(0))
    }

    fn delivered(&mut self, letter: &Letter, now: DateTime<Utc>) -> Result<(), StoreError> {
        let sql = "UPDATE _delivery SET tries = tries + 1, next_try = NULL, delivered_at = $3, trouble = NULL
                   WHERE alert = $1 AND target = $2";
        self.session.execute(sql, &[&letter.id, &letter.target, &stamp::to_millis(now)])?;
        Ok(())
    }

    fn undelivered(
        &mut self,
        letter: &Letter,
        trouble: &str,
        next_try: Option<DateTime<Utc>>,
    ) -> Result<(), StoreError> {
        let sql =
            "UPDATE _delivery SET tries = tries + 1, next_try = $3, trouble = $4 WHERE alert = $1 AND target = $2";
        let next_try = next_try.map(stamp::to_millis);
        self.session.execute(sql, &[&letter.id, &letter.target, &next_try, &storable(trouble)])?;
        Ok(())
    }

    fn deliveries(&self, task: Option<&TaskName>, most: u32) -> Result<Vec<Delivery>, StoreError> {
        let sql =
            "SELECT d.alert, d.task, d.target, a.notice, d.tries, a.made_at, d.delivered_at, d.next_try, d.trouble
                   FROM _delivery d JOIN _alert a ON a.id = d.alert WHERE $1::text IS NULL OR a.task = $1
                   ORDER BY d.alert DESC, d.target LIMIT $2";
        let found = self.session.rows(sql, &[&task.map(TaskName::as_str), &i64::from(most)])?;
        let delivery = |row| {
            Ok(Delivery {
                letter: letter(row)?,
                made_at: get(row, 5)?,
                delivered_at: get(row, 6)?,
                next_try: get(row, 7)?,
                trouble: get(row, 8)?,
            })
        };
        found.iter().map(delivery).collect()
    }
}

fn letter(row: &Row) -> Result<Letter, StoreError> {
    Ok(Letter {
        id: get(row, 0)?,
        task: stored::task_name(get(row, 1)?)?,
        target: get(row, 2)?,
        json: get(row, 3)?,
        tries: u32::try_from(get::<i64>(row, 4)?).unwrap_or(u32::MAX),
    })
}

fn post(session: &Session, task: &TaskName, outgoing: &Outgoing, now: DateTime<Utc>) -> Result<(), StoreError> {
    let now = stamp::to_millis(now);
    let sql = "INSERT INTO _alert (id, task, made_at, notice) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    session.execute(sql, &[&outgoing.id, &task.as_str(), &now, &storable(&outgoing.json)])?;
    for target in &outgoing.targets {
        // A target that stands there twice gets it once.
        let sql =
            "INSERT INTO _delivery (alert, task, target, next_try) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
        session.execute(sql, &[&outgoing.id, &task.as_str(), target, &now])?;
    }
    Ok(())
}

fn forget_old(session: &Session, task: &TaskName) -> Result<(), StoreError> {
    session.execute(
        "DELETE FROM _alert WHERE id IN (SELECT id FROM _alert WHERE task = $1 ORDER BY id DESC OFFSET $2)
             AND NOT EXISTS (SELECT 1 FROM _delivery WHERE alert = id AND next_try IS NOT NULL)",
        &[&task.as_str(), &i64::from(KEPT)],
    )?;
    Ok(())
}
