//! The trait that opens connections. A standalone robot opens them itself, through its guard. A sandboxed run has no
//! sockets; it asks its parent, which checks and connects in the same way.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::guard::Guard;
use crate::model::ConnectError;

pub type ConnectFuture = Pin<Box<dyn Future<Output = Result<TcpStream, ConnectError>> + Send>>;

pub trait Connector: Send + Sync {
    /// Opens a connection to this host; the implementation resolves the name.
    fn open(&self, host: &str, port: u16, patience: Duration) -> ConnectFuture;
}

impl Connector for Arc<Guard> {
    fn open(&self, host: &str, port: u16, patience: Duration) -> ConnectFuture {
        let (guard, host) = (Arc::clone(self), host.to_owned());
        Box::pin(async move { guard.connect(&host, port, patience).await })
    }
}
