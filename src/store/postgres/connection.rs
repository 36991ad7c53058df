//! A connection to the server, and the thread that drives all of them. Every wait has a deadline: for the name, the
//! connection, the TLS handshake, the log-in and each answer.

use std::future::Future;
use std::pin::pin;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use futures_executor::block_on;
use tokio::runtime::{Builder, Handle};
use tokio::task::AbortHandle;
use tokio::time::timeout;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::tls;
use crate::model::{PostgresTimeouts, TimeSpan};

/// Addresses of one name that are tried.
const MAX_ADDRESSES: usize = 4;

pub(super) struct ServerConnection {
    pub client: Client,
    /// The very server that it leads to, for asking whether it is still there.
    target: ServerTarget,
    driver: AbortHandle,
}

/// One server: a host with one address.
#[derive(Clone)]
struct ServerTarget {
    config: Config,
    connector: Option<MakeRustlsConnect>,
}

/// Why there is no line.
pub(super) enum ConnectFailure {
    Driver(tokio_postgres::Error),
    /// Nobody said anything until the deadline.
    Silent(String),
    Other(String),
}

/// Connects to the first server of an address that answers in time, and executes `greeting` there. Done on the thread
/// of all connections: whoever asks may stand inside a runtime of its own, and may not.
pub(super) fn connect(
    config: &Config,
    greeting: String,
    deadline: Duration,
) -> Result<ServerConnection, ConnectFailure> {
    let other = |error: &dyn std::fmt::Display| ConnectFailure::Other(error.to_string());
    let home = runtime_handle().ok_or_else(|| ConnectFailure::Other("no thread could be started for it".to_owned()))?;
    let encrypted = config.get_ssl_mode() == SslMode::Require;
    let connector = encrypted.then(tls::connector).transpose().map_err(|error| other(&error))?;
    let (tell, told) = mpsc::channel();
    let config = config.clone();
    home.spawn(async move {
        // Whoever asked waits for it.
        let _ = tell.send(first_to_answer(&config, connector, &greeting, deadline).await);
    });
    told.recv().map_err(|error| other(&error))?
}

async fn first_to_answer(
    config: &Config,
    connector: Option<MakeRustlsConnect>,
    greeting: &str,
    deadline: Duration,
) -> Result<ServerConnection, ConnectFailure> {
    let mut failed = ConnectFailure::Other("its address names no server".to_owned());
    for config in targets(config, deadline).await? {
        let target = ServerTarget { config, connector: connector.clone() };
        match timeout(deadline, target.connect_and_set_up(greeting)).await {
            Ok(Ok(line)) => return Ok(line),
            Ok(Err(error)) => failed = ConnectFailure::Driver(error),
            Err(_) => failed = ConnectFailure::Silent(no_answer_message(deadline)),
        }
    }
    Err(failed)
}

/// Each address of each host by itself: one that says nothing leaves the others their time.
async fn targets(config: &Config, deadline: Duration) -> Result<Vec<Config>, ConnectFailure> {
    if config.get_load_balance_hosts() == LoadBalanceHosts::Random {
        return Ok(vec![config.clone()]);
    }
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let mut targets = Vec::new();
    for at in 0..hosts.len().max(addresses.len()) {
        let port = config.get_ports().get(at).or(config.get_ports().first()).copied().unwrap_or(5432);
        match (hosts.get(at), addresses.get(at)) {
            (Some(Host::Tcp(name)), None) => {
                let looked_up = timeout(deadline, tokio::net::lookup_host((name.as_str(), port))).await;
                let found = looked_up.map_err(|_| {
                    ConnectFailure::Silent(format!("{} by whoever knows names", no_answer_message(deadline)))
                })?;
                match found {
                    Ok(found) => targets.extend(found.take(MAX_ADDRESSES).map(|it| {
                        let mut one = without_hosts(config, port);
                        one.host(name).hostaddr(it.ip());
                        one
                    })),
                    Err(error) if at + 1 == hosts.len() && targets.is_empty() => {
                        return Err(ConnectFailure::Other(format!("{name} is not known: {error}")));
                    }
                    Err(_) => {}
                }
            }
            (host, address) => {
                let mut one = without_hosts(config, port);
                match host {
                    Some(Host::Tcp(name)) => _ = one.host(name),
                    Some(Host::Unix(path)) => _ = one.host_path(path),
                    None => {}
                }
                address.into_iter().for_each(|address| _ = one.hostaddr(*address));
                targets.push(one);
            }
        }
    }
    Ok(targets)
}

/// All that an address says but for its hosts.
fn without_hosts(config: &Config, port: u16) -> Config {
    let mut one = Config::new();
    config.get_user().into_iter().for_each(|it| _ = one.user(it));
    config.get_password().into_iter().for_each(|it| _ = one.password(it));
    config.get_dbname().into_iter().for_each(|it| _ = one.dbname(it));
    config.get_options().into_iter().for_each(|it| _ = one.options(it));
    config.get_application_name().into_iter().for_each(|it| _ = one.application_name(it));
    config.get_connect_timeout().into_iter().for_each(|it| _ = one.connect_timeout(*it));
    config.get_tcp_user_timeout().into_iter().for_each(|it| _ = one.tcp_user_timeout(*it));
    config.get_keepalives_interval().into_iter().for_each(|it| _ = one.keepalives_interval(it));
    config.get_keepalives_retries().into_iter().for_each(|it| _ = one.keepalives_retries(it));
    one.keepalives(config.get_keepalives()).keepalives_idle(config.get_keepalives_idle());
    one.ssl_mode(config.get_ssl_mode()).ssl_negotiation(config.get_ssl_negotiation());
    one.target_session_attrs(config.get_target_session_attrs()).channel_binding(config.get_channel_binding());
    one.port(port);
    one
}

