//! Reads the relevant requests from a HAR file, entry by entry: images and scripts are dropped while reading.

use std::io::Read;

use base64::Engine;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use url::Url;

use super::recorded_request::{RecordedBody, RecordedRequest};
use crate::page::charset;

/// A larger file contains more than one visit.
pub const MAX_BYTES: u64 = 200 << 20;
/// Maximum size of all page bodies together; further entries are kept without body.
const MAX_TOTAL_BODY_BYTES: usize = 64 << 20;
const MAX_ENTRIES: usize = 20_000;

#[derive(Debug, thiserror::Error)]
pub enum HarError {
    #[error("the file is not a complete HAR file: {0}; export it again, “with content”")]
    Broken(serde_json::Error),
    #[error(
        "the file is larger than {mb} MB; record only the way to the list, with the other tabs closed",
        mb = MAX_BYTES >> 20
    )]
    TooLarge,
    #[error("the file cannot be read: {0}")]
    Io(std::io::Error),
    #[error("the recording has no web page and no JSON list (requests: {0}); reload the page while recording")]
    Nothing(usize),
}

/// One request and its response.
#[derive(Clone, Debug)]
pub struct HarEntry {
    pub request: RecordedRequest,
    /// Target of a redirect.
    pub location: Option<String>,
    pub is_document: bool,
    /// The body, if it is a page or data.
    pub text: Option<String>,
}

/// The relevant entries of a HAR file.
#[derive(Debug, Default)]
pub struct Recording {
    pub entries: Vec<HarEntry>,
    /// Number of all requests, including dropped ones.
    pub total: usize,
    kept_bytes: usize,
}

/// Reads a recording of at most `most` bytes.
pub fn read(from: impl Read, most: u64) -> Result<Recording, HarError> {
    let mut recording = Recording::default();
    let limited = LimitedReader { from, left: most };
    let mut json = serde_json::Deserializer::from_reader(std::io::BufReader::new(limited));
    let result = KeySeed("log", KeySeed("entries", EntriesSeed(&mut recording))).deserialize(&mut json);
    match result {
        Ok(true) => Ok(recording),
        Ok(false) => Err(HarError::Broken(serde::de::Error::custom("it has no `log.entries`"))),
        Err(error) => match error.classify() {
            serde_json::error::Category::Io if error.to_string().contains(TOO_LARGE) => Err(HarError::TooLarge),
            serde_json::error::Category::Io => Err(HarError::Io(error.into())),
            _ => Err(HarError::Broken(error)),
        },
    }
}

const TOO_LARGE: &str = "larger than the limit";

/// A reader that fails after a maximum number of bytes.
struct LimitedReader<R> {
    from: R,
    left: u64,
}

impl<R: Read> Read for LimitedReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.from.read(buffer)?;
        self.left = self.left.checked_sub(n as u64).ok_or_else(|| std::io::Error::other(TOO_LARGE))?;
        Ok(n)
    }
}

/// Deserializes the value of one key of an object and skips the rest. Returns whether the key was there.
struct KeySeed<S>(&'static str, S);

impl<'de, S: DeserializeSeed<'de, Value = bool>> DeserializeSeed<'de> for KeySeed<S> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, S: DeserializeSeed<'de, Value = bool>> Visitor<'de> for KeySeed<S> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an object with `{}`", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let KeySeed(wanted, seed) = self;
        let mut seed = Some(seed);
        let mut found = false;
        while let Some(key) = map.next_key::<String>()? {
            match seed.take_if(|_| key == wanted) {
                Some(seed) => found = map.next_value_seed(seed)?,
                None => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(found)
    }
}

struct EntriesSeed<'r>(&'r mut Recording);

impl<'de> DeserializeSeed<'de> for EntriesSeed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for EntriesSeed<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of entries")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<bool, A::Error> {
        while let Some(raw) = list.next_element::<RawEntry>()? {
            self.0.total += 1;
            if self.0.entries.len() < MAX_ENTRIES {
                self.0.add_entry(raw);
            }
        }
        Ok(true)
    }
}

