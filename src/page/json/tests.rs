use super::*;
use crate::page::NodeId;

fn source(tree: &Tree, node: NodeId) -> String {
    let inside: String = tree.children(node).map(|child| source(tree, child)).collect();
    let Some(element) = tree.element(node) else { return tree.own_text(node).map_or(inside, str::to_owned) };
    let attributes: String = element.attributes().map(|(name, value)| format!(" {}={value}", &**name)).collect();
    format!("<{}{attributes}>{inside}</{}>", &**element.name, &**element.name)
}

fn check(json: &str, expected: &str) {
    let tree = parse(json).unwrap_or_else(|| panic!("{json} is JSON"));
    assert_eq!(source(&tree, tree.root()), format!("<json>{expected}</json>"), "{json}");
    tree.check();
}

#[test]
fn keys_are_elements_and_arrays_are_lists_of_items() {
    check(
        r#"{"items":[{"name":"A","price":3,"tags":["x","y"]}]}"#,
        "<items><item class=items><name>A</name><price>3</price>\
         <tags><item class=tags>x</item><item class=tags>y</item></tags></item></items>",
    );
    check(
        r#" [ [1, 2] , [3] ] "#,
        &["<item class=json><c1>1</c1><c2>2</c2></item>", "<item class=json><c1>3</c1></item>"].concat(),
    );
    check("{}", "");
    check("[]", "");
}

#[test]
fn values_are_the_text_they_are_written_as() {
    check(
        r#"{"a":1.50,"b1":-0e+7,"c":true,"d":12345678901234567890123,"e":"<i>&amp;","f":"\u00e4\n\"","g":"\ud800"}"#,
        "<a_ key=a>1.50</a_><b1>-0e+7</b1><c>true</c><d>12345678901234567890123</d><e><i>&amp;</e><f>ä\n\
         \"</f><g>\\ud800</g>",
    );
    check(r#"{"x":null,"y":"","z":[],"zz":{}}"#, "<x></x><y></y><z></z><zz></zz>");
}

#[test]
fn the_order_of_keys_says_nothing_and_the_order_of_items_does() {
    check(r#"{"z":1,"m":2,"m":3,"c":4}"#, "<c>4</c><m>2</m><m>3</m><z>1</z>");
    check(r#"["z","c"]"#, "<item class=json>z</item><item class=json>c</item>");
}

#[test]
fn a_key_that_is_no_tag_or_would_be_read_as_html_becomes_one_and_is_kept() {
    check(r#"{"first name":1}"#, "<first_name key=first name>1</first_name>");
    check(r#"{"2024":1}"#, "<_2024 key=2024>1</_2024>");
    check(r#"{"":1}"#, "<_ key=>1</_>");
    check(r#"{"a/b.c":1}"#, "<a_b_c key=a/b.c>1</a_b_c>");
    check(r#"{"Größe":1}"#, "<Größe>1</Größe>");
    check(r#"{"script":1}"#, "<script_ key=script>1</script_>");
    check(r#"{"pre":"1\n2"}"#, "<pre_ key=pre>1\n2</pre_>");
    let long = parse(&format!("{{\"{}\":1}}", "k".repeat(100_000))).expect("it is JSON");
    assert!(long.subtree(long.root()).all(|node| long.tag(node).len() <= MAX_TAG + 1));
}

#[test]
fn json_lines_are_an_array() {
    let items = "<item class=json><x>1</x></item><item class=json><x>2</x></item>";
    check("{\"x\":1}\n{\"x\":2}\n", items);
    check("\r\n{\"x\":1}\r\n\r\n{\"x\":2}", items);
    check("[1]\n[2]", &["<item class=json><c1>1</c1></item>", "<item class=json><c1>2</c1></item>"].concat());
}

#[test]
fn what_is_not_json_to_its_end_is_not_json() {
    for text in [
        "",
        "x",
        "1",
        "\"x\"",
        "null",
        "[1,]",
        "{\"a\":1,}",
        "[1",
        "{\"a\":",
        "[1] x",
        "{'a':1}",
        "{\"a\":1} 2",
        "[NaN]",
        "[1]\n[2",
        "{a:1}",
        "[01]",
        "[\"a\nb\"]",
        "<p>[1]</p>",
        "[1] // one",
    ] {
        assert!(parse(text).is_none(), "{text:?}");
    }
}

#[test]
fn nesting_without_end_is_left_out_and_named() {
    let depth = 100_000;
    let tree = parse(&format!("{{\"x\":{}1{},\"y\":2}}", "[".repeat(depth), "]".repeat(depth))).expect("it is JSON");
    assert_eq!(tree.limit, Some(ParseLimit::TooDeep(128)));
    let deepest = tree.subtree(tree.root()).map(|node| tree.ancestors(node).count()).max();
    assert!(deepest.is_some_and(|it| it <= MAX_NESTED), "{deepest:?}");
    assert_eq!(tree.elements("y").map(|y| tree.text(y)).collect::<Vec<_>>(), ["2"], "what follows is kept");
    let nested = (0..200).fold("1".to_owned(), |inner, _| format!(r#"{{"x":{inner},"y":"z"}}"#));
    let tree = parse(&nested).expect("it is JSON");
    assert_eq!((tree.limit, tree.elements("y").count()), (Some(ParseLimit::TooDeep(128)), MAX_NESTED));
    assert!(tree.elements("y").all(|y| tree.text(y) == "z"), "a key that was left out is nobody's key");
}

#[test]
fn more_nodes_than_a_page_may_have_are_left_out_and_named() {
    let most = 10_000;
    let tree = parse_within(&format!("[{}[[0]]]", "[],".repeat(most)), most).expect("it is JSON");
    assert_eq!(tree.limit, Some(ParseLimit::TooManyNodes(most)));
    assert!(tree.len() <= most, "{}", tree.len());
}
