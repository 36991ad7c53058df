use super::*;

fn like(text: &str) -> Likeness {
    Likeness::of(text.split(" & ")).expect("a word")
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
        assert_eq!(like(one).exact(), like(two).exact(), "{one} and {two}");
    }
    for (one, two) in [
        ("John Smith", "Jane Smith"),
        ("Hotel 7", "Hotel 8"),
        ("https://a.example/x/y", "https://a.example/y/x"),
        ("a b & c", "a & b c"),
        ("Anna Anna", "Anna"),
    ] {
        assert_ne!(like(one).exact(), like(two).exact(), "{one} and {two}");
    }
    assert_eq!(Likeness::of(["", " – "].into_iter()), None, "there is no word");
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
        assert_eq!(like(one).is_short_for(&like(two)), expected, "{one} and {two}");
        assert_eq!(like(two).is_short_for(&like(one)), expected, "{two} and {one}");
    }
}

fn groups(names: &[&'static str]) -> Vec<Vec<(How, &'static str)>> {
    let mut sieve = Sieve::default();
    names.iter().for_each(|name| sieve.note(&like(name)));
    let mut suspects = sieve.suspects();
    for &name in names {
        if suspects.has_company(&like(name)) {
            suspects.keep(like(name), name);
        }
    }
    suspects.groups().into_iter().map(|group| group.records).collect()
}

#[test]
fn initials_do_not_make_one_group_of_all_whom_they_may_stand_for() {
    use How::{Initials, Same};
    let found = groups(&["John Smith", "Smith, J.", "Jane Smith", "Peter Miller", "smith john", "K. Smith"]);
    assert_eq!(
        found,
        [
            vec![(Same, "John Smith"), (Same, "smith john"), (Initials, "Smith, J.")],
            vec![(Same, "Jane Smith"), (Initials, "Smith, J.")]
        ]
    );
    assert_eq!(groups(&["J. Smith", "Smith J", "Ann"]), [vec![(Same, "J. Smith"), (Same, "Smith J")]]);
    let mixed = groups(&["J. Ronald Smith", "John R. Smith"]);
    assert_eq!(mixed.len(), 1, "each pair once: {mixed:?}");
    assert_eq!(groups(&["a", "b", "Anna", "Bert"]), Vec::<Vec<_>>::new());
}
