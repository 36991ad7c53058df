//! `login`: logs in unless the kept session is still valid, and once more if it expires during the walk.
//!
//! A login that the site rejects is never retried: a second wrong password is half a lock-out.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use url::Url;

use super::super::WalkError;
use super::super::login_state::LoginState;
use super::super::request::{PageRequest, SecretNames};
use super::super::walker::Walker;
use super::{condition, form_request, step_request};
use crate::model::address::display_url;
use crate::model::script::LoginStep;
use crate::model::{Failure, ScriptStep};
use crate::page::form::{self, Form, FormField, SubmitButton};
use crate::page::links;
use crate::page::text::collapse;

/// Logs in, unless the page of the next step shows that the kept session is still logged in.
pub async fn login(walker: &mut Walker<'_>, step: &LoginStep, next: Option<&ScriptStep>) -> Result<(), WalkError> {
    if step.basic {
        return log_in_with_basic_auth(walker, step).await;
    }
    let mut address_secrets = SecretNames::new();
    let door = match &step.url {
        Some(url) => Some(walker.script_url(url, &mut address_secrets)?),
        None => walker.current.as_ref().map(|stand| stand.page.meta.url.clone()),
    };
    let is_kept = has_kept_session(walker, step, next, door.as_ref()).await?;
    walker.login =
        Some(LoginState { step: step.clone(), login_url: door.clone(), has_logged_in_again: false, in_progress: true });
    if is_kept {
        walker.trace("the kept session is still logged in");
        set_in_progress(walker, false);
        return Ok(());
    }
    if let Some(url) = door.filter(|_| step.url.is_some()) {
        // Some sites send their login page with status 401 or 403.
        walker.go_without_relogin(PageRequest { secrets: address_secrets, ..PageRequest::get(url) }, false).await?;
    }
    if looks_logged_out(walker, step)? {
        fill_login_forms(walker, step).await?;
    } else {
        walker.trace("the kept session is still logged in");
    }
    set_in_progress(walker, false);
    Ok(())
}

/// Whether the page of the next step shows that the kept session is logged in. The log-in page does not tell: many
/// sites show its form to those who are logged in, too.
async fn has_kept_session(
    walker: &mut Walker<'_>,
    step: &LoginStep,
    next: Option<&ScriptStep>,
    door: Option<&Url>,
) -> Result<bool, WalkError> {
    let (Some(ScriptStep::Get(ask)), Some(door)) = (next, door) else { return Ok(false) };
    if walker.session.jar.header(door).is_none() {
        return Ok(false);
    }
    // The next step resolves its address by itself.
    let (base, before) = (walker.script_base.clone(), walker.current.clone());
    let request = step_request::request(walker, ask);
    walker.script_base = base;
    walker.go_without_relogin(request?, false).await?;
    let is_refused = matches!(walker.current_page()?.page.meta.status, 401 | 403);
    let is_logged_in = !is_refused
        && !looks_logged_out(walker, step)?
        && (step.logged_out_if.is_some() || !offers_login(walker, door)?);
    if !is_logged_in && step.url.is_none() {
        walker.current = before;
    }
    Ok(is_logged_in)
}

/// Whether the current page links to the log-in page and not to a log-out.
fn offers_login(walker: &Walker<'_>, door: &Url) -> Result<bool, WalkError> {
    const LOG_OUT: &[&str] = &["logout", "log out", "log-out", "signout", "sign out", "sign-out", "abmelden"];
    let here = walker.current_page()?;
    let base = links::base(&here.tree, &here.page.meta.url);
    let (mut offers_login, mut offers_logout) = (false, false);
    for link in here.tree.elements("a") {
        let target = links::target(&here.tree, &base, link);
        let words = format!("{} {}", links::label(&here.tree, link), target.as_ref().map_or("", Url::as_str));
        offers_login |= target.is_some_and(|url| url.path() == door.path() && url.host() == door.host());
        offers_logout |= LOG_OUT.iter().any(|word| words.to_lowercase().contains(word));
    }
    Ok(offers_login && !offers_logout)
}

/// Whether the current page shows that the session has expired; never during a login.
pub fn is_logged_out(walker: &Walker<'_>) -> Result<bool, WalkError> {
    match &walker.login {
        Some(login) if !login.in_progress && walker.current.is_some() => looks_logged_out(walker, &login.step.clone()),
        _ => Ok(false),
    }
}

