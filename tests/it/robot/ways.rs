//! Every step of the script language, on the practice site's alternative pagers, forms and logins.

use super::*;

/// Walks the script on the practice site, and checks the numbers of pages and of rows (of its 48 products).
async fn finds(script: &str, pages: usize, rows: usize) -> Walked {
    let site = site().await;
    let task = task(&site, "/", "");
    assert_eq!(pieme::tasks::check_script(&task, &toml::from_str(script).expect("a script of the test")), []);
    let walked = walk(&task, script).await;
    walked.succeeds();
    let trace = walked.notes.trace.join("\n");
    assert_eq!((walked.notes.pages.len(), walked.notes.rows.len()), (pages, rows), "{script}\n{trace}");
    walked
}

#[tokio::test]
async fn every_way_of_paging_comes_to_the_end_of_the_list() {
    for (paging, pages) in [
        // found automatically
        ("[[step]]\nget = '/ways/grid.aspx'\n[[step]]\npaginate = {}", 4),
        ("[[step]]\nget = '/ways/more'\n[[step]]\npaginate = {}", 4),
        // given in the script
        ("[[step]]\nget = '/ways/grid.aspx'\n[[step]]\npaginate = { next = { css = 'td:has(> span) + td' } }", 4),
        ("[[step]]\nget = '/ways/offset'\n[[step]]\npaginate = { param = 'start', step = 12 }", 5),
        (
            "[[step]]\nget = '/ways/offset?start=12&x=1'\n[[step]]\n\
             paginate = { param = 'start', from = 0, step = 12 }",
            2,
        ),
        ("[[step]]\nget = '/ways/api'\n[[step]]\npaginate = { url = '/ways/api?page=${page}' }", 4),
        ("[[step]]\nget = '/ways/api'\n[[step]]\npaginate = { param = 'page' }", 4),
        (
            "[[step]]\nget = '/ways/cursor'\n[[step]]\npaginate = { url = '/ways/cursor?after=${cursor}', \
             cursor = 'meta.next' }",
            4,
        ),
        ("[[step]]\nget = '/ways/fragment?page=1'\n[[step]]\npaginate = { param = 'page', html = 'data.html' }", 5),
    ] {
        let rows = if paging.contains("from = 0") { 24 } else { 48 };
        finds(paging, pages, rows).await;
    }
}

#[tokio::test]
async fn a_form_in_parts_is_sent_whole() {
    finds("[[step]]\nget = '/ways/parts'\n[[step]]\nsubmit = { form = 'form', fields = { Shelf = 'garden' } }", 1, 8)
        .await;
}

#[tokio::test]
async fn items_of_a_list_a_file_and_a_variable_are_gone_through() {
    let list = "[[step]]\n[step.for_each]\nas = 'q'\nin = ['kitchen', 'garden']\ncolumn = 'shelf'\n\
                [[step.for_each.steps]]\nget = { url = '/search', query = { q = '${q}' } }\n\
                [[step.for_each.steps]]\npaginate = {}";
    let walked = finds(list, 2, 16).await;
    assert_eq!(walked.notes.with, ["shelf=kitchen", "shelf=garden"]);
    walked.traced("for_each › get: GET http://127.0.0.1");

    // No product is named after the two towns of the file; the last page of an item is extracted by default.
    let file = "[[step]]\n[step.for_each]\nas = 'it'\nfile = 'towns.csv'\n\
        [[step.for_each.steps]]\nget = '/search?q=${it.town}+${it.zip}'";
    let walked = finds(file, 2, 0).await;
    assert!(walked.notes.pages[1].ends_with("/search?q=Truro+B2N"), "{:?}", walked.notes.pages);

    let variable = "[[step]]\nget = '/products'\n[[step]]\n\
                    match = { css = 'a[href*=category]', attribute = 'href', regex = 'category=(\\w+)', all = true, \
                    into = 'shelves' }\n\
                    [[step]]\n[step.for_each]\nas = 'shelf'\nvariable = 'shelves'\n\
                    [[step.for_each.steps]]\nget = '/products?category=${shelf}'\n\
                    [[step.for_each.steps]]\nextract = {}";
    finds(variable, 6, 48).await;
}

