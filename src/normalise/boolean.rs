//! Booleans: words and signs for yes and no.

use super::{ParsedValue, ValueError};
use crate::model::Value;

/// Digits count as yes and no only if a person chose this type: they are never inferred.
pub(super) fn boolean(text: &str) -> Result<ParsedValue, ValueError> {
    let word = text.trim_end_matches(['.', '!']).to_lowercase();
    let word = word.trim_end_matches('\u{fe0f}');
    let found = |value: bool, is_whole: bool| Ok(ParsedValue { value: Value::Bool(value), is_whole });
    match word {
        "1" => found(true, false),
        "0" => found(false, false),
        "yes" | "y" | "true" | "on" | "ja" | "oui" | "sí" | "si" | "sì" | "sim" | "ano" | "áno" | "tak" | "da"
        | "igen" | "jah" | "kyllä" | "taip" | "jā" | "ναι" | "да" | "так" | "evet" | "是" | "有" | "はい" | "예"
        | "네" | "✓" | "✔" | "☑" | "✅" => found(true, true),
        "no" | "n" | "false" | "off" | "nein" | "non" | "nee" | "nej" | "nei" | "não" | "nao" | "ne" | "nie"
        | "nem" | "ei" | "nē" | "όχι" | "нет" | "не" | "ні" | "hayır" | "否" | "无" | "無" | "いいえ" | "아니요"
        | "✗" | "✘" | "✕" | "☒" | "❌" => found(false, true),
        _ => Err(ValueError::NeitherYesNorNo),
    }
}