/// Logs in again after the session has expired; fails the second time.
pub async fn log_in_again(walker: &mut Walker<'_>) -> Result<(), WalkError> {
    let Some(login) = walker.login.clone() else { return Ok(()) };
    if login.has_logged_in_again {
        return Err(walker.error(Failure::Login, "the site logged us out a second time in this run"));
    }
    walker.trace("the site has logged us out; logging in again");
    walker.login = Some(LoginState { has_logged_in_again: true, in_progress: true, ..login.clone() });
    if let Some(door) = login.login_url {
        walker.go_without_relogin(PageRequest::get(door), false).await?;
    }
    fill_login_forms(walker, &login.step).await?;
    set_in_progress(walker, false);
    Ok(())
}

fn set_in_progress(walker: &mut Walker<'_>, busy: bool) {
    if let Some(login) = &mut walker.login {
        login.in_progress = busy;
    }
}

/// Sends user and password with every request to the site; the first response shows whether they are right.
async fn log_in_with_basic_auth(walker: &mut Walker<'_>, step: &LoginStep) -> Result<(), WalkError> {
    let mut secrets = SecretNames::new();
    let url = match &step.url {
        Some(url) => walker.script_url(url, &mut secrets)?,
        None => walker.task.url.clone().ok_or_else(|| walker.error(Failure::Config, "`basic = true` needs a `url`"))?,
    };
    let user = walker.expand_into(&step.user, &mut secrets)?;
    let password = walker.expand_into(&step.password, &mut secrets)?;
    let checked = walker.session.secret_rules.check_names(&secrets, &url);
    checked.map_err(|error| walker.error(error.cause(), error.to_string()))?;
    walker.session.authorise(&url, user, password);
    walker.go_without_relogin(PageRequest::get(url), true).await
}

fn looks_logged_out(walker: &Walker<'_>, step: &LoginStep) -> Result<bool, WalkError> {
    match &step.logged_out_if {
        Some(sign) => condition::holds(walker, sign),
        None => Ok(login_form(walker, step)?.is_some() || asks_for_password(walker)?),
    }
}

/// Whether the current page has a login form, whatever form the script names.
fn asks_for_password(walker: &Walker<'_>) -> Result<bool, WalkError> {
    Ok(form::find(&walker.current_page()?.tree, "login").is_some_and(|form| form.password().is_some()))
}

/// The login form of the current page.
fn login_form(walker: &Walker<'_>, step: &LoginStep) -> Result<Option<Form>, WalkError> {
    let wanted = step.form.as_deref().map(|form| walker.expand(form)).transpose()?;
    let tree = &walker.current_page()?.tree;
    Ok(match wanted {
        Some(wanted) => form::find(tree, &wanted),
        None => form::find(tree, "login").filter(|form| form.password().is_some()),
    })
}

/// Fills the login form and those that follow it: a page of its own for the password, a one-time code.
async fn fill_login_forms(walker: &mut Walker<'_>, step: &LoginStep) -> Result<(), WalkError> {
    walker.return_browser_to_page().await?;
    let Some(mut form) = login_form(walker, step)? else {
        let there = form::find_all(&walker.current_page()?.tree);
        return Err(
            walker.error(Failure::Login, form_request::no_form(step.form.as_deref().unwrap_or("login"), &there))
        );
    };
    let (mut said, mut secrets) = (BTreeMap::new(), SecretNames::new());
    for (name, value) in &step.fields {
        said.insert(walker.expand_into(name, &mut secrets)?, walker.expand_into(value, &mut secrets)?);
    }
    said.insert(name_of(form.username(), "user"), walker.expand_into(&step.user, &mut secrets)?);
    if form.password().is_none() {
        // The user name first; the password is asked for on the next page.
        submit_form(walker, &form, &said, &secrets).await?;
        (said, secrets) = (BTreeMap::new(), SecretNames::new());
        form = form::find(&walker.current_page()?.tree, "login")
            .filter(|form| form.password().is_some())
            .ok_or_else(|| walker.error(Failure::Login, refusal(walker, "no page asked for the password")))?;
    }
    said.insert(name_of(form.password(), "password"), walker.expand_into(&step.password, &mut secrets)?);
    let (form_name, user_field, password_field) =
        (form.describe(), name_of(form.username(), "user"), name_of(form.password(), "password"));
    walker.trace(format!(
        "fills the form “{form_name}”: the user into “{user_field}”, the password into “{password_field}”"
    ));
    if let (Some(field), Some(_)) = (form.code(), &step.totp) {
        said.insert(field.name.clone(), current_totp_code(walker, step, &mut secrets)?);
    }
    submit_form(walker, &form, &said, &secrets).await?;
    submit_one_time_code(walker, step).await?;
    if looks_logged_out(walker, step)? {
        return Err(walker.error(Failure::Login, refusal(walker, "the site rejected the login")));
    }
    walker.trace("logged in");
    Ok(())
}

