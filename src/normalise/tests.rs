use std::sync::LazyLock;

use chrono_tz::Tz;
use proptest::prelude::*;
use url::Url;

use super::*;

static PAGE: LazyLock<Url> = LazyLock::new(|| Url::parse("https://site.example/a/list.html").expect("an address"));

fn hints(lang: &str) -> Hints<'static> {
    let fetched_at = "2026-11-16T18:30:00Z".parse().expect("a moment");
    Hints::new(Tz::Europe__Berlin, fetched_at, Some(&PAGE), Some(lang).filter(|it| !it.is_empty()))
}

/// What is read; `!` for nothing, `~` before what is not all that the text says.
fn check(kind: ColumnType, lang: &str, cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = match read(kind, text, &hints(lang)) {
            Ok(ParsedValue { value, is_whole: true }) => value.to_string(),
            Ok(ParsedValue { value, is_whole: false }) => format!("~{value}"),
            Err(_) => "!".to_owned(),
        };
        if found != *expected {
            wrong.push(format!("{text:?} is {found:?}, not {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{kind:?} on a page in {lang:?}:\n{}", wrong.join("\n"));
}

#[test]
fn money_of_all_spellings() {
    let cases = [
        ("10–20 €", "10–20 EUR"),
        ("CHF 1'234.50", "1234.50 CHF"),
        ("1.234,56 €", "1234.56 EUR"),
        ("from $5", "5 USD"),
        ("-.50", "~-0.50"),
        ("CAD 95.00 – 124.00", "95.00–124.00 CAD"),
        ("-$5.00", "-5.00 USD"),
        ("US $12.99", "12.99 USD"),
        ("$95 CAD", "95 CAD"),
        ("1 234,50 Kč", "1234.50 CZK"),
        ("12 500 руб.", "12500 RUB"),
        ("100 zł", "100 PLN"),
        ("¥1,200", "1200 JPY"),
        ("1,200円", "1200 JPY"),
        ("₹12,34,567", "1234567 INR"),
        ("free", "0"),
        ("95,- €", "95 EUR"),
        ("1.5M €", "1500000 EUR"),
        ("5 € 7 €", "!"),
        ("on request", "!"),
        ("2 nights, 95 €", "~95 EUR"),
        ("EUR 5 bis EUR 7", "5–7 EUR"),
    ];
    check(ColumnType::Money, "", &cases);
    check(ColumnType::Money, "sv-SE", &[("199 kr", "199 SEK"), ("199:-", "~199")]);
    check(ColumnType::Money, "en-AU", &[("$199", "199 AUD")]);
    check(ColumnType::Money, "", &[("199 kr", "~199")]);
}

#[test]
fn numbers_by_the_language_of_the_page() {
    check(ColumnType::Number, "de", &[("1.234", "1234"), ("1,234", "1.234"), ("1.234,5", "1234.5")]);
    check(ColumnType::Number, "en", &[("1.234", "1.234"), ("1,234", "1234"), ("1,234.5", "1234.5")]);
    check(
        ColumnType::Number,
        "",
        &[("1.234", "1.234"), ("1,234", "1234"), ("３．５", "3.5"), ("1.2.3", "!"), ("3 of 4", "!")],
    );
    check(
        ColumnType::Int,
        "de",
        &[("1.234", "1234"), ("007", "~7"), ("12 Stück", "~12"), ("3,0", "~3"), ("99999999999999999999", "!")],
    );
}

#[test]
fn dates_in_many_languages() {
    let cases = [
        ("3. April 2024", "2024-04-03"),
        ("3 avril 2024", "2024-04-03"),
        ("3 de abril de 2024", "2024-04-03"),
        ("3 aprile 2024", "2024-04-03"),
        ("3 april 2024", "2024-04-03"),
        ("3. dubna 2024", "2024-04-03"),
        ("3 kwietnia 2024", "2024-04-03"),
        ("3 апреля 2024 г.", "2024-04-03"),
        ("3 квітня 2024 р.", "2024-04-03"),
        ("2024. április 3.", "2024-04-03"),
        ("3. huhtikuuta 2024", "2024-04-03"),
        ("3 Απριλίου 2024", "2024-04-03"),
        ("3 Nisan 2024", "2024-04-03"),
        ("3. aprill 2024", "2024-04-03"),
        ("2024 m. balandžio 3 d.", "2024-04-03"),
        ("1er août 2024", "2024-08-01"),
        ("April 3rd, 2024", "2024-04-03"),
        ("03-Apr-24", "2024-04-03"),
        ("2024年4月3日", "2024-04-03"),
        ("令和6年4月3日", "2024-04-03"),
        ("2024년 4월 3일", "2024-04-03"),
        ("2024/4/3", "2024-04-03"),
        ("3. 4. 2024", "2024-04-03"),
        ("20 listopada 2024", "2024-11-20"),
        ("4月3日", "2027-04-03"),
        ("20240403T140500", "~2024-04-03"),
        ("31.2.2024", "!"),
        ("no day", "!"),
    ];
    check(ColumnType::Date, "", &cases);
    check(ColumnType::Date, "hr", &[("20. listopada 2024.", "2024-10-20")]);
    check(
        ColumnType::Date,
        "en-GB",
        &[("3/4/2024", "2024-04-03"), ("13/4/2024", "2024-04-13"), ("4/13/2024", "2024-04-13")],
    );
    check(ColumnType::Date, "en-US", &[("3/4/2024", "2024-03-04"), ("3.4.2024", "2024-04-03")]);
}

#[test]
fn times_have_the_zone_of_the_task_unless_they_say_their_own() {
    let cases = [
        ("3. April 2024, 14:05 Uhr", "2024-04-03T14:05:00+02:00"),
        ("2024-01-03 14.05 Uhr", "2024-01-03T14:05:00+01:00"),
        ("3 avril 2024 à 14h05", "2024-04-03T14:05:00+02:00"),
        ("2024年4月3日14時05分", "2024-04-03T14:05:00+02:00"),
        ("Apr 3, 2024 2:05 p.m. EST", "2024-04-03T14:05:00-05:00"),
        ("2024-04-03T14:05Z", "2024-04-03T14:05:00+00:00"),
        // The clocks skip this hour.
        ("31.3.2024 02:30", "2024-03-31T04:30:00+02:00"),
    ];
    check(ColumnType::Date, "", &cases);
}

#[test]
fn dates_seen_from_when_the_page_was_fetched() {
    let cases = [
        ("gestern, 14:05", "2026-11-15T14:05:00+01:00"),
        ("vor 2 Tagen", "2026-11-14"),
        ("3 hours ago", "2026-11-16T16:30:00+01:00"),
        ("il y a 3 heures", "2026-11-16T16:30:00+01:00"),
        ("hace 2 semanas", "2026-11-02"),
        ("2 giorni fa", "2026-11-14"),
        ("há 5 minutos", "2026-11-16T19:25:00+01:00"),
        ("3 dagen geleden", "2026-11-13"),
        ("för 2 dagar sedan", "2026-11-14"),
        ("2 dni temu", "2026-11-14"),
        ("před 2 dny", "2026-11-14"),
        ("5 минут назад", "2026-11-16T19:25:00+01:00"),
        ("3小时前", "2026-11-16T16:30:00+01:00"),
        ("5分前", "2026-11-16T19:25:00+01:00"),
        ("2日前", "2026-11-14"),
        ("30+ days ago", "2026-10-17"),
        ("heute", "2026-11-16"),
        ("i går kl. 09:10", "2026-11-15T09:10:00+01:00"),
        ("aujourd'hui", "2026-11-16"),
        ("昨天 14:05", "2026-11-15T14:05:00+01:00"),
        ("a year ago", "2025-11-16"),
        ("just now", "2026-11-16T19:30:00+01:00"),
        ("3 days", "!"),
    ];
    check(ColumnType::Date, "", &cases);
}

#[test]
fn addresses_and_yes_and_no() {
    let urls = [
        ("b.html", "https://site.example/a/b.html"),
        ("/x", "https://site.example/x"),
        ("../y?z=1", "https://site.example/y?z=1"),
        ("www.example.org", "http://www.example.org/"),
        ("javascript:void(0)", "!"),
        ("mailto:a@b.org", "!"),
    ];
    check(ColumnType::Url, "", &urls);
    let mails = [
        ("Ann <ann@Example.ORG>", "~ann@example.org"),
        ("mailto:ann@example.org?subject=x", "ann@example.org"),
        ("ann at example", "!"),
    ];
    check(ColumnType::Email, "", &mails);
    check(ColumnType::Bool, "", &[("Ja", "true"), ("не", "false"), ("✓", "true"), ("1", "~true"), ("maybe", "!")]);
}

#[test]
fn a_column_is_what_nearly_all_of_its_values_are() {
    let kind = |values: &[&str]| infer::column(values.iter().copied(), true, &hints("en"));
    assert_eq!(kind(&["$5", "$7.50", "$1,000"]), ColumnType::Money);
    assert_eq!(kind(&["$5", "$7.50", "ask"]), ColumnType::Text, "one of three is not one of ten");
    assert_eq!(kind(&["5", "7", "1,000"]), ColumnType::Int);
    assert_eq!(kind(&["5", "7.5", "1,000"]), ColumnType::Number);
    assert_eq!(kind(&["3 April 2024", "yesterday", "5 hours ago"]), ColumnType::Date);
    assert_eq!(kind(&["007", "013", "042"]), ColumnType::Text, "codes");
    assert_eq!(kind(&["24/7", "and/or", "km/h"]), ColumnType::Text);
    assert_eq!(kind(&["5", "7"]), ColumnType::Text, "too few");
    assert_eq!(kind(&["Yes", "No", "yes"]), ColumnType::Bool);
}

const TYPES: [ColumnType; 8] = [
    ColumnType::Text,
    ColumnType::Int,
    ColumnType::Number,
    ColumnType::Money,
    ColumnType::Date,
    ColumnType::Url,
    ColumnType::Email,
    ColumnType::Bool,
];

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,60}", lang in "[a-z]{0,3}(-[A-Z]{2})?") {
        for kind in TYPES {
            let _ = read(kind, &text, &hints(&lang));
        }
        let _ = order_of(&text);
    }

    #[test]
    fn no_text_of_a_values_signs_makes_it_panic(text in "[-0-9 .,:/'’€$%½kMT年月日前( )Aaprilvo+–\u{a0}]{0,40}") {
        for kind in TYPES {
            let _ = read(kind, &text, &hints("de"));
        }
        let _ = order_of(&text);
    }

    #[test]
    fn what_is_written_plainly_is_read_as_it_is(number in -1_000_000_000_i64..1_000_000_000, days in 0_i64..40_000) {
        let found = read(ColumnType::Int, &number.to_string(), &hints("")).expect("a number");
        prop_assert_eq!(found.value, Value::Int(number));
        let day = chrono::NaiveDate::from_ymd_opt(1970, 1, 1).expect("a day") + chrono::Duration::days(days);
        let found = read(ColumnType::Date, &day.to_string(), &hints("")).expect("a day");
        prop_assert_eq!(found.value, Value::Date(day.to_string()));
    }
}
