//! What the shop shows instead of its list on a bad day. Each of these says 200, as most sites do.

use axum::response::{Html, IntoResponse, Redirect, Response};

use super::pages::{self, ShopView};

/// How the shop answers whoever wants its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    #[default]
    Healthy,
    /// Broken inside, within the frame of the site.
    ErrorPage,
    /// Takes its visitor for a machine.
    BotChallenge,
    /// Shows the list to members only.
    LoginWall,
    /// Has nothing today.
    NoResults,
    /// Breaks off in the middle of its list, and says that this is all.
    Truncated,
}

impl FailureMode {
    /// The answer in place of `list`; none where it may be shown.
    pub fn replacement_page(self, view: &ShopView, list: &str) -> Option<Response> {
        let framed = |title: &str, content: &str| Html(pages::framed(view, title, content)).into_response();
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
