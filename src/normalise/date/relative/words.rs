//! Word lists of relative dates.

/// The distance from today of a day that has a word of its own.
pub(super) fn day_distance(word: &str) -> Option<i64> {
    Some(match word {
        "today" | "heute" | "aujourd" | "hoy" | "oggi" | "hoje" | "vandaag" | "idag" | "dnes" | "dziś" | "dzisiaj"
        | "tänään" | "täna" | "azi" | "danas" | "danes" | "сегодня" | "сьогодні" | "днес" | "σήμερα" | "bugün"
        | "avui" | "šiandien" | "šodien" | "今天" | "今" | "本" | "오늘" => 0,
        "yesterday" | "gestern" | "hier" | "ayer" | "ieri" | "ontem" | "gisteren" | "igår" | "včera" | "včeraj"
        | "wczoraj" | "eilen" | "eile" | "tegnap" | "jučer" | "вчера" | "вчора" | "χθες" | "χτες" | "dün" | "ahir"
        | "vakar" | "昨天" | "昨" | "어제" => -1,
        "vorgestern" | "anteayer" | "předevčírem" | "позавчера" | "前天" | "一昨" => -2,
        "tomorrow" | "morgen" | "demain" | "mañana" | "domani" | "amanhã" | "imorgon" | "zítra" | "jutro"
        | "завтра" | "明天" | "明" | "내일" => 1,
        _ => return None,
    })
}

/// True for a word that places a duration in the past.
pub(super) fn is_ago(word: &str) -> bool {
    match word {
        "ago" | "vor" | "hace" | "fa" | "há" | "geleden" | "siden" | "sedan" | "sitten" | "temu" | "před" | "pred"
        | "prije" | "ezelőtt" | "назад" | "тому" | "преди" | "πριν" | "önce" | "tagasi" | "acum" => {
            true
        }
        _ => word.ends_with(['前', '전']),
    }
}

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

/// Prefixes of the words for units, separated by bars; longer ones before shorter ones that begin alike.
const UNITS: &[(TimeUnit, &str)] = &[
    (TimeUnit::Second, "sec|sek|seg|сек|секунд|秒|초"),
    (TimeUnit::Month, "month|monat|mois|mes|mês|maand|måned|månad|měs|mies|kuuk|hónap|месяц|місяц|μήν|個|个|개"),
    (TimeUnit::Minute, "min|мин|хв|λεπτ|dakika|perc|分|분"),
    (TimeUnit::Hour, "hour|hr|stund|std|heure|hora|ora|ore|uur|uren|tim|hod|godz|час|годин|óra|ώρ|saat|tun|時|小|시"),
    (
        TimeUnit::Week,
        "week|wk|woche|semaine|semana|settiman|weke|uke|uge|veck|týd|tyd|viikko|недел|тижн|εβδομ|hafta|nädal|周|週|주",
    ),
    (TimeUnit::Year, "year|yr|jahr|an|ans|año|ano|anno|anni|jaar|år|rok|let|lat|vuo|év|год|лет|рок|χρόν|yıl|年|년"),
    (TimeUnit::Day, "day|tag|jour|día|dia|giorn|dag|den|dn|dzie|päiv|päev|nap|zi|ден|дн|ημέρ|μέρ|gün|天|日|일"),
];

/// The unit that a word names.
pub(super) fn unit(word: &str) -> Option<TimeUnit> {
    match word {
        // Abbreviations that only count as whole words.
        "s" => Some(TimeUnit::Second),
        "m" => Some(TimeUnit::Minute),
        "h" => Some(TimeUnit::Hour),
        "d" => Some(TimeUnit::Day),
        "w" => Some(TimeUnit::Week),
        "y" => Some(TimeUnit::Year),
        _ => UNITS.iter().find(|(_, starts)| starts.split('|').any(|start| word.starts_with(start))).map(|it| it.0),
    }
}
