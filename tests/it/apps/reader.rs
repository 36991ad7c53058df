//! A person's side: a task that logs in to an application, and what pieme says of it.

use serde_json::Value;

use super::SECRET;
use crate::stage::Stage;

/// A stage with one task, `app`.
pub struct Reader {
    pub stage: Stage,
}

impl Reader {
    /// Reads a list behind a log-in; `login` are the keys of the step, and `fetch` those of the task's `[fetch]`.
    pub fn new(url: &str, list: &str, login: &str, fetch: &str) -> Reader {
        let stage = Stage::new();
        stage.write("secrets/app", SECRET);
        stage.make_private("secrets/app");
        stage.grant_private(url);
        stage.grant("app", url);
        stage.write("tasks/app/task.toml", &format!("url = \"{url}{list}\"\nfetch = {{ delay = \"0s\"{fetch} }}\n"));
        let script = format!(
            "[[step]]\nlogin = {{ password = '${{secret:app}}', {login} }}\n[[step]]\nget = '{list}'\n\
            [[step]]\npaginate = {{}}\n"
        );
        stage.write("tasks/app/robot.toml", &script);
        Reader { stage }
    }

    /// The first run, and the person who takes the first proposal.
    pub fn learn(&self) {
        let said = self.stage.pieme(&["run", "app"]);
        assert!([0, 3].contains(&said.code), "{}{}\n{}", said.stdout, said.stderr, self.log());
        let said = self.stage.pieme(&["label", "app", "--yes"]);
        assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
        assert!(!self.log().contains(SECRET), "the password is in the log");
    }

    /// Outcome and cause of a run.
    pub fn run(&self) -> (String, String) {
        let verdict = self.stage.pieme(&["run", "app", "--json"]).json();
        let word = |key: &str| verdict[key].as_str().unwrap_or_default().to_owned();
        (word("outcome"), word("cause"))
    }

    /// A run that must be published.
    pub fn run_well(&self, cause: &str) {
        let verdict = self.run();
        assert_eq!(verdict, ("published".to_owned(), cause.to_owned()), "{}", self.log());
    }

    pub fn log(&self) -> String {
        self.stage.pieme(&["log", "app"]).stdout
    }

    pub fn rows(&self) -> Vec<Value> {
        let records = self.stage.pieme(&["records", "app", "--limit", "1000", "--json"]).json();
        records["records"].as_array().cloned().unwrap_or_default()
    }

    /// The records of the first proposal that `pieme label` would show.
    pub fn proposal(&self) -> Vec<Value> {
        let proposals = self.stage.pieme(&["label", "app", "--json"]).json();
        proposals["candidates"][0]["records"].as_array().cloned().unwrap_or_default()
    }

    /// The latest change: how many records were added, changed and removed, and each changed cell: record, column,
    /// from, to.
    pub fn diff(&self) -> ([u64; 3], Vec<[String; 4]>) {
        let change = self.stage.pieme(&["diff", "app", "--json"]).json()["changes"][0].clone();
        let counts = ["added", "changed", "removed"].map(|what| change["counts"][what].as_u64().unwrap_or(0));
        let cell = |record: &Value, cell: &Value| {
            [&record["name"], &cell["column"], &cell["from"]["text"], &cell["to"]["text"]]
                .map(|text| text.as_str().unwrap_or_default().to_owned())
        };
        let records = change["records"].as_array().cloned().unwrap_or_default();
        let cells = records.iter().flat_map(|record| {
            record["cells"].as_array().into_iter().flatten().map(|found| cell(record, found)).collect::<Vec<_>>()
        });
        (counts, cells.collect())
    }

    /// The person has taken the key that `label` proposed.
    pub fn assert_has_key(&self) {
        let text = self.stage.read("tasks/app/task.toml");
        let task: toml::Table = text.parse().expect("a task.toml");
        let key = task.get("data").and_then(|data| data.get("key")).and_then(|key| key.as_array());
        assert!(key.is_some_and(|key| !key.is_empty()), "`label --yes` writes data.key:\n{text}");
    }
}

/// All texts of a row.
pub fn cells(row: &Value) -> impl Iterator<Item = &str> {
    row.as_object().into_iter().flat_map(|row| row.values()).filter_map(Value::as_str)
}
