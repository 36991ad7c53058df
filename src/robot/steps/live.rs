//! `click`, `scroll` and `wait_for`: what is done on the page that a browser shows. The robot stands on what it shows then.

use std::time::Duration;

use super::super::Trouble;
use super::super::browser::{Browser, Sight};
use super::super::form::Place;
use super::super::link::{self, Wanted};
use super::super::session::Session;
use super::super::walker::Walker;
use super::follow::{describe, selector};
use crate::model::Failure;
use crate::model::script::{Follow, Scroll, WaitFor};

/// How long `wait_for` waits when it does not say.
const WAIT: Duration = Duration::from_secs(10);

pub async fn click(walker: &mut Walker<'_>, wanted: &Follow, strict: bool) -> Result<(), Trouble> {
    walker.come_back().await?;
    let Some(place) = find(walker, wanted)? else {
        return Err(walker.trouble(Failure::Robot, format!("the page has nothing to click {}", describe(wanted))));
    };
    press(walker, &place, strict).await
}

/// Clicks an element of the page.
pub async fn press(walker: &mut Walker<'_>, place: &Place, strict: bool) -> Result<(), Trouble> {
    let (browser, session) = hands(walker)?;
    let shown = browser.click(session, place).await;
    let page = walker.told(shown)?;
    walker.stand_unless_bad(page, strict)
}

pub async fn scroll(walker: &mut Walker<'_>, step: &Scroll, strict: bool) -> Result<(), Trouble> {
    walker.come_back().await?;
    for _ in 0..step.times {
        let (browser, session) = hands(walker)?;
        let shown = browser.scroll(session).await;
        let page = walker.told(shown)?;
        walker.stand_unless_bad(page, strict)?;
    }
    Ok(())
}

pub async fn wait_for(walker: &mut Walker<'_>, step: &WaitFor) -> Result<(), Trouble> {
    walker.come_back().await?;
    let css = step.css.as_deref().map(|css| walker.expand(css)).transpose()?;
    let text = step.text.as_deref().map(|text| walker.expand(text)).transpose()?;
    let time = step.timeout.map_or(WAIT, |span| span.0);
    let (browser, session) = hands(walker)?;
    let sight = Sight { css: css.as_deref(), text: text.as_deref() };
    let shown = browser.wait_for(session, sight, time).await;
    match walker.told(shown)? {
        Some(page) => {
            walker.trace("it is there");
            walker.stand_unless_bad(page, true)
        }
        None => {
            let said = [css.map(|css| format!("`{css}`")), text.map(|text| format!("“{text}”"))];
            let what = said.into_iter().flatten().collect::<Vec<_>>().join(" and ");
            let sentence = format!("the page did not show {what} within {} s", time.as_secs_f32());
            Err(walker.trouble(Failure::Robot, sentence))
        }
    }
}

/// `wait`, while a browser goes on with its page.
pub async fn wait(walker: &mut Walker<'_>, time: Duration) -> Result<(), Trouble> {
    walker.come_back().await?;
    let (browser, session) = hands(walker)?;
    let shown = browser.idle(session, time).await;
    let page = walker.told(shown)?;
    walker.stand_unless_bad(page, true)
}

/// What can be clicked and fits what is said: anything that a selector names; by its text a button or a link.
pub fn find(walker: &Walker<'_>, wanted: &Follow) -> Result<Option<Place>, Trouble> {
    let css = wanted.css.as_deref().map(|css| selector(walker, css)).transpose()?;
    let text = wanted.text.as_deref().map(|text| walker.expand(text)).transpose()?;
    let tree = &walker.here()?.tree;
    let said = Wanted { css: css.as_ref(), text: text.as_deref(), rel: wanted.rel.as_deref() };
    Ok(link::clickable(tree, said).map(|node| Place::of(tree, node)))
}

fn hands<'w>(walker: &'w mut Walker<'_>) -> Result<(&'w mut Browser, &'w mut Session), Trouble> {
    if walker.browser.is_none() {
        let sentence = "this needs a browser: set `fetch.engine = \"browser\"` in task.toml";
        return Err(walker.trouble(Failure::Config, sentence));
    }
    let browser = walker.browser.as_mut().expect("it is there");
    Ok((browser, &mut walker.session))
}
