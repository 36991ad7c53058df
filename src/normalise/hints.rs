//! Context of a page that decides how its values are read: language, region, time zone and time of fetching.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use url::Url;

/// Languages that write 1.234,56: all main European ones except English.
const COMMA_LANGUAGES: &[&str] = &[
    "bg", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fr", "gl", "hr", "hu", "id", "is", "it", "lt",
    "lv", "mk", "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk", "vi",
];
/// Regions that write 1,234.56 in spite of their language.
const POINT_REGIONS: &[&str] = &["ch", "li", "mx", "us", "do", "gt", "hn", "ni", "pa", "pe", "pr", "sv"];
/// Regions that write the month first in dates of digits.
const MONTH_FIRST_REGIONS: &[&str] = &["us", "ph", "pr", "fm", "gu"];
/// Country-code domains that are used worldwide and say nothing about the country.
const GENERIC_TLDS: &[&str] = &["ai", "cc", "co", "fm", "gg", "io", "ly", "me", "to", "tv", "ws"];
/// Generic top-level domains that only one country uses.
const US_TLDS: &[&str] = &["edu", "gov", "mil"];

/// Whether day or month comes first in a date of digits only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    DayFirst,
    MonthFirst,
}

/// Where, when and in what language a text was found.
#[derive(Clone, Debug)]
pub struct Hints<'a> {
    /// The task's time zone, for times without one.
    pub zone: Tz,
    pub fetched_at: DateTime<Utc>,
    /// The base of relative links.
    pub base: Option<&'a Url>,
    /// The first part of the page's `lang`, in lower case.
    pub language: Option<String>,
    /// The country in lower case, from the page's `lang`, otherwise from its host name.
    pub region: Option<String>,
    /// The order for ambiguous dates such as 3/4/2024.
    pub order: DateOrder,
}

impl<'a> Hints<'a> {
    /// `lang` is what the page declares: `de`, `en-US`.
    pub fn new(zone: Tz, fetched_at: DateTime<Utc>, base: Option<&'a Url>, lang: Option<&str>) -> Hints<'a> {
        let mut tags = lang.unwrap_or_default().split(['-', '_']).map(|tag| tag.trim().to_ascii_lowercase());
        let language = tags.next().filter(|it| (2..=3).contains(&it.len()));
        let said = tags.find(|it| it.len() == 2 && it.bytes().all(|b| b.is_ascii_lowercase()));
        let end = base.and_then(Url::domain).and_then(|host| host.rsplit('.').next()).unwrap_or_default();
        let country = (end.len() == 2 && !GENERIC_TLDS.contains(&end)).then(|| if end == "uk" { "gb" } else { end });
        let region =
            said.or_else(|| country.map(str::to_owned)).or_else(|| US_TLDS.contains(&end).then(|| "us".to_owned()));
        let order = order(language.as_deref(), region.as_deref());
        Hints { zone, fetched_at, base, language, region, order }
    }

    /// Whether the page writes 1.234,56; `None` where nothing tells.
    pub(super) fn decimal_comma(&self) -> Option<bool> {
        if self.region.as_deref().is_some_and(|it| POINT_REGIONS.contains(&it)) {
            return Some(false);
        }
        self.language.as_deref().map(|it| COMMA_LANGUAGES.contains(&it))
    }
}

/// A page without a country counts as American if it is in English or names no language: the five such sites of the
/// corpus whose dates are unambiguous all write the month first.
fn order(language: Option<&str>, region: Option<&str>) -> DateOrder {
    let is_american = match (language, region) {
        (_, Some(region)) => MONTH_FIRST_REGIONS.contains(&region),
        (Some(language), None) => language == "en",
        (None, None) => true,
    };
    if is_american { DateOrder::MonthFirst } else { DateOrder::DayFirst }
}
