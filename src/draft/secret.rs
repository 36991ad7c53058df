//! Recognises secrets, and keeps their values in the vault, never in the draft.

use base64::Engine;
use url::form_urlencoded;

/// Values that must not be written, with the names that replace them.
#[derive(Clone, Default)]
pub struct Vault {
    /// The site's short name, because secrets of all tasks are in one folder.
    site: String,
    entries: Vec<VaultEntry>,
    /// Values without a name, because nothing in the draft needs them: cookies, one-time codes.
    unnamed: Vec<String>,
}

#[derive(Clone)]
struct VaultEntry {
    name: String,
    description: String,
    value: String,
}

/// A shorter value occurs in other texts by chance; it is still never written where it was found.
const MIN_REDACTED_LEN: usize = 4;

impl Vault {
    pub fn new(host: Option<&str>) -> Vault {
        Vault { site: host.map(site_name).unwrap_or_else(|| "site".to_owned()), ..Vault::default() }
    }

    /// Stores a value and returns the reference that replaces it. `what` describes it for the person.
    pub fn replace_secret(&mut self, field: &str, what: impl Into<String>, value: &str) -> String {
        if let Some(known) = self.entries.iter().find(|kept| kept.value == value) {
            return reference(&known.name);
        }
        let wanted = format!("{}_{}", self.site, identifier(field));
        let taken = |name: &str| self.entries.iter().any(|kept| kept.name == name);
        let numbered = (2..).map(|number| format!("{wanted}_{number}"));
        let name =
            std::iter::once(wanted.clone()).chain(numbered).find(|name| !taken(name)).expect("numbers never end");
        self.entries.push(VaultEntry { name: name.clone(), description: what.into(), value: value.to_owned() });
        reference(&name)
    }

    /// Stores a value that nothing in the draft needs.
    pub fn suppress(&mut self, value: &str) {
        self.unnamed.push(value.to_owned());
    }

    /// Names and descriptions, without the values.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|kept| (kept.name.as_str(), kept.description.as_str()))
    }

    /// The text with every stored value replaced, in any of its encodings.
    pub fn redact(&self, text: &str) -> String {
        let named = self.entries.iter().map(|kept| (kept.value.as_str(), reference(&kept.name)));
        let unnamed = self.unnamed.iter().map(|value| (value.as_str(), "…".to_owned()));
        let mut all: Vec<(String, String)> = named
            .chain(unnamed)
            .flat_map(|(value, instead)| spellings(value).into_iter().map(move |it| (it, instead.clone())))
            .filter(|(spelling, _)| text.contains(spelling.as_str()))
            .collect();
        if all.is_empty() {
            return text.to_owned();
        }
        // The longest first, because a short one may be part of it. In one pass that skips existing references.
        all.sort_by_key(|(spelling, _)| std::cmp::Reverse(spelling.len()));
        let either: Vec<String> = all.iter().map(|(spelling, _)| regex::escape(spelling)).collect();
        let pattern = format!(r"\$\{{secret:[^}}]*\}}|{}", either.join("|"));
        let Ok(regex) = regex::Regex::new(&pattern) else { return "…".to_owned() };
        let instead = |found: &regex::Captures<'_>| match all.iter().find(|(spelling, _)| *spelling == found[0]) {
            Some((_, instead)) => instead.clone(),
            None => found[0].to_owned(),
        };
        regex.replace_all(text, instead).into_owned()
    }
}

fn reference(name: &str) -> String {
    format!("${{secret:{name}}}")
}

fn spellings(value: &str) -> Vec<String> {
    let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let json = serde_json::to_string(value).unwrap_or_default();
    let base64 = base64::engine::general_purpose::STANDARD.encode(value);
    let query = form.replace('+', "%20");
    let json = json.trim_matches('"').to_owned();
    [value.to_owned(), form.to_lowercase(), query.to_lowercase(), form, query, json, base64]
        .into_iter()
        .filter(|it| it.len() >= MIN_REDACTED_LEN)
        .collect()
}

