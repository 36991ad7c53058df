//! Fractions and multipliers after the digits: ½, 35K, 2,3 Millionen.

/// Decimals of a fraction character such as ½.
pub(super) fn fraction_decimals(c: char) -> Option<&'static str> {
    Some(match c {
        '½' => ".5",
        '¼' => ".25",
        '¾' => ".75",
        '⅓' => ".33",
        '⅔' => ".67",
        '⅛' => ".125",
        _ => return None,
    })
}

/// Prefixes of words for thousand, million and billion, separated by bars, with their number of zeros.
const SCALES: &[(&str, usize)] = &[
    ("tsd|tausend|thousand|тыс|tys", 3),
    ("mio|million|milión|milion|millon|milhões|milhão|mln|млн", 6),
    ("mrd|milliard|mld|bn|млрд", 9),
];

/// Number of zeros of the multiplier after the digits, and its length.
pub(super) fn multiplier(behind: &str) -> Option<(usize, usize)> {
    let blank = usize::from(behind.starts_with(' '));
    let word: String = behind[blank..].chars().take_while(|c| c.is_alphabetic()).collect();
    let first = word.chars().next()?;
    let after = behind[blank + word.len()..].chars().next();
    let zeros = match (first, word.as_str()) {
        ('万' | '萬' | '만', _) if blank == 0 => return Some((4, first.len_utf8())),
        ('億' | '亿' | '억', _) if blank == 0 => return Some((8, first.len_utf8())),
        (_, "k" | "K" | "M" | "B") if blank == 0 && !matches!(after, Some('²' | '³' | '/' | '0'..='9')) => {
            match first {
                'M' => 6,
                'B' => 9,
                _ => 3,
            }
        }
        _ => {
            let lower = word.to_lowercase();
            SCALES.iter().find(|(starts, _)| starts.split('|').any(|start| lower.starts_with(start)))?.1
        }
    };
    Some((zeros, blank + word.len() + usize::from(blank == 1 && after == Some('.'))))
}

/// Multiplies by ten to the power of `zeros`.
pub fn shifted(digits: &str, zeros: usize) -> String {
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let moved: String = decimals.chars().chain(std::iter::repeat('0')).take(zeros).collect();
    let rest = decimals.get(zeros..).unwrap_or_default();
    let point = if rest.is_empty() { "" } else { "." };
    format!("{whole}{moved}{point}{rest}")
}
