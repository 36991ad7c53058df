//! Converts a curl command into steps.

use std::collections::BTreeMap;

use base64::Engine;
use percent_encoding::percent_decode_str;
use url::Url;

use super::super::DraftStep;
use super::super::secret::{Vault, identifier, is_csrf_token_name, is_password, is_sensitive, is_view_state, site_of};
use super::command::CurlCommand;
use crate::draft::recorded_request::{
    RecordedRequest, escape_variables, is_browser_header, redacted_field, redacted_url,
};
use crate::model::ScriptStep;
use crate::model::script::{LoginStep, MatchStep, RequestStep, SubmitStep};

pub fn steps_of_command(command: &CurlCommand, vault: &mut Vault) -> Vec<DraftStep> {
    let asked = &command.request;
    let mut comments = command.comments.clone();
    comments.extend(cookies(command, vault));
    let mut steps = Vec::new();
    if let Some((user, password)) = credentials(command) {
        let password = vault.replace_secret("password", "the password of HTTP basic authentication", &password);
        let url = Some(asked.to_request_step(vault, &BTreeMap::new()).0.url);
        let login = LoginStep { url, user: escape_variables(&user), password, basic: true, ..LoginStep::default() };
        steps.push(DraftStep::new(ScriptStep::Login(login)));
        if !asked.is_post() && is_plain_get(asked) {
            // The login step fetches this page itself.
            return steps.into_iter().map(|step| step.with_comments(comments.clone())).collect();
        }
    }
    let is_view_state = asked.fields().iter().any(|(name, _)| is_view_state(name));
    if let Some(login) = login(asked, vault) {
        steps.push(login.with_comments(comments));
        return steps;
    }
    if is_view_state {
        steps.extend(submit(asked, vault));
    } else {
        steps.extend(request(command, vault));
    }
    if let Some(first) = steps.first_mut() {
        first.comments.splice(0..0, comments);
    }
    steps
}

fn is_plain_get(asked: &RecordedRequest) -> bool {
    let has_secret = asked.url.query_pairs().any(|(name, value)| is_sensitive(&name, &value));
    let said = |(name, value): &(String, String)| {
        !is_browser_header(&name.to_lowercase(), value) && !name.eq_ignore_ascii_case("authorization")
    };
    !has_secret && !asked.headers.iter().any(said)
}

/// Comment about omitted cookies: they belong to one browser's session. Their values are written nowhere.
fn cookies(command: &CurlCommand, vault: &mut Vault) -> Option<String> {
    let mut names = Vec::new();
    for pair in command.cookies.iter().flat_map(|header| header.split(';')) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        names.push(name.trim().to_owned());
        let value = value.trim().trim_matches('"');
        // Long values only: a theme or a language may also occur in the address.
        if is_sensitive(name.trim(), value) || value.len() >= 16 {
            vault.suppress(value);
        }
    }
    let all = names.join(", ");
    (!names.is_empty()).then(|| {
        format!(
            "Cookies are left out ({all}): pieme has a session of its own. \
             If the page differs without them, begin with a `login` step."
        )
    })
}

/// User and password from `-u`, the address, or an `Authorization: Basic` header.
fn credentials(command: &CurlCommand) -> Option<(String, String)> {
    let url = &command.request.url;
    let in_url = || {
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        url.password().map(|password| (decode(url.username()), decode(password)))
    };
    command.user.clone().or_else(in_url).or_else(|| basic_credentials(&command.request))
}

fn basic_credentials(asked: &RecordedRequest) -> Option<(String, String)> {
    let (scheme, token) = asked.header("authorization")?.split_once(' ')?;
    let bytes = base64::engine::general_purpose::STANDARD.decode(token.trim()).ok()?;
    let (user, password) = String::from_utf8(bytes).ok()?.split_once(':').map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    scheme.eq_ignore_ascii_case("basic").then_some((user, password))
}

/// A form with a user and one password becomes a `login` step, which reads the CSRF token itself and is skipped while
/// the session is valid.
fn login(asked: &RecordedRequest, vault: &mut Vault) -> Option<DraftStep> {
    let fields = asked.fields();
    let passwords: Vec<_> = fields.iter().filter(|(name, _)| is_password(name)).collect();
    let [(password_field, password)] = passwords.as_slice() else { return None };
    let (user_field, user) = user_field(fields)?;
    let page = form_page(asked);
    let password = vault.replace_secret(password_field, format!("the field {password_field}"), password);
    let user = redacted_field(user_field, user, vault);
    let others: Vec<&str> = fields
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| name != password_field && name != user_field && !is_csrf_token_name(name))
        .collect();
    let mut comments =
        vec!["Logs in with the form found on the page, including its hidden fields and tokens.".to_owned()];
    if !others.is_empty() {
        comments.push(format!("These fields are sent as the page has them: {}.", others.join(", ")));
    }
    let url = Some(redacted_url(&page, vault, &mut Vec::new()).0);
    Some(
        DraftStep::new(ScriptStep::Login(LoginStep { url, user, password, ..LoginStep::default() }))
            .with_comments(comments),
    )
}

