//! Word lists of relative dates.

/// Words for days, with their distance from today.
pub(crate) const DAYS: &[(&str, i64)] = &[
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

/// Words that place a duration in the past.
pub(super) const AGO: &[&str] = &[
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
pub(super) const ONE: &[&str] =
    &["a", "an", "one", "einer", "einem", "ein", "un", "une", "una", "um", "uma", "en", "et", "ett", "een", "μία"];
/// Words for now.
pub(super) const NOW: &[&str] =
    &["just now", "gerade eben", "à l'instant", "ahora mismo", "только что", "刚刚", "たった今", "방금"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

/// Prefixes of the words for units; longer ones before shorter ones that begin alike.
const UNITS: &[(TimeUnit, &[&str])] = &[
    (TimeUnit::Second, &["sec", "sek", "seg", "сек", "секунд", "秒", "초"]),
    (
        TimeUnit::Month,
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
    (TimeUnit::Minute, &["min", "мин", "хв", "λεπτ", "dakika", "perc", "分", "분"]),
    (
        TimeUnit::Hour,
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
        TimeUnit::Week,
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
        TimeUnit::Year,
        &[
            "year", "yr", "jahr", "an", "ans", "año", "ano", "anno", "anni", "jaar", "år", "rok", "let", "lat", "vuo",
            "év", "год", "лет", "рок", "χρόν", "yıl", "年", "년",
        ],
    ),
    (
        TimeUnit::Day,
        &[
            "day", "tag", "jour", "día", "dia", "giorn", "dag", "den", "dn", "dzie", "päiv", "päev", "nap", "zi",
            "ден", "дн", "ημέρ", "μέρ", "gün", "天", "日", "일",
        ],
    ),
];

/// Abbreviations that only count as whole words.
const WHOLE_WORDS: &[(&str, TimeUnit)] = &[
    ("s", TimeUnit::Second),
    ("m", TimeUnit::Minute),
    ("h", TimeUnit::Hour),
    ("d", TimeUnit::Day),
    ("w", TimeUnit::Week),
    ("y", TimeUnit::Year),
];

/// The unit that a word names.
pub(crate) fn unit(word: &str) -> Option<TimeUnit> {
    if let Some((_, unit)) = WHOLE_WORDS.iter().find(|(name, _)| *name == word) {
        return Some(*unit);
    }
    if word.starts_with("годин") {
        return Some(TimeUnit::Hour);
    }
    UNITS.iter().find(|(_, starts)| starts.iter().any(|start| word.starts_with(start))).map(|(unit, _)| *unit)
}
