//! One request to an address that the configuration names: no cookies, no redirects, no robots.txt, and the same guard as
//! everything else.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT};
use url::Url;

use super::client::{Client, of_this_machine};
use super::connection::{innermost, missed};
use super::session;
use crate::guard::Guard;
use crate::model::{Missed, Refusal};

/// What of an answer is worth telling.
const MOST_SAID: usize = 200;

/// What is sent. Has no `Debug`: tokens stand in it.
pub struct Parcel {
    pub url: Url,
    /// Put where it belongs, rather than posted.
    pub put: bool,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

pub struct Receipt {
    pub status: u16,
    /// How long the server wants to be left alone.
    pub retry_after: Option<Duration>,
    /// The beginning of its answer, on one line.
    pub said: String,
}

impl Parcel {
    pub fn post(url: Url, json: serde_json::Value) -> Parcel {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Parcel { url, put: false, headers, body: json.to_string().into_bytes() }
    }

    pub fn put(url: Url, json: serde_json::Value) -> Parcel {
        Parcel { put: true, ..Parcel::post(url, json) }
    }

    pub fn header(&mut self, name: &str, value: String) {
        self.headers.push((name.to_owned(), value));
    }
}

/// Sends it and reads the beginning of the answer. The caller limits the time.
pub async fn send(parcel: Parcel, allow_private: bool, patience: Duration) -> Result<Receipt, String> {
    let host = parcel.url.host_str().unwrap_or_default().to_owned();
    let guard = Guard::only(&host, allow_private);
    guard.url(&parcel.url).map_err(|refusal| refused(&refusal))?;
    let client = Client::new(Arc::new(Arc::new(guard)), patience, None, Arc::new(of_this_machine));
    let method = if parcel.put { reqwest::Method::PUT } else { reqwest::Method::POST };
    let mut request = reqwest::Request::new(method, parcel.url);
    *request.headers_mut() = headers(&parcel.headers)?;
    *request.body_mut() = Some(parcel.body.into());
    let sent = client.send(request).await;
    let mut answer = sent.map_err(|error| match missed(error.as_ref()) {
        Some(Missed::Refused(refusal)) => refused(&refusal),
        Some(other) => other.to_string(),
        None => innermost(error.as_ref()),
    })?;
    let mut said = Vec::new();
    while said.len() < MOST_SAID
        && let Ok(Some(bytes)) = answer.chunk().await
    {
        said.extend_from_slice(&bytes);
    }
    let seconds = answer.headers().get(RETRY_AFTER).and_then(|it| it.to_str().ok()?.trim().parse().ok());
    Ok(Receipt {
        status: answer.status().as_u16(),
        retry_after: seconds.map(Duration::from_secs),
        said: one_line(&said),
    })
}

fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim().chars().take(MOST_SAID).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// In the words of config.toml: the task is not asked.
fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Private { host, address } => format!(
            "{host} is at {address}, which is not a public address; set `allow_private = true` under [alert] of config.toml if that is meant"
        ),
        Refusal::Scheme(_) | Refusal::NoHost | Refusal::TooLong(_) | Refusal::Host(_) => refusal.to_string(),
    }
}

fn headers(named: &[(String, String)]) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::from_iter([(USER_AGENT, HeaderValue::from_static(session::USER_AGENT))]);
    for (name, value) in named {
        let bad = || format!("the header {name} cannot be sent: it has a line break or worse in it");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
