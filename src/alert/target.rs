//! Parses the delivery targets of `alert.urls`, which are written as in Apprise.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use url::Url;

use super::secret_refs;
use crate::model::Origin;

pub(super) const TELEGRAM: &str = "https://api.telegram.org/";

/// A target with its secrets filled in. Deliberately without `Debug`, since it contains tokens.
#[derive(Clone, PartialEq, Eq)]
pub enum DeliveryTarget {
    Mail {
        to: String,
    },
    /// pieme's own JSON, signed.
    Webhook(Url),
    Ntfy {
        server: Url,
        topic: String,
        login: ServerLogin,
    },
    /// Slack, or what accepts the same webhooks: Mattermost, Rocket.Chat.
    Slack(Url),
    Discord(Url),
    Telegram {
        token: String,
        chat: String,
    },
    Matrix {
        server: Url,
        token: String,
        room: String,
    },
    /// A command that `[alert.exec]` of config.toml lists under this name.
    Exec {
        name: String,
    },
}

#[derive(Clone, PartialEq, Eq)]
pub enum ServerLogin {
    None,
    Token(String),
    Password { user: String, password: String },
}

/// What is wrong with a target, and how to write it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TargetError {
    pub message: String,
    pub hint: String,
}

/// Every scheme, with its form.
const SPELLINGS: &[(&str, &str)] = &[
    ("mailto", "mailto:name@example.org"),
    ("https", "https://example.org/hook"),
    ("http", "http://example.org/hook"),
    ("ntfy", "ntfy://ntfy.sh/topic, ntfy://token@host/topic or ntfy://user:password@host/topic"),
    ("ntfy+http", "ntfy+http://host/topic"),
    ("slack", "slack://T000/B000/XXXX, as at the end of the hook's address"),
    ("slack+https", "slack+https://chat.example.org/hooks/XXXX"),
    ("slack+http", "slack+http://chat.example.org/hooks/XXXX"),
    ("discord", "discord://ID/TOKEN, as at the end of the hook's address"),
    ("tgram", "tgram://BOT-TOKEN/CHAT"),
    ("telegram", "telegram://BOT-TOKEN@telegram?chat=CHAT"),
    ("matrix", "matrix://TOKEN@matrix.example.org/!room:example.org"),
    ("matrix+http", "matrix+http://TOKEN@host/!room:host"),
    ("exec", "exec:NAME, where config.toml has NAME = [\"/path/of/program\"] under [alert.exec]"),
];

/// What config.toml provides for alerts: commands, and whether there is a mail server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Channels {
    pub commands: BTreeSet<String>,
    pub has_mail_server: bool,
}

/// Checks a target, as far as possible without its secrets. With `channels`, also that config.toml provides what it
/// needs.
pub fn check(text: &str, channels: Option<&Channels>) -> Result<(), TargetError> {
    if secret_refs::is_one_secret(text) {
        return Ok(());
    }
    match (without_secrets(text)?, channels) {
        (DeliveryTarget::Exec { name }, Some(channels)) if !channels.commands.contains(&name) => Err(TargetError {
            message: format!("config.toml lists no command `{name}`"),
            hint: format!("add {name} = [\"/path/of/program\"] under [alert.exec] there, and restart the daemon"),
        }),
        (DeliveryTarget::Mail { .. }, Some(channels)) if !channels.has_mail_server => Err(TargetError {
            message: "config.toml names no mail server, so mail cannot be sent".to_owned(),
            hint: "add host = \"…\" and from = \"…\" under [smtp] there, and restart the daemon".to_owned(),
        }),
        _ => Ok(()),
    }
}

/// The origin of the server that a target's secrets are sent to; `None` where that is a secret itself, and for mail and
/// commands.
pub fn target_origin(text: &str) -> Option<Origin> {
    let target = without_secrets(text).ok().filter(|_| !secret_refs::is_one_secret(text))?;
    target.server().as_ref().and_then(Origin::of)
}

/// The address of a webhook, which is the only target that is signed; `None` for other targets.
pub fn webhook_url(text: &str) -> Result<Option<Url>, TargetError> {
    Ok(match without_secrets(text)? {
        DeliveryTarget::Webhook(url) => Some(url),
        _ => None,
    })
}

