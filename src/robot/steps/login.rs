//! `login`: into the site, unless the kept session still is; and in again, once, when the site has thrown us out.
//!
//! A site that does not let us in is asked once and no more: a second wrong password is half a lock-out.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use url::Url;

use super::super::Trouble;
use super::super::form::{self, Field, Form, Press};
use super::super::session::{Request, shown};
use super::super::walker::Walker;
use super::{ask, condition, submit};
use crate::model::Failure;
use crate::model::script::Login;
use crate::page::tree::collapse;

/// How the site was entered.
#[derive(Clone)]
pub struct LoggedIn {
    step: Login,
    /// The page with the form, to come back to.
    door: Option<Url>,
    /// Being thrown out once may be a session that ended; twice is a site that does not want us.
    again: bool,
    /// While we are at it, no page is a reason to log in.
    busy: bool,
}

impl LoggedIn {
    /// Are we logging in right now?
    pub fn is_busy(&self) -> bool {
        self.busy
    }
}

pub async fn login(walker: &mut Walker<'_>, step: &Login) -> Result<(), Trouble> {
    if step.basic {
        return basic(walker, step).await;
    }
    let door = match &step.url {
        Some(url) => Some(ask::target(walker, &walker.expand(url)?)?),
        None => walker.stand.as_ref().map(|stand| stand.page.meta.url.clone()),
    };
    walker.login = Some(LoggedIn { step: step.clone(), door: door.clone(), again: false, busy: true });
    if let Some(url) = door.filter(|_| step.url.is_some()) {
        // Some sites answer 401 or 403 with their log-in page.
        walker.arrive(Request::get(url), false).await?;
    }
    if looks_logged_out(walker, step)? {
        enter(walker, step).await?;
    } else {
        walker.trace("the kept session is still logged in");
    }
    set_busy(walker, false);
    Ok(())
}

/// Has the site thrown us out? Never while we are logging in.
pub fn is_logged_out(walker: &Walker<'_>) -> Result<bool, Trouble> {
    match &walker.login {
        Some(login) if !login.busy && walker.stand.is_some() => looks_logged_out(walker, &login.step.clone()),
        _ => Ok(false),
    }
}

/// Logs in once more, where the site has forgotten us in the middle of a walk.
pub async fn log_in_again(walker: &mut Walker<'_>) -> Result<(), Trouble> {
    let Some(login) = walker.login.clone() else { return Ok(()) };
    if login.again {
        return Err(walker.trouble(Failure::Login, "the site logged us out a second time in this run"));
    }
    walker.trace("the site has logged us out; logging in again");
    walker.login = Some(LoggedIn { again: true, busy: true, ..login.clone() });
    if let Some(door) = login.door {
        walker.arrive(Request::get(door), false).await?;
    }
    enter(walker, &login.step).await?;
    set_busy(walker, false);
    Ok(())
}

fn set_busy(walker: &mut Walker<'_>, busy: bool) {
    if let Some(login) = &mut walker.login {
        login.busy = busy;
    }
}

/// Every request to the site carries user and password; the first one shows whether they are right.
async fn basic(walker: &mut Walker<'_>, step: &Login) -> Result<(), Trouble> {
    let url = match &step.url {
        Some(url) => ask::target(walker, &walker.expand(url)?)?,
        None => walker.task.url.clone().ok_or_else(|| walker.trouble(Failure::Config, "`login` needs a `url` here"))?,
    };
    let (user, password) = (walker.expand(&step.user)?, walker.expand(&step.password)?);
    walker.session.authorise(&url, user, password);
    walker.arrive(Request::get(url), true).await
}

fn looks_logged_out(walker: &Walker<'_>, step: &Login) -> Result<bool, Trouble> {
    match &step.logged_out_if {
        Some(sign) => condition::holds(walker, sign),
        None => Ok(door(walker, step)?.is_some() || asks_for_password(walker)?),
    }
}

/// Does the current page, whatever form the script names, ask for a password to log in?
fn asks_for_password(walker: &Walker<'_>) -> Result<bool, Trouble> {
    Ok(form::find(&walker.here()?.tree, "login").is_some_and(|form| form.password().is_some()))
}

/// The log-in form of the current page.
fn door(walker: &Walker<'_>, step: &Login) -> Result<Option<Form>, Trouble> {
    let wanted = step.form.as_deref().map(|form| walker.expand(form)).transpose()?;
    let tree = &walker.here()?.tree;
    Ok(match wanted {
        Some(wanted) => form::find(tree, &wanted),
        None => form::find(tree, "login").filter(|form| form.password().is_some()),
    })
}

