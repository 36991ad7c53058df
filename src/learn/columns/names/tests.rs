use crate::learn::apply::visible;
use crate::learn::tests::first;

/// The names of the shown columns of a page's first candidate.
fn check(html: &str, expected: &str) {
    let first = first(html);
    let names = visible(&first.table, &first.template).columns;
    assert_eq!(names.join(" "), expected, "{}", first.template);
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("<ul>{}</ul>", items.into_iter().map(|item| format!("<li>{item}</li>")).collect::<String>())
}

const TOWNS: [&str; 8] = ["Ghent", "Bruges", "Ostend", "Mechelen", "Ieper", "Aalst", "Kortrijk", "Leuven"];

#[test]
fn titles_of_a_table_name_its_columns() {
    let rows: String = TOWNS.iter().map(|town| format!("<tr><td>{town}<td>{}<td>x{town}", town.len() * 7)).collect();
    check(&format!("<table><tr><th>Town<th>Flats to let<th>Code{rows}</table>"), "town flats_to_let code");
    check(
        &format!("<table><tr bgcolor=gray><td><b>Town<td><b>Flats to let<td><b>Code{rows}</table>"),
        "town flats_to_let code",
    );
    check(&format!("<table><tr><th>Town<th colspan=2>Flats{rows}</table>"), "town flats flats_2");
}

#[test]
fn labels_name_the_value_behind_them() {
    check(
        &list(TOWNS.map(|town| format!("<b>Town:</b><i>{town}</i><b>Flats:</b><i>{}</i>", town.len()))),
        "town flats",
    );
}

#[test]
fn what_the_mark_up_says_comes_before_what_the_values_look_like() {
    let item = |town: &str| {
        format!(
            "<p itemprop=addressLocality>{town}</p><p data-label='Asking price'>€ {}</p><p>€ 4{}</p>",
            town.len(),
            town.len()
        )
    };
    check(&list(TOWNS.map(item)), "address_locality asking_price price");
}

#[test]
fn structured_data_and_forms_name_the_values_they_hold() {
    let rows = list(TOWNS.map(|town| format!("<p>{town}</p><p>from {town} with {} rooms</p>", town.len())));
    let data = TOWNS.map(|town| format!(r#"{{"@type":"Place","location":"{town}"}}"#)).join(",");
    check(&format!("<script type=application/ld+json>[{data}]</script>{rows}"), "location c2");
    let options: String = TOWNS.iter().map(|town| format!("<option>{town}</option>")).collect();
    let form = format!("<form><label for=m>Municipality</label><select id=m name=x1>{options}</select></form>");
    check(&format!("{form}{rows}"), "municipality c2");
}
