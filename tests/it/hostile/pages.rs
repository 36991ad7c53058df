//! Pages that are written to be expensive: each is the worst case of some stage between bytes and rows.
//!
//! Shared by the tests (nothing panics, every limit is named) and `cargo bench --bench hostile` (the cost of each).

use std::fmt::Write;

/// A page by name, `size` bytes long or a little more.
pub struct Hostile {
    pub name: &'static str,
    pub make: fn(usize) -> Vec<u8>,
}

pub const PAGES: &[Hostile] = &[
    Hostile { name: "nested div", make: |size| fill(size, |_| "<div>x".into()) },
    Hostile { name: "nested spans, closed", make: |size| nest(size, "<span>", "</span>") },
    Hostile { name: "siblings", make: |size| fill(size, |_| "<i>".into()) },
    Hostile { name: "empty siblings", make: |size| fill(size, |_| "<p>".into()) },
    Hostile { name: "items with text", make: |size| fill(size, |_| "<li>x".into()) },
    Hostile { name: "one tag, many attributes", make: |size| one_tag(size, |i| format!(" a{i}=1")) },
    Hostile { name: "one tag, attributes without value", make: |size| one_tag(size, |i| format!(" {i}")) },
    Hostile { name: "html tags, new attributes", make: |size| fill(size, |i| format!("<html a{i}>")) },
    Hostile { name: "body tags, new attributes", make: |size| fill(size, |i| format!("<body a{i} b{i} c{i} d{i}>")) },
    Hostile {
        name: "attributes of 1 MB",
        make: |size| format!("<p title='{}'>x<p title=b>y", "v ".repeat(size / 2)).into(),
    },
    Hostile { name: "classes on one tag", make: |size| many_classes(size) },
    Hostile { name: "only <", make: |size| fill(size, |_| "<".into()) },
    Hostile { name: "only &", make: |size| fill(size, |_| "&".into()) },
    Hostile { name: "only &lt;", make: |size| fill(size, |_| "&lt;".into()) },
    Hostile { name: "only <!--", make: |size| fill(size, |_| "<!--".into()) },
    Hostile { name: "comments", make: |size| fill(size, |_| "<!---->".into()) },
    Hostile { name: "one long line", make: |size| fill(size, |_| "x".into()) },
    Hostile { name: "one long word in a tag", make: |size| format!("<p>{}</p>", "x".repeat(size)).into() },
    Hostile { name: "pre, empty lines", make: |size| format!("<pre>{}", "\n".repeat(size)).into() },
    Hostile { name: "pre, short lines", make: |size| format!("<pre>{}", "a b\n".repeat(size / 4)).into() },
    Hostile { name: "pre, other lines", make: |size| wrapped("<pre>", size, |i| format!("{i} {}\n", i * 7919 % 1000)) },
    Hostile { name: "plain short lines", make: |size| fill(size, |i| format!("{}\n", i % 10)) },
    Hostile { name: "misnested b i", make: |size| fill(size, |_| "<b><i>x</b>".into()) },
    Hostile { name: "misnested, distinct", make: |size| misnested(size) },
    Hostile { name: "adoption agency", make: |size| fill(size, |_| "<b><p>x</b>".into()) },
    Hostile { name: "formatting around blocks", make: |size| fill(size, |i| format!("<font a={i}><div>")) },
    Hostile { name: "formatting, paragraphs", make: |size| fill(size, |i| format!("<b c={}><p>", i % 50)) },
    Hostile { name: "unclosed a", make: |size| fill(size, |_| "<a href=x>y".into()) },
    Hostile { name: "unclosed nobr and code", make: |size| fill(size, |_| "<nobr><code>x".into()) },
    Hostile { name: "foster text", make: |size| wrapped("<table>", size, |_| "x<tr>".into()) },
    Hostile { name: "foster elements", make: |size| wrapped("<table>", size, |_| "<b>x".into()) },
    Hostile { name: "foster divs", make: |size| wrapped("<table>", size, |_| "<div>x</div><td>".into()) },
    Hostile { name: "tables in tables", make: |size| fill(size, |_| "<table><td>".into()) },
    Hostile { name: "tables in rows", make: |size| fill(size, |_| "<table><tr>".into()) },
    Hostile { name: "options", make: |size| wrapped("<select>", size, |_| "<option>x".into()) },
    Hostile { name: "selects", make: |size| fill(size, |_| "<select><optgroup>".into()) },
    Hostile { name: "templates", make: |size| fill(size, |_| "<template>".into()) },
    Hostile { name: "svg in math", make: |size| fill(size, |_| "<svg><math><desc>".into()) },
    Hostile { name: "end tags", make: |size| wrapped("<div><span>", size, |i| format!("</x{}>", i % 9)) },
    Hostile { name: "end p, end br", make: |size| fill(size, |_| "</p></br>".into()) },
    Hostile { name: "distinct tags", make: |size| fill(size, |i| format!("<t{i}>x</t{i}>")) },
    Hostile { name: "distinct tags in items", make: |size| fill(size, |i| format!("<li><t{i}>x</t{i}></li>")) },
    Hostile { name: "distinct classes", make: |size| fill(size, |i| format!("<p class=c{i}>x</p>")) },
    Hostile {
        name: "distinct classes, nested",
        make: |size| fill(size, |i| format!("<li class='a{i} b{i}'><b class=d{i}>x</b></li>")),
    },
    Hostile { name: "distinct shapes", make: |size| shapes(size) },
    Hostile { name: "wide shapes", make: |size| wide_shapes(size) },
    Hostile { name: "random bytes", make: |size| Random(7).bytes(size) },
    Hostile { name: "random tags", make: |size| random_tags(size) },
    Hostile { name: "random ascii", make: |size| Random(5).bytes(size).iter().map(|it| 32 + it % 95).collect() },
    Hostile { name: "utf-16 with mark", make: |size| [vec![0xff, 0xfe], Random(3).bytes(size)].concat() },
    Hostile {
        name: "utf-16 without mark",
        make: |size| fill(size / 2, |_| "<li>a".into()).iter().flat_map(|&it| [it, 0]).collect(),
    },
    Hostile { name: "nul bytes", make: |size| vec![0; size] },
    Hostile { name: "bytes 0xff", make: |size| vec![0xff; size] },
    Hostile { name: "iso-2022 escapes", make: |size| b"\x1b$B".iter().copied().cycle().take(size).collect() },
    Hostile { name: "periodic <i>a</i>", make: |size| fill(size, |_| "<i>a</i>".into()) },
    Hostile { name: "periodic words", make: |size| fill(size, |_| "<b>a;b;</b>c;<br>".into()) },
    Hostile { name: "fibonacci tags", make: |size| fibonacci(size) },
    Hostile { name: "grid", make: |size| grid(size, 300) },
    Hostile {
        name: "grid, plain cells",
        make: |size| wrapped("<table>", size, |i| if i % 300 == 0 { "<tr>".into() } else { "<td>1".into() }),
    },
    Hostile { name: "rows of 300 leaves", make: |size| leafy(size, 300) },
    Hostile { name: "rows of 3000 leaves", make: |size| leafy(size, 3000) },
    Hostile { name: "two rows of all leaves", make: |size| leafy(size, size / 30) },
    Hostile { name: "rows of growing length", make: |size| growing(size) },
    Hostile {
        name: "many tables",
        make: |size| fill(size, |i| format!("<table><tr><td>{i}<td>b<tr><td>c<td>{i}</table>")),
    },
    Hostile { name: "many short lists", make: |size| fill(size, |i| format!("<ul><li>{i}<li>{}</ul>", i * 31 % 97)) },
    Hostile {
        name: "delimiters",
        make: |size| wrapped("<ul>", size, |_| "<li>a, b; c: d | e (f) [g] {h} - i / j % k".into()),
    },
    Hostile { name: "only delimiters", make: |size| wrapped("<ul>", size, |_| "<li>;:|,;:|,;:|,;:|,;:|,;:|,".into()) },
    Hostile { name: "three rows of long text", make: |size| long_rows(size, 3) },
    Hostile { name: "a hundred rows of long text", make: |size| long_rows(size, 100) },
    Hostile { name: "headings between rows", make: |size| fill(size, |i| format!("<h3>{i}</h3><p>x</p>")) },
    Hostile { name: "br lines", make: |size| fill(size, |i| format!("{i} x<br>")) },
    Hostile { name: "dl", make: |size| fill(size, |i| format!("<dt>{i}<dd>x")) },
    Hostile { name: "labels", make: |size| fill(size, |i| format!("<p><b>Label {}:</b> {i}</p>", i % 40)) },
    Hostile {
        name: "nested lists",
        make: |size| fill(size, |i| if i % 40 == 0 { "</ul></ul><ul><li>a<ul>".into() } else { format!("<li>{i}") }),
    },
    Hostile { name: "pairs around a list", make: |size| pairs(size) },
    Hostile { name: "binary tree", make: |size| binary_tree(size) },
    Hostile { name: "links", make: |size| fill(size, |i| format!("<li><a href=/p/{i}>{i}</a></li>")) },
    Hostile { name: "json, nested arrays", make: |size| fill(size, |_| "[".into()) },
    Hostile { name: "json, flat array", make: |size| json_list(size, |i| i.to_string()) },
    Hostile { name: "json, empty arrays", make: |size| json_list(size, |_| "[]".into()) },
    Hostile { name: "json, distinct keys", make: |size| json_list(size, |i| format!("{{\"k{i}\":{i}}}")) },
    Hostile {
        name: "json, one object",
        make: |size| format!("{{{}\"z\":0}}", text(size, |i| format!("\"k{i}\":{i},"))).into(),
    },
    Hostile {
        name: "json, objects",
        make: |size| json_list(size, |i| format!("{{\"id\":{i},\"n\":[1,2],\"o\":{{\"p\":null}}}}")),
    },
    Hostile { name: "json, one string", make: |size| format!("[\"{}\"]", "\\u0041".repeat(size / 6)).into() },
    Hostile { name: "json lines", make: |size| fill(size, |i| format!("{{\"a\":{i}}}\n")) },
    Hostile {
        name: "json lines, cut off",
        make: |size| [fill(size, |i| format!("{{\"a\":{i}}}\n")), b"{".to_vec()].concat(),
    },
];