#[tokio::test]
async fn one_item_that_fails_costs_the_others_nothing_when_so_told() {
    let script = |more: &str| {
        format!(
            "[[step]]\n[step.for_each]\nas = 'p'\nin = ['/bad/500', '/products']\n{more}\n\
             [[step.for_each.steps]]\nget = '${{p}}'\n[[step.for_each.steps]]\nextract = {{}}"
        )
    };
    finds(&script("go_on = true"), 1, 12).await.traced("“/bad/500” skipped: step 1 (for_each › get)");
    let site = site().await;
    walk(&task(&site, "/", ""), &script("")).await.fails(Failure::Http, "step 1 (for_each › get): http://127.0.0.1");
}

#[tokio::test]
async fn a_branch_is_taken_by_what_the_page_shows() {
    for (when, took) in [
        ("css = '.products'", "then"),
        ("css = '.orders'", "else"),
        ("text = 'reviews'", "then"),
        ("status = 404", "else"),
        ("url = '/products'", "then"),
        ("matches = 'reviews|Unicorn'", "then"),
        ("variable = 'city', equals = 'Halifax'", "then"),
        ("variable = 'city', matches = '^T'", "else"),
        ("variable = 'city', css = '.orders'", "else"),
    ] {
        let script = format!(
            "[[step]]\nset = {{ city = 'Halifax' }}\n[[step]]\nget = '/products'\n[[step]]\n[step.if]\n\
             when = {{ {when} }}\n\
             [[step.if.then]]\nset = {{ took = 'then' }}\n[[step.if.else]]\nset = {{ took = 'else' }}"
        );
        finds(&script, 1, 12).await.traced(&format!("took = {took}"));
    }
}

#[tokio::test]
async fn what_is_matched_and_substituted_is_a_variable() {
    let script = r#"
        [[step]]
        get = "/products"
        [[step]]
        match = { css = ".product h3", into = "first" }
        [[step]]
        match = { regex = "class=\"product\"(?s:.*?)href=\"/product/(?<id>\\d+)\"" }
        [[step]]
        match = { header = "content-type", regex = "^[a-z]+/([a-z]+)", into = "kind" }
        [[step]]
        match = { url = true, regex = ":(\\d+)/", into = "port" }
        [[step]]
        match = { css = ".unicorn", into = "none", default = "no ${first}" }
        [[step]]
        substitute = { variable = "first", regex = "(\\w+).*", with = "<$1>", into = "short" }
        [[step]]
        get = "/ways/api"
        [[step]]
        match = { json = "items.1.name", into = "second" }
    "#;
    let walked = finds(script, 1, 12).await;
    let first = walked.notes.trace.iter().find_map(|line| line.split_once("first = ")).expect("it was matched").1;
    let word = first.split(' ').next().expect("a word");
    for line in
        ["id = 14", "kind = html", "port = ", &format!("none = no {first}"), &format!("short = <{word}>"), "second = "]
    {
        walked.traced(line);
    }
    let site = site().await;
    let nothing = "[[step]]\nget = '/products'\n[[step]]\nmatch = { css = '.unicorn', into = 'x' }";
    walk(&task(&site, "/", ""), nothing)
        .await
        .fails(Failure::Robot, "nothing was found by css `.unicorn`; add a `default`");
}

#[tokio::test]
async fn a_page_is_saved_and_a_json_document_posted() {
    let script = "[[step]]\nset = { n = '2' }\n[[step]]\npost = { url = '/ways/api', json = { page = '${n}' } }\n\
        [[step]]\nsave = 'page ${n}'\n[[step]]\nmatch = { json = 'page', into = 'came' }\n[[step]]\nwait = '1ms'";
    let walked = finds(script, 1, 12).await;
    assert_eq!(walked.notes.saved, ["page 2: /ways/api"]);
    walked.traced("came = 2");
}

