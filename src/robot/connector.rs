//! Who opens connections: a robot that goes alone does so itself, under its guard; a sealed run has no sockets and asks its
//! parent, who does the same for it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;

use crate::guard::Guard;
use crate::model::ConnectError;

pub type ConnectFuture = Pin<Box<dyn Future<Output = Result<TcpStream, ConnectError>> + Send>>;

pub trait Connector: Send + Sync {
    /// A connection to this host, whose name is looked up behind the door.
    fn open(&self, host: &str, port: u16, patience: Duration) -> ConnectFuture;
}

impl Connector for Arc<Guard> {
    fn open(&self, host: &str, port: u16, patience: Duration) -> ConnectFuture {
        let (guard, host) = (Arc::clone(self), host.to_owned());
        Box::pin(async move { guard.connect(&host, port, patience).await })
    }
}
