use std::path::PathBuf;

use proptest::prelude::*;

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Tokenizer, TokenizerOpts};

use super::super::parse_limit::{MAX_DEPTH, MIN_NODE_LIMIT};
use super::super::tree::{NodeContent, NodeId};

use super::*;

/// The tree as `tag(child child) "text"`, attributes left out.
fn outline(tree: &Tree, node: NodeId) -> String {
    let inside: Vec<String> = tree.children(node).map(|child| outline(tree, child)).collect();
    match tree.kind(node) {
        NodeContent::Text(text) => format!("{:?}", text.trim()),
        _ if inside.is_empty() => tree.tag(node).to_owned(),
        _ => format!("{}({})", tree.tag(node), inside.join(" ")),
    }
}

fn check(html: &str, expected: &str) {
    let tree = Tree::parse(html);
    assert_eq!(outline(&tree, tree.root()), format!("({expected})"), "{html}");
    tree.check();
}

#[test]
fn pages_are_read_as_browsers_read_them() {
    check("<p>one<p>two", r#"html(head body(p("one") p("two")))"#);
    check("<dl><dt>a<dd>b<dt>c<dd>d</dl>", r#"html(head body(dl(dt("a") dd("b") dt("c") dd("d"))))"#);
    check("<table><tr><td>1<td>2</table>", r#"html(head body(table(tbody(tr(td("1") td("2"))))))"#);
    check("<table>lost<tr><td>1</table>", r#"html(head body("lost" table(tbody(tr(td("1"))))))"#);
    check("<b>x<p>y</b>z</p>", r#"html(head body(b("x") p(b("y") "z")))"#);
    check("a<!-- gone -->b<br>c", r#"html(head body("a" "b" br "c"))"#);
    check("<template><p>no</p></template><p>yes", r#"html(head(template) body(p("yes")))"#);
    check("<meta charset=utf-8><p>kept", r#"html(head(meta) body(p("kept")))"#);
    check("<script>x</script><p>kept", r#"html(head(script("x")) body(p("kept")))"#);
    check("no tag\nat all", r#"html(head body(pre("no tag\nat all")))"#);
    check("", "html(head body)");
}

/// The page as html5ever itself takes it apart.
fn parse_by_html5ever(html: &str) -> Tree {
    let names = NameArena::default();
    let tokenizer = Tokenizer::new(CappedTreeBuilder::new(&names, html.len()), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from_slice(html));
    // A script's end or a `<meta charset>` only hands control back so that a browser could act on it.
    while !matches!(tokenizer.feed(&input), TokenizerResult::Done) {}
    tokenizer.end();
    tokenizer.sink.tree()
}

/// Everything that a page holds, as text.
fn whole(tree: &Tree) -> String {
    let node = |node: NodeId| {
        let depth = tree.ancestors(node).count();
        match tree.kind(node) {
            NodeContent::Element(element) => {
                format!("{depth} {} {:?}", &**element.name, element.attributes().collect::<Vec<_>>())
            }
            NodeContent::Text(text) => format!("{depth} {text:?}"),
            NodeContent::Document => String::new(),
        }
    };
    tree.subtree(tree.root()).map(node).collect::<Vec<_>>().join("\n")
}

fn check_as_html5ever(html: &str) {
    assert_eq!(whole(&parse(html)), whole(&parse_by_html5ever(html)), "{html}");
}

#[test]
fn odd_markup_is_read_as_html5ever_reads_it() {
    for html in [
        "<!DOCTYPE html PUBLIC \"-//W3C//DTD HTML 4.01//EN\" 'http://x'><p><table><tr><td>x",
        "<!doctype html system><p><table>",
        "<!doctype><p><table>",
        "<!doctype html public 'a' b><p><table>",
        "<!doctype html public \"-//w3c//dtd html 4.01 transitional//",
        "<!--><p>a<!---><p>b<!-- x --!><p>c<!-- <!-- --><p>d<!-",
        "<?xml version='1.0'?><p></ x>y</>z<3 <",
        "</",
        "<a href=?a=1&b=2&copy=3&copy&lt;x&ampy title='&eacute;&#233;&#x80;&#0;&bogus;' TITLE=2 x>&copy &notit; &#150 \
         &#;",
        "<A HREF = 'x' / =y z= w=>t</A b=c>u<img/><br/ >",
        "<script>a</scripty></script >b<script><!-- <script> x </script> --> y</script>c<script><!--></script>d",
        "<style>a</p></style><title>a &amp; b</title><textarea>\n&lt;x</textarea><noscript><p>n</noscript>",
        "<svg><![CDATA[ a <b> ]]><path/></svg><![CDATA[ c ]]>d<math><mi>x</math>",
        "a\r\nb\rc<pre>\r\nd</pre>\u{feff}",
        "\u{feff}<p>a\0b<plaintext>x</plaintext>&amp;",
        "<plaintext>x</plaintext>&amp;<p>",
        "<p a='unclosed",
        "<p a=1",
        "<iframe><p></iframe><xmp><b></xmp><select><option>a<p>b</select>é<ü>",
    ] {
        check_as_html5ever(html);
    }
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that had nothing to look at says so")]
fn pages_of_the_corpus_are_read_as_html5ever_reads_them() {
    let root = std::env::var_os("PIEME_CORPUS").map_or_else(|| PathBuf::from("../shared"), PathBuf::from);
    let Ok(sites) = std::fs::read_dir(root.join("corpus")) else {
        eprintln!("no corpus at {}: set PIEME_CORPUS", root.display());
        return;
    };
    for site in sites.flatten() {
        let files = std::fs::read_dir(site.path()).into_iter().flatten().flatten().map(|file| file.path());
        for file in files.filter(|file| file.extension().is_some_and(|it| it == "html")) {
            let Ok(bytes) = std::fs::read(&file) else { continue };
            let html = super::super::charset::decode(&bytes, None).text;
            assert!(whole(&parse(&html)) == whole(&parse_by_html5ever(&html)), "{}", file.display());
        }
    }
}

/// Tags whose attributes reach the tree by different ways, and those that make the builder open, move or drop them.
const TAGS: [&str; 34] = [
    "<a href=1>",
    "<a href=2 class=x>",
    "</a>",
    "<b>",
    "<b class=x>",
    "<b x=1 y=2>",
    "<b y=2 x=1>",
    "</b>",
    "<i id=i>",
    "</i>",
    "<font color=red>",
    "</font>",
    "<nobr id=n>",
    "<div class=d>",
    "</div>",
    "<p class=p>",
    "<li id=l>",
    "<table class=t>",
    "</table>",
    "<tr id=r>",
    "<td id=c>",
    "<col span=2>",
    "<caption id=c>",
    "<input type=hidden name=h>",
    "<input name=s>",
    "<select id=s>",
    "<option value=o>",
    "<html lang=x>",
    "<body id=b>",
    "<body class=c>",
    "<image src=i>",
    "<svg viewbox=0><path d=M/>",
    "</svg>",
    "<template id=t>",
];

proptest! {
    #[test]
    fn any_markup_is_read_as_html5ever_reads_it(
        parts in proptest::collection::vec(
            prop_oneof![
                "[a-z<>/!&;=\"'# -]{1,6}",
                proptest::sample::select(&TAGS[..]).prop_map(str::to_owned),
                proptest::sample::select(&TAGS[..]).prop_map(str::to_owned),
                Just("<p>".to_owned()), Just("</p>".to_owned()), Just("<table><tr>".to_owned()),
                Just("<script>".to_owned()), Just("</script>".to_owned()), Just("<!--".to_owned()),
                Just("-->".to_owned()), Just("<a href='".to_owned()), Just("&amp".to_owned()),
                Just("<title>".to_owned()), Just("</title".to_owned()), Just("<!DOCTYPE html ".to_owned()),
                Just("PUBLIC \"".to_owned()), Just("<svg>".to_owned()), Just("<![CDATA[".to_owned()),
                Just("]]>".to_owned()), Just("&#x".to_owned()), Just("<style>".to_owned()), Just("\r\n".to_owned()),
            ],
            0..24,
        ),
    ) {
        check_as_html5ever(&parts.concat());
    }
}

#[test]
fn text_is_collapsed_and_without_scripts() {
    let tree = Tree::parse("<p> a\u{a0}\n b <script>x()</script><b>c</b></p>");
    assert_eq!(tree.text(tree.root()), "a b c");
}

#[test]
fn a_million_nested_elements_are_flattened() {
    let tree = Tree::parse(&"<div>x".repeat(100_000));
    assert_eq!(tree.limit, Some(ParseLimit::TooDeep(MAX_DEPTH)));
    let deepest = tree.subtree(tree.root()).map(|node| tree.ancestors(node).count()).max();
    assert!(deepest.is_some_and(|depth| depth <= MAX_DEPTH as usize + 2), "{deepest:?}");
    let after = Tree::parse(&format!("{}{}<p>after</p>", "<div>".repeat(2_000), "</div>".repeat(2_000)));
    let p = after.elements("p").next().expect("what follows is kept");
    assert_eq!(after.ancestors(p).count(), 3, "and stands outside");
}

#[test]
fn misnested_formatting_does_not_multiply_without_end() {
    let mut html = String::new();
    for i in 0..1_500 {
        html.push_str(&format!("<b i={i}><i i={i}>"));
    }
    html.push_str(&"<p>x</b>".repeat(1_500));
    let tree = Tree::parse(&html);
    assert!(tree.limit.is_some());
    assert!(tree.len() <= MIN_NODE_LIMIT + 10_000, "{}", tree.len());
}

#[test]
fn a_page_with_more_nodes_than_are_read_is_cut() {
    let names = NameArena::default();
    let mut guard = CappedTreeBuilder::new(&names, 0);
    guard.max_nodes = 1_000;
    tokenize(&"<li>x".repeat(2_000), &guard);
    let tree = guard.tree();
    assert_eq!(tree.limit, Some(ParseLimit::TooManyNodes(1_000)));
    assert!((990..=1_010).contains(&tree.len()), "{}", tree.len());
}

#[test]
fn a_long_table_is_read_to_its_end() {
    let table = |rows: usize| format!("<table>{}</table>", "<tr><td>1<td>2<td>3\n".repeat(rows));
    let long = Tree::parse(&table(100_000));
    assert_eq!((long.limit, long.elements("tr").count()), (None, 100_000));
}

#[test]
fn a_cut_page_says_which_limit_it_reached_how_large_it_is_and_what_to_do() {
    let said = ParseLimit::TooManyNodes(5_000_000).sentence("https://shop.example/all", 21_000_000);
    assert!(
        said.starts_with("https://shop.example/all (21.0 MB) has more than 5,000,000 elements and texts"),
        "{said}"
    );
    assert!(said.contains("smaller pages"), "{said}");
    for cut in [ParseLimit::TooDeep(MAX_DEPTH), ParseLimit::TooManyAttributes] {
        let said = cut.sentence("page.html", 100_000);
        assert!(said.starts_with("page.html (100 kB) ") && said.contains("; use another page"), "{said}");
    }
}

#[test]
fn unclosed_items_of_old_pages_are_not_taken_for_depth() {
    let tree = Tree::parse(&"<li>x".repeat(5_000));
    assert_eq!(tree.limit, None);
    assert_eq!(tree.elements("li").count(), 5_000);
}
