//! Days and moments seen from when the page was fetched: today, gestern, 3 hours ago, vor 2 Tagen, 5分前.

use chrono::{Days, Duration, Months};

use super::super::Hints;
use super::tokens::{Token, Tokens};
use super::{When, moment_text};

/// Words for days, with their distance from today.
const DAYS: &[(&str, i64)] = &[
    ("today", 0),
    ("heute", 0),
    ("aujourd", 0),
    ("hoy", 0),
    ("oggi", 0),
    ("hoje", 0),
    ("vandaag", 0),
    ("idag", 0),
    ("dnes", 0),
    ("dziś", 0),
    ("dzisiaj", 0),
    ("tänään", 0),
    ("täna", 0),
    ("azi", 0),
    ("danas", 0),
    ("danes", 0),
    ("сегодня", 0),
    ("сьогодні", 0),
    ("днес", 0),
    ("σήμερα", 0),
    ("bugün", 0),
    ("avui", 0),
    ("šiandien", 0),
    ("šodien", 0),
    ("今天", 0),
    ("今", 0),
    ("本", 0),
    ("오늘", 0),
    ("yesterday", -1),
    ("gestern", -1),
    ("hier", -1),
    ("ayer", -1),
    ("ieri", -1),
    ("ontem", -1),
    ("gisteren", -1),
    ("igår", -1),
    ("včera", -1),
    ("včeraj", -1),
    ("wczoraj", -1),
    ("eilen", -1),
    ("eile", -1),
    ("tegnap", -1),
    ("jučer", -1),
    ("вчера", -1),
    ("вчора", -1),
    ("χθες", -1),
    ("χτες", -1),
    ("dün", -1),
    ("ahir", -1),
    ("vakar", -1),
    ("昨天", -1),
    ("昨", -1),
    ("어제", -1),
    ("vorgestern", -2),
    ("anteayer", -2),
    ("předevčírem", -2),
    ("позавчера", -2),
    ("前天", -2),
    ("一昨", -2),
    ("tomorrow", 1),
    ("morgen", 1),
    ("demain", 1),
    ("mañana", 1),
    ("domani", 1),
    ("amanhã", 1),
    ("imorgon", 1),
    ("zítra", 1),
    ("jutro", 1),
    ("завтра", 1),
    ("明天", 1),
    ("明", 1),
    ("내일", 1),
];

/// Words that put a span into the past.
const AGO: &[&str] = &[
    "ago",
    "vor",
    "hace",
    "fa",
    "há",
    "geleden",
    "siden",
    "sedan",
    "sitten",
    "temu",
    "před",
    "pred",
    "prije",
    "ezelőtt",
    "назад",
    "тому",
    "преди",
    "πριν",
    "önce",
    "tagasi",
    "acum",
    "前",
    "전",
];
/// Words for one.
const ONE: &[&str] =
    &["a", "an", "one", "einer", "einem", "ein", "un", "une", "una", "um", "uma", "en", "et", "ett", "een", "μία"];
