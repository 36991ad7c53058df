//! Fleet membership in PostgreSQL. Leases are measured by the server's clock alone.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::{PgSession, Postgres, SqlSession, StoreError, StoreResult};
use crate::model::{RunId, TaskName, Verdict};
use crate::store::{FleetMembership, HeartbeatReport, Member, generation, runs};

/// Longest run without a daemon (rows that a person accepts); an older one was interrupted.
const MAX_OWNERLESS_RUN: &str = "10 minutes";

/// Condition for a valid lease, of `_member` under the name `m`.
pub(super) const LEASE_IS_VALID: &str = "m.until > now()";

impl FleetMembership for Postgres {
    fn join(&mut self, name: &str, home: &str, lease: Duration) -> StoreResult<Option<Member>> {
        let session = &self.session;
        let fence = session.in_transaction(|| {
            let sql = format!("SELECT home FROM _member m WHERE name = $1 AND {LEASE_IS_VALID} FOR UPDATE");
            let held_by: Option<String> = session.query_first(&sql, &[&name], |row| row.get(0))?;
            if let Some(home) = held_by.filter(|it| it != home) {
                return Err(StoreError::NameTaken { name: name.to_owned(), home });
            }
            session.query_number(
                "INSERT INTO _member (name, fence, home, until)
                 VALUES ($1, 1, $2, now() + $3::double precision * interval '1 second')
                 ON CONFLICT (name) DO UPDATE
                 SET fence = _member.fence + 1, home = excluded.home, until = excluded.until
                 RETURNING fence",
                &[&name, &home, &lease.as_secs_f64()],
            )
        })?;
        let member = Member { name: name.to_owned(), fence, lease };
        self.member = Some(member.clone());
        Ok(Some(member))
    }

    fn set_member(&mut self, member: Member) {
        self.member = Some(member);
    }