/// The target with a word in place of each secret; any will do.
fn without_secrets(text: &str) -> Result<DeliveryTarget, TargetError> {
    let fill = |text: String, name: &String| text.replace(&format!("${{secret:{name}}}"), "secret");
    DeliveryTarget::parse(&secret_refs::names(text).iter().fold(text.to_owned(), fill))
}

impl DeliveryTarget {
    /// An address of the server that gets the alert; `None` for mail and commands.
    fn server(&self) -> Option<Url> {
        match self {
            DeliveryTarget::Webhook(url) | DeliveryTarget::Slack(url) | DeliveryTarget::Discord(url) => {
                Some(url.clone())
            }
            DeliveryTarget::Ntfy { server, .. } | DeliveryTarget::Matrix { server, .. } => Some(server.clone()),
            DeliveryTarget::Telegram { .. } => Url::parse(TELEGRAM).ok(),
            DeliveryTarget::Mail { .. } | DeliveryTarget::Exec { .. } => None,
        }
    }

    /// Parses a target whose secrets are filled in.
    pub fn parse(text: &str) -> Result<DeliveryTarget, TargetError> {
        let text = text.trim();
        let (scheme, rest) = text.split_once(':').ok_or_else(|| unknown(text))?;
        let scheme = scheme.to_ascii_lowercase();
        let (_, spelling) = SPELLINGS.iter().find(|(known, _)| *known == scheme).ok_or_else(|| unknown(&scheme))?;
        let slashes = rest.strip_prefix("//");
        let inside = slashes.unwrap_or(rest);
        let found = match (scheme.as_str(), slashes) {
            ("mailto", _) => mail(inside),
            ("exec", None) => command(inside),
            ("http" | "https", Some(_)) => address(text).map(DeliveryTarget::Webhook),
            ("slack+http" | "slack+https", Some(_)) => {
                address(text.split_once('+').map_or(text, |(_, it)| it)).map(DeliveryTarget::Slack)
            }
            ("ntfy", Some(inside)) => ntfy("https", inside),
            ("ntfy+http", Some(inside)) => ntfy("http", inside),
            ("slack", Some(inside)) => hook("https://hooks.slack.com/services/", inside, 3).map(DeliveryTarget::Slack),
            ("discord", Some(inside)) => {
                hook("https://discord.com/api/webhooks/", inside, 2).map(DeliveryTarget::Discord)
            }
            ("tgram", Some(inside)) => inside.split_once('/').and_then(|(token, chat)| telegram(token, chat)),
            ("telegram", Some(inside)) => inside.split_once('@').and_then(|(token, rest)| {
                let (_, query) = rest.split_once('?')?;
                let mut pairs = url::form_urlencoded::parse(query.as_bytes());
                let (_, chat) = pairs.find(|(key, _)| key == "chat" || key == "chats")?;
                telegram(token, &chat)
            }),
            ("matrix", Some(inside)) => matrix("https", inside),
            ("matrix+http", Some(inside)) => matrix("http", inside),
            _ => None,
        };
        found.ok_or_else(|| TargetError {
            message: format!("this is not a valid `{scheme}` target"),
            hint: format!("write {spelling}"),
        })
    }

    /// One word for the kind of target.
    pub fn word(&self) -> &'static str {
        match self {
            DeliveryTarget::Mail { .. } => "mail",
            DeliveryTarget::Webhook(_) => "webhook",
            DeliveryTarget::Ntfy { .. } => "ntfy",
            DeliveryTarget::Slack(_) => "slack",
            DeliveryTarget::Discord(_) => "discord",
            DeliveryTarget::Telegram { .. } => "telegram",
            DeliveryTarget::Matrix { .. } => "matrix",
            DeliveryTarget::Exec { .. } => "exec",
        }
    }

    /// The target without its tokens, for logs and lists: of most only the host is shown. `text` is as it was typed.
    pub fn redacted(text: &str) -> String {
        if secret_refs::is_one_secret(text) {
            return text.to_owned();
        }
        let (scheme, rest) = text.split_once(':').unwrap_or(("?", text));
        match scheme {
            "mailto" | "exec" => text.chars().filter(|c| !c.is_control()).take(100).collect(),
            "http" | "https" | "ntfy" | "ntfy+http" | "slack+http" | "slack+https" | "matrix" | "matrix+http" => {
                let rest = rest.trim_start_matches('/');
                let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
                let host = place.rsplit('@').next().unwrap_or_default();
                format!("{scheme}://{host}/…")
            }
            scheme => format!("{}://…", scheme.chars().filter(|c| !c.is_control()).take(20).collect::<String>()),
        }
    }
}

