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
    struct Case {
        file: String,
        url: String,
        kind: String,
        next_href: Vec<String>,
    }
    let cases: Vec<Case> = serde_json::from_str(&list).expect("the corpus is JSON");
    let (mut found, mut wanted, mut wrong, mut judged) = (0, 0, 0, 0);
    let mut report = String::new();
    for case in &cases {
        let bytes = std::fs::read(folder.join(&case.file)).expect("a page of the corpus");
        // Decoded already: what the page says of its charset must not matter any more.
        let html = charset::decode(&bytes, None).text;
        let url = Url::parse(&case.url).expect("its URL");
        let tree = Tree::parse(&html);
        let got = next_link(&tree, &url);
        let base = link::base(&tree, &url);
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
    assert!(found * 100 >= wanted * 85, "found {found} of {wanted}, wrong {wrong} of {judged}\n{report}");
    assert!(wrong * 100 <= judged * 8, "found {found} of {wanted}, wrong {wrong} of {judged}\n{report}");
}
