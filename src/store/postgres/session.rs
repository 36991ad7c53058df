//! One connection to the server. It is made again when it was lost, with bounded patience; what was asked outside a
//! transaction is then asked once more, and a transaction is begun anew. So every transaction here can be done twice.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use futures_executor::block_on;
use futures_util::{SinkExt, StreamExt};
use tokio::runtime::{Builder, Handle};
use tokio_postgres::types::{FromSql, ToSql};
use tokio_postgres::{Client, Config, NoTls, Row, Statement};

use super::StoreError;
use super::tls;
use super::trouble::{is_passing, named};
use crate::model::PostgresAddress;

/// A server that restarts is back within seconds; one that is away for longer costs the runs that end meanwhile.
const TRIES: u32 = 40;
const PAUSE: Duration = Duration::from_millis(250);
/// A machine that does not even answer is given up after this.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The same for one that fell silent under a connection.
const SILENCE: Duration = Duration::from_secs(30);
/// How often a transaction is begun anew: others were in its way, or the connection was lost.
const MOST_TIMES: u32 = 10;
/// A daemon that is stopped in the middle of a transaction holds up nobody for longer; who waits for a lock gives up sooner.
const SETTINGS: &str = "SET client_min_messages TO warning; SET idle_in_transaction_session_timeout TO '60s'; \
                        SET lock_timeout TO '20s'; SET TIME ZONE 'UTC'";

/// What is given with a statement.
pub(super) type Values<'a> = &'a [&'a (dyn ToSql + Sync)];

pub(super) struct Session {
    at: PostgresAddress,
    reads_only: bool,
    line: RefCell<Option<Arc<Client>>>,
    statements: RefCell<HashMap<String, Statement>>,
    in_one: Cell<bool>,
    /// It could not be reached the last time: nobody waits for it in vain again.
    away: Cell<bool>,
}

impl Session {
    pub fn open(at: &PostgresAddress, reads_only: bool) -> Result<Session, StoreError> {
        let session = Session {
            at: at.clone(),
            reads_only,
            line: RefCell::default(),
            statements: RefCell::default(),
            in_one: Cell::new(false),
            // At the start a person waits: one try.
            away: Cell::new(true),
        };
        session.client()?;
        Ok(session)
    }

    pub fn at(&self) -> &PostgresAddress {
        &self.at
    }

    pub fn rows(&self, sql: &str, values: Values<'_>) -> Result<Vec<Row>, StoreError> {
        self.with(async |client| client.query(&self.prepared(client, sql).await?, values).await)
    }

    pub fn row(&self, sql: &str, values: Values<'_>) -> Result<Option<Row>, StoreError> {
        self.with(async |client| client.query_opt(&self.prepared(client, sql).await?, values).await)
    }

    /// Every row of an answer, however many there are, without keeping them.
    pub fn each(
        &self,
        sql: &str,
        values: Values<'_>,
        mut take: impl FnMut(&Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let client = self.client()?;
        let asked = client.query_raw(sql, values.iter().copied());
        let rows = block_on(asked).map_err(|error| named(&error, &self.at))?;
        futures_util::pin_mut!(rows);
        // Whoever takes a row may wait for another server meanwhile.
        while let Some(row) = block_on(rows.next()) {
            take(&row.map_err(|error| named(&error, &self.at))?)?;
        }
        Ok(())
    }

    /// One number of an answer that always has it.
    pub fn number(&self, sql: &str, values: Values<'_>) -> Result<i64, StoreError> {
        self.with(async |client| client.query_one(&self.prepared(client, sql).await?, values).await?.try_get(0))
    }

    /// Answers with how many rows it touched.
    pub fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, StoreError> {
        self.with(async |client| client.execute(&self.prepared(client, sql).await?, values).await)
    }

    /// Statements without values.
    pub fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.with(async |client| client.batch_execute(sql).await)
    }

    /// Rows in the text format of COPY.
    pub fn copy_in(&self, sql: &str, text: &Bytes) -> Result<(), StoreError> {
        self.with(async |client| {
            let sink = client.copy_in(sql).await?;
            futures_util::pin_mut!(sink);
            sink.send(text.clone()).await?;
            sink.finish().await.map(|_| ())
        })
    }

    /// All of the work in one transaction, or none of it. It may be done more than once, so it changes nothing else. Inside
    /// another it is part of that.
    pub fn in_one<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transaction("BEGIN", "COMMIT", work)
    }

    /// All looks of one moment.
    pub fn moment<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transaction("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "COMMIT", work)
    }

    /// The same, done once: a connection that is lost meanwhile is an error.
    pub fn moment_once<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.once("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "COMMIT", &work)
    }

    /// Does the work and takes it back.
    pub fn taken_back<T>(&self, work: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.transaction("BEGIN", "ROLLBACK", work)
    }

    fn transaction<T>(
        &self,
        begin: &str,
        end: &str,
        work: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        if self.in_one.get() {
            return work();
        }
        let mut times = 1;
        loop {
            match self.once(begin, end, &work) {
                Err(error) if times < MOST_TIMES && self.may_be_done_again(&error) => {
                    times += 1;
                    thread::sleep(Duration::from_millis(u64::from(times)));
                }
                done => return done,
            }
        }
    }

    fn once<T>(&self, begin: &str, end: &str, work: &impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.batch(begin)?;
        self.in_one.set(true);
        let done = work().and_then(|it| self.batch(end).map(|()| it));
        if done.is_err() && self.batch("ROLLBACK").is_err() {
            // The first error is the one to tell; the server takes back what a lost connection had begun.
            self.line.replace(None);
        }
        self.in_one.set(false);
        done
    }

    fn may_be_done_again(&self, error: &StoreError) -> bool {
        is_passing(error) || (matches!(error, StoreError::Away { .. }) && !self.away.get())
    }

    fn with<T>(&self, work: impl AsyncFn(&Client) -> Result<T, tokio_postgres::Error>) -> Result<T, StoreError> {
        let mut again = !self.in_one.get();
        loop {
            let client = self.client()?;
            let error = match block_on(work(&client)) {
                Ok(done) => return Ok(done),
                Err(error) => named(&error, &self.at),
            };
            if matches!(error, StoreError::Away { .. }) {
                self.line.replace(None);
                if std::mem::take(&mut again) {
                    continue;
                }
            }
            return Err(error);
        }
    }

    async fn prepared(&self, client: &Client, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        // Tables of rows come and go.
        if sql.contains("_rows_") {
            return client.prepare(sql).await;
        }
        if let Some(known) = self.statements.borrow().get(sql) {
            return Ok(known.clone());
        }
        let statement = client.prepare(sql).await?;
        self.statements.borrow_mut().insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// The connection, made again if it is lost. Inside a transaction it is not: that is lost with it.
    fn client(&self) -> Result<Arc<Client>, StoreError> {
        let there = self.line.borrow().as_ref().filter(|client| !client.is_closed()).cloned();
        if let Some(client) = there {
            return Ok(client);
        }
        if self.in_one.get() {
            return Err(self.lost("the connection was lost in the middle of a transaction"));
        }
        self.statements.borrow_mut().clear();
        let mut tries = if self.away.get() { 1 } else { TRIES };
        loop {
            tries -= 1;
            match self.connect() {
                Err(StoreError::Away { .. }) if tries > 0 => thread::sleep(PAUSE),
                Err(error) => {
                    self.away.set(true);
                    return Err(error);
                }
                Ok(client) => {
                    self.away.set(false);
                    let client = Arc::new(client);
                    self.line.replace(Some(Arc::clone(&client)));
                    return Ok(client);
                }
            }
        }
    }

    fn connect(&self) -> Result<Client, StoreError> {
        let mut config: Config = self.at.with_password().parse().map_err(|_| StoreError::NotLetIn {
            at: self.at.clone(),
            why: "the address says what the driver does not understand".to_owned(),
        })?;
        tls::settle(&mut config, self.at.with_password());
        config.application_name("pieme").connect_timeout(CONNECT_TIMEOUT);
        config.keepalives_idle(SILENCE).tcp_user_timeout(SILENCE);
        let client = connect(config).map_err(|error| match error {
            Unconnected::Driver(error) => named(&error, &self.at),
            Unconnected::Other(why) => self.lost(&why),
        })?;
        let read_only = if self.reads_only { "; SET default_transaction_read_only TO on" } else { "" };
        let set_up = format!("SET search_path TO {}; {SETTINGS}{read_only}", self.at.schema());
        block_on(client.batch_execute(&set_up)).map_err(|error| named(&error, &self.at))?;
        Ok(client)
    }

    fn lost(&self, why: &str) -> StoreError {
        StoreError::Away { at: self.at.clone(), why: why.to_owned() }
    }
}

/// A cell of an answer, which is what its column says or makes no sense.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, at: usize) -> Result<T, StoreError> {
    row.try_get(at).map_err(StoreError::value)
}

