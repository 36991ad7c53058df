use super::*;
use crate::page::charset;

fn next(html: &str, url: &str) -> Option<String> {
    let url = Url::parse(url).expect("a URL of the table");
    next_link(&Tree::parse(html), &url).map(String::from)
}

#[test]
fn the_next_link_is_found_in_many_guises() {
    const HERE: &str = "http://shop.test/list?page=2";
    for (html, found) in [
        ("<link rel=next href='?page=3'>", Some("?page=3")),
        ("<a rel='nofollow next' href='?page=3'>3</a>", Some("?page=3")),
        ("<a href='?page=1'>Prev</a> <a href='?page=3'>Next</a>", Some("?page=3")),
        ("<a href='?page=3'>Next page →</a>", Some("?page=3")),
        ("<a href='?page=3'>Weiter »</a>", Some("?page=3")),
        ("<a href='?page=3'>Suivant ›</a>", Some("?page=3")),
        ("<a href='?page=3'>Siguiente</a>", Some("?page=3")),
        ("<a href='?page=3'>Próxima</a>", Some("?page=3")),
        ("<a href='?page=3'>Volgende</a>", Some("?page=3")),
        ("<a href='?page=3'>Successivo</a>", Some("?page=3")),
        ("<a href='?page=3'>Далее</a>", Some("?page=3")),
        ("<a href='?page=3'>Následující</a>", Some("?page=3")),
        ("<a href='?page=3'>下一页</a>", Some("?page=3")),
        ("<a href='?page=3'>次へ &gt;</a>", Some("?page=3")),
        ("<div class=pagination><a href='?page=1'>«</a><a href='?page=3'>»</a></div>", Some("?page=3")),
        ("<div class=pager><a href='?page=3'>&gt;</a></div>", Some("?page=3")),
        ("<a href='?page=3' class=btn-next><i></i></a>", Some("?page=3")),
        ("<a href='?page=3' aria-label='Next page'><svg></svg></a>", Some("?page=3")),
        ("<a href='?page=3'><img src=r.png alt=Next></a>", Some("?page=3")),
        ("<p><a href='?page=1'>1</a> <b>2</b> <a href='?page=3'>3</a> <a href='?page=4'>4</a></p>", Some("?page=3")),
        (
            "<ul><li><a href='?page=1'>1</a><li class=active><a href='?page=2'>2</a><li><a href='?page=3'>3</a></ul>",
            Some("?page=3"),
        ),
        ("<base href=/list/><a rel=next href='?page=3'>more</a>", Some("/list/?page=3")),
        // and is not found where there is none
        ("<a href='?page=1'>Previous</a>", None),
        ("<a href='/article/9'>Next article</a>", None),
        ("<link rel=next href=/another-story>", None),
        ("<a href='/about'>»</a>", None),
        ("<a href='javascript:next()'>Next</a>", None),
        ("<a href='#'>Next</a>", None),
        ("<a href='?page=2'>Next</a>", None),
        ("<a href='http://other.test/list?page=3'>Next</a>", None),
        ("<p><a href='?page=1'>1</a> <b>2</b></p>", None),
        ("<table class=calendar><tr><td>2<td><a href='/day/3'>3</a><td><a href='/day/4'>4</a></table>", None),
        ("<p>Our next page is great</p><a href='/great'>Read about the next big thing in kettles</a>", None),
    ] {
        let expected = found.map(|href| {
            format!("http://shop.test{}", if href.starts_with('/') { href.to_owned() } else { format!("/list{href}") })
        });
        assert_eq!(next(html, HERE), expected, "{html}");
    }
}

#[test]
fn an_over_long_next_link_is_not_followed() {
    let html = format!("<a rel=next href='/list?{}'>Next</a>", "x".repeat(1 << 20));
    assert_eq!(next(&html, "http://shop.test/list"), None);
}

fn shown(html: &str, url: &str) -> (&'static str, Option<String>) {
    let tree = Tree::parse(html);
    let paging = paging(&tree, &Url::parse(url).expect("a URL of the table"), NextPolicy::AsShown);
    let href = match paging {
        Paging::Next(node) => tree.attribute(node, "href").map(str::to_owned),
        _ => None,
    };
    (paging.word(), href)
}

#[test]
fn a_walk_goes_on_to_older_posts_however_they_are_marked() {
    for html in [
        "<a href=/page/3>Older posts</a> <a href=/>Newer posts</a>",
        "<div class=nav-previous><a href=/page/3>← Older posts</a></div>\
         <div class=nav-next><a href=/>Newer posts →</a></div>",
        "<div class=nav-previous><a href=/page/3>Ältere Beiträge</a></div>\
         <div class=nav-next><a href=/page/1>Neuere Beiträge</a></div>",
        "<a href=/page/1>« Next posts</a> <a href=/page/3>Previous posts »</a>",
    ] {
        assert_eq!(next(html, "http://blog.test/page/2").as_deref(), Some("http://blog.test/page/3"), "{html}");
    }
}

