use super::*;

/// What is written, without the page's own sheets.
fn body(html_text: &str) -> String {
    let whole = html(&Tree::parse(html_text));
    whole.split_once("</style>").map(|(_, body)| body.to_owned()).unwrap_or(whole)
}

#[test]
fn every_element_carries_the_number_of_its_node() {
    let page = "<ul class=l><li>A <b>1</b></li><li>B</li></ul>";
    let tree = Tree::parse(page);
    let shown = Tree::parse(&html(&tree));
    for tag in ["ul", "li", "b"] {
        let numbers = shown.elements(tag).map(|node| shown.attribute(node, "data-n").unwrap_or("").to_owned());
        let wanted: Vec<String> = tree.elements(tag).map(|node| node.0.to_string()).collect();
        assert_eq!(numbers.collect::<Vec<_>>(), wanted, "{tag}");
    }
    assert_eq!(
        body("<p title='a\"b' onclick=x() data-n=7>x"),
        "<body data-n=3><p data-n=4 title=\"a&quot;b\">x</p></body>"
    );
}

#[test]
fn lines_of_a_listing_can_be_told_apart() {
    assert_eq!(
        body("<pre>a\n<b>c</b></pre>"),
        "<body data-n=3><pre data-n=4><span data-n=5 data-o=0>a\n\
         </span><b data-n=6><span data-n=7 data-o=0>c</span></b></pre></body>"
    );
}

#[test]
fn pictures_and_fields_are_boxes_with_their_words() {
    for (page, wanted) in [
        ("<img src=http://x/ alt='A  red chair' onerror=x()>", "<span class=pieme-box data-n=4>A red chair</span>"),
        ("<img src=x>", "<span class=pieme-box data-n=4>▢</span>"),
        ("<input type=hidden value=token>", ""),
        ("<input type=password value=hunter2>", "<span class=pieme-box data-n=4>▢</span>"),
        (
            "<svg><script>x()</script><a xlink:href='javascript:x()'><text>hi</text></a></svg>",
            "<span class=pieme-box data-n=4>▢</span>",
        ),
    ] {
        assert_eq!(body(page), format!("<body data-n=3>{wanted}</body>"), "{page}");
    }
}

#[test]
fn json_is_shown_by_its_keys() {
    let shown = body(r#"[{"name": "<b>A", "link": "javascript:x()"}]"#);
    assert!(shown.contains("<b>name</b> &lt;b&gt;A</div>"), "{shown}");
}

/// Things that have run, fetched, sent or led somewhere in other people's sanitizers.
const HOSTILE: &[&str] = &[
    "<script>x()</script>",
    "<img src=x onerror=x()>",
    "<svg onload=x()>",
    "<svg><style><img src=x onerror=x()></style></svg>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=x()&gt;\">",
    "<form><math><mtext></form><form><mglyph><style></math><img src onerror=x()>",
    "<noscript><p title=\"</noscript><img src=x onerror=x()>\">",
    "<textarea></textarea><img src=x onerror=x()>",
    "<title></title><script>x()</script>",
    "<xmp><script>x()</script></xmp>",
    "<plaintext><script>x()</script>",
    "<iframe srcdoc='<script>x()</script>'></iframe>",
    "<iframe src=javascript:x()></iframe>",
    "<object data=javascript:x()></object><embed src=x><applet code=x>",
    "<a href=javascript:x() ping=http://x/>x</a>",
    "<form action=http://x/ onsubmit=x()><button formaction=http://x/>x</button><input autofocus onfocus=x()></form>",
    "<meta http-equiv=refresh content='0;url=http://x/'>",
    "<base href=http://x/><link rel=prefetch href=http://x/><link rel=stylesheet href=http://x/>",
    "<body onload=x() background=http://x/>",
    "<table background=http://x/><td background=http://x/>",
    "<video src=http://x/ poster=http://x/ onerror=x()><source src=http://x/></video>",
    "<div style=\"background:url(http://x/)\">x</div>",
    "<style>@import 'http://x/';body{background:url(http://x/)}</style>",
    "<style></sty\\le><script>x()</script></style>",
    "<template><script>x()</script></template>",
    "<div is=x-y slot=x part=x contenteditable autofocus tabindex=1 accesskey=x onfocus=x()>x</div>",
    "<frameset><frame src=javascript:x()></frameset>",
    "<select><option><script>x()</script></select>",
    "<p id='\"><script>x()</script>'>x",
    "<p class='x\" onclick=\"x()'>x",
    "<isindex action=javascript:x()>",
    "<a id=x name=x target=_top rel=opener download>x</a>",
    "<!--><script>x()</script>-->",
    "<portal src=http://x/></portal><fencedframe></fencedframe>",
];

#[test]
fn nothing_that_is_written_can_do_anything() {
    for page in HOSTILE {
        let written = html(&Tree::parse(page));
        // Read again as a browser would, and once more, since some tricks need two goes.
        let mut read = Tree::parse(&written);
        for _ in 0..2 {
            for node in read.subtree(read.root()) {
                let Some(element) = read.element(node) else { continue };
                let tag: &str = element.name;
                let is_ours = matches!(tag, "html" | "head" | "style");
                assert!(
                    is_ours || matches!(rendering_of(tag), Rendering::Tag(kept) if kept == tag),
                    "{page}: <{tag}>: {written}"
                );
                for (name, value) in element.attributes() {
                    let name: &str = name;
                    let is_kept = matches!(name, "data-n" | "data-o" | "open") || kept_value(name, value).is_some();
                    assert!(is_kept, "{page}: {name}: {written}");
                    assert!(name != "style" || !value.contains("url("), "{page}: {value}");
                }
            }
            read = Tree::parse(&html(&read));
        }
    }
}