fn unknown(scheme: &str) -> TargetError {
    let short: String = scheme.chars().take(30).collect();
    let near = SPELLINGS.iter().map(|(known, _)| *known).min_by_key(|known| strsim::damerau_levenshtein(known, &short));
    let near = near.filter(|known| strsim::damerau_levenshtein(known, &short) <= 2);
    let all: Vec<&str> = SPELLINGS.iter().map(|(known, _)| *known).filter(|it| !it.contains('+')).collect();
    TargetError {
        message: format!("unknown alert target `{short}`"),
        hint: match near {
            Some(near) => format!("did you mean `{near}`? (known here: {})", all.join(", ")),
            None => format!("known here: {}", all.join(", ")),
        },
    }
}

fn address(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| url.host().is_some())
}

fn mail(to: &str) -> Option<DeliveryTarget> {
    let to = percent_decode_str(to).decode_utf8().ok()?.into_owned();
    to.parse::<lettre::Address>().ok().map(|_| DeliveryTarget::Mail { to })
}

fn command(name: &str) -> Option<DeliveryTarget> {
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    is_name.then(|| DeliveryTarget::Exec { name: name.to_owned() })
}

/// `user:password@host/rest` → server, login, rest.
fn server(scheme: &str, inside: &str) -> Option<(Url, ServerLogin, String)> {
    let (place, rest) = inside.split_once('/')?;
    let (login, host) = place.rsplit_once('@').map_or((None, place), |(login, host)| (Some(login), host));
    let login = match login.map(|login| login.split_once(':').ok_or(login)) {
        None => ServerLogin::None,
        Some(Err(token)) => ServerLogin::Token(decoded(token)?),
        Some(Ok((user, password))) => ServerLogin::Password { user: decoded(user)?, password: decoded(password)? },
    };
    Some((address(&format!("{scheme}://{host}/"))?, login, rest.to_owned()))
}

fn ntfy(scheme: &str, inside: &str) -> Option<DeliveryTarget> {
    let (server, login, topic) = server(scheme, inside)?;
    let topic = topic.trim_end_matches('/').to_owned();
    let is_topic = !topic.is_empty() && topic.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    is_topic.then_some(DeliveryTarget::Ntfy { server, topic, login })
}

fn matrix(scheme: &str, inside: &str) -> Option<DeliveryTarget> {
    let (server, login, room) = server(scheme, inside)?;
    let room = decoded(&room)?;
    match login {
        ServerLogin::Token(token) if room.starts_with('!') => Some(DeliveryTarget::Matrix { server, token, room }),
        _ => None,
    }
}

fn hook(base: &str, inside: &str, parts: usize) -> Option<Url> {
    let inside = inside.trim_end_matches('/');
    let is_whole = inside.split('/').count() == parts && inside.split('/').all(|it| !it.is_empty() && it != "..");
    if is_whole && !inside.contains(['?', '#']) { address(&format!("{base}{inside}")) } else { None }
}

fn telegram(token: &str, chat: &str) -> Option<DeliveryTarget> {
    let (token, chat) = (decoded(token)?, decoded(chat.trim_end_matches('/'))?);
    let is_token = !token.is_empty() && token.chars().all(|c| c.is_ascii_alphanumeric() || ":_-".contains(c));
    (is_token && !chat.is_empty()).then_some(DeliveryTarget::Telegram { token, chat })
}

