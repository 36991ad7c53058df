//! Parses the words of a curl command into requests, as far as a robot can send the same.

use url::{Url, form_urlencoded};

use super::CurlError;
use super::options::{OptionKind, SHORT_WITH_VALUE, long_name, option_kind};
use crate::draft::recorded_request::{RecordedBody, RecordedRequest, header};

/// One address of a command, with everything the command says about the request.
#[derive(Clone, Debug)]
pub struct CurlCommand {
    pub request: RecordedRequest,
    pub user: Option<(String, String)>,
    pub cookies: Vec<String>,
    pub comments: Vec<String>,
}

/// State of the parser: what has been read of a command so far.
#[derive(Default)]
struct CommandParser {
    addresses: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// Parts of the body, to be joined with `&`.
    data: Vec<String>,
    is_json: bool,
    multipart: Vec<(String, String)>,
    query: Vec<String>,
    data_into_query: bool,
    is_head: bool,
    user: Option<(String, String)>,
    cookies: Vec<String>,
    comments: Vec<String>,
    unknown: Vec<String>,
}

impl CurlCommand {
    /// The requests of one command line: one for each address.
    pub fn read(words: &[String]) -> Result<Vec<CurlCommand>, CurlError> {
        let mut reading = CommandParser::default();
        let mut done = Vec::new();
        let mut words = words.iter().map(String::as_str).peekable();
        while let Some(word) = words.next() {
            if word == "--next" || word == "-:" {
                done.extend(std::mem::take(&mut reading).finish()?);
            } else if let Some(name) = word.strip_prefix("--").filter(|name| !name.is_empty()) {
                let (name, given) = name.split_once('=').map_or((name, None), |(name, value)| (name, Some(value)));
                reading.long_option(name, given, &mut words);
            } else if let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
                reading.short_options(letters, &mut words);
            } else if word != "--" {
                reading.addresses.push(word.to_owned());
            }
        }
        done.extend(reading.finish()?);
        Ok(done)
    }
}