/// Fills the form, and those that come after it: the password on a page of its own, a one-time code.
async fn enter(walker: &mut Walker<'_>, step: &Login) -> Result<(), Trouble> {
    walker.come_back().await?;
    let Some(mut form) = door(walker, step)? else {
        let there = form::all(&walker.here()?.tree);
        return Err(walker.trouble(Failure::Login, submit::no_form(step.form.as_deref().unwrap_or("login"), &there)));
    };
    let mut said = BTreeMap::new();
    for (name, value) in &step.fields {
        said.insert(walker.expand(name)?, walker.expand(value)?);
    }
    said.insert(name_of(form.username(), "user"), walker.expand(&step.user)?);
    if form.password().is_none() {
        // The name first, the password on the next page.
        send(walker, &form, &said).await?;
        said = BTreeMap::new();
        form = form::find(&walker.here()?.tree, "login")
            .filter(|form| form.password().is_some())
            .ok_or_else(|| walker.trouble(Failure::Login, refusal(walker, "no page asked for the password")))?;
    }
    said.insert(name_of(form.password(), "password"), walker.expand(&step.password)?);
    let (form_name, user_field, password_field) =
        (form.describe(), name_of(form.username(), "user"), name_of(form.password(), "password"));
    walker.trace(format!(
        "fills the form “{form_name}”: the user into “{user_field}”, the password into “{password_field}”"
    ));
    if let (Some(field), Some(_)) = (form.code(), &step.totp) {
        said.insert(field.name.clone(), code(walker, step)?);
    }
    send(walker, &form, &said).await?;
    one_time_code(walker, step).await?;
    if looks_logged_out(walker, step)? {
        return Err(walker.trouble(Failure::Login, refusal(walker, "the site did not let us in")));
    }
    walker.trace("logged in");
    Ok(())
}

fn name_of(field: Option<&Field>, otherwise: &str) -> String {
    field.map_or_else(|| otherwise.to_owned(), |field| field.name.clone())
}

async fn send(walker: &mut Walker<'_>, form: &Form, said: &BTreeMap<String, String>) -> Result<(), Trouble> {
    let request = submit::request(walker, form, said, Press::First)?;
    walker.arrive(request, false).await?;
    let status = walker.here()?.page.meta.status;
    match status {
        401 | 403 | 422 => Err(walker.trouble(Failure::Login, refusal(walker, &format!("the site answered {status}")))),
        400.. => {
            let sentence = format!("{} answered with status {status}", shown(&walker.here()?.page.meta.url));
            Err(walker.trouble(Failure::Http, sentence))
        }
        _ => Ok(()),
    }
}

/// A page that asks for a code after the password.
async fn one_time_code(walker: &mut Walker<'_>, step: &Login) -> Result<(), Trouble> {
    let asked =
        form::all(&walker.here()?.tree).into_iter().find(|form| form.password().is_none() && form.code().is_some());
    let Some(form) = asked else { return Ok(()) };
    if step.totp.is_none() {
        let sentence = "the site asks for a one-time code; give `login` its key: `totp = \"${secret:NAME}\"`";
        return Err(walker.trouble(Failure::Login, sentence));
    }
    let said = BTreeMap::from([(name_of(form.code(), "code"), code(walker, step)?)]);
    send(walker, &form, &said).await?;
    let still =
        form::all(&walker.here()?.tree).into_iter().any(|form| form.password().is_none() && form.code().is_some());
    if still {
        return Err(walker.trouble(Failure::Login, refusal(walker, "the site did not take the one-time code")));
    }
    Ok(())
}

/// The one-time code of now.
fn code(walker: &mut Walker<'_>, step: &Login) -> Result<String, Trouble> {
    let key = walker.expand(step.totp.as_deref().unwrap_or_default())?;
    let code = one_time(&key, Utc::now()).ok_or_else(|| {
        let sentence = "the key in `totp` is not base32, or shorter than 10 bytes; copy it as the site showed it";
        walker.trouble(Failure::Config, sentence)
    })?;
    walker.blanks.also(&code);
    Ok(code)
}

/// RFC 6238 as every site uses it: SHA-1, six digits, 30 seconds.
fn one_time(key: &str, now: DateTime<Utc>) -> Option<String> {
    const SHORTEST_KEY: usize = 10;
    let key: String = key.chars().filter(|c| !matches!(c, ' ' | '-' | '=')).collect::<String>().to_uppercase();
    let key = totp_rs::Secret::try_from_base32(key).ok().filter(|key| key.as_bytes().len() >= SHORTEST_KEY)?;
    // The RFC wants 16 bytes; sites hand out shorter keys. The rest is the builder's default.
    let totp = totp_rs::Builder::new().with_secret(key).build_noncompliant();
    Some(totp.generate(u64::try_from(now.timestamp()).ok()?).to_string())
}

/// What the site says about it, if it says something.
fn refusal(walker: &Walker<'_>, what: &str) -> String {
    const SIGNS: &str =
        "[role=alert], .error, .errors, .errorlist, .errornote, .alert, .flash, .message, .notice, .warning";
    const MAX_CHARS: usize = 200;
    let said = walker.stand.as_ref().and_then(|stand| {
        let signs = crate::page::Selector::parse(SIGNS).expect("a constant selector");
        let texts = signs.all(&stand.tree, stand.tree.root()).into_iter().map(|node| collapse(&stand.tree.text(node)));
        texts.filter(|text| !text.is_empty()).map(|text| text.chars().take(MAX_CHARS).collect::<String>()).next()
    });
    match said {
        Some(said) => format!("{what}: it says “{said}”; check user and password"),
        None => format!("{what}; check user and password"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_codes_are_those_of_the_standard() {
        // RFC 6238, appendix B: the key 12345678901234567890; of its eight digits the last six.
        let key = "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ";
        for (second, code) in [(59, "287082"), (1_111_111_109, "081804"), (20_000_000_000, "353130")] {
            let now = DateTime::from_timestamp(second, 0).expect("a time of the table");
            assert_eq!(one_time(key, now).as_deref(), Some(code), "{second}");
        }
        assert_eq!(one_time("not base32!", Utc::now()), None);
        assert_eq!(one_time("GEZD", Utc::now()), None, "too short a key is a mistake");
    }
}
