//! The practice site: a small shop on loopback with login, search and pagination, for `pieme demo` and the tests.
//!
//! Its data never changes by itself, so two runs see the same rows. `/switch` redesigns it or changes prices, `/ways/…`
//! has other kinds of pagination and login, `/bad/…` has faulty pages.

mod bad;
mod catalogue;
mod failure_modes;
mod html;
mod large;
mod original;
mod pages;
mod redesign;
mod routes;
mod scripted;
mod shop;
mod shop_view;
mod visitors;
pub mod ways;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use url::Url;

use shop::Shop;

pub use failure_modes::FailureMode;

/// The login of the practice site.
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
    /// Serves on `addr` in the current tokio runtime; port 0 takes a free port.
    pub async fn start(addr: SocketAddr) -> io::Result<Site> {
        let listener = TcpListener::bind(addr).await?;
        let url = Url::parse(&format!("http://{}/", listener.local_addr()?)).map_err(io::Error::other)?;
        let shop = Arc::new(Shop::default());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = axum::serve(listener, routes::router(Arc::clone(&shop))).with_graceful_shutdown(async {
            // An error means that the sender was dropped, which is the signal.
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

    /// Switches to the redesign: the same data with other tags, classes, nesting and order.
    pub fn set_redesign(&self, on: bool) {
        self.shop.set_redesign(on);
    }

    /// Shows the list, or an error page instead of it, from now on.
    pub fn set_failure_mode(&self, mood: FailureMode) {
        self.shop.set_failure_mode(mood);
    }

    /// How many requests were answered with 304.
    pub fn not_modified_count(&self) -> u64 {
        self.shop.not_modified_count()
    }

    /// How many requests were received so far.
    pub fn requests(&self) -> u64 {
        self.shop.requests()
    }
}
