use super::*;

fn like(text: &str) -> MatchKey {
    MatchKey::of(text.split(" & ")).expect("a word")
}

#[test]
fn spelling_and_order_do_not_matter() {
    for (one, two) in [
        ("Smith, John", "John Smith"),
        ("JOHN  SMITH", "john smith."),
        ("Müller, Jürgen", "Jurgen Mu\u{308}ller"),
        ("O'Brien, Sinéad", "Sinead O’Brien"),
        ("Straße", "STRASSE"),
        ("Łukasz Đoković", "Lukasz Dokovic"),
        ("ﬁne Ｈｏｔｅｌ", "Fine Hotel"),
        ("J.R. Smith", "Smith J R"),
        ("https://www.Example.org/a/", "http://example.org/a#top"),
        ("山田 太郎", "太郎 山田"),
    ] {
        assert_eq!(like(one).exact_hash(), like(two).exact_hash(), "{one} and {two}");
    }
    for (one, two) in [
        ("John Smith", "Jane Smith"),
        ("Hotel 7", "Hotel 8"),
        ("https://a.example/x/y", "https://a.example/y/x"),
        ("a b & c", "a & b c"),
        ("Anna Anna", "Anna"),
    ] {
        assert_ne!(like(one).exact_hash(), like(two).exact_hash(), "{one} and {two}");
    }
    assert_eq!(MatchKey::of(["", " – "].into_iter()), None, "there is no word");
}

#[test]
fn initials_stand_for_names_where_another_name_is_written_out() {
    for (one, two, expected) in [
        ("J. Smith", "John Smith", true),
        ("Smith, J.", "Jane Smith", true),
        ("J. R. Smith", "John R. Smith", true),
        ("J. Ronald Smith", "John R. Smith", true),
        ("J. Smith", "Smith, K.", false),
        ("J. Smith", "John S.", false),
        ("J. Smith", "John Ronald Smith", false),
        ("J. J. Smith", "John James Smith", true),
        ("J. John Smith", "J. James Smith", true),
        ("李 Smith", "李伟 Smith", false),
        ("Hotel A & Halifax", "Hotel Atlantic & Halifax", true),
        ("Hotel A & Halifax", "Hotel Atlantic & Boston", false),
    ] {
        assert_eq!(like(one).is_abbreviation_of(&like(two)), expected, "{one} and {two}");
        assert_eq!(like(two).is_abbreviation_of(&like(one)), expected, "{two} and {one}");
    }
}

fn groups(names: &[&'static str]) -> Vec<Vec<(MatchKind, &'static str)>> {
    let mut sieve = CandidateFilter::default();
    names.iter().for_each(|name| sieve.note(&like(name)));
    let mut suspects = sieve.into_candidates();
    for &name in names {
        if suspects.may_have_duplicate(&like(name)) {
            suspects.keep(like(name), name);
        }
    }
    suspects.groups().into_iter().map(|group| group.records).collect()
}

#[test]
fn initials_do_not_make_one_group_of_all_whom_they_may_stand_for() {
    use MatchKind::{Exact, Initials};
    let found = groups(&["John Smith", "Smith, J.", "Jane Smith", "Peter Miller", "smith john", "K. Smith"]);
    assert_eq!(
        found,
        [
            vec![(Exact, "John Smith"), (Exact, "smith john"), (Initials, "Smith, J.")],
            vec![(Exact, "Jane Smith"), (Initials, "Smith, J.")]
        ]
    );
    assert_eq!(groups(&["J. Smith", "Smith J", "Ann"]), [vec![(Exact, "J. Smith"), (Exact, "Smith J")]]);
    let mixed = groups(&["J. Ronald Smith", "John R. Smith"]);
    assert_eq!(mixed.len(), 1, "each pair once: {mixed:?}");
    assert_eq!(groups(&["a", "b", "Anna", "Bert"]), Vec::<Vec<_>>::new());
}