fn decoded(text: &str) -> Option<String> {
    let decoded = percent_decode_str(text).decode_utf8().ok()?.into_owned();
    (!decoded.is_empty()).then_some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_read_and_shown_without_its_tokens() {
        for (text, word, shown) in [
            ("mailto:ops@example.org", "mail", "mailto:ops@example.org"),
            ("mailto://ops@example.org", "mail", "mailto://ops@example.org"),
            ("https://u:TOKEN@example.org/TOKEN?k=TOKEN", "webhook", "https://example.org/…"),
            ("ntfy://ntfy.sh/topic", "ntfy", "ntfy://ntfy.sh/…"),
            ("ntfy://TOKEN@ntfy.example/topic", "ntfy", "ntfy://ntfy.example/…"),
            ("ntfy+http://me:TOKEN@127.0.0.1:8080/topic", "ntfy", "ntfy+http://127.0.0.1:8080/…"),
            ("slack://TOKEN/TOKEN/TOKEN", "slack", "slack://…"),
            ("slack+https://chat.example/hooks/TOKEN", "slack", "slack+https://chat.example/…"),
            ("discord://123/TOKEN", "discord", "discord://…"),
            ("tgram://123:TOKEN/-100", "telegram", "tgram://…"),
            ("telegram://123:TOKEN@telegram?chat=@news", "telegram", "telegram://…"),
            ("matrix://TOKEN@m.example/!r:m.example", "matrix", "matrix://m.example/…"),
            ("exec:page_me", "exec", "exec:page_me"),
        ] {
            let target = DeliveryTarget::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((target.word(), DeliveryTarget::redacted(text).as_str()), (word, shown), "{text}");
        }
        assert_eq!(DeliveryTarget::redacted("${secret:hook}"), "${secret:hook}");
    }

    #[test]
    fn a_wrong_spelling_is_answered_with_the_right_one() {
        for (text, message, hint) in [
            ("htps://example.org/", "unknown alert target `htps`", "did you mean `https`?"),
            ("file:///etc/passwd", "unknown alert target `file`", "known here: mailto, https"),
            ("ops@example.org", "unknown alert target `ops@example.org`", "known here"),
            ("mailto:nobody", "this is not a valid `mailto` target", "write mailto:name@example.org"),
            ("mailto:a@b.org\r\nBcc: c@d.org", "this is not a valid `mailto` target", "write mailto"),
            ("exec:rm -rf /", "this is not a valid `exec` target", "write exec:NAME"),
            ("exec:../x", "this is not a valid `exec` target", "write exec:NAME"),
            ("slack://only/two", "this is not a valid `slack` target", "write slack://T000"),
            ("discord://../x", "this is not a valid `discord` target", "write discord"),
            ("tgram://to?ken/-100", "this is not a valid `tgram` target", "write tgram"),
            ("ntfy://ntfy.sh/", "this is not a valid `ntfy` target", "write ntfy://"),
            ("matrix://m.example/!r:m", "this is not a valid `matrix` target", "write matrix://TOKEN@"),
        ] {
            let error = check(text, None).expect_err(text);
            assert!(error.message.contains(message) && error.hint.contains(hint), "{text}: {error:?}");
        }
    }

    #[test]
    fn secrets_are_no_hindrance_and_what_config_toml_does_not_have_is() {
        for text in
            ["${secret:hook}", "https://h.test/${secret:hook}", "tgram://${secret:bot}/12", "discord://1/${secret:d}"]
        {
            assert_eq!(check(text, None), Ok(()), "{text}");
        }
        let channels = Channels { commands: BTreeSet::from(["page_me".to_owned()]), has_mail_server: false };
        assert_eq!(check("exec:page_me", Some(&channels)), Ok(()));
        let error = check("exec:page_you", Some(&channels)).expect_err("not listed");
        assert_eq!(error.message, "config.toml lists no command `page_you`");
        let error = check("mailto:ops@example.org", Some(&channels)).expect_err("no mail server");
        assert!(error.message.contains("no mail server") && error.hint.contains("[smtp]"), "{error:?}");
        let channels = Channels { has_mail_server: true, ..channels };
        assert_eq!(check("mailto:ops@example.org", Some(&channels)), Ok(()));
    }
}
