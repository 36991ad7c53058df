//! Values beside the texts: the view is typed, and nothing else changes.

use super::*;
use pieme::model::{ColumnType, Facet, ValueColumn};
use pieme::store::ReviewAction;
use rusqlite::Connection;

on_both! {
    the_view_has_values_that_a_database_can_count_with_and_the_texts_beside_them
    the_same_texts_are_unchanged_and_a_new_type_is_not
    values_go_back_with_their_rows
}

const MONEY: &[ValueColumn] = &[
    ValueColumn { of: 1, kind: ColumnType::Money, facet: Facet::Value },
    ValueColumn { of: 1, kind: ColumnType::Money, facet: Facet::To },
    ValueColumn { of: 1, kind: ColumnType::Money, facet: Facet::Currency },
];

/// Names, prices as found, and their values: `amount to currency`.
fn publish(scene: &mut Scene, values: &[ValueColumn], rows: &[[&str; 5]]) -> Verdict {
    let run = scene.begin();
    let (task, now) = (scene.task.clone(), scene.now());
    let columns = ["name", "price"].map(str::to_owned);
    let cell = |text: &&str| (!text.is_empty()).then(|| (*text).to_owned());
    let cut = |cells: &[&str; 5]| Row { cells: cells[..2 + values.len()].iter().map(cell).collect(), page: 0 };
    let rows: Vec<Row> = rows.iter().map(cut).collect();
    let key = ["name".to_owned()];
    scene.store.stage_values(run, &task, (&columns, values), &key, &rows, now).expect("staged");
    scene.end(run, CHANGED, rows.len() as u64)
}

fn view(scene: &Scene) -> Vec<String> {
    let (kind, text) = match &scene.home {
        Home::Sqlite(_) => ("typeof(price)", "CAST(price AS TEXT)"),
        Home::Postgres(_) => ("pg_typeof(price)", "trim_scale(price)::text"),
    };
    let other = |column: &str| format!("coalesce(CAST({column} AS text), '-')");
    let (to, currency) = (other("_to_price"), other("_currency_price"));
    let sql = format!(
        "SELECT name || ' ' || {kind} || ' ' || coalesce({text}, '-') || ' ' || {to} || ' ' || {currency} \
         || ' ' || _text_price
         FROM \"halifax-hotels\" ORDER BY _first_seen, name"
    );
    scene.ask(&sql).lines().map(str::to_owned).collect()
}

const ROWS: &[[&str; 5]] =
    &[["Adler", "ab 95,00 €", "95.00", "", "EUR"], ["Ida", "10–20 $", "10", "20", "USD"], ["Krone", "ask", "", "", ""]];

fn the_view_has_values_that_a_database_can_count_with_and_the_texts_beside_them(kind: Kind) {
    let mut scene = Scene::on(kind);
    publish(&mut scene, MONEY, ROWS);
    match kind {
        Kind::Sqlite => assert_eq!(
            view(&scene),
            ["Adler real 95.0 - EUR ab 95,00 €", "Ida real 10.0 20.0 USD 10–20 $", "Krone null - - - ask"]
        ),
        Kind::Postgres => assert_eq!(
            view(&scene),
            ["Adler numeric 95 - EUR ab 95,00 €", "Ida numeric 10 20 USD 10–20 $", "Krone numeric - - - ask"]
        ),
    }
    let rows = scene.store.published(&scene.task, 10, 0).expect("rows").expect("published");
    assert_eq!(rows.table.columns, ["name", "price"]);
    assert_eq!((rows.values.as_slice(), rows.cells[1][1].as_f64()), (MONEY, Some(20.0)));
    // The digest of the texts matches, through the view.
    scene.store.quick_check().expect("a sound database");
}

fn the_same_texts_are_unchanged_and_a_new_type_is_not(kind: Kind) {
    let mut scene = Scene::on(kind);
    assert_eq!(publish(&mut scene, &[], ROWS).outcome, CHANGED);
    assert_eq!(publish(&mut scene, MONEY, ROWS).outcome, CHANGED, "now they have values");
    let again = [["Adler", "ab 95,00 €", "96", "", "EUR"], ROWS[1], ROWS[2]];
    assert_eq!(publish(&mut scene, MONEY, &again).outcome, Outcome::Published(Publication::Unchanged));
    assert_eq!(view(&scene).len(), 3);
}

fn values_go_back_with_their_rows(kind: Kind) {
    let mut scene = Scene::on(kind);
    publish(&mut scene, MONEY, ROWS);
    let before = view(&scene);
    publish(&mut scene, MONEY, &[["Adler", "90 €", "90", "", "EUR"]]);
    let (task, now) = (scene.task.clone(), scene.now());
    scene
        .store
        .apply_review(&task, ReviewAction::RollBack, &["name".to_owned()], now)
        .expect("rolled back")
        .expect("a verdict");
    assert_eq!(view(&scene), before);
}

#[test]
fn a_database_of_before_values_is_brought_up_to_date_and_read_as_it_was() {
    let mut scene = Scene::on(Kind::Sqlite);
    scene.go(CHANGED, &[&["Adler", "95"]]);
    let path = scene.path();
    drop(scene.store);
    let connection = Connection::open(&path).expect("a writer");
    let before_history = "DROP VIEW _history; DROP TABLE _changed_record; DROP TABLE _change;
        ALTER TABLE _generation DROP COLUMN key; ALTER TABLE _keys DROP COLUMN digests;
        ALTER TABLE _task DROP COLUMN history";
    connection.execute_batch(before_history).expect("the format before history");
    connection.pragma_update(None, "user_version", 5).expect("the format before values");
    drop(connection);
    scene.store = Store::open(&path).expect("brought up to date");
    let rows = scene.store.published(&scene.task, 10, 0).expect("rows").expect("published");
    assert_eq!((rows.table.rows.len(), rows.values.len()), (1, 0));
    scene.go(CHANGED, &[&["Adler", "96"]]);
    let change = &scene.store.changes(&scene.task, None, 9).expect("changes")[0];
    assert_eq!(change.counts.map(|it| it.changed), Some(1), "compared with rows of before");
}