/// The field with the user name: recognised by its name, otherwise the text field before the password.
pub fn user_field(fields: &[(String, String)]) -> Option<(&String, &String)> {
    const WORDS: &[&str] =
        &["user", "login", "email", "e-mail", "mail", "account", "name", "konto", "benutzer", "usuario", "id"];
    let is_open = |name: &str| !is_password(name) && !is_csrf_token_name(name) && !is_view_state(name);
    WORDS.iter().find_map(|word| {
        let named = |(name, value): &&(String, String)| {
            is_open(name) && name.to_lowercase().contains(word) && !value.is_empty() && !value.starts_with("http")
        };
        fields.iter().find(named).map(|(name, value)| (name, value))
    })
}

/// The page with the form: the referrer, otherwise the address that the form was sent to.
fn form_page(asked: &RecordedRequest) -> Url {
    let from = asked.header("referer").and_then(|text| Url::parse(text).ok());
    let same_site = |url: &Url| url.host_str().map(site_of) == asked.url.host_str().map(site_of) && url.path() != "/";
    from.filter(same_site).unwrap_or_else(|| asked.url.clone())
}

fn get(url: Url, vault: &mut Vault) -> DraftStep {
    let (ask, comments) = RecordedRequest::get(url).to_request_step(vault, &BTreeMap::new());
    DraftStep::new(ScriptStep::Get(ask)).with_comments(comments)
}

/// A form with page state in hidden fields becomes a `submit` step on its page.
fn submit(asked: &RecordedRequest, vault: &mut Vault) -> Vec<DraftStep> {
    let page = get(form_page(asked), vault);
    let mut button = None;
    let mut fields = BTreeMap::new();
    for (name, value) in asked.fields().iter().filter(|(name, _)| !name.starts_with("__") && !is_csrf_token_name(name))
    {
        // ASP.NET sends the name of the clicked button among the fields.
        if value.is_empty() {
            continue;
        }
        if name
            .to_lowercase()
            .rsplit(['$', '.'])
            .next()
            .is_some_and(|last| last.starts_with("btn") || last.contains("button") || last.starts_with("submit"))
        {
            button = Some(escape_variables(name));
        } else {
            fields.insert(escape_variables(name), redacted_field(name, value, vault));
        }
    }
    let comment =
        "The hidden fields of this form are new with every page, so the form is filled on its own page.".to_owned();
    let submit = SubmitStep { form: "form".to_owned(), fields, button };
    vec![page, DraftStep::new(ScriptStep::Submit(submit)).with_comments([comment])]
}

/// Converts the request itself; CSRF tokens are read from the page before it.
fn request(command: &CurlCommand, vault: &mut Vault) -> Vec<DraftStep> {
    let mut asked = command.request.clone();
    let is_basic = basic_credentials(&asked).is_some();
    asked.headers.retain(|(name, _)| !(is_basic && name.eq_ignore_ascii_case("authorization")));
    let mut taken = BTreeMap::new();
    let mut matches = Vec::new();
    let mut comments = Vec::new();
    for (name, value) in asked.fields().to_vec().iter().filter(|(name, _)| is_csrf_token_name(name)) {
        vault.suppress(value);
        let variable = identifier(name);
        matches.push(take_attribute(&format!("[name=\"{}\"]", name.replace(['"', '\\'], "")), "value", &variable));
        taken.insert(name.clone(), format!("${{{variable}}}"));
    }
    for (name, value) in asked
        .headers
        .clone()
        .iter()
        .filter(|(name, value)| is_csrf_token_name(name) && !is_browser_header(&name.to_lowercase(), value))
    {
        vault.suppress(value);
        let name = name.to_lowercase();
        if name.contains("xsrf") {
            // The browser's scripts copy it from a cookie, which a robot's script cannot read.
            comments.push(format!("The header {name} is left out: it repeats a cookie of the browser's session."));
            asked.headers.retain(|(it, _)| !it.eq_ignore_ascii_case(&name));
            continue;
        }
        matches.push(take_attribute("meta[name*=\"csrf\"][content]", "content", "csrf_token"));
        taken.insert(name, "${csrf_token}".to_owned());
    }
    let mut steps = Vec::new();
    if !matches.is_empty() {
        steps.push(
            get(form_page(&asked), vault)
                .with_comments(["The CSRF token is new with every page, so it is read from one.".to_owned()]),
        );
        steps.extend(matches);
    }
    let (ask, said) = asked.to_request_step(vault, &taken);
    let step = if asked.is_post() {
        ScriptStep::Post(ask)
    } else {
        ScriptStep::Get(RequestStep { form: BTreeMap::new(), json: None, ..ask })
    };
    steps.push(DraftStep::new(step).with_comments(comments).with_comments(said));
    steps
}

/// Reads an attribute of the current page into a variable.
pub fn take_attribute(css: &str, attribute: &str, variable: &str) -> DraftStep {
    let step = MatchStep {
        css: Some(css.to_owned()),
        attribute: Some(attribute.to_owned()),
        into: Some(variable.to_owned()),
        ..MatchStep::default()
    };
    DraftStep::new(ScriptStep::Match(step))
}