impl CommandParser {
    /// Parses `-sSLXPOST`: letters may be combined, and the first one with a value takes the rest.
    fn short_options<'w>(&mut self, letters: &'w str, words: &mut impl Iterator<Item = &'w str>) {
        for (at, letter) in letters.char_indices() {
            let rest = &letters[at + letter.len_utf8()..];
            let name = long_name(letter);
            if !SHORT_WITH_VALUE.contains(letter) {
                self.flag(name, &format!("-{letter}"));
                continue;
            }
            let value = if rest.is_empty() { words.next().unwrap_or_default() } else { rest };
            self.value(name, &format!("-{letter}"), value);
            return;
        }
    }

    fn long_option<'w>(
        &mut self,
        name: &str,
        given: Option<&'w str>,
        words: &mut std::iter::Peekable<impl Iterator<Item = &'w str>>,
    ) {
        let shown = format!("--{name}");
        match option_kind(name) {
            OptionKind::Value | OptionKind::IgnoredValue => {
                return self.value(name, &shown, given.or_else(|| words.next()).unwrap_or_default());
            }
            // It may take a value: a word that is neither an option nor an address is assumed to be it.
            OptionKind::Unknown => _ = words.next_if(|word| !word.starts_with('-') && !word.contains("://")),
            OptionKind::Flag | OptionKind::IgnoredFlag => {}
        }
        self.flag(name, &shown);
    }

    fn flag(&mut self, name: &str, shown: &str) {
        match name {
            "get" => self.data_into_query = true,
            "head" => self.is_head = true,
            "insecure" => {
                self.comments.push(format!("{shown} is ignored: pieme always checks a site's certificate."));
            }
            name if option_kind(name) == OptionKind::IgnoredFlag => {}
            _ => self.unknown.push(shown.to_owned()),
        }
    }

    fn value(&mut self, name: &str, shown: &str, value: &str) {
        match name {
            "url" => self.addresses.push(value.to_owned()),
            "request" => self.method = Some(value.to_uppercase()),
            "header" => self.header(value),
            "user-agent" => self.headers.push(("user-agent".to_owned(), value.to_owned())),
            "referer" => self.headers.push(("referer".to_owned(), value.trim_end_matches(";auto").to_owned())),
            "user" => {
                let (user, password) = value.split_once(':').unwrap_or((value, ""));
                self.user = Some((user.to_owned(), password.to_owned()));
            }
            "oauth2-bearer" => self.headers.push(("authorization".to_owned(), format!("Bearer {value}"))),
            // Without a `=` it is the name of a file.
            "cookie" if value.contains('=') => self.cookies.push(value.to_owned()),
            "cookie" => {
                self.comments.push("Cookies from a file are left out: pieme has a session of its own.".to_owned())
            }
            "data" | "data-ascii" | "data-binary" | "data-raw" => self.body(name, value),
            "data-urlencode" => self.urlencoded_data(value),
            "url-query" => self.query.push(value.trim_start_matches('+').to_owned()),
            "json" => {
                self.is_json = true;
                self.body(name, value);
            }
            "form" | "form-string" => self.multipart_field(name, value),
            "proxy" | "preproxy" | "socks5" | "socks5-hostname" | "socks4" | "socks4a" => {
                self.comments
                    .push(format!("{shown} is left out: a proxy is set by `proxy` under [fetch] in task.toml."));
            }
            name if option_kind(name) == OptionKind::IgnoredValue => {}
            _ => self.unknown.push(shown.to_owned()),
        }
    }

    fn header(&mut self, line: &str) {
        let Some((name, value)) = line.split_once(':') else { return };
        let (name, value) = (name.trim(), value.trim());
        if name.eq_ignore_ascii_case("cookie") {
            self.cookies.push(value.to_owned());
        } else if !value.is_empty() {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }

    fn body(&mut self, name: &str, value: &str) {
        if name != "data-raw" && value.starts_with('@') {
            self.comments
                .push("Data from a file are left out: a robot sends only what its script contains.".to_owned());
            return;
        }
        self.data.push(value.to_owned());
    }

    /// `content`, `=content`, `name=content`; with an `@` the content is a file.
    fn urlencoded_data(&mut self, value: &str) {
        let encode = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
        match (value.split_once('='), value.contains('@')) {
            (Some((name, content)), _) if !name.contains('@') => {
                let name = if name.is_empty() { String::new() } else { format!("{name}=") };
                self.data.push(format!("{name}{}", encode(content)));
            }
            (_, true) => self.body("data", "@"),
            _ => self.data.push(encode(value)),
        }
    }

    fn multipart_field(&mut self, name: &str, value: &str) {
        let Some((field, content)) = value.split_once('=') else { return };
        if name == "form" && content.starts_with(['@', '<']) {
            self.comments.push(format!("The file in the field {field} is left out: a robot sends no files."));
            return;
        }
        let content = if name == "form" { content.split(";type=").next().unwrap_or_default() } else { content };
        self.multipart.push((field.to_owned(), content.trim_matches('"').to_owned()));
    }

    fn finish(mut self) -> Result<Vec<CurlCommand>, CurlError> {
        if self.addresses.is_empty() {
            return Err(CurlError::NoAddress);
        }
        if !self.unknown.is_empty() {
            self.comments.push(format!("Unknown options of curl are left out: {}.", self.unknown.join(", ")));
        }
        let mut into_query = std::mem::take(&mut self.query);
        if self.data_into_query {
            into_query.append(&mut self.data);
        }
        let sent = self.recorded_body();
        let guessed = match (&sent, self.is_head) {
            (_, true) => "HEAD",
            (RecordedBody::Empty, false) => "GET",
            _ => "POST",
        };
        let method = self.method.clone().unwrap_or_else(|| guessed.to_owned());
        let mut commands = Vec::new();
        for address in &self.addresses {
            let mut url = address_of(address)?;
            if !into_query.is_empty() {
                let own = url.query().filter(|query| !query.is_empty()).into_iter();
                let joined: Vec<&str> = own.chain(into_query.iter().map(String::as_str)).collect();
                let joined = joined.join("&");
                url.set_query(Some(&joined));
            }
            commands.push(CurlCommand {
                request: RecordedRequest {
                    method: method.clone(),
                    url,
                    headers: self.headers.clone(),
                    body: sent.clone(),
                },
                user: self.user.clone(),
                cookies: self.cookies.clone(),
                comments: self.comments.clone(),
            });
        }
        Ok(commands)
    }

    fn recorded_body(&self) -> RecordedBody {
        if !self.multipart.is_empty() {
            return RecordedBody::Multipart(self.multipart.clone());
        }
        if self.data.is_empty() {
            return if self.method.as_deref() == Some("POST") {
                RecordedBody::Form(Vec::new())
            } else {
                RecordedBody::Empty
            };
        }
        let body = self.data.join(if self.is_json { "" } else { "&" });
        RecordedBody::parse(header(&self.headers, "content-type"), &body)
    }
}

fn address_of(text: &str) -> Result<Url, CurlError> {
    let text = text.trim();
    // curl assumes http for a bare host; a command copied from a browser always has the scheme.
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    // Errors show the address without user, password and query, which may be secret.
    let shown = || {
        let host_and_path = text.rsplit('@').next().and_then(|rest| rest.split(['?', '#']).next());
        host_and_path.unwrap_or_default().chars().take(80).collect()
    };
    let url = Url::parse(&whole).map_err(|error| CurlError::Address(shown(), error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.host().is_some() => Ok(url),
        scheme => Err(CurlError::Scheme(scheme.to_owned())),
    }
}
