//! What is known about a page that says how its values are to be read.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use url::Url;

use super::DateOrder;

/// Languages that write 1.234,56. Of the main European ones all but English do.
const COMMA_LANGUAGES: &[&str] = &[
    "bg", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fr", "gl", "hr", "hu", "id", "is", "it", "lt",
    "lv", "mk", "nb", "nl", "nn", "no", "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "tr", "uk", "vi",
];
/// Regions that write 1,234.56 in such a language.
const POINT_REGIONS: &[&str] = &["ch", "li", "mx", "us", "do", "gt", "hn", "ni", "pa", "pe", "pr", "sv"];
/// Regions that write the month first where all is digits.
const MONTH_FIRST_REGIONS: &[&str] = &["us", "ph", "pr", "fm", "gu"];
/// Ends of host names that stand for no country, whatever the letters are short for.
const GENERIC_TLDS: &[&str] = &["ai", "cc", "co", "fm", "gg", "io", "ly", "me", "to", "tv", "ws"];
/// Ends of host names that only one country uses.
const US_TLDS: &[&str] = &["edu", "gov", "mil"];

/// Where, when and in what language a text was found.
#[derive(Clone, Debug)]
pub struct Hints<'a> {
    /// The task's, for times that name none.
    pub zone: Tz,
    pub fetched_at: DateTime<Utc>,
    /// What links are relative to.
    pub base: Option<&'a Url>,
    /// The first part of the page's `lang`, in small letters.
    pub language: Option<String>,
    /// The country, in small letters: of the page's `lang`, or else of its host name.
    pub region: Option<String>,
    /// 3/4/2024 where the numbers themselves leave both open.
    pub order: DateOrder,
}

impl<'a> Hints<'a> {
    /// `lang` is what the page says of itself: `de`, `en-US`.
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

    /// Does the page write 1.234,56? None where nothing says so.
    pub fn decimal_comma(&self) -> Option<bool> {
        if self.region.as_deref().is_some_and(|it| POINT_REGIONS.contains(&it)) {
            return Some(false);
        }
        self.language.as_deref().map(|it| COMMA_LANGUAGES.contains(&it))
    }
}

/// A page without a country is taken for American when it is in English or says no language: the five such sites of the corpus
/// whose dates can be told all have the month first.
fn order(language: Option<&str>, region: Option<&str>) -> DateOrder {
    let is_american = match (language, region) {
        (_, Some(region)) => MONTH_FIRST_REGIONS.contains(&region),
        (Some(language), None) => language == "en",
        (None, None) => true,
    };
    if is_american { DateOrder::MonthFirst } else { DateOrder::DayFirst }
}