/// `part(0) part(1) …` until the size is reached.
pub fn text(size: usize, part: impl Fn(usize) -> String) -> String {
    let mut out = String::with_capacity(size + 64);
    let mut i = 0;
    while out.len() < size {
        out.push_str(&part(i));
        i += 1;
    }
    out
}

pub fn fill(size: usize, part: impl Fn(usize) -> String) -> Vec<u8> {
    text(size, part).into_bytes()
}

pub fn wrapped(open: &str, size: usize, part: impl Fn(usize) -> String) -> Vec<u8> {
    format!("{open}{}", text(size, part)).into_bytes()
}

fn nest(size: usize, open: &str, close: &str) -> Vec<u8> {
    let depth = size / (open.len() + close.len());
    format!("{}x{}", open.repeat(depth), close.repeat(depth)).into_bytes()
}

fn one_tag(size: usize, attribute: impl Fn(usize) -> String) -> Vec<u8> {
    format!("<p{}>x</p><p>y</p>", text(size, attribute)).into_bytes()
}

fn many_classes(size: usize) -> Vec<u8> {
    let class = text(size / 2, |i| format!("c{i} "));
    format!("<p class='{class}'>x</p><p class='{class}'>y</p>").into_bytes()
}

fn json_list(size: usize, item: impl Fn(usize) -> String) -> Vec<u8> {
    format!("[{}0]", text(size, |i| item(i) + ",")).into_bytes()
}

