//! Names of months and weekdays in the main languages of Europe, from the tables of the GNU C library.

use std::collections::HashMap;
use std::sync::LazyLock;

use pure_rust_locales as locales;

/// Names in one language.
struct MonthNames {
    language: &'static str,
    months: HashMap<String, u32>,
}

macro_rules! names_of {
    ($($language:literal => $locale:ident),* $(,)?) => {
        &[$((
            $language,
            [
                Some(locales::$locale::LC_TIME::MON),
                locales::$locale::LC_TIME::ALT_MON,
                Some(locales::$locale::LC_TIME::ABMON),
                locales::$locale::LC_TIME::AB_ALT_MON,
            ],
            [locales::$locale::LC_TIME::DAY, locales::$locale::LC_TIME::ABDAY],
        )),*]
    };
}

type LocaleTable = (&'static str, [Option<&'static [&'static str]>; 4], [&'static [&'static str]; 2]);

/// In order of precedence where the page's language is unknown: listopad is November in Polish and Czech, and October
/// in Croatian.
const TABLES: &[LocaleTable] = names_of! {
    "en" => en_GB, "de" => de_DE, "fr" => fr_FR, "es" => es_ES, "it" => it_IT, "pt" => pt_PT, "nl" => nl_NL,
    "pl" => pl_PL, "cs" => cs_CZ, "sv" => sv_SE, "da" => da_DK, "nb" => nb_NO, "fi" => fi_FI, "ru" => ru_RU,
    "uk" => uk_UA, "el" => el_GR, "hu" => hu_HU, "ro" => ro_RO, "sk" => sk_SK, "sl" => sl_SI, "hr" => hr_HR,
    "bg" => bg_BG, "tr" => tr_TR, "et" => et_EE,
    "lv" => lv_LV, "lt" => lt_LT, "ca" => ca_ES, "sr" => sr_RS, "is" => is_IS, "ga" => ga_IE, "id" => id_ID,
};

static NAMES: LazyLock<Vec<MonthNames>> = LazyLock::new(|| {
    TABLES.iter().map(|(language, months, _)| MonthNames { language, months: months_of(months) }).collect()
});

static DAYS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let names = TABLES.iter().flat_map(|(_, _, days)| days.iter().copied().flatten());
    let mut days: Vec<String> = names.map(|name| lowercase_name(name)).filter(|it| it.chars().count() >= 2).collect();
    days.extend(["tues", "weds", "thur", "thurs", "di", "mi"].map(str::to_owned));
    days.sort_unstable();
    days.dedup();
    days
});

/// Words around a date that carry no information.
const FILLER_WORDS: &[&str] = &[
    "a", "alle", "am", "an", "and", "at", "kell", "d", "dal", "date", "de", "del", "den", "der", "di", "do", "dia",
    "die", "du", "e", "el", "em", "en", "er", "for", "fra", "from", "för", "g", "h", "i", "il", "in", "kl", "klo",
    "la", "le", "los", "m", "nd", "o", "od", "of", "on", "ore", "os", "på", "r", "rd", "s", "st", "t", "te", "th",
    "the", "to", "u", "uhr", "um", "v", "van", "y", "vom", "von", "z", "à", "às", "г", "года", "г", "р", "року", "в",
    "о", "στις", "год", "at", "h", "hrs", "q", "日", "号", "時", "분",
];

/// The month that a word names: in the page's language, otherwise in the first language that has it.
pub(super) fn month(word: &str, language: Option<&str>) -> Option<u32> {
    if word.chars().count() < 3 {
        return None;
    }
    let own = NAMES.iter().find(|names| Some(names.language) == language).and_then(|names| names.months.get(word));
    let known = || NAMES.iter().find_map(|names| names.months.get(word)).copied();
    own.copied().or_else(known).or_else(|| extra_spelling(word)).or_else(|| shortened(word))
}

/// Spellings that are missing in the tables.
fn extra_spelling(word: &str) -> Option<u32> {
    Some(match word {
        "jän" | "jänner" | "ιανουαρίου" | "styczeń" => 1,
        "feber" | "févr" | "fev" | "φεβρουαρίου" | "luty" => 2,
        "mrz" | "mär" | "марта" | "март" | "μαρτίου" | "marzec" => 3,
        "avr" | "απριλίου" | "kwiecień" => 4,
        "мая" | "май" | "μαΐου" => 5,
        "juin" | "ιουνίου" | "czerwiec" => 6,
        "ιουλίου" | "lipiec" => 7,
        "августа" | "αυγούστου" | "sierpień" => 8,
        "sept" | "set" | "σεπτεμβρίου" | "wrzesień" => 9,
        "οκτωβρίου" | "październik" => 10,
        "νοεμβρίου" => 11,
        "δεκεμβρίου" | "grudzień" => 12,
        _ => return None,
    })
}

/// Longest inflection, as in huhtikuuta of huhtikuu.
const LONGEST_ENDING: usize = 4;

/// Abbreviations and inflections (Septemb., huhtikuuta): a prefix that is unique over all languages, or a name with an
/// ending.
fn shortened(word: &str) -> Option<u32> {
    let length = word.chars().count();
    if length < 4 {
        return None;
    }
    let is_like = |name: &str| {
        let ending = || word.strip_prefix(name).is_some_and(|it| it.chars().count() <= LONGEST_ENDING);
        name.starts_with(word) || name.chars().count() >= 6 && ending()
    };
    let names = NAMES.iter().flat_map(|names| &names.months).filter(|(name, _)| is_like(name));
    let mut months = names.map(|(_, month)| *month);
    let first = months.next()?;
    months.all(|month| month == first).then_some(first)
}

/// True for a weekday or a word that only accompanies a date.
pub(super) fn is_filler(word: &str) -> bool {
    FILLER_WORDS.contains(&word) || is_day(word)
}

fn is_day(word: &str) -> bool {
    DAYS.binary_search_by(|day| day.as_str().cmp(word)).is_ok()
}

fn months_of(tables: &[Option<&'static [&'static str]>]) -> HashMap<String, u32> {
    let mut months = HashMap::new();
    for table in tables.iter().flatten() {
        for (name, month) in table.iter().zip(1..) {
            let name = lowercase_name(name);
            if name.chars().count() >= 3 && !name.starts_with(|c: char| c.is_ascii_digit()) {
                months.entry(without_accents(&name)).or_insert(month);
                months.entry(name).or_insert(month);
            }
        }
    }
    months
}

fn lowercase_name(name: &str) -> String {
    name.trim().trim_end_matches('.').to_lowercase()
}

/// Removes accents, which many pages leave out.
fn without_accents(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            'á' | 'à' | 'â' | 'ä' | 'ã' => 'a',
            'é' | 'è' | 'ê' | 'ë' | 'ě' => 'e',
            'í' | 'ì' | 'î' | 'ï' => 'i',
            'ó' | 'ò' | 'ô' | 'ö' | 'õ' => 'o',
            'ú' | 'ù' | 'û' | 'ü' | 'ů' => 'u',
            'č' | 'ç' | 'ć' => 'c',
            'ř' => 'r',
            'š' | 'ś' => 's',
            'ž' | 'ź' | 'ż' => 'z',
            'ý' => 'y',
            'ń' => 'n',
            'ł' => 'l',
            c => c,
        })
        .collect()
}
