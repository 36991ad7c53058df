//! The HTML document around every page: head, navigation, message areas.

use axum::response::Html;
use maud::{DOCTYPE, Markup, html};

use super::session::SessionUser;
use super::{assets, components};

/// The entry of the navigation bar that a page belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NavItem {
    Status,
    Label,
    Add,
    Search,
    Other,
}

const PAGES: &[(NavItem, &str, &str)] = &[
    (NavItem::Status, "/", "Status"),
    (NavItem::Label, "/label", "Label"),
    (NavItem::Add, "/add", "Add"),
    (NavItem::Search, "/search", "Search"),
];

/// A page for a logged-in user.
pub(super) fn page(visitor: &SessionUser, here: NavItem, title: &str, body: Markup) -> Html<String> {
    let bar = html! {
        nav aria-label="Main" {
            @for (it, path, name) in PAGES {
                a href=(path) aria-current=[(*it == here).then_some("page")] { (name) }
            }
        }
        form.inline method="post" action="/log-out" {
            (components::csrf_field(visitor))
            button.quiet { "Log out" }
        }
    };
    document(title, Some(&visitor.csrf_token), bar, body)
}

/// A page for everybody, without navigation.
pub(super) fn public_page(title: &str, body: Markup) -> Html<String> {
    document(title, None, html! {}, body)
}

/// A page with one sentence and a link to the status page.
pub(super) fn message_page(title: &str, sentence: &str) -> Html<String> {
    let body = html! {
        h1 { (title) }
        p #said-alone { (components::sentence(sentence)) }
        p { a href="/" { "Go to the status page" } }
    };
    public_page(title, body)
}

fn document(title: &str, token: Option<&str>, bar: Markup, body: Markup) -> Html<String> {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if let Some(token) = token { meta name="pieme-token" content=(token); }
                title { (title) " · pieme" }
                link rel="icon" href=(assets::url("icon.svg"));
                link rel="stylesheet" href=(assets::url("style.css"));
                script type="module" src=(assets::url("app.js")) {}
            }
            body {
                a.skip href="#main" { "Skip to content" }
                header.bar {
                    a.brand href="/" { "pieme" }
                    (bar)
                }
                div #lost role="alert" {}
                div #said role="status" aria-live="polite" {}
                main #main tabindex="-1" { (body) }
            }
        }
    };
    Html(page.into_string())
}