/// docs/design/safety.md 6.27: half of the page opens elements, the other half closes them in the wrong order.
fn misnested(size: usize) -> Vec<u8> {
    let open = text(size / 2, |i| format!("<b i={i}><i i={i}>"));
    format!("{open}{}", "<p>x</b>".repeat(size / 16)).into_bytes()
}

/// Items that all contain different tags.
fn shapes(size: usize) -> Vec<u8> {
    const TAGS: [&str; 8] = ["b", "i", "u", "em", "code", "span", "small", "sub"];
    let item = |i: usize| {
        let mut item = "<li>".to_owned();
        for (bit, tag) in TAGS.iter().enumerate() {
            if i >> bit & 1 == 1 {
                let _ = write!(item, "<{tag}><x{}>{i}</x{}></{tag}>", i >> 8, i >> 8);
            }
        }
        item + "x</li>"
    };
    wrapped("<ul>", size, item)
}

/// Few items, each with thousands of unique tags.
fn wide_shapes(size: usize) -> Vec<u8> {
    let item =
        |i: usize| format!("<li>{}</li>", text(size / 60, |k| format!("<y{}><z{}>x</z{}></y{}>", i + k, k, k, i + k)));
    wrapped("<ul>", size, item)
}

fn random_tags(size: usize) -> Vec<u8> {
    const PARTS: [&str; 24] = [
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<p>",
        "</p>",
        "<table>",
        "</table>",
        "<tr>",
        "<td>",
        "<a href=x>",
        "</a>",
        "<div>",
        "</div>",
        "<ul>",
        "<li>",
        "</ul>",
        "<select>",
        "<option>",
        "text ",
        "<br>",
        "<form>",
        "<h1>",
        "</h1>",
    ];
    let mut random = Random(11);
    let mut out = Vec::with_capacity(size + 16);
    while out.len() < size {
        out.extend_from_slice(PARTS[(random.next() % PARTS.len() as u64) as usize].as_bytes());
    }
    out
}