    fn heartbeat(&mut self, busy: &[TaskName], shares: bool) -> StoreResult<Option<HeartbeatReport>> {
        let Some(member) = self.member.clone() else { return Ok(None) };
        let reborn = renew_lease(self, &member)?;
        let member = reborn.clone().unwrap_or(member);
        self.member = Some(member.clone());
        let session = &self.session;
        let buried = fence_expired_members(session)?;
        let members =
            session.query_number(&format!("SELECT count(*) FROM _member m WHERE {LEASE_IS_VALID}"), &[])?.max(1);
        if shares {
            balance_tasks(session, &member, members, busy)?;
        }
        let sql = "SELECT name, paused FROM _task WHERE owner = $1 AND owner_fence = $2 ORDER BY name";
        let ours = session.query(sql, &[&member.name, &member.fence], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let sql = "SELECT count(*), coalesce(sum(version), 0)::bigint FROM _folder";
        let folders = session.query_first(sql, &[], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or_default();
        Ok(Some(HeartbeatReport {
            own_tasks: ours,
            crashed_runs: buried,
            members: u64::try_from(members).unwrap_or(1),
            rejoined_as: reborn,
            folders,
        }))
    }

    fn claim(&mut self, task: &TaskName) -> StoreResult<bool> {
        let Some(member) = &self.member else { return Ok(true) };
        let session = &self.session;
        session.in_transaction(|| {
            // Beginning a run of the task locks this row, so that the next query sees that run.
            session.query_first("SELECT name FROM _task WHERE name = $1 FOR UPDATE", &[task], |_| Ok(()))?;
            if owns(session, member, task)? {
                return Ok(true);
            }
            let open = "SELECT count(*) FROM _runs WHERE task = $1 AND ended IS NULL";
            if session.query_number(open, &[&task.as_str()])? > 0 {
                return Ok(false);
            }
            let sql = "UPDATE _task SET owner = $2, owner_fence = $3 WHERE name = $1";
            Ok(session.execute(sql, &[&task.as_str(), &member.name, &member.fence])? > 0)
        })
    }

    fn leave(&mut self) -> StoreResult<()> {
        let Some(member) = self.member.take() else { return Ok(()) };
        let session = &self.session;
        session.in_transaction(|| {
            let sql = "UPDATE _task SET owner = NULL, owner_fence = NULL WHERE owner = $1 AND owner_fence = $2";
            session.execute(sql, &[&member.name, &member.fence])?;
            session.apply("DELETE FROM _member WHERE name = $1 AND fence = $2", &[&member.name, &member.fence])
        })
    }

    fn reserve_host_turn(&mut self, host: &str, delay: Duration) -> StoreResult<Duration> {
        let free_in = self.session.query_first(
            "INSERT INTO _host (host, free_at) VALUES ($1, now() + $2::double precision * interval '1 second')
             ON CONFLICT (host) DO UPDATE
             SET free_at = greatest(_host.free_at, now()) + $2::double precision * interval '1 second'
             RETURNING extract(epoch FROM free_at - now())::double precision",
            &[&host, &delay.as_secs_f64()],
            |row| row.get::<f64>(0),
        )?;
        Ok(Duration::try_from_secs_f64(free_in.unwrap_or(0.0) - delay.as_secs_f64()).unwrap_or_default())
    }

    fn back_off_host(&mut self, host: &str, pause: Duration) -> StoreResult<()> {
        let sql = "UPDATE _host SET free_at = greatest(free_at, now() + $2::double precision * interval '1 second')
                   WHERE host = $1";
        self.session.apply(sql, &[&host, &pause.as_secs_f64()])
    }
}

/// Renews the lease. Where other daemons have declared this one dead, it joins again, and the new member is returned.
fn renew_lease(store: &mut Postgres, member: &Member) -> StoreResult<Option<Member>> {
    let sql = "UPDATE _member SET until = now() + $3::double precision * interval '1 second'
               WHERE name = $1 AND fence = $2";
    if store.session.execute(sql, &[&member.name, &member.fence, &member.lease.as_secs_f64()])? > 0 {
        return Ok(None);
    }
    let sql = "SELECT home FROM _member WHERE name = $1";
    let home: Option<String> = store.session.query_first(sql, &[&member.name], |row| row.get(0))?;
    store.join(&member.name, &home.unwrap_or_default(), member.lease)
}

/// Records the runs of dead daemons as `crash`. Their fencing token grows first: later writes of theirs are refused.
fn fence_expired_members(session: &PgSession) -> StoreResult<Vec<(RunId, TaskName)>> {
    let gone = format!(
        "UPDATE _member m SET fence = fence + 1, until = to_timestamp(0)
         WHERE NOT ({LEASE_IS_VALID}) AND until > to_timestamp(0)"
    );
    session.execute(&gone, &[])?;
    // The name of a person's run never occurs again; a daemon's fencing token must go on growing.
    let left = "DELETE FROM _member WHERE name LIKE 'pieme-run-%' AND until < now() - interval '1 day'";
    session.execute(left, &[])?;
    session.execute("DELETE FROM _host WHERE free_at < now() - interval '1 hour'", &[])?;
    let sql = format!(
        "SELECT r.id, r.task FROM _runs r LEFT JOIN _member m ON m.name = r.owner AND m.fence = r.fence
         WHERE r.ended IS NULL AND m.name IS NULL
             AND (r.owner IS NOT NULL OR r.started < now() - interval '{MAX_OWNERLESS_RUN}')
         ORDER BY r.started, r.id"
    );
    let mut buried = Vec::new();
    for (run, task) in session.query(&sql, &[], |row| Ok((row.get(0)?, row.get::<TaskName>(1)?)))? {
        let now = server_time(session)?;
        if record_crashed_run(session, run, &task, now)? {
            // The run is still due: the next owner of the task makes it up.
            let sql = "UPDATE _task SET next_due = $2 WHERE name = $1 AND removed_at IS NULL AND NOT paused
                           AND (next_due IS NULL OR next_due > $2)";
            session.modify(sql, &[&task, &now])?;
            buried.push((run, task));
        }
    }
    Ok(buried)
}

pub(super) fn server_time(session: &PgSession) -> StoreResult<DateTime<Utc>> {
    let now = session.query_first("SELECT now()", &[], |row| row.get(0))?;
    now.ok_or_else(|| StoreError::InvalidValue("the server returned no time".to_owned()))
}

/// Records a run as `crash`. False where it has been ended meanwhile.
pub(super) fn record_crashed_run(
    session: &PgSession,
    run: RunId,
    task: &TaskName,
    now: DateTime<Utc>,
) -> StoreResult<bool> {
    session.in_transaction(|| {
        let open = "SELECT id FROM _runs WHERE id = $1 AND ended IS NULL FOR UPDATE";
        if session.query_first(open, &[&run], |_| Ok(()))?.is_none() {
            return Ok(false);
        }
        generation::drop_staged(session, run)?;
        runs::record_end(session, run, task, &Verdict::interrupted(), now)?;
        Ok(true)
    })
}

/// Whether this member owns a task.
pub(super) fn owns(session: &PgSession, member: &Member, task: &TaskName) -> StoreResult<bool> {
    let sql = "SELECT count(*) FROM _task t JOIN _member m ON m.name = t.owner AND m.fence = t.owner_fence
               WHERE t.name = $1 AND m.name = $2 AND m.fence = $3";
    Ok(session.query_number(sql, &[&task.as_str(), &member.name, &member.fence])? > 0)
}

/// Balances the tasks: every daemon has the same number, or one more. Tasks without a living owner are free; the excess
/// is released, the latest due first, except tasks that are running or have pending deliveries.
fn balance_tasks(session: &PgSession, member: &Member, members: i64, busy: &[TaskName]) -> StoreResult<()> {
    let all = session.query_number("SELECT count(*) FROM _task", &[])?;
    let mine = "SELECT count(*) FROM _task WHERE owner = $1 AND owner_fence = $2";
    let mine = session.query_number(mine, &[&member.name, &member.fence])?;
    let fair = (all + members - 1) / members;
    if mine < fair {
        session.execute(
            "UPDATE _task SET owner = $1, owner_fence = $2 WHERE name IN (
                 SELECT t.name FROM _task t WHERE NOT EXISTS (
                         SELECT 1 FROM _member m WHERE m.name = t.owner AND m.fence = t.owner_fence)
                     AND NOT EXISTS (SELECT 1 FROM _runs r WHERE r.task = t.name AND r.ended IS NULL)
                 ORDER BY t.next_due, t.name LIMIT $3 FOR UPDATE SKIP LOCKED)",
            &[&member.name, &member.fence, &(fair - mine)],
        )?;
    } else if mine > fair {
        let busy: Vec<&str> = busy.iter().map(TaskName::as_str).collect();
        session.execute(
            "UPDATE _task SET owner = NULL, owner_fence = NULL WHERE name IN (
                 SELECT t.name FROM _task t WHERE t.owner = $1 AND t.owner_fence = $2 AND NOT (t.name = ANY($3))
                     AND NOT EXISTS (SELECT 1 FROM _runs r WHERE r.task = t.name AND r.ended IS NULL)
                     AND NOT EXISTS (SELECT 1 FROM _delivery d WHERE d.task = t.name AND d.next_try IS NOT NULL)
                 ORDER BY t.next_due DESC, t.name LIMIT $4 FOR UPDATE)",
            &[&member.name, &member.fence, &busy, &(mine - fair)],
        )?;
    }
    Ok(())
}

/// Condition that a member owns a task; holds for every task where the store acts for none.
pub(super) fn owned_condition(member: Option<&Member>, name: &str) -> String {
    match member {
        None => "TRUE".to_owned(),
        Some(Member { name: owner, fence, .. }) => {
            let owner = owner.replace('\'', "''");
            format!("{name} IN (SELECT name FROM _task WHERE owner = '{owner}' AND owner_fence = {fence})")
        }
    }
}