fn name_of(field: Option<&FormField>, otherwise: &str) -> String {
    field.map_or_else(|| otherwise.to_owned(), |field| field.name.clone())
}

async fn submit_form(
    walker: &mut Walker<'_>,
    form: &Form,
    said: &BTreeMap<String, String>,
    secrets: &SecretNames,
) -> Result<(), WalkError> {
    let request = form_request::form_request(walker, form, said, secrets, SubmitButton::First)?;
    let sent_to = request.url.clone();
    walker.go_without_relogin(request, false).await?;
    let answer = &walker.current_page()?.page.meta;
    match answer.status {
        401 | 403 | 422 => {
            let sentence = format!("the site answered {}", answer.status);
            Err(walker.error(Failure::Login, refusal(walker, &sentence)))
        }
        // The site has accepted the form and leads to a page that it lacks: a wiki without a main page does.
        404 | 410 if answer.url != sent_to => Ok(()),
        400.. => {
            let sentence = format!("{} answered with status {}", display_url(&answer.url), answer.status);
            Err(walker.error(Failure::Http, sentence))
        }
        _ => Ok(()),
    }
}

/// Sends the one-time code if the current page asks for it.
async fn submit_one_time_code(walker: &mut Walker<'_>, step: &LoginStep) -> Result<(), WalkError> {
    let asked = form::find_all(&walker.current_page()?.tree)
        .into_iter()
        .find(|form| form.password().is_none() && form.code().is_some());
    let Some(form) = asked else { return Ok(()) };
    if step.totp.is_none() {
        let sentence = "the site asks for a one-time code; give `login` its key: `totp = \"${secret:NAME}\"`";
        return Err(walker.error(Failure::Login, sentence));
    }
    let mut secrets = SecretNames::new();
    let said = BTreeMap::from([(name_of(form.code(), "code"), current_totp_code(walker, step, &mut secrets)?)]);
    submit_form(walker, &form, &said, &secrets).await?;
    let still = form::find_all(&walker.current_page()?.tree)
        .into_iter()
        .any(|form| form.password().is_none() && form.code().is_some());
    if still {
        return Err(walker.error(Failure::Login, refusal(walker, "the site rejected the one-time code")));
    }
    Ok(())
}

/// The current one-time code; it is redacted from now on, and sent only where its key may be.
fn current_totp_code(
    walker: &mut Walker<'_>,
    step: &LoginStep,
    secrets: &mut SecretNames,
) -> Result<String, WalkError> {
    let key = walker.expand_into(step.totp.as_deref().unwrap_or_default(), secrets)?;
    let code = totp_code(&key, Utc::now()).ok_or_else(|| {
        let sentence = "the key in `totp` is not base32, or shorter than 10 bytes; copy it as the site showed it";
        walker.error(Failure::Config, sentence)
    })?;
    walker.redactor.add(&code);
    Ok(code)
}

/// RFC 6238 as every site uses it: SHA-1, six digits, 30 seconds.
fn totp_code(key: &str, now: DateTime<Utc>) -> Option<String> {
    const SHORTEST_KEY: usize = 10;
    let key: String = key.chars().filter(|c| !matches!(c, ' ' | '-' | '=')).collect::<String>().to_uppercase();
    let key = totp_rs::Secret::try_from_base32(key).ok().filter(|key| key.as_bytes().len() >= SHORTEST_KEY)?;
    // The RFC requires 16 bytes; some sites issue shorter keys. The rest is the builder's default.
    let totp = totp_rs::Builder::new().with_secret(key).build_noncompliant();
    Some(totp.generate(u64::try_from(now.timestamp()).ok()?).to_string())
}

/// The sentence of a rejected login, with the site's own error message if the page shows one.
fn refusal(walker: &Walker<'_>, what: &str) -> String {
    const SIGNS: &str =
        "[role=alert], .error, .errors, .errorlist, .errornote, .alert, .flash, .message, .notice, .warning";
    const MAX_CHARS: usize = 200;
    let said = walker.current.as_ref().and_then(|stand| {
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
            assert_eq!(totp_code(key, now).as_deref(), Some(code), "{second}");
        }
        assert_eq!(totp_code("not base32!", Utc::now()), None);
        assert_eq!(totp_code("GEZD", Utc::now()), None, "too short a key is a mistake");
    }
}