/// A Fibonacci word, which has the most repeats for its length.
fn fibonacci(size: usize) -> Vec<u8> {
    let (mut a, mut b) = ("<b>x</b>".to_owned(), "<b>x</b><i>x</i>".to_owned());
    while b.len() < size {
        (a, b) = (b.clone(), b + &a);
    }
    b.truncate(size);
    b.into_bytes()
}

fn grid(size: usize, side: usize) -> Vec<u8> {
    let row = |i: usize| format!("<tr>{}</tr>", (0..side).map(|k| format!("<td>{}</td>", i * k)).collect::<String>());
    wrapped("<table>", size, row)
}

fn leafy(size: usize, leaves: usize) -> Vec<u8> {
    let row =
        |i: usize| format!("<li>{}</li>", (0..leaves).map(|k| format!("<b>{}</b><i>x</i>", i ^ k)).collect::<String>());
    wrapped("<ul>", size, row)
}

fn growing(size: usize) -> Vec<u8> {
    wrapped("<ul>", size, |i| format!("<li>{}</li>", (0..i).map(|k| format!("<b>{k}</b>")).collect::<String>()))
}

fn long_rows(size: usize, rows: usize) -> Vec<u8> {
    let row = |i: usize| format!("<li>{}</li>", text(size / rows, |k| format!("w{} of {}; ", k * 7 % 1000, i + k)));
    wrapped("<ul>", size, row)
}

/// At each level a list of two items, one of which contains all further levels.
fn pairs(size: usize) -> Vec<u8> {
    let levels = "<div><div>x</div>".repeat(240);
    wrapped(&levels, size, |i| format!("<p>{i}</p>"))
}

fn binary_tree(size: usize) -> Vec<u8> {
    fn grow(out: &mut String, depth: u32) {
        if depth == 0 {
            out.push('x');
            return;
        }
        for _ in 0..2 {
            out.push_str("<div>");
            grow(out, depth - 1);
            out.push_str("</div>");
        }
    }
    let mut out = String::new();
    grow(&mut out, (size / 12).ilog2());
    out.into_bytes()
}

/// A small pseudo-random generator, so that a page is the same on every machine.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, size: usize) -> Vec<u8> {
        (0..size).map(|_| (self.next() >> 32) as u8).collect()
    }
}