#[tokio::test]
async fn details_are_followed_each_page_once() {
    let walked =
        finds("[[step]]\nget = '/products'\n[[step]]\nextract = {}\n[[step]]\ndetails = { max = 3 }", 1, 12).await;
    // Each product has a link around its image and one on its name: both lead to the same page, which is fetched once.
    assert_eq!(walked.notes.details, ["0 /product/14", "1 /product/14", "2 /product/25"]);
    assert_eq!(walked.walk.requests, 4, "the list, two products, and the robots.txt");
}

#[tokio::test]
async fn a_detail_page_that_is_gone_costs_only_itself_and_is_told() {
    let walked = finds("[[step]]\nget = '/ways/gaps'\n[[step]]\nextract = {}\n[[step]]\ndetails = {}", 1, 12).await;
    assert_eq!(walked.notes.details.len(), 11);
    walked.traced("detail page skipped: step 3 (details): http://127.0.0.1");
    assert_eq!(walked.walk.remark.as_deref(), Some("1 of 12 detail pages could not be fetched"));
}

const BASIC: &str =
    "login = { url = '/ways/basic', user = 'demo', password = '${secret:practice_password}', basic = true }";

#[tokio::test]
async fn basic_authentication_goes_to_its_origin_and_nowhere_else() {
    finds(&format!("[[step]]\n{BASIC}\n[[step]]\npaginate = {{}}"), 4, 48).await;
    let site = site().await;
    let wrong = walk_with(&task(&site, "/", ""), &format!("[[step]]\n{BASIC}"), "no", None, PLENTY).await;
    wrong.fails(Failure::Login, "answered with status 401 Unauthorized");
}

const CLUB: &str = "[[step]]\nlogin = { url = '/ways/club', form = 'door', user = 'demo', \
                    password = '${secret:practice_password}', totp = '${secret:codes}' }\n[[step]]\n\
                    get = '/ways/club'\n\
                    [[step]]\npaginate = {}";

#[tokio::test]
async fn a_log_in_in_three_pages_is_done_again_when_the_site_forgets_us() {
    let walked = finds(CLUB, 4, 48).await;
    walked.traced("the site has logged us out; logging in again");
    assert_eq!(walked.notes.trace.iter().filter(|line| line.ends_with(": logged in")).count(), 2);
}

#[tokio::test]
async fn a_kept_session_is_not_logged_in_twice() {
    let site = site().await;
    let task = task(&site, "/", "");
    let script = "[[step]]\nlogin = { url = '/login', user = 'demo', password = '${secret:practice_password}' }\n\
        [[step]]\nget = '/orders'\n[[step]]\npaginate = {}";
    let first = walk(&task, script).await;
    first.succeeds();
    assert_eq!(first.notes.rows.len(), 30);
    let kept =
        format!("{}\n[[step]]\nexpect = {{ url = '/orders' }}", script.replace("url = '/login'", "url = '/orders'"));
    let second = walk_with(&task, &kept, "not needed", first.walk.cookies.as_deref(), PLENTY).await;
    second.succeeds();
    second.traced("the kept session is still logged in");
    assert_eq!(second.notes.rows.len(), 30);
}

#[tokio::test]
async fn a_wrong_password_or_code_is_told_once_in_the_sites_own_words() {
    let site = site().await;
    let task = task(&site, "/", "");
    let wrong = walk_with(&task, CLUB, "wrong", None, PLENTY).await;
    wrong.fails(
        Failure::Login,
        "step 1 (login): the site rejected the login: it says “That is not the password.”; check user",
    );
    let posts =
        wrong.notes.trace.iter().filter(|line| line.contains("POST") && line.contains("/club/password")).count();
    assert_eq!(posts, 1, "a second try is half a lock-out");
    let no_code = CLUB.replace(", totp = '${secret:codes}'", "");
    walk(&task, &no_code).await.fails(Failure::Login, "the site asks for a one-time code; give `login` its key");
    let bad_code = CLUB.replace("${secret:codes}", "GEZDGNBVGY3TQOJQ");
    walk(&task, &bad_code).await.fails(Failure::Login, "the site rejected the one-time code: it says “Wrong code.”");
}
