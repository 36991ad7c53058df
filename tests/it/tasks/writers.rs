//! The files that pieme writes into a task folder.

use std::os::unix::fs::PermissionsExt;

use super::*;
use chrono::{DateTime, Utc};
use pieme::learn::teach::{ColumnSelector, RequestedColumn, SpreadsheetStep};
use pieme::learn::template::{Delimiter, RowAdjustment, RowRule};
use pieme::model::{Column, ColumnType, Row, Table};
use pieme::tasks::{Label, LabelHelp, LabelKind, Labels, Sample};

fn column(name: &str, kind: ColumnType) -> Column {
    Column { name: name.to_owned(), kind, required: false, pattern: None, split: None, join: None, default: None }
}

/// Only the expected files, so no temporary file either.
fn files(scene: &Scene) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(scene.dir("hotels"))
        .expect("a folder")
        .map(|item| item.expect("an item").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    names
}

#[test]
fn comments_and_order_survive_new_columns() {
    let scene = Scene::with(
        "# hotels, as Anna wanted them
url = \"https://example.org/list\"   # the list

[[column]]
# the price per night
name = \"price\"
type = \"money\" # in dollars

[[column]]
name = \"c2\"

# at night
[schedule]
every = \"6h\"
",
    );
    let mut price = column("price", ColumnType::Money);
    price.required = true;
    tasks::write_columns(
        &scene.dir("hotels"),
        &[column("name", ColumnType::Text), price, column("link", ColumnType::Url)],
        None,
    )
    .unwrap_or_else(|problem| panic!("{problem}"));
    assert_eq!(
        scene.text("task.toml"),
        "# hotels, as Anna wanted them
url = \"https://example.org/list\"   # the list

[[column]]
name = \"name\"

[[column]]
# the price per night
name = \"price\"
type = \"money\" # in dollars
required = true

[[column]]
name = \"link\"
type = \"url\"

# at night
[schedule]
every = \"6h\"
"
    );
    let folder = scene.read().expect("still a task");
    assert_eq!(folder.task.columns.len(), 3);
    assert_eq!(files(&scene), ["task.toml"]);
}

#[test]
fn columns_come_to_the_smallest_task_and_go_again() {
    let scene = Scene::with("url = \"https://example.org/list\"\n[schedule]\nevery = \"6h\"\n");
    let before = scene.text("task.toml");
    let odd = column("it's \"odd\" = [x] \u{1b}", ColumnType::Int);
    tasks::write_columns(&scene.dir("hotels"), std::slice::from_ref(&odd), None).expect("written");
    assert_eq!(scene.read().expect("a task").task.columns, [odd]);
    tasks::write_columns(&scene.dir("hotels"), &[], None).expect("written");
    assert_eq!(scene.text("task.toml"), before);
}

#[test]
fn a_broken_file_is_not_written_over() {
    let scene = Scene::with("url = \"https://example.org/\"\nnonsense = ");
    let before = scene.text("task.toml");
    tasks::write_columns(&scene.dir("hotels"), &[column("a", ColumnType::Text)], None).expect_err("broken");
    assert_eq!(scene.text("task.toml"), before);
    let missing = Scene::new();
    tasks::write_columns(&missing.dir("hotels"), &[], None).expect_err("no folder");
}

#[test]
fn a_template_is_replaced_whole_and_keeps_the_files_mode() {
    let scene = Scene::with(SMALLEST);
    tasks::write_template(&scene.dir("hotels"), "not even JSON").expect("written");
    let file = scene.dir("hotels").join("template.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).expect("our own file");
    tasks::write_template(&scene.dir("hotels"), super::TEMPLATE).expect("written");
    assert_eq!(scene.read().expect("a task").template.map(|it| it.text()).as_deref(), Some(super::TEMPLATE));
    assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o664);
    assert_eq!(files(&scene), ["task.toml", "template.json"]);
}