impl ServerTarget {
    async fn connect_and_set_up(&self, greeting: &str) -> Result<ServerConnection, tokio_postgres::Error> {
        let (client, driver) = self.connect().await?;
        let line = ServerConnection { client, target: self.clone(), driver };
        match line.client.batch_execute(greeting).await {
            Ok(()) => Ok(line),
            Err(error) => Err(error),
        }
    }

    async fn connect(&self) -> Result<(Client, AbortHandle), tokio_postgres::Error> {
        Ok(match &self.connector {
            Some(connector) => {
                let (client, line) = self.config.connect(connector.clone()).await?;
                (client, tokio::spawn(line).abort_handle())
            }
            None => {
                let (client, line) = self.config.connect(NoTls).await?;
                (client, tokio::spawn(line).abort_handle())
            }
        })
    }

    /// Whether it says anything at all to somebody new, be it that there is no room.
    async fn is_answering(self, deadline: Duration) -> bool {
        match timeout(deadline, self.connect()).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => error.code().is_some(),
            Err(_) => false,
        }
    }
}

impl ServerConnection {
    /// Waits for an answer, up to `limit`. Whenever `answer_timeout` has passed the same server must accept another
    /// connection: that tells long work from silence. An error says why it was given up; the line is then of no more
    /// use.
    pub fn await_answer<T>(
        &self,
        asked: impl Future<Output = T>,
        timeouts: &PostgresTimeouts,
        limit: TimeSpan,
    ) -> Result<T, String> {
        let Some(home) = runtime_handle() else { return Ok(block_on(asked)) };
        // Deadlines are kept by the lines' own runtime, whoever waits.
        let _entered = home.enter();
        block_on(async {
            let mut asked = pin!(asked);
            let mut waited = Duration::ZERO;
            loop {
                let part = timeouts.answer_timeout.0.min(limit.0.saturating_sub(waited));
                if let Ok(answer) = timeout(part, asked.as_mut()).await {
                    return Ok(answer);
                }
                waited += part;
                if waited >= limit.0 {
                    self.cancel_and_close(home, timeouts.connect_timeout.0);
                    return Err(format!("{}; [postgres] of config.toml has the limit", no_answer_message(limit.0)));
                }
                let answers = home.spawn(self.target.clone().is_answering(timeouts.connect_timeout.0));
                if !answers.await.unwrap_or(false) {
                    self.driver.abort();
                    return Err(no_answer_message(waited));
                }
            }
        })
    }

    /// Has the server leave off what it is at, and goes.
    fn cancel_and_close(&self, home: &Handle, deadline: Duration) {
        let (token, connector, driver) =
            (self.client.cancel_token(), self.target.connector.clone(), self.driver.clone());
        home.spawn(async move {
            let left_off = async {
                match connector {
                    Some(connector) => token.cancel_query(connector).await,
                    None => token.cancel_query(NoTls).await,
                }
            };
            // A server that does not hear it finds nobody to answer to.
            let _ = timeout(deadline, left_off).await;
            driver.abort();
        });
    }
}

/// Does something after a while, beside everything else.
pub(super) fn run_later(time: Duration, then: impl FnOnce() + Send + 'static) {
    match runtime_handle() {
        Some(home) => drop(home.spawn(async move {
            tokio::time::sleep(time).await;
            then();
        })),
        None => then(),
    }
}

fn no_answer_message(time: Duration) -> String {
    format!("no answer within {}", TimeSpan(time))
}

/// The runtime of the lines, on a thread that lives as long as the program.
fn runtime_handle() -> Option<&'static Handle> {
    static RUNTIME: OnceLock<Option<Handle>> = OnceLock::new();
    let start = || {
        let runtime = Builder::new_current_thread().enable_all().build().ok()?;
        let handle = runtime.handle().clone();
        let live = move || runtime.block_on(std::future::pending::<()>());
        thread::Builder::new().name("postgres".to_owned()).spawn(live).ok()?;
        Some(handle)
    };
    RUNTIME.get_or_init(start).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_of_an_address_is_asked_for_all_that_the_address_says() {
        for text in [
            "postgres://me:word@127.0.0.1:5433/rows?sslmode=require&channel_binding=require&options=-c%20a%3Db",
            "postgres://me@127.0.0.1:5433/rows?target_session_attrs=read-write&keepalives_interval=7",
            "postgres://me@127.0.0.1:5433/rows?connect_timeout=3&tcp_user_timeout=4&application_name=x&keepalives=0",
        ] {
            let config: Config = text.parse().expect("an address");
            let mut one = without_hosts(&config, 5433);
            one.host("127.0.0.1");
            assert!(one == config, "{text}");
        }
    }

    #[test]
    fn each_address_of_each_host_has_its_own_time() {
        let config: Config = "postgres://me@%2Frun%2Fpg,127.0.0.1:5433,127.0.0.2/rows".parse().expect("an address");
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let targets = runtime.block_on(targets(&config, Duration::from_secs(9))).ok().expect("they are numbers");
        let short = |it: &Config| (it.get_hosts().to_vec(), it.get_hostaddrs().to_vec(), it.get_ports().to_vec());
        let tcp = |text: &str, port: u16| {
            (vec![Host::Tcp(text.to_owned())], vec![text.parse().expect("a number")], vec![port])
        };
        let expected =
            [(vec![Host::Unix("/run/pg".into())], vec![], vec![5432]), tcp("127.0.0.1", 5433), tcp("127.0.0.2", 5432)];
        assert_eq!(targets.iter().map(short).collect::<Vec<_>>(), expected);
    }
}
