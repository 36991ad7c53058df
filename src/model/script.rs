//! The robot's script: how to reach the pages, one operation a step.
//!
//! ```toml
//! [[step]]
//! get = "https://example.org/login"
//!
//! [[step]]
//! submit = { form = "login", fields = { user = "anna", password = "${secret:shop}" } }
//!
//! [[step]]
//! follow = { text = "My orders" }
//!
//! [[step]]
//! paginate = { max_pages = 20 }
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What robot.toml says. No step at all means: get the task's `url`, page on automatically.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
}

/// One operation. In the file a step is a table with exactly one key, the verb.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    Get(Get),
    Submit(Submit),
    Follow(Follow),
    Paginate(Paginate),
    Extract(Extract),
    Expect(Expect),
    Set(BTreeMap<String, String>),
}

impl Step {
    /// The verb as it stands in the file.
    pub fn verb(&self) -> &'static str {
        match self {
            Step::Get(_) => "get",
            Step::Submit(_) => "submit",
            Step::Follow(_) => "follow",
            Step::Paginate(_) => "paginate",
            Step::Extract(_) => "extract",
            Step::Expect(_) => "expect",
            Step::Set(_) => "set",
        }
    }
}

/// `get = "URL"`, or a table. The URL may be relative to the current page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Get {
    pub url: String,
    pub query: BTreeMap<String, String>,
    pub headers: BTreeMap<String, String>,
}

/// Fills and sends a form of the current page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Submit {
    /// `"login"`, `"search"`, the form's name or id, or a CSS selector.
    pub form: String,
    /// What the person would type or choose; all other fields go as the page has them.
    #[serde(default)]
    pub fields: BTreeMap<String, String>,
    /// Name, id or text of the button to press; absent: the first one, as a browser does on Enter.
    #[serde(default)]
    pub button: Option<String>,
}

/// Follows a link of the current page: the first that fits all that is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Follow {
    #[serde(default)]
    pub css: Option<String>,
    /// Part of the link's text, upper and lower case alike.
    #[serde(default)]
    pub text: Option<String>,
    #[serde(default)]
    pub rel: Option<String>,
}

/// Extracts from the current page and from the ones its next link leads to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Paginate {
    /// How to find the next link; absent: it is found by itself.
    pub next: Option<Follow>,
    /// Never more than the task's `limits.max_pages`.
    pub max_pages: Option<u32>,
}

/// Applies the task's template to the current page.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Extract {}

/// Fails here with cause `robot`, or the cause given, unless the current page is as said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expect {
    pub status: Option<u16>,
    /// Part of the page's address.
    pub url: Option<String>,
    /// Part of the page's text.
    pub text: Option<String>,
    /// A CSS selector that must match.
    pub css: Option<String>,
    /// `robot` (the default), `login` or `blocked`.
    pub cause: Option<ExpectCause>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExpectCause {
    Robot,
    Login,
    Blocked,
}

impl<'de> Deserialize<'de> for Get {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Get, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            url: String,
            #[serde(default)]
            query: BTreeMap<String, String>,
            #[serde(default)]
            headers: BTreeMap<String, String>,
        }
        struct ShortOrLong;
        impl<'de> serde::de::Visitor<'de> for ShortOrLong {
            type Value = Get;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a URL, or a table with `url`")
            }

            fn visit_str<E: serde::de::Error>(self, url: &str) -> Result<Get, E> {
                Ok(Get { url: url.to_owned(), query: BTreeMap::new(), headers: BTreeMap::new() })
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Get, A::Error> {
                let long = Long::deserialize(serde::de::value::MapAccessDeserializer::new(map))?;
                Ok(Get { url: long.url, query: long.query, headers: long.headers })
            }
        }
        deserializer.deserialize_any(ShortOrLong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_reads_as_the_example_above_promises() {
        let script: Script = toml::from_str(
            r#"
            [[step]]
            get = "https://example.org/login"
            [[step]]
            submit = { form = "login", fields = { user = "anna", password = "${secret:shop}" } }
            [[step]]
            follow = { text = "My orders" }
            [[step]]
            set = { city = "Halifax" }
            [[step]]
            get = { url = "/list", query = { city = "${city}" } }
            [[step]]
            expect = { status = 200, cause = "login" }
            [[step]]
            paginate = { max_pages = 20 }
            "#,
        )
        .expect("the example parses");
        let verbs: Vec<&str> = script.steps.iter().map(Step::verb).collect();
        assert_eq!(verbs, ["get", "submit", "follow", "set", "get", "expect", "paginate"]);
        let json = serde_json::to_string(&script).expect("a script is plain data");
        assert_eq!(serde_json::from_str::<Script>(&json).expect("its own JSON"), script);
    }

    #[test]
    fn two_verbs_in_one_step_are_refused() {
        let error = toml::from_str::<Script>("[[step]]\nget = \"/a\"\nexpect = { status = 200 }\n");
        assert!(error.is_err());
    }
}
