//! Complete runs of scripts with the real programs, from a new folder to rows in the database.

use super::stage::Stage;

/// Creates a task with a script, runs and labels it, and returns its published rows.
fn run(stage: &Stage, name: &str, robot: &str) -> serde_json::Value {
    stage.write_task(name, "/", "");
    stage.write(&format!("tasks/{name}/robot.toml"), robot);
    let said = stage.pieme(&["run", name]);
    let log = stage.pieme(&["log", name]).stdout;
    assert!([0, 3].contains(&said.code), "{}{}\n{log}", said.stdout, said.stderr);
    let labelled = stage.pieme(&["label", name, "--yes"]);
    assert_eq!(labelled.code, 0, "{}{}", labelled.stdout, labelled.stderr);
    stage.pieme(&["run", name]);
    stage.pieme(&["records", name, "--json"]).json()
}

fn records(said: &serde_json::Value) -> &Vec<serde_json::Value> {
    said["records"].as_array().unwrap_or_else(|| panic!("no records: {said}"))
}

#[test]
fn the_columns_of_detail_pages_stand_behind_those_of_the_list() {
    let stage = Stage::new();
    let robot = "[[step]]\nget = '/ways/gaps'\n[[step]]\nextract = {}\n[[step]]\ndetails = {}\n";
    let said = run(&stage, "with-details", robot);
    let rows = records(&said);
    assert_eq!(rows.len(), 12);
    assert!(!stage.read("tasks/with-details/details.json").is_empty(), "the detail pages' template is kept");
    let cells =
        |row: &serde_json::Value| row.as_object().map_or(0, |row| row.values().filter(|it| !it.is_null()).count());
    assert!(cells(&rows[0]) >= cells(&rows[1]) + 3, "the second product is gone: {} {}", rows[0], rows[1]);
    // A text that stands only on the detail page.
    assert!(rows[0].to_string().contains("in stock") || rows[0].to_string().contains("Weight"), "{}", rows[0]);
    let sentence = stage.pieme(&["status", "with-details"]).stdout;
    assert!(sentence.contains("1 of 12 detail pages could not be fetched"), "{sentence}");
}

#[test]
fn a_file_of_queries_becomes_one_table_with_the_query_as_a_column() {
    let stage = Stage::new();
    stage.write("tasks/shelves/shelves.csv", "shelf,why\nKitchen,food\nGarden,sun\n");
    let robot = "[[step]]\n[step.for_each]\nas = 'it'\nfile = 'shelves.csv'\ncolumn = 'shelf'\n\
        [[step.for_each.steps]]\nget = '/products?category=${it.shelf}'\n[[step.for_each.steps]]\npaginate = {}\n";
    let said = run(&stage, "shelves", robot);
    let of = |shelf: &str| records(&said).iter().filter(|row| row["shelf"] == shelf).count();
    assert_eq!((of("Kitchen"), of("Garden"), records(&said).len()), (8, 8, 16), "{said}");
}

#[test]
fn a_json_endpoint_is_a_list_like_any_other() {
    let stage = Stage::new();
    let robot = "[[step]]\nget = '/ways/cursor'\n[[step]]\n\
        paginate = { url = '/ways/cursor?after=${cursor}', cursor = 'meta.next' }\n";
    let said = run(&stage, "api", robot);
    assert_eq!(records(&said).len(), 48, "{said}");
    assert!(records(&said)[0].get("price").is_some(), "columns have the document's own names: {said}");
}

#[test]
fn a_refused_log_in_is_left_alone_until_something_is_new() {
    let mut stage = Stage::new();
    stage.write("secrets/shop", "wrong");
    stage.make_private("secrets/shop");
    stage.grant("shop", &stage.url("/"));
    stage.write_task("members", "/", "[schedule]\nevery = \"10s\"\n");
    let robot = "[[step]]\nlogin = { url = '/login', user = 'demo', password = '${secret:shop}' }\n\
        [[step]]\nget = '/orders'\n[[step]]\npaginate = {}\n";
    stage.write("tasks/members/robot.toml", robot);
    stage.start_daemon();
    stage.wait_for_state("members", "login");
    stage.wait_for("the clock to leave it alone", || stage.read("log").contains("run skipped: the login was refused"));
    assert_eq!(stage.sql("SELECT count(*) FROM _runs WHERE task = 'members'"), "1", "asked once");
    let sentence = stage.pieme(&["status", "members"]).stdout;
    assert!(sentence.contains("Wrong user or password.") && sentence.contains("the schedule is on hold"), "{sentence}");
    stage.write("secrets/shop", pieme::practice::PASSWORD);
    stage.wait_for("the new password to be tried", || stage.state("members") == "needs-label");
}