/// `shop` of `www.shop.co.uk`: the part of a host name by which people call the site.
fn site_name(host: &str) -> String {
    let labels: Vec<&str> = site_of(host).split('.').map(str::trim).collect();
    let first = labels.first().copied().unwrap_or_default();
    let is_address = host.starts_with('[') || host.chars().all(|c| c.is_ascii_digit() || c == '.');
    if is_address || first.is_empty() { "site".to_owned() } else { identifier(first) }
}

/// The registrable domain of a host, estimated without the public suffix list.
pub fn site_of(host: &str) -> &str {
    const SECOND_LEVELS: &[&str] = &["ac", "co", "com", "edu", "gob", "gov", "gv", "ne", "net", "or", "org"];
    let labels: Vec<&str> = host.split('.').collect();
    if host.starts_with('[') || host.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return host;
    }
    let kept = match labels.as_slice() {
        [.., second, country] if country.len() == 2 && SECOND_LEVELS.contains(second) => 3,
        _ => 2,
    };
    let from = labels.len().saturating_sub(kept);
    let skipped: usize = labels[..from].iter().map(|label| label.len() + 1).sum();
    &host[skipped..]
}

/// Converts any text to a name of letters, digits and `_`.
pub fn identifier(text: &str) -> String {
    const MAX: usize = 40;
    let mut out = String::new();
    for c in text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' }) {
        if c != '_' || !out.is_empty() && !out.ends_with('_') {
            out.push(c);
        }
        if out.len() == MAX {
            break;
        }
    }
    let out = out.trim_end_matches('_');
    if out.is_empty() { "secret".to_owned() } else { out.to_owned() }
}

/// True if the value under this name (of a header, field, key or parameter) must not be published.
pub fn is_sensitive(name: &str, value: &str) -> bool {
    if value.is_empty() {
        return false;
    }
    is_password(name) || is_secret_name(name, value) || is_key(value)
}

/// True if the name contains one of the parts, which are separated by bars.
fn has_part(name: &str, parts: &str) -> bool {
    parts.split('|').any(|part| name.contains(part))
}

pub fn is_password(name: &str) -> bool {
    const PARTS: &str = "password|passwd|passwort|kennwort|passphrase|contrase|senha|pwd|motdepasse";
    const WHOLE: &[&str] = &["pass", "pw", "pin", "mdp"];
    let name = name.to_lowercase();
    let last = name.rsplit(['[', '.', ':', '$', '_', '-']).next().unwrap_or_default().trim_end_matches(']');
    has_part(&name, PARTS) || WHOLE.contains(&name.as_str()) || WHOLE.contains(&last)
}

fn is_secret_name(name: &str, value: &str) -> bool {
    const PARTS: &str = "\
        secret|token|apikey|api-key|api_key|accesskey|access-key|access_key|authorization|session|sessid|jwt|\
        bearer|credential|signature|privatekey|private_key|x-auth|authkey|auth_key|subscription-key|client_id|\
        x-amz-security";
    const WHOLE: &[&str] = &["auth", "sid", "sig", "otp", "totp", "code_verifier", "sso", "ticket", "assertion"];
    /// Pagination cursors are no secrets, though they are called tokens.
    const PAGING: &str = "page|next|cursor|continu|scroll|after";
    let name = name.to_lowercase();
    if has_part(&name, PAGING) {
        return false;
    }
    // A `key` may be a sort key or an API key.
    let is_door_key =
        matches!(name.as_str(), "key" | "x-key") && value.len() >= 16 && value.contains(|c: char| c.is_ascii_digit());
    has_part(&name, PARTS) || WHOLE.contains(&name.as_str()) || is_door_key
}

/// Values that are recognisable as keys: signed tokens, keys of well-known services, long random texts.
pub fn is_key(value: &str) -> bool {
    const STARTS: &str = "\
        sk_live_|sk_test_|pk_live_|rk_live_|ghp_|gho_|github_pat_|glpat-|xoxb-|xoxp-|AKIA|AIza|Bearer |SG.";
    let is_signed = value.starts_with("eyJ") && value.matches('.').count() >= 1 && value.len() >= 20;
    is_signed
        || STARTS.split('|').any(|start| value.starts_with(start) && value.len() >= start.len() + 8)
        || looks_random(value)
}