/// Moments that are now.
const NOW: &[&str] =
    &["just now", "gerade eben", "à l'instant", "ahora mismo", "только что", "刚刚", "たった今", "방금"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// Beginnings of the words for units, the longer before the shorter that begin them.
const UNITS: &[(Unit, &[&str])] = &[
    (Unit::Second, &["sec", "sek", "seg", "сек", "секунд", "秒", "초"]),
    (
        Unit::Month,
        &[
            "month",
            "monat",
            "mois",
            "mes",
            "mês",
            "maand",
            "måned",
            "månad",
            "měs",
            "mies",
            "kuuk",
            "hónap",
            "месяц",
            "місяц",
            "μήν",
            "個",
            "个",
            "개",
        ],
    ),
    (Unit::Minute, &["min", "мин", "хв", "λεπτ", "dakika", "perc", "分", "분"]),
    (
        Unit::Hour,
        &[
            "hour",
            "hr",
            "stund",
            "std",
            "heure",
            "hora",
            "ora",
            "ore",
            "uur",
            "uren",
            "tim",
            "hod",
            "godz",
            "час",
            "годин",
            "óra",
            "ώρ",
            "saat",
            "tun",
            "時",
            "小",
            "시",
        ],
    ),
    (
        Unit::Week,
        &[
            "week",
            "wk",
            "woche",
            "semaine",
            "semana",
            "settiman",
            "weke",
            "uke",
            "uge",
            "veck",
            "týd",
            "tyd",
            "viikko",
            "недел",
            "тижн",
            "εβδομ",
            "hafta",
            "nädal",
            "周",
            "週",
            "주",
        ],
    ),
    (
        Unit::Year,
        &[
            "year", "yr", "jahr", "an", "ans", "año", "ano", "anno", "anni", "jaar", "år", "rok", "let", "lat", "vuo",
            "év", "год", "лет", "рок", "χρόν", "yıl", "年", "년",
        ],
    ),
    (
        Unit::Day,
        &[
            "day", "tag", "jour", "día", "dia", "giorn", "dag", "den", "dn", "dzie", "päiv", "päev", "nap", "zi",
            "ден", "дн", "ημέρ", "μέρ", "gün", "天", "日", "일",
        ],
    ),
];

/// Words so short that only the whole word counts.
const WHOLE: &[(&str, Unit)] = &[
    ("s", Unit::Second),
    ("m", Unit::Minute),
    ("h", Unit::Hour),
    ("d", Unit::Day),
    ("w", Unit::Week),
    ("y", Unit::Year),
];

/// A day by its word, which is marked.
pub fn day(tokens: &mut Tokens, hints: &Hints<'_>) -> Option<When> {
    let find = |at: usize| {
        let word = tokens.word(at)?;
        // i dag, i går
        let pair = (word == "i").then(|| tokens.word(at + 1)).flatten();
        let joined = pair.map(|second| format!("i{second}"));
        let known = |word: &str| DAYS.iter().find(|(name, _)| *name == word).map(|(_, distance)| *distance);
        let ideographs = |word: &str| word.chars().count() == 1 && tokens.word(at + 1) != Some("日");
        let distance = joined.as_deref().and_then(known).or_else(|| known(word).filter(|_| !ideographs(word)))?;
        Some((at, at + 1 + usize::from(joined.is_some() || tokens.word(at + 1) == Some("日")), distance))
    };
    let (from, to, distance) = (0..tokens.len()).find_map(find)?;
    // aujourd'hui
    let to = if tokens.word(to + 1) == Some("hui") { to + 2 } else { to };
    tokens.mark(from, to);
    let today = hints.fetched_at.with_timezone(&hints.zone).date_naive();
    today.checked_add_signed(Duration::days(distance)).map(When::Day)
}

/// A moment so long ago, as ISO 8601: to the second for hours and less, else a day.
pub fn moment(tokens: &mut Tokens, text: &str, hints: &Hints<'_>) -> Option<String> {
    let lower = text.to_lowercase();
    if NOW.iter().any(|now| lower.contains(now)) {
        tokens.mark(0, tokens.len());
        return Some(moment_text(hints.fetched_at, hints));
    }
    let is_ago = |token: &Token| match token {
        Token::Word(word) => AGO.contains(&word.as_str()) || word.ends_with('前') || word.ends_with('전'),
        _ => false,
    };
    let is_french = lower.contains("il y a ");
    let cue = tokens.list.iter().position(is_ago);
    if cue.is_none() && !is_french {
        return None;
    }
    let (at, unit_at, unit, count) = (0..tokens.len()).find_map(|at| span_at(tokens, at))?;
    // What is further away belongs to something else.
    let from = cue.map_or(at.saturating_sub(3), |cue| cue.min(at));
    let to = cue.map_or(unit_at, |cue| cue.max(unit_at)) + 1;
    if to - from > 6 {
        return None;
    }
    tokens.mark(from, to);
    let now = hints.fetched_at;
    let today = now.with_timezone(&hints.zone).date_naive();
    let day = match unit {
        Unit::Second | Unit::Minute | Unit::Hour => {
            let seconds = match unit {
                Unit::Hour => 3600,
                Unit::Minute => 60,
                _ => 1,
            };
            let past = now.checked_sub_signed(Duration::try_seconds(i64::from(count) * seconds)?)?;
            return Some(moment_text(past, hints));
        }
        Unit::Day => today.checked_sub_days(Days::new(u64::from(count))),
        Unit::Week => today.checked_sub_days(Days::new(u64::from(count) * 7)),
        Unit::Month => today.checked_sub_months(Months::new(count)),
        Unit::Year => today.checked_sub_months(Months::new(count.checked_mul(12)?)),
    };
    day.map(|day| day.format("%Y-%m-%d").to_string())
}

/// A count and its unit, with where they stand: 3 hours, 30+ days, a day.
fn span_at(tokens: &Tokens, at: usize) -> Option<(usize, usize, Unit, u32)> {
    let count = match tokens.list.get(at)? {
        Token::Number { value, digits } if *digits <= 4 => *value,
        Token::Word(word) if ONE.contains(&word.as_str()) => 1,
        _ => return None,
    };
    let unit_at = at + 1 + usize::from(tokens.sign(at + 1) == Some('+'));
    unit(tokens.word(unit_at)?).map(|unit| (at, unit_at, unit, count))
}

fn unit(word: &str) -> Option<Unit> {
    if let Some((_, unit)) = WHOLE.iter().find(|(name, _)| *name == word) {
        return Some(*unit);
    }
    if word.starts_with("годин") {
        return Some(Unit::Hour);
    }
    UNITS.iter().find(|(_, starts)| starts.iter().any(|start| word.starts_with(start))).map(|(unit, _)| *unit)
}
