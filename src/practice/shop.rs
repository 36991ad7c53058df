//! The state of the practice site.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use axum::http::HeaderMap;

use super::catalogue;
use super::failure_modes::FailureMode;
use super::shop_view::ShopView;
use super::visitors::{Club, Visitors};

/// The mutable state of the shop.
#[derive(Default)]
pub struct Shop {
    redesign: AtomicBool,
    failure_mode: Mutex<FailureMode>,
    price_calls: AtomicU32,
    requests: AtomicU64,
    not_modified: AtomicU64,
    pub visitors: Visitors,
    pub club: Club,
}

impl Shop {
    pub fn set_redesign(&self, on: bool) {
        self.redesign.store(on, Ordering::SeqCst);
    }

    pub fn set_failure_mode(&self, mood: FailureMode) {
        *self.failure_mode.lock().expect("nobody panics with it") = mood;
    }

    pub fn failure_mode(&self) -> FailureMode {
        *self.failure_mode.lock().expect("nobody panics with it")
    }

    pub fn toggle_redesign(&self) {
        self.redesign.fetch_xor(true, Ordering::SeqCst);
    }

    /// Changes a tenth of the prices.
    pub fn change_prices(&self) {
        self.price_calls.fetch_add(1, Ordering::SeqCst);
    }

    /// How often prices were changed.
    pub fn price_calls(&self) -> u32 {
        self.price_calls.load(Ordering::SeqCst)
    }

    pub fn count_request(&self) {
        self.requests.fetch_add(1, Ordering::SeqCst);
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }

    pub fn count_not_modified(&self) {
        self.not_modified.fetch_add(1, Ordering::SeqCst);
    }

    /// How many requests were answered with 304.
    pub fn not_modified_count(&self) -> u64 {
        self.not_modified.load(Ordering::SeqCst)
    }

    pub fn view(&self, headers: &HeaderMap) -> ShopView {
        ShopView {
            redesign: self.redesign.load(Ordering::SeqCst),
            logged_in: self.visitors.find(headers).is_some_and(|visitor| visitor.logged_in),
            products: catalogue::products(self.price_calls()),
        }
    }
}