/// Shorter ones may be names of files and places; those in one case are mostly checksums, which are no secret.
const RANDOM_KEY_MIN_LEN: usize = 32;
const RANDOM_KEY_MIN_RUNS: usize = 5;

fn looks_random(value: &str) -> bool {
    let has = |test: fn(char) -> bool| value.contains(test);
    let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || "+/=_-".contains(c));
    // Words have one capital each; in random text a letter's neighbour is of the other case half of the time.
    let letters: Vec<char> = value.chars().filter(char::is_ascii_alphabetic).collect();
    let turns = letters.windows(2).filter(|two| two[0].is_uppercase() != two[1].is_uppercase()).count();
    // A title in an address has a word between two dashes.
    let words = value.split(['-', '_']).count();
    value.len() >= RANDOM_KEY_MIN_LEN
        && is_plain
        && words < RANDOM_KEY_MIN_RUNS
        && has(|c| c.is_ascii_lowercase())
        && has(|c| c.is_ascii_uppercase())
        && has(|c| c.is_ascii_digit())
        && turns * 4 >= letters.len()
}

/// A CSRF token: it is new with every page, so it must be read from one.
pub fn is_csrf_token_name(name: &str) -> bool {
    const PARTS: &str =
        "csrf|xsrf|authenticity_token|requestverificationtoken|form_build_id|form_token|_wpnonce|formkey";
    const WHOLE: &[&str] = &["_token", "token_", "nonce", "__token"];
    let name = name.to_lowercase();
    has_part(&name, PARTS) || WHOLE.contains(&name.as_str())
}

/// Page state of ASP.NET and JSF in hidden fields: large, and new with every page.
pub fn is_view_state(name: &str) -> bool {
    name.starts_with("__VIEWSTATE") || matches!(name, "__EVENTVALIDATION" | "__PREVIOUSPAGE" | "javax.faces.ViewState")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_smells_and_what_does_not() {
        let long = "aZ3kQ9xLmT7pR2vBnW8sYc4dEfG6hJ1u";
        for (name, value, is_secret) in [
            ("password", "x", true),
            ("user[password]", "x", true),
            ("login-pw", "x", true),
            ("X-Api-Key", "x", true),
            ("access_token", "x", true),
            ("PHPSESSID", "x", true),
            ("anything", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", true),
            ("anything", long, true),
            ("key", "AIzaSyD-1234567890", true),
            ("key", "price", false),
            ("pageToken", "CAoQAA", false),
            ("author", "Anna", false),
            ("passenger", "2", false),
            ("q", "hotels in halifax", false),
            ("slug", "Hotels-In-Halifax-And-Truro-With-Breakfast-2026", false),
            ("sha256Hash", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", false),
            ("id", "6f9619ff-8b86-d011-b42d-00cf4fc964ff", false),
            ("password", "", false),
        ] {
            assert_eq!(is_sensitive(name, value), is_secret, "{name}={value}");
        }
    }

    #[test]
    fn a_value_is_covered_in_every_spelling() {
        let mut vault = Vault::new(Some("www.shop.co.uk"));
        assert_eq!(vault.replace_secret("pass word", "", "p&s \"wörd"), "${secret:shop_pass_word}");
        assert_eq!(vault.replace_secret("other", "", "p&s \"wörd"), "${secret:shop_pass_word}", "one value, one name");
        assert_eq!(vault.replace_secret("pass-word", "", "another"), "${secret:shop_pass_word_2}");
        for text in ["p&s \"wörd", "p%26s+%22w%C3%B6rd", "p%26s%20%22w%c3%b6rd", "p&s \\\"wörd"] {
            assert_eq!(vault.redact(&format!("a={text};")), "a=${secret:shop_pass_word};", "{text}");
        }
    }

    #[test]
    fn a_site_is_what_one_owner_has() {
        for (host, site) in [
            ("www.shop.co.uk", "shop.co.uk"),
            ("a.b.example.org", "example.org"),
            ("localhost", "localhost"),
            ("127.0.0.1", "127.0.0.1"),
            ("[::1]", "[::1]"),
        ] {
            assert_eq!(site_of(host), site);
        }
    }
}