#[test]
fn what_a_blog_shows_as_next_is_what_it_marks_so() {
    const HERE: &str = "http://blog.test/page/2";
    for (html, found) in [
        ("<a href=/page/3>Older posts</a> <a href=/>Newer posts</a>", Some("/")),
        (
            "<div class=nav-previous><a href=/page/3>← 過去の投稿</a></div><div class=nav-next><a href=/>新しい投稿 →</a></div>",
            Some("/"),
        ),
        ("<a href=/page/3>Older posts</a>", None),
        ("<a class=next_posts href=/page/3>Older articles</a> <a href=/>Newer articles</a>", Some("/page/3")),
        (
            "<link rel=next href=/page/3><a href=/page/3>Older articles</a> <a rel=prev href=/>Newer articles</a>",
            Some("/page/3"),
        ),
        // The head and the links that a reader sees may contradict each other.
        ("<link rel=next href=/page/3><div class=nav-previous><a href=/page/3>Older posts</a></div>", None),
        ("<link rel=next href=/page/3><p>nothing to click</p>", None),
        ("<link rel=next href=/page/3><a href=/page/3>Continue</a>", Some("/page/3")),
    ] {
        let (kind, href) = shown(html, HERE);
        assert_eq!(href.as_deref(), found, "{html}");
        assert_eq!(kind, if found.is_some() { "next" } else { "none" }, "{html}");
    }
}

#[test]
fn a_page_without_a_next_link_says_how_it_goes_on() {
    const HERE: &str = "http://shop.test/list?page=3";
    for (html, kind) in [
        ("<ul class=pager><li><a href='?page=1'>1</a><li><a href='?page=2'>2</a><li>3</ul>", "pages"),
        ("<button>Load more hotels</button>", "more"),
        ("<a href='#'>Mehr anzeigen</a>", "more"),
        ("<a href='javascript:more()'>Показать ещё</a>", "more"),
        ("<button>Buy</button>", "none"),
        ("<a href='/more'>Show more about us and all our shops</a>", "none"),
        ("", "none"),
    ] {
        assert_eq!(shown(html, HERE), (kind, None), "{html}");
    }
}

#[test]
fn addresses_that_count_tell_where_the_reader_is() {
    for (here, html, found) in [
        // no number is marked, all are links
        (
            "/list?page=2",
            "<p><a href='?page=1'>1</a> <a href='?page=2'>2</a> <a href='?page=3'>3</a></p>",
            Some("?page=3"),
        ),
        ("/list/page/2?s=7", "<p><a href='/list/page/2'>2</a> <a href='/list/page/3'>3</a></p>", Some("/list/page/3")),
        ("/list-2.html", "<a href=/list-3.html rel=next><img src=r.gif></a>", Some("/list-3.html")),
        ("/", "<a href='/events?page=1'>More upcoming events</a>", Some("/events?page=1")),
        ("/", "<a href='/?p=551'>More about kettles</a>", None),
        (
            "/",
            "<p class=pagination><a href='/list?page=2'><i class='fa fa-angle-right'></i></a></p>",
            Some("/list?page=2"),
        ),
    ] {
        let (_, href) = shown(html, &format!("http://shop.test{here}"));
        assert_eq!(href.as_deref(), found, "{here} {html}");
    }
}

/// The labelled pages: `PIEME_CORPUS`, or `shared` beside the repository.
#[test]
#[expect(clippy::print_stderr, reason = "a test that measures nothing must say so")]
fn the_next_link_of_real_pages_is_found() {
    let corpus = std::env::var("PIEME_CORPUS").unwrap_or_else(|_| "../shared".to_owned());
    let folder = std::path::Path::new(&corpus).join("robot/pagers");
    let Ok(list) = std::fs::read_to_string(folder.join("pagers.json")) else {
        eprintln!("not measured: no {}", folder.display());
        return;
    };
    #[derive(serde::Deserialize)]
    struct PagerPageCase {
        file: String,
        url: String,
        kind: String,
        next_href: Vec<String>,
    }
    let cases: Vec<PagerPageCase> = serde_json::from_str(&list).expect("the corpus is JSON");
    let (mut found, mut wanted, mut wrong, mut judged) = (0, 0, 0, 0);
    let mut report = String::new();
    for case in &cases {
        let bytes = std::fs::read(folder.join(&case.file)).expect("a page of the corpus");
        // Decoded already: what the page says of its charset must not matter any more.
        let html = charset::decode(&bytes, None).text;
        let url = Url::parse(&case.url).expect("its URL");
        let tree = Tree::parse(&html);
        let base = links::base(&tree, &url);
        let node = next_node(&tree, &url, NextPolicy::AsShown);
        let got = node.and_then(|node| links::resolve(&base, tree.attribute(node, "href")?));
        let right: Vec<Url> = case.next_href.iter().filter_map(|href| base.join(href).ok()).collect();
        let ok = got.as_ref().is_some_and(|got| right.contains(got));
        let is_wrong = got.is_some() && !ok;
        if case.kind == "next" {
            wanted += 1;
            found += usize::from(ok);
        }
        if case.kind != "pages-only" {
            judged += 1;
            wrong += usize::from(is_wrong);
            if is_wrong || (case.kind == "next" && !ok) {
                report += &format!(
                    "{} {} {}\n   got {:?}\n   want {:?}\n",
                    case.file,
                    case.kind,
                    case.url,
                    got.map(String::from),
                    right.first().map(Url::as_str)
                );
            }
        }
    }
    assert!(found * 100 >= wanted * 95, "found {found} of {wanted}, wrong {wrong} of {judged}\n{report}");
    assert!(wrong * 100 <= judged * 3, "found {found} of {wanted}, wrong {wrong} of {judged}\n{report}");
}
