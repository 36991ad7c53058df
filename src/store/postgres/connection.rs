//! Connections to the server, and the thread that drives all of them. Every wait has a deadline: name lookup,
//! connection, TLS handshake, login and each answer.

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

/// Addresses that are tried per name.
const MAX_ADDRESSES: usize = 4;

pub(super) struct ServerConnection {
    pub client: Client,
    /// The server that it leads to, for checking whether it still answers.
    target: ServerTarget,
    driver: AbortHandle,
}

/// One server: a host with one address.
#[derive(Clone)]
struct ServerTarget {
    config: Config,
    connector: Option<MakeRustlsConnect>,
}

/// Why there is no connection.
pub(super) enum ConnectFailure {
    Driver(tokio_postgres::Error),
    /// No answer before the deadline.
    Silent(String),
    Other(String),
}

/// Connects to the first server of an address that answers in time, and executes `greeting` there. This happens on the
/// connection thread, because the caller may be inside an async runtime of its own, which must not be blocked on.
pub(super) fn connect(
    config: &Config,
    greeting: String,
    deadline: Duration,
) -> Result<ServerConnection, ConnectFailure> {
    let other = |error: &dyn std::fmt::Display| ConnectFailure::Other(error.to_string());
    let home = runtime_handle()
        .ok_or_else(|| ConnectFailure::Other("the connection thread could not be started".to_owned()))?;
    let encrypted = config.get_ssl_mode() == SslMode::Require;
    let connector = encrypted.then(tls::connector).transpose().map_err(|error| other(&error))?;
    let (tell, told) = mpsc::channel();
    let config = config.clone();
    home.spawn(async move {
        // The caller waits for the result.
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
    let mut failed = ConnectFailure::Other("the address names no host".to_owned());
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

/// Each address of each host separately: one that does not answer leaves the others their time.
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
                    ConnectFailure::Silent(format!("{} from the name server", no_answer_message(deadline)))
                })?;
                match found {
                    Ok(found) => targets.extend(found.take(MAX_ADDRESSES).map(|it| {
                        let mut one = without_hosts(config, port);
                        one.host(name).hostaddr(it.ip());
                        one
                    })),
                    Err(error) if at + 1 == hosts.len() && targets.is_empty() => {
                        return Err(ConnectFailure::Other(format!("{name} could not be resolved: {error}")));
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

/// All settings of an address except its hosts.
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
        line.client.batch_execute(greeting).await?;
        Ok(line)
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

    /// Whether the server answers a new connection at all, be it with a refusal.
    async fn answers(self, deadline: Duration) -> bool {
        match timeout(deadline, self.connect()).await {
            Ok(Ok(_)) => true,
            Ok(Err(error)) => error.code().is_some(),
            Err(_) => false,
        }
    }
}

impl ServerConnection {
    /// Asks the server to cancel the query under way, without waiting for the answer.
    pub fn cancel_query(&self) {
        let Some(home) = runtime_handle() else { return };
        let (token, connector) = (self.client.cancel_token(), self.target.connector.clone());
        home.spawn(async move {
            // The query then ends with an error, or by itself.
            let _ = match connector {
                Some(connector) => token.cancel_query(connector).await,
                None => token.cancel_query(NoTls).await,
            };
        });
    }

    /// Waits for an answer, up to `limit`. Whenever `answer_timeout` has passed, the same server must accept another
    /// connection: that distinguishes long work from a dead server. An error says why the wait was given up; the
    /// connection is then unusable.
    pub fn await_answer<T>(
        &self,
        asked: impl Future<Output = T>,
        timeouts: &PostgresTimeouts,
        limit: TimeSpan,
    ) -> Result<T, String> {
        let Some(home) = runtime_handle() else { return Ok(block_on(asked)) };
        // Deadlines are kept by the runtime of the connections, whichever thread waits.
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
                    return Err(format!("{}, the limit in [postgres] of config.toml", no_answer_message(limit.0)));
                }
                let answers = home.spawn(self.target.clone().answers(timeouts.connect_timeout.0));
                if !answers.await.unwrap_or(false) {
                    self.driver.abort();
                    return Err(no_answer_message(waited));
                }
            }
        })
    }

    /// Cancels the current statement and closes the connection.
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
            // A server that does not receive it finds the connection closed.
            let _ = timeout(deadline, left_off).await;
            driver.abort();
        });
    }
}

/// Runs `then` after a while, in the background.
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

/// The runtime of the connections, on a thread that lives as long as the program.
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
