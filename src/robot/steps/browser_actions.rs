//! Steps of the browser engine: `click`, `scroll` and `wait_for`. Afterwards the current page is what the browser
//! shows.

use std::time::Duration;

use super::super::WalkError;
use super::super::browser::{Browser, WaitCondition};
use super::super::session::Session;
use super::super::walker::Walker;
use super::follow::describe;
use crate::model::Failure;
use crate::model::script::{LinkSelector, ScrollStep, WaitForStep};
use crate::page::form::ElementPosition;
use crate::page::links::{self, LinkQuery};

/// The timeout of `wait_for` without `timeout`.
const DEFAULT_WAIT: Duration = Duration::from_secs(10);

pub async fn click(walker: &mut Walker<'_>, wanted: &LinkSelector, strict: bool) -> Result<(), WalkError> {
    walker.return_browser_to_page().await?;
    let Some(place) = find_clickable(walker, wanted)? else {
        return Err(walker.error(Failure::Robot, format!("the page has no element to click {}", describe(wanted))));
    };
    click_element(walker, &place, strict).await
}

pub async fn click_element(walker: &mut Walker<'_>, place: &ElementPosition, strict: bool) -> Result<(), WalkError> {
    let (browser, session) = browser_and_session(walker)?;
    let shown = browser.click(session, place).await;
    let page = walker.trace_exchange(shown)?;
    walker.load_checked(page, strict)
}

pub async fn scroll(walker: &mut Walker<'_>, step: &ScrollStep, strict: bool) -> Result<(), WalkError> {
    walker.return_browser_to_page().await?;
    for _ in 0..step.times {
        let (browser, session) = browser_and_session(walker)?;
        let shown = browser.scroll(session).await;
        let page = walker.trace_exchange(shown)?;
        walker.load_checked(page, strict)?;
    }
    Ok(())
}

pub async fn wait_for(walker: &mut Walker<'_>, step: &WaitForStep) -> Result<(), WalkError> {
    walker.return_browser_to_page().await?;
    let css = step.css.as_deref().map(|css| walker.expand(css)).transpose()?;
    let text = step.text.as_deref().map(|text| walker.expand(text)).transpose()?;
    let time = step.timeout.map_or(DEFAULT_WAIT, |span| span.0);
    let (browser, session) = browser_and_session(walker)?;
    let sight = WaitCondition { css: css.as_deref(), text: text.as_deref() };
    let shown = browser.wait_for(session, sight, time).await;
    match walker.trace_exchange(shown)? {
        Some(page) => {
            walker.trace("found");
            walker.load_checked(page, true)
        }
        None => {
            let said = [css.map(|css| format!("`{css}`")), text.map(|text| format!("“{text}”"))];
            let what = said.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            let sentence = format!("the page did not show {what} within {} s", time.as_secs_f32());
            Err(walker.error(Failure::Robot, sentence))
        }
    }
}

/// `wait` with a browser, whose page goes on loading meanwhile.
pub async fn wait(walker: &mut Walker<'_>, time: Duration) -> Result<(), WalkError> {
    walker.return_browser_to_page().await?;
    let (browser, session) = browser_and_session(walker)?;
    let shown = browser.wait_and_read(session, time).await;
    let page = walker.trace_exchange(shown)?;
    walker.load_checked(page, true)
}

/// The element to click: any element that a selector names, or a button or link with the text.
pub fn find_clickable(walker: &Walker<'_>, wanted: &LinkSelector) -> Result<Option<ElementPosition>, WalkError> {
    let css = wanted.css.as_deref().map(|css| walker.selector(css)).transpose()?;
    let text = wanted.text.as_deref().map(|text| walker.expand(text)).transpose()?;
    let tree = &walker.current_page()?.tree;
    let said = LinkQuery { css: css.as_ref(), text: text.as_deref(), rel: wanted.rel.as_deref() };
    Ok(links::clickable(tree, said).map(|node| ElementPosition::of(tree, node)))
}

fn browser_and_session<'w>(walker: &'w mut Walker<'_>) -> Result<(&'w mut Browser, &'w mut Session), WalkError> {
    if walker.browser.is_none() {
        let sentence = "this step needs the browser engine: set `fetch.engine = \"browser\"` in task.toml";
        return Err(walker.error(Failure::Config, sentence));
    }
    let browser = walker.browser.as_mut().expect("it is there");
    Ok((browser, &mut walker.session))
}
