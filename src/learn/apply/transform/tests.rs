use super::*;

fn columns(toml: &str) -> Vec<Column> {
    #[derive(serde::Deserialize)]
    struct Task {
        column: Vec<Column>,
    }
    toml::from_str::<Task>(toml).expect("columns").column
}

/// Slots and cells are written `a | b`; an empty cell is `None`.
fn check(toml: &str, slots: &str, rows: &[&str], expected: &[&str]) {
    let cells = |line: &str| line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    let cell = |text: String| (!text.is_empty()).then_some(text);
    let row = |line: &&str| Row { cells: cells(line).into_iter().map(cell).collect(), page: 0 };
    let table = Table { columns: cells(slots), rows: rows.iter().map(row).collect() };
    let made = ColumnTransform::new(&columns(toml)).expect("sound columns").apply(table);
    let line = |row: &Row| row.cells.iter().map(|it| it.as_deref().unwrap_or("")).collect::<Vec<_>>().join(" | ");
    let found: Vec<String> = std::iter::once(made.columns.join(" | ")).chain(made.rows.iter().map(line)).collect();
    assert_eq!(found, expected);
}

fn refused(toml: &str) -> String {
    ColumnTransform::new(&columns(toml)).err().expect("a mistake").to_string()
}

#[test]
fn a_pattern_makes_two_columns_of_one() {
    let toml = "[[column]]\nname = 'book'\npattern = '(?<book>.+) by (?<author>.+)'\n[[column]]\nname = 'author'\n\
                [[column]]\nname = 'price'";
    let rows = ["Emma by Jane Austen | 5", "Anonymous | 7"];
    check(toml, "c1 | c2", &rows, &["book | author | price", "Emma | Jane Austen | 5", " |  | 7"]);
}

#[test]
fn a_split_cuts_at_a_delimiter_into_named_pieces() {
    let toml = "[[column]]\nname = 'line'\nsplit = { at = ',', into = ['title', 'edition', 'pages'] }\n\
                [[column]]\nname = 'price'";
    let rows = ["Emma, 2nd, 90, bound | 5", "Persuasion | 7"];
    let expected = ["title | edition | pages | price", "Emma | 2nd | 90, bound | 5", "Persuasion |  |  | 7"];
    check(toml, "c1 | c2", &rows, &expected);
    check("[[column]]\nname = 'a'\nsplit = ' – '", "c1 | c2", &["x – y – z | 1"], &["a | a_2 | c2", "x | y – z | 1"]);
}

#[test]
fn joined_columns_become_one_and_defaults_fill_what_is_empty() {
    let toml = "[[column]]\nname = 'day'\n[[column]]\nname = 'time'\n\
                [[column]]\nname = 'when'\njoin = ['day', 'time']\n\
                [[column]]\nname = 'stock'\ndefault = 'none'";
    let rows = ["Mon | 14:05 | 3", "Tue |  | ", " |  | "];
    check(toml, "c1 | c2 | c3", &rows, &["when | stock", "Mon 14:05 | 3", "Tue | none", " | "]);
}

#[test]
fn a_pattern_without_names_is_the_columns_own_text() {
    check("[[column]]\nname = 'n'\npattern = '(\\d+) km'", "c1", &["about 42 km"], &["n", "42"]);
    check("[[column]]\nname = 'n'\npattern = '\\d+'", "c1", &["about 42 km"], &["n", "42"]);
}

#[test]
fn what_is_known_of_a_slot_holds_of_its_pieces() {
    let toml = "[[column]]\nname = 'link'\n[[column]]\nname = 'line'\nsplit = { at = ',', into = ['a', 'b'] }";
    let shape = ColumnTransform::new(&columns(toml)).expect("sound columns");
    assert_eq!(shape.map_slot_flags(&[false, true, false]), [false, true, true, false]);
    assert!(shape.is_consumed("line") && !shape.is_consumed("a"));
}

#[test]
fn mistakes_are_said_with_what_to_do() {
    let huge = format!("[[column]]\nname = 'a'\npattern = '(\\w{{1000}}){{1000}}{}'", "");
    assert!(refused(&huge).starts_with("this regular expression cannot be used"), "{}", refused(&huge));
    assert!(refused("[[column]]\nname = 'a'\npattern = '('").starts_with("this regular expression cannot be used"));
    assert_eq!(refused("[[column]]\nname = 'a'\nsplit = ''"), "`split` has no delimiter");
    assert_eq!(refused("[[column]]\nname = 'a'\njoin = ['b', 'c']"), "there is no column `b` to join");
    let twice = "[[column]]\nname = 'a'\npattern = '(?<x>.)'\n[[column]]\nname = 'b'\npattern = '(?<x>.)'";
    assert_eq!(refused(twice), "`x` is already a piece of `a`");
    assert_eq!(
        refused("[[column]]\nname = 'a'\npattern = '.'\nsplit = ','"),
        "a column has `pattern` or `split`, not both"
    );
}