#[test]
fn labels_are_kept_and_may_be_edited_by_hand() {
    let scene = Scene::with(SMALLEST);
    let dir = scene.dir("hotels");
    assert_eq!(tasks::read_labels(&dir).expect("none yet"), Labels::default());
    let label = Label {
        when: DateTime::<Utc>::UNIX_EPOCH,
        kind: LabelKind::Pick,
        candidate: 2,
        method: "siblings".to_owned(),
        rows: 25,
        first_row: "Lord Nelson\n\"Hotel\" – CAD 95".to_owned(),
        columns: vec!["name".to_owned(), "price".to_owned()],
        seconds: Some(4.5),
        said: LabelHelp::default(),
    };
    let said = LabelHelp {
        enclose: vec!["Lord Nelson – CAD 95".to_owned()],
        enclose_css: vec!["li.hotel".to_owned()],
        record: vec!["Lord Nelson".to_owned(), "The \"Haliburton\"".to_owned()],
        label: vec![("name".to_owned(), "Lord Nelson".to_owned()), ("price".to_owned(), "CAD 95".to_owned())],
        constant: vec!["per night".to_owned()],
        any: vec!["new".to_owned()],
        theta: Some(0.4),
        adjust: vec![RowAdjustment::WidenNext, RowAdjustment::RotateBack],
        rows: Some(RowRule::Pattern("^\\d+ ".to_owned())),
        column: vec![
            RequestedColumn {
                name: "link".to_owned(),
                by: ColumnSelector::Css { css: "a".to_owned(), attribute: Some("href".to_owned()) },
            },
            RequestedColumn {
                name: "price".to_owned(),
                by: ColumnSelector::Pattern { pattern: "CAD (.*)".to_owned() },
            },
        ],
        sheet: vec![
            SpreadsheetStep::Split { column: "c1".to_owned(), at: Delimiter::Text(",".to_owned()) },
            SpreadsheetStep::Split { column: "c2".to_owned(), at: Delimiter::Words },
            SpreadsheetStep::Join { columns: vec!["c3".to_owned(), "c4".to_owned()], name: None, with: " ".to_owned() },
        ],
    };
    let labels =
        Labels { labels: vec![label.clone(), Label { candidate: 1, kind: LabelKind::Enclose, said, ..label }] };
    tasks::write_labels(&dir, &labels).expect("written");
    assert_eq!(tasks::read_labels(&dir).expect("the same"), labels);
    let edited = scene.text("labels.toml").replace("candidate = 2", "candidat = 2");
    scene.write("hotels", "labels.toml", edited);
    let problem = tasks::read_labels(&dir).expect_err("misspelt").to_string();
    assert!(problem.contains("did you mean `candidate`?"), "{problem}");
}

/// A labels.toml of the first version, kept as a fixture for ever.
#[test]
fn labels_of_the_first_version_still_read() {
    let scene = Scene::with(SMALLEST);
    scene.write("hotels", "labels.toml", include_str!("labels-of-the-first-version.txt"));
    let labels = tasks::read_labels(&scene.dir("hotels")).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(labels.is_confirmed());
    assert_eq!((labels.labels[0].kind, labels.labels[0].rows), (LabelKind::Pick, 12));
    assert!(labels.labels[0].said.is_empty());
}

#[test]
fn samples_are_kept_in_order_and_cleared() {
    let scene = Scene::with(SMALLEST);
    let dir = scene.dir("hotels");
    assert_eq!(tasks::read_samples(&dir).expect("none yet"), []);
    let table = |text: &str| Table {
        columns: vec!["name".to_owned()],
        rows: vec![Row { cells: vec![Some(text.to_owned()), None], page: 0 }],
    };
    for index in [10, 2, 0] {
        tasks::write_sample(&dir, index, &[0xff, index as u8], &table(&index.to_string())).expect("written");
    }
    let found = tasks::read_samples(&dir).expect("samples");
    let expected = |index: u32| Sample { index, body: vec![0xff, index as u8], expected: table(&index.to_string()) };
    assert_eq!(found, [expected(0), expected(2), expected(10)]);
    scene.write("hotels/samples", "notes.txt", "a person's");
    tasks::clear_samples(&dir).expect("cleared");
    assert_eq!(tasks::read_samples(&dir).expect("none"), []);
    assert_eq!(fs::read_dir(dir.join("samples")).expect("a folder").count(), 1);
}

#[test]
fn cookies_are_for_nobody_elses_eyes() {
    let scene = Scene::with(SMALLEST);
    let dir = scene.dir("hotels");
    assert_eq!(tasks::read_cookies(&dir).expect("none yet"), None);
    tasks::write_cookies(&dir, "[\"a\"]").expect("written");
    let file = dir.join(".state/cookies.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("our own file");
    tasks::read_cookies(&dir).expect_err("others could have read or written them");
    tasks::write_cookies(&dir, "[\"b\"]").expect("written");
    assert_eq!(tasks::read_cookies(&dir).expect("kept").as_deref(), Some("[\"b\"]"));
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&dir.join(".state")), mode(&dir.join(".state/cookies.json"))), (0o700, 0o600));
    fs::remove_dir_all(dir.join(".state")).expect("a folder");
    let elsewhere = tempfile::tempdir().expect("a scratch folder");
    std::os::unix::fs::symlink(elsewhere.path(), dir.join(".state")).expect("a link");
    tasks::write_cookies(&dir, "[]").expect_err("a link leads out");
    assert_eq!(fs::read_dir(elsewhere.path()).expect("a folder").count(), 0);
}
