//! Lists with pagination other than a next link: POST-back, offset, JSON, cursor, fragments, load-more.

use axum::Json;
use axum::extract::{Form, Path, Query};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use serde::Deserialize;
use serde_json::{Value, json};

use super::super::catalogue::{PRODUCTS_PER_PAGE, money};
use super::{framed, list, products_from, products_of_page};

#[derive(Deserialize)]
pub struct ListVariantQuery {
    page: Option<usize>,
    #[serde(default)]
    start: usize,
    after: Option<String>,
}

/// The `__VIEWSTATE` of the grid: the page number, encoded.
fn view_state(page: usize) -> String {
    format!("dDw{:06x};;>", page * 7_919)
}

fn pages() -> usize {
    (1..).take_while(|&page| !products_of_page(page).is_empty()).count()
}

pub async fn grid() -> Html<String> {
    Html(grid_page(1))
}

#[derive(Deserialize)]
pub struct GridForm {
    #[serde(rename = "__VIEWSTATE")]
    state: String,
    #[serde(rename = "__EVENTTARGET")]
    target: String,
    #[serde(rename = "__EVENTARGUMENT")]
    argument: String,
    /// Only the search button sends it: then the grid does not change its page.
    search: Option<String>,
}

pub async fn turn_grid(Form(form): Form<GridForm>) -> Response {
    let is_known = (1..=pages()).any(|page| view_state(page) == form.state);
    let page = form.argument.strip_prefix("Page$").and_then(|page| page.parse().ok());
    match page.filter(|page| is_known && form.target == "ctl00$grid" && form.search.is_none() && *page <= pages()) {
        Some(page) => Html(grid_page(page)).into_response(),
        None => (StatusCode::INTERNAL_SERVER_ERROR, "Validation of viewstate failed.").into_response(),
    }
}

fn grid_page(page: usize) -> String {
    let number = |it: usize| {
        if it == page {
            return format!("<td><span>{it}</span></td>");
        }
        format!("<td><a href=\"javascript:__doPostBack(&#39;ctl00$grid&#39;,&#39;Page${it}&#39;)\">{it}</a></td>")
    };
    let content = format!(
        "<form method=\"post\" action=\"grid.aspx\">\n\
         <input type=\"hidden\" name=\"__EVENTTARGET\" value=\"\">\
         <input type=\"hidden\" name=\"__EVENTARGUMENT\" value=\"\">\n\
         <input type=\"hidden\" name=\"__VIEWSTATE\" value=\"{}\">\n\
         <input name=\"q\"><input type=\"submit\" name=\"search\" value=\"Search\">\n\
         {}<table><tr>{}</tr></table></form>\n",
        view_state(page),
        list(&products_of_page(page)),
        (1..=pages()).map(number).collect::<String>()
    );
    framed("Grid", &content)
}

pub async fn offset(Query(query): Query<ListVariantQuery>) -> Html<String> {
    Html(framed("By offset", &list(&products_from(query.start))))
}

/// Answers 404 after the last page.
pub async fn api(Query(query): Query<ListVariantQuery>) -> Response {
    let page = query.page.unwrap_or(1);
    if page > pages() {
        return StatusCode::NOT_FOUND.into_response();
    }
    Json(json!({ "items": items(page), "page": page })).into_response()
}

/// The same for POST requests with a JSON body.
pub async fn api_by_post(Json(asked): Json<Value>) -> Response {
    let page = asked["page"].as_str().and_then(|page| page.parse().ok());
    api(Query(ListVariantQuery { page, start: 0, after: None })).await
}

pub async fn cursor(Query(query): Query<ListVariantQuery>) -> Json<Value> {
    let page = (1..=pages()).find(|&page| query.after == Some(token(page))).map_or(1, |before| before + 1);
    let next = (page < pages()).then(|| token(page));
    Json(json!({ "data": items(page), "meta": { "next": next } }))
}

fn token(page: usize) -> String {
    format!("c{:x}", page * 104_729)
}

fn items(page: usize) -> Vec<Value> {
    products_of_page(page)
        .iter()
        .map(|it| json!({ "id": it.id, "name": it.name, "price": money(it.price_cents), "stock": it.stock }))
        .collect()
}

pub async fn fragment(Query(query): Query<ListVariantQuery>) -> Json<Value> {
    let page = query.page.unwrap_or(1);
    Json(json!({ "ok": true, "data": { "html": list(&products_of_page(page)) } }))
}

pub async fn more() -> Html<String> {
    Html(framed("More", &more_html(1)))
}

pub async fn more_page(Path(page): Path<usize>) -> Html<String> {
    Html(more_html(page))
}

fn more_html(page: usize) -> String {
    let button = format!("<button type=\"button\" data-url=\"/ways/more/{}\">Load more</button>\n", page + 1);
    let is_last = products_of_page(page).len() < PRODUCTS_PER_PAGE || page >= pages();
    format!("{}{}", list(&products_of_page(page)), if is_last { "" } else { &button })
}

/// A list whose second product links to a page that does not exist.
pub async fn gaps() -> Html<String> {
    let mut products = products_of_page(1);
    products[1].id = 9_999;
    Html(framed("Gaps", &list(&products)))
}

pub async fn parts_form() -> Html<String> {
    let content = "<form method=\"post\" enctype=\"multipart/form-data\">\
        <input type=\"hidden\" name=\"token\" value=\"t1\">\
        <label>Shelf <input name=\"shelf\"></label><input type=\"file\" name=\"photo\">\
        <button name=\"go\" value=\"1\">Go</button></form>";
    Html(framed("In parts", content))
}

pub async fn parts(body: String) -> Response {
    let part = |name: &str| {
        let (_, rest) = body.split_once(&format!("name=\"{name}\""))?;
        let (_, rest) = rest.split_once("\r\n\r\n")?;
        Some(rest.split_once("\r\n--")?.0.to_owned())
    };
    let whole = part("token").as_deref() == Some("t1") && part("photo").is_some() && part("go").as_deref() == Some("1");
    match part("shelf").filter(|_| whole) {
        Some(registry) => {
            let products: Vec<_> = super::catalogue::products(0)
                .into_iter()
                .filter(|it| it.category.eq_ignore_ascii_case(&registry))
                .collect();
            Html(framed("In parts", &list(&products))).into_response()
        }
        None => (StatusCode::BAD_REQUEST, "The form is not whole.").into_response(),
    }
}
