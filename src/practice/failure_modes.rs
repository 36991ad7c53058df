//! Error pages that the shop shows instead of its list. Each has status 200, as on most sites.

use axum::response::{Html, IntoResponse, Redirect, Response};

use super::shop_view::{self, ShopView};

/// What a request for the list gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    #[default]
    Healthy,
    /// An error page in the site's own design.
    ErrorPage,
    /// A page that checks for bots.
    BotChallenge,
    /// A redirect to the login.
    LoginWall,
    /// A page that says that nothing was found.
    NoResults,
    /// The first half of the page, with a matching Content-Length.
    Truncated,
}

impl FailureMode {
    /// The response instead of `list`; none if the list is shown.
    pub fn replacement_page(self, view: &ShopView, list: &str) -> Option<Response> {
        let framed = |title: &str, content: &str| Html(shop_view::framed(view, title, content)).into_response();
        match self {
            FailureMode::Healthy => None,
            FailureMode::ErrorPage => {
                Some(framed("Error", "<h1>Something went wrong</h1>\n<p>Please try again later.</p>"))
            }
            FailureMode::BotChallenge => Some(Html(CHALLENGE).into_response()),
            FailureMode::LoginWall => Some(Redirect::to("/login").into_response()),
            FailureMode::NoResults => {
                Some(framed("Products", "<h1>Products</h1>\n<p class=\"nothing\">Nothing found.</p>"))
            }
            FailureMode::Truncated => {
                let half = list.char_indices().map(|(place, _)| place).nth(list.chars().count() / 2).unwrap_or(0);
                Some(Html(list[..half].to_owned()).into_response())
            }
        }
    }
}

const CHALLENGE: &str = "<!DOCTYPE html><html lang=en><head><title>Just a moment...</title></head>\
    <body><h1>Checking your browser</h1><p>This takes a few seconds.</p></body></html>";