enum Unconnected {
    Driver(tokio_postgres::Error),
    Other(String),
}

/// Connects on the thread that all connections live on: whoever asks may stand inside a runtime of its own, and may not.
fn connect(config: Config) -> Result<Client, Unconnected> {
    let other = |error: &dyn std::fmt::Display| Unconnected::Other(error.to_string());
    let home = home().ok_or_else(|| Unconnected::Other("no thread could be started for it".to_owned()))?;
    let encrypted = config.get_ssl_mode() == tokio_postgres::config::SslMode::Require;
    let connector = encrypted.then(tls::connector).transpose().map_err(|error| other(&error))?;
    let (tell, told) = mpsc::channel();
    home.spawn(async move {
        let connected = match connector {
            Some(connector) => config.connect(connector).await.map(|(client, line)| {
                home.spawn(line);
                client
            }),
            None => config.connect(NoTls).await.map(|(client, line)| {
                home.spawn(line);
                client
            }),
        };
        // Whoever asked waits for it.
        let _ = tell.send(connected);
    });
    told.recv().map_err(|error| other(&error))?.map_err(Unconnected::Driver)
}

/// The runtime of the connections, on a thread that lives as long as the program.
fn home() -> Option<&'static Handle> {
    static HOME: OnceLock<Option<Handle>> = OnceLock::new();
    let start = || {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let live = move || runtime.block_on(std::future::pending::<()>());
        thread::Builder::new().name("postgres".to_owned()).spawn(live).ok()?;
        Some(handle)
    };
    HOME.get_or_init(start).as_ref()
}
