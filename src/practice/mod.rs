//! The practice site: a small shop on loopback with log-in, search and pages, for `pieme demo` and for the tests.
//!
//! Its data never changes by itself, so two runs see the same rows; `/switch` redesigns it or moves its prices, and
//! `/ways/…` leads through the list as other sites do,
//! `/bad/…` misbehaves in every way that a real site does.

mod scripted;
mod original;
mod redesign;
mod failure_modes;
mod routes;
mod pages;
mod html;
mod large;
mod catalogue;
mod visitors;
pub mod ways;
mod bad;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use url::Url;

use routes::Shop;

pub use self::failure_modes::FailureMode;

/// Who may log in at the practice site.
pub const USER: &str = "demo";
pub const PASSWORD: &str = "open-sesame-7";

/// A running practice site. It stops when this is dropped.
pub struct Site {
    url: Url,
    shop: Arc<Shop>,
    /// Dropping it is the signal to stop.
    _stop: oneshot::Sender<()>,
}

impl Site {
    /// Serves on `addr` from the current tokio runtime; port 0 takes a free one.
    pub async fn start(addr: SocketAddr) -> io::Result<Site> {
        let listener = TcpListener::bind(addr).await?;
        let url = Url::parse(&format!("http://{}/", listener.local_addr()?)).map_err(io::Error::other)?;
        let shop = Arc::new(Shop::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = axum::serve(listener, routes::router(Arc::clone(&shop))).with_graceful_shutdown(async {
            // An error here says that the sender is gone, which is what is waited for.
            let _ = stopped.await;
        });
        tokio::spawn(served.into_future());
        Ok(Site { url, shop, _stop: stop })
    }

    pub fn url(&self) -> Url {
        self.url.clone()
    }

    pub fn port(&self) -> u16 {
        self.url.port().expect("the site's address names its port")
    }

    /// Shows the same data in other tags, other classes, another nesting and another order.
    pub fn set_redesign(&self, on: bool) {
        self.shop.set_redesign(on);
    }

    /// From now on the list is shown, or what a bad day shows in its place.
    pub fn set_failure_mode(&self, mood: FailureMode) {
        self.shop.set_failure_mode(mood);
    }

    /// How many of them were answered with 304: the robot has the page already.
    pub fn not_modified_count(&self) -> u64 {
        self.shop.not_modified_count()
    }

    /// How many requests have come in so far.
    pub fn requests(&self) -> u64 {
        self.shop.requests()
    }
}
