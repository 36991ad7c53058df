//! `pieme test`: replays the samples of a task offline.

use crate::stage::Stage;

/// A task whose list a person has confirmed.
fn labelled(stage: &Stage) {
    stage.write_task("plain", "/products", "");
    assert_eq!(stage.pieme(&["run", "plain"]).code, 3, "learned, waits for a person");
    let said = stage.pieme(&["label", "plain", "--yes"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
}

#[test]
fn what_was_labelled_is_read_the_same() {
    let stage = Stage::new();
    labelled(&stage);
    let said = stage.pieme(&["test", "plain"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.starts_with("plain: sample 1: same, 12 rows, similarity "), "{}", said.stdout);
    let json = stage.pieme(&["test", "--json"]).json();
    assert_eq!((&json["same"], &json["tasks"][0]["samples"][0]["rows"]), (&true.into(), &12.into()), "{json}");
}

#[test]
fn a_difference_is_told_and_can_be_accepted() {
    let stage = Stage::new();
    labelled(&stage);
    let path = "tasks/plain/samples/page-1.json";
    let mut expected: serde_json::Value = serde_json::from_str(&stage.read(path)).expect("a sample's rows");
    let column = expected["columns"][0].as_str().map(str::to_owned).expect("a first column");
    let rows = expected["rows"].as_array_mut().expect("rows");
    let was = rows[2]["cells"][0].clone();
    rows[2]["cells"][0] = "Something else".into();
    let gone = rows.remove(5);
    stage.write(path, &expected.to_string());

    let said = stage.pieme(&["test", "plain"]);
    assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("1 new row, 1 changed row (12 rows, 11 expected)"), "{}", said.stdout);
    let changed = format!("~ row 3 {column}: Something else → {}", was.as_str().expect("a text"));
    assert!(said.stdout.contains(&changed), "{changed}\n{}", said.stdout);
    let json = stage.pieme(&["test", "plain", "--json"]).json();
    let sample = &json["tasks"][0]["samples"][0];
    assert_eq!((&json["same"], &sample["changed"][0]["cells"][0]["to"]), (&false.into(), &was), "{json}");
    assert_eq!(sample["new"][0][&column], gone["cells"][0], "{json}");

    let said = stage.pieme(&["test", "plain", "--update"]);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains(&changed) && said.stdout.contains("expected from now on"), "{}", said.stdout);
    assert_eq!(stage.pieme(&["test", "plain"]).code, 0);
}

#[test]
fn a_template_that_no_longer_reads_its_page_is_noticed_and_never_accepted() {
    let stage = Stage::new();
    labelled(&stage);
    let good = stage.read("tasks/plain/samples/page-1.json");
    stage.write("tasks/plain/samples/page-1.html", "<h1>Closed</h1><p>Come back on Monday.</p>");
    let said = stage.pieme(&["test", "--update"]);
    assert_eq!(said.code, 1, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("12 missing rows") && said.stdout.contains("… 9 more"), "{}", said.stdout);
    assert!(said.stdout.contains("below 0.70: a run would not publish it"), "{}", said.stdout);
    assert_eq!(stage.read("tasks/plain/samples/page-1.json"), good);
    assert!(!stage.pieme(&["test", "--all"]).stdout.contains("more;"), "all of them are shown");
}

#[test]
fn a_task_without_samples_says_how_to_get_some() {
    let stage = Stage::new();
    stage.drop_folder("practice-shop");
    stage.write_task("new", "/products", "");
    let said = stage.pieme(&["test"]);
    assert_eq!(said.code, 3, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("practice-shop: no samples yet") && said.stdout.contains("pieme label practice-shop"));
    assert!(said.stdout.contains("new: no template yet; type `pieme run new`"), "{}", said.stdout);
    assert_eq!(stage.pieme(&["test", "practice-shpo"]).code, 2);
}

#[test]
fn what_cannot_be_read_is_said_and_the_rest_is_tested() {
    let stage = Stage::new();
    labelled(&stage);
    stage.drop_folder("practice-shop");
    stage.write("tasks/practice-shop/template.json", "{");
    let said = stage.pieme(&["test"]);
    assert_eq!(said.code, 78, "{}{}", said.stdout, said.stderr);
    assert!(
        said.stdout.contains("practice-shop: cannot read the task folder")
            && said.stdout.contains("plain: sample 1: same")
    );
    stage.write("tasks/plain/samples/page-1.json", "[]");
    let said = stage.pieme(&["test", "plain"]);
    assert_eq!(said.code, 78, "{}{}", said.stdout, said.stderr);
    assert!(said.stdout.contains("page-1.json"), "{}", said.stdout);
}
