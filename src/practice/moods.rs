//! What the shop shows instead of its list on a bad day. Each of these says 200, as most sites do.

use axum::response::{Html, IntoResponse, Redirect, Response};

use super::pages::{self, View};

/// How the shop answers whoever wants its list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Well,
    /// Broken inside, within the frame of the site.
    Error,
    /// Takes its visitor for a machine.
    Block,
    /// Shows the list to members only.
    Wall,
    /// Has nothing today.
    Nothing,
    /// Breaks off in the middle of its list, and says that this is all.
    Cut,
}

impl Mood {
    /// The answer in place of `list`; none where it may be shown.
    pub fn instead(self, view: &View, list: &str) -> Option<Response> {
        let framed = |title: &str, content: &str| Html(pages::framed(view, title, content)).into_response();
        match self {
            Mood::Well => None,
            Mood::Error => Some(framed("Error", "<h1>Something went wrong</h1>\n<p>Please try again later.</p>")),
            Mood::Block => Some(Html(CHALLENGE).into_response()),
            Mood::Wall => Some(Redirect::to("/login").into_response()),
            Mood::Nothing => Some(framed("Products", "<h1>Products</h1>\n<p class=\"nothing\">Nothing found.</p>")),
            Mood::Cut => {
                let half = list.char_indices().map(|(place, _)| place).nth(list.chars().count() / 2).unwrap_or(0);
                Some(Html(list[..half].to_owned()).into_response())
            }
        }
    }
}

const CHALLENGE: &str = "<!DOCTYPE html><html lang=en><head><title>Just a moment...</title></head>\
    <body><h1>Checking your browser</h1><p>This takes a few seconds.</p></body></html>";
