//! Currencies by symbol, word and ISO code.

use iso_currency::Currency;

use super::Hints;

/// The currency at the end of a text, and where it begins.
pub(super) fn at_end(text: &str, hints: &Hints<'_>) -> Option<(String, usize)> {
    let text = text.trim_end().trim_end_matches(':').trim_end();
    let sign = text.chars().next_back()?;
    if let Some(code) = by_sign(sign, hints) {
        let before = &text[..text.len() - sign.len_utf8()];
        // US $, CA$, R$
        let letters = before.trim_end();
        let start = letters.len() - letters.chars().rev().take_while(char::is_ascii_alphabetic).count();
        return Some(match prefixed(&letters[start..], sign) {
            Some(code) => (code.to_owned(), start),
            None => (code, before.len()),
        });
    }
    let dots = text.len() - text.trim_end_matches('.').len();
    let bare = text.trim_end_matches('.');
    let start = bare
        .rfind(|c: char| !c.is_alphabetic())
        .map_or(0, |at| at + bare[at..].chars().next().map_or(1, char::len_utf8));
    by_word(&bare[start..], dots > 0, hints).map(|code| (code, start))
}

/// The currency at the start of a text, and where it ends.
pub(super) fn at_start(text: &str, hints: &Hints<'_>) -> Option<(String, usize)> {
    let blank = text.len() - text.trim_start().len();
    let rest = &text[blank..];
    let first = rest.chars().next()?;
    if let Some(code) = by_sign(first, hints) {
        return Some((code, blank + first.len_utf8()));
    }
    let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
    let word = &rest[..end];
    // 5 US$
    if let Some(sign) = rest[end..].trim_start().chars().next()
        && let Some(code) = prefixed(word, sign)
    {
        let at = rest[end..].find(sign).unwrap_or(0);
        return Some((code.to_owned(), blank + end + at + sign.len_utf8()));
    }
    let dot = usize::from(rest[end..].starts_with('.'));
    by_word(word, dot > 0, hints).map(|code| (code, blank + end + dot))
}

fn by_sign(sign: char, hints: &Hints<'_>) -> Option<String> {
    let (language, region) = (hints.language.as_deref().unwrap_or(""), hints.region.as_deref().unwrap_or(""));
    let code = match sign {
        '€' => "EUR",
        '£' => "GBP",
        '$' => dollar(region),
        '¥' if language == "zh" || region == "cn" => "CNY",
        '¥' | '円' => "JPY",
        '元' if region == "tw" => "TWD",
        '元' if region == "hk" => "HKD",
        '元' => "CNY",
        '원' | '₩' => "KRW",
        '₽' => "RUB",
        '₹' => "INR",
        '₺' => "TRY",
        '₴' => "UAH",
        '₪' => "ILS",
        '₫' => "VND",
        '₱' => "PHP",
        '฿' => "THB",
        '₦' => "NGN",
        '₸' => "KZT",
        '₾' => "GEL",
        _ => return None,
    };
    Some(code.to_owned())
}

/// The currency of a bare `$`: the dollar of the page's country, otherwise the US dollar.
fn dollar(region: &str) -> &'static str {
    match region {
        "ca" => "CAD",
        "au" => "AUD",
        "nz" => "NZD",
        "sg" => "SGD",
        "hk" => "HKD",
        "tw" => "TWD",
        "mx" => "MXN",
        "ar" => "ARS",
        "cl" => "CLP",
        "co" => "COP",
        _ => "USD",
    }
}

/// Letters before a symbol: C$, US $, R$.
fn prefixed(letters: &str, sign: char) -> Option<&'static str> {
    if sign == '¥' {
        return matches!(letters, "CN" | "RMB").then_some("CNY").or((letters == "JP").then_some("JPY"));
    }
    if sign != '$' {
        return None;
    }
    Some(match letters {
        "US" | "U" => "USD",
        "C" | "CA" | "CAD" | "CDN" => "CAD",
        "A" | "AU" | "AUD" => "AUD",
        "NZ" => "NZD",
        "S" | "SG" => "SGD",
        "HK" => "HKD",
        "NT" | "TW" => "TWD",
        "R" => "BRL",
        "MX" => "MXN",
        _ => return None,
    })
}

/// A word or a code. Short words are case-sensitive; `has_dot` tells Fr. and р. from single letters.
fn by_word(word: &str, has_dot: bool, hints: &Hints<'_>) -> Option<String> {
    let region = hints.region.as_deref().unwrap_or("");
    let code = match word.to_lowercase().as_str() {
        "euro" | "euros" | "eur" | "eura" | "евро" | "ευρώ" => "EUR",
        "dollar" | "dollars" | "usd" => "USD",
        "cnd" | "cdn" => "CAD",
        "gbp" | "pounds" => "GBP",
        "chf" | "sfr" => "CHF",
        "fr" if has_dot => "CHF",
        "zł" | "zl" | "pln" => "PLN",
        "kč" | "kc" | "czk" => "CZK",
        "ft" | "huf" => "HUF",
        "lei" | "ron" => "RON",
        "лв" => "BGN",
        "руб" | "рублей" | "рубля" | "рубль" | "rub" => "RUB",
        "р" if has_dot => "RUB",
        "грн" => "UAH",
        "тг" => "KZT",
        "tl" => "TRY",
        "kn" => "HRK",
        "din" => "RSD",
        "kr" | "kronor" | "kroner" => krone(hints)?,
        "円" | "日元" => "JPY",
        "元" | "人民币" | "rmb" => "CNY",
        "원" => "KRW",
        "rs" | "inr" => "INR",
        "rp" => "IDR",
        "rm" if word == "RM" => "MYR",
        "nis" => "ILS",
        "r" if word == "R" && region == "za" => "ZAR",
        _ => return Currency::from_code(word).filter(|it| !it.is_special()).map(|it| it.code().to_owned()),
    };
    Some(code.to_owned())
}

/// The currency of `kr`, which four countries write; the page must say which one it is from.
fn krone(hints: &Hints<'_>) -> Option<&'static str> {
    let by_region = match hints.region.as_deref().unwrap_or("") {
        "se" => Some("SEK"),
        "dk" => Some("DKK"),
        "no" => Some("NOK"),
        "is" => Some("ISK"),
        _ => None,
    };
    by_region.or(match hints.language.as_deref().unwrap_or("") {
        "sv" => Some("SEK"),
        "da" => Some("DKK"),
        "nb" | "nn" | "no" => Some("NOK"),
        "is" => Some("ISK"),
        _ => None,
    })
}