impl Recording {
    fn add_entry(&mut self, raw: RawEntry) {
        let Some(mut entry) = raw.into_relevant_entry() else { return };
        self.kept_bytes += entry.text.as_ref().map_or(0, String::len);
        if self.kept_bytes > MAX_TOTAL_BODY_BYTES {
            entry.text = None;
        }
        self.entries.push(entry);
    }
}

/// An entry as browsers write it; missing fields are empty.
#[derive(Deserialize)]
struct RawEntry {
    request: RawRequest,
    #[serde(default)]
    response: RawResponse,
    #[serde(rename = "_resourceType")]
    resource_type: Option<String>,
}

#[derive(Deserialize)]
struct RawRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarPair>,
    #[serde(rename = "postData")]
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct HarPair {
    #[serde(default)]
    name: String,
    value: Option<String>,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    text: Option<String>,
    params: Option<Vec<HarPair>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RawResponse {
    status: i64,
    content: HarContent,
    #[serde(rename = "redirectURL")]
    redirect_url: Option<String>,
    headers: Vec<HarPair>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct HarContent {
    #[serde(rename = "mimeType")]
    mime_type: Option<String>,
    text: Option<String>,
    encoding: Option<String>,
}

impl RawEntry {
    /// `None` for entries that no robot needs: images, styles, scripts, failed requests, other schemes.
    fn into_relevant_entry(self) -> Option<HarEntry> {
        let url = Url::parse(&self.request.url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.host().is_some())?;
        let status = u16::try_from(self.response.status).ok().filter(|status| (200..400).contains(status))?;
        let headers: Vec<(String, String)> =
            self.request.headers.into_iter().map(|pair| (pair.name, pair.value.unwrap_or_default())).collect();
        let method = self.request.method.to_uppercase();
        let asked = RecordedRequest {
            method,
            url,
            headers,
            body: self.request.post_data.map_or(RecordedBody::Empty, recorded_body),
        };
        let mime = self.response.content.mime_type.unwrap_or_default().to_lowercase();
        let is_redirect = matches!(status, 301 | 302 | 303 | 307 | 308);
        let header = self
            .response
            .headers
            .iter()
            .find(|it| it.name.eq_ignore_ascii_case("location"))
            .and_then(|it| it.value.clone());
        let location = self.response.redirect_url.filter(|it| !it.is_empty()).or(header).filter(|_| is_redirect);
        let is_document = match (self.resource_type.as_deref(), asked.header("sec-fetch-dest")) {
            (Some(kind), _) => kind == "document",
            (None, Some(kind)) => kind == "document",
            (None, None) => mime.contains("html") || is_redirect && (mime.is_empty() || asked.is_post()),
        };
        let is_data = !is_document && mime.contains("json");
        let is_asked_by_hand = !is_document && asked.is_post() && !matches!(asked.body, RecordedBody::Empty);
        if asked.method == "OPTIONS" || !(is_document || is_data || is_asked_by_hand) {
            return None;
        }
        let text = self.response.content.text.and_then(|text| match self.response.content.encoding.as_deref() {
            Some("base64") => {
                let bytes = base64::engine::general_purpose::STANDARD.decode(text.as_bytes()).ok()?;
                Some(charset::decode(&bytes, charset::from_content_type(&mime)).text)
            }
            _ => Some(text),
        });
        Some(HarEntry { request: asked, location, is_document, text })
    }
}

fn recorded_body(data: PostData) -> RecordedBody {
    let text = data.text.unwrap_or_default();
    let is_form = data.mime_type.as_deref().is_some_and(|kind| kind.contains("x-www-form-urlencoded"));
    match data.params {
        // Browsers differ in whether the parameters are decoded; the text is reliable where there is one.
        Some(params) if text.is_empty() && !params.is_empty() => {
            let fields = params.into_iter().map(|pair| (pair.name, pair.value.unwrap_or_default())).collect();
            if is_form { RecordedBody::Form(fields) } else { RecordedBody::Multipart(fields) }
        }
        _ => RecordedBody::parse(data.mime_type.as_deref(), &text),
    }
}
