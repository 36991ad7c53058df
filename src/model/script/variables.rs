//! Expands `${name}`, `${secret:NAME}`, `${today}` and `${today+7d}` in the texts of a script. Pure: the caller gives
//! the date.
//!
//! A variable's value is never expanded again, so text from a page cannot reach a secret. `$${` is a literal `${`.

use std::collections::BTreeMap;

use chrono::{Days, NaiveDate};

use crate::model::GrantedSecret;

/// The values that references are replaced with.
pub struct VariableScope<'a> {
    pub variables: &'a BTreeMap<String, String>,
    pub secrets: &'a BTreeMap<String, GrantedSecret>,
    pub today: NaiveDate,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VariableError {
    #[error("`${{` is never closed in “{0}”")]
    Unclosed(String),
    #[error("`${{{0}}}` is not a variable: write `${{name}}`, `${{secret:NAME}}`, `${{today}}` or `${{today+7d}}`")]
    Malformed(String),
    #[error("nothing sets the variable `{0}`")]
    Unknown(String),
    #[error("there is no secret named `{0}`")]
    NoSecret(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TemplatePart<'t> {
    Text(&'t str),
    Variable(&'t str),
    Secret(&'t str),
    /// Today plus this many days.
    Today(i32),
}

/// Ten years: enough for any calendar, and no date arithmetic can overflow.
const MAX_DAYS: i32 = 3_660;

pub fn parse(text: &str) -> Result<Vec<TemplatePart<'_>>, VariableError> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if rest[..at].ends_with('$') {
            // `$${`: the text before it, which ends with one dollar, and a literal brace; nothing is expanded.
            parts.extend([TemplatePart::Text(&rest[..at]), TemplatePart::Text("{")]);
            rest = &rest[at + 2..];
            continue;
        }
        parts.push(TemplatePart::Text(&rest[..at]));
        let inside = &rest[at + 2..];
        let end = inside.find('}').ok_or_else(|| VariableError::Unclosed(text.to_owned()))?;
        parts.push(reference(&inside[..end])?);
        rest = &inside[end + 1..];
    }
    parts.push(TemplatePart::Text(rest));
    parts.retain(|part| *part != TemplatePart::Text(""));
    Ok(parts)
}

pub fn expand(text: &str, values: &VariableScope<'_>) -> Result<String, VariableError> {
    let mut out = String::with_capacity(text.len());
    for part in parse(text)? {
        match part {
            TemplatePart::Text(text) => out.push_str(text),
            TemplatePart::Variable(name) => {
                out.push_str(values.variables.get(name).ok_or_else(|| VariableError::Unknown(name.to_owned()))?);
            }
            TemplatePart::Secret(name) => {
                let secret = values.secrets.get(name).ok_or_else(|| VariableError::NoSecret(name.to_owned()))?;
                out.push_str(&secret.value);
            }
            TemplatePart::Today(days) => out.push_str(&add_days(values.today, days).format("%Y-%m-%d").to_string()),
        }
    }
    Ok(out)
}

/// Whether `set` may define this name: letters, digits, `_`, `-` and `.`; `today` is reserved.
pub fn is_name(name: &str) -> bool {
    name != "today" && is_word(name)
}

fn is_word(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'))
}

fn reference(inside: &str) -> Result<TemplatePart<'_>, VariableError> {
    let malformed = || VariableError::Malformed(inside.to_owned());
    if let Some(name) = inside.strip_prefix("secret:") {
        return if is_word(name) { Ok(TemplatePart::Secret(name)) } else { Err(malformed()) };
    }
    if let Some(shift) = inside.strip_prefix("today")
        && (shift.is_empty() || shift.starts_with(['+', '-']))
    {
        return days(shift).map(TemplatePart::Today).ok_or_else(malformed);
    }
    if is_name(inside) { Ok(TemplatePart::Variable(inside)) } else { Err(malformed()) }
}

/// `+7d`, `-2w` or nothing.
fn days(shift: &str) -> Option<i32> {
    if shift.is_empty() {
        return Some(0);
    }
    let unit = match shift.chars().last()? {
        'd' => 1,
        'w' => 7,
        _ => return None,
    };
    let days = shift[..shift.len() - 1].parse::<i32>().ok()?.checked_mul(unit)?;
    (days.abs() <= MAX_DAYS).then_some(days)
}

fn add_days(today: NaiveDate, days: i32) -> NaiveDate {
    let shift = Days::new(days.unsigned_abs().into());
    let moved = if days < 0 { today.checked_sub_days(shift) } else { today.checked_add_days(shift) };
    moved.unwrap_or(today)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, VariableError> {
        let variables =
            BTreeMap::from([("city".to_owned(), "Halifax".to_owned()), ("sly".to_owned(), "${secret:pw}".to_owned())]);
        let secret = GrantedSecret { value: "hush".to_owned(), origins: Vec::new() };
        let secrets = BTreeMap::from([("pw".to_owned(), secret)]);
        let today = NaiveDate::from_ymd_opt(2026, 12, 30).expect("a date");
        expand(text, &VariableScope { variables: &variables, secrets: &secrets, today })
    }

    #[test]
    fn variables_stand_for_what_they_hold() {
        for (text, result) in [
            ("plain", "plain"),
            ("", ""),
            ("/list?city=${city}&from=${today}", "/list?city=Halifax&from=2026-12-30"),
            ("${today+7d} ${today-1w}", "2027-01-06 2026-12-23"),
            ("${secret:pw}${city}", "hushHalifax"),
            ("costs $5 {really}", "costs $5 {really}"),
            ("$${city}", "${city}"),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(result), "{text}");
        }
    }

    #[test]
    fn what_a_variable_holds_is_not_expanded_again() {
        assert_eq!(expanded("${sly}").as_deref(), Ok("${secret:pw}"));
    }

    #[test]
    fn mistakes_are_named() {
        use VariableError::{Malformed, NoSecret, Unclosed, Unknown};
        for (text, error) in [
            ("a ${city", Unclosed("a ${city".to_owned())),
            ("${town}", Unknown("town".to_owned())),
            ("${secret:key}", NoSecret("key".to_owned())),
            ("${}", Malformed(String::new())),
            ("${a b}", Malformed("a b".to_owned())),
            ("${today+7y}", Malformed("today+7y".to_owned())),
            ("${today+99999999999d}", Malformed("today+99999999999d".to_owned())),
            ("${today+}", Malformed("today+".to_owned())),
            ("${secret:}", Malformed("secret:".to_owned())),
        ] {
            assert_eq!(expanded(text), Err(error), "{text}");
        }
    }
}
