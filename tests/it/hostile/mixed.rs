//! Pages that are expensive in several ways at once: many candidate lists, rows that all differ in structure, texts
//! that can be split in many ways, and lists that are both deep and wide.

use super::pages::{Hostile, Random, fill, text, wrapped};

pub const PAGES: &[Hostile] = &[
    Hostile {
        name: "small tables of one look",
        make: |size| {
            fill(size, |i| {
                format!("<div class=box><h3>{i}</h3><table class=t><tr><th>a<th>b<tr><td>{i}<td>x</table></div>")
            })
        },
    },
    Hostile {
        name: "small tables, other titles",
        make: |size| fill(size, |i| format!("<table><tr><th>a{i}<th>b{i}<tr><td>{i}<td>x<tr><td>y<td>{i}</table>")),
    },
    Hostile {
        name: "classes x siblings",
        make: |size| fill(size, |i| format!("<p class='a{} b{}'>{i}</p>", i % 97, i % 89)),
    },
    Hostile {
        name: "classes x parents",
        make: |size| fill(size, |i| format!("<div class=g{}><p class=c{}>{i}</p></div>", i % 211, i % 197)),
    },
    Hostile { name: "deep and wide", make: |size| deep_and_wide(size, 60, 40) },
    Hostile { name: "deep and wide, classes", make: |size| deep_and_wide_classes(size) },
    Hostile { name: "wide at every level", make: |size| deep_and_wide(size, 400, 30) },
    Hostile {
        name: "text pieces",
        make: |size| wrapped("<ul>", size, |i| format!("<li>{}", "a <b>b</b> ".repeat(i % 60))),
    },
    Hostile { name: "text pieces, one run", make: |size| wrapped("<p>", size, |i| format!("w{i} <i>x</i> ")) },
    Hostile {
        name: "texts and breaks in rows",
        make: |size| wrapped("<ul>", size, |i| format!("<li>{}", lines(i, 70))),
    },
    Hostile { name: "optional cells", make: |size| wrapped("<table>", size, optional_cells) },
    Hostile { name: "optional fields, own class", make: |size| wrapped("<ul>", size, optional_fields) },
    Hostile { name: "lists in rows", make: |size| wrapped("<ul>", size, lists_in_rows) },
    Hostile { name: "long lists in rows", make: |size| wrapped("<ul>", size, |i| long_list_in_row(i, 250)) },
    Hostile { name: "lists in lists in rows", make: |size| wrapped("<ol>", size, lists_in_lists) },
    Hostile { name: "pre, delimited lines", make: |size| wrapped("<pre>", size, |i| delimited(i, 80)) },
    Hostile { name: "plain, delimited lines", make: |size| fill(size, |i| delimited(i, 80)) },
    Hostile {
        name: "pre, minified json",
        make: |size| wrapped("<pre>", size, |i| format!("{{\"a\":{i},\"b\":[1,2]}},")),
    },
    Hostile {
        name: "pre, json a line",
        make: |size| wrapped("<pre>", size, |i| format!("{{\"a\": {i}, \"b\": [1, 2]}},\n")),
    },
    Hostile {
        name: "pre, links a line",
        make: |size| wrapped("<pre>", size, |i| format!("<a href=/{i}>{i}</a> {} x\n", i * 7)),
    },
    Hostile { name: "pres", make: |size| fill(size, |i| format!("<pre>a {i}\nb {i}\n</pre>")) },
    Hostile {
        name: "links and pictures",
        make: |size| fill(size, |i| format!("<a href=/{i}><img src=/{i}.png alt={i} title=t{i}></a>")),
    },
    Hostile { name: "links and pictures in rows", make: |size| wrapped("<ul>", size, pictures_in_row) },
    Hostile {
        name: "parents of one look",
        make: |size| fill(size, |i| format!("<div><span>{i}</span><span>x</span></div>")),
    },
    Hostile { name: "parents, nearly of one look", make: |size| fill(size, nearly_alike) },
    Hostile {
        name: "sections of lists",
        make: |size| fill(size, |i| format!("<section><h2>{i}</h2>{}</section>", items(i, 30))),
    },
    Hostile {
        name: "headings of other looks",
        make: |size| fill(size, |i| format!("<h4 class=h{}x>{i}</h4><p>y</p>", letters(i % 300))),
    },
    Hostile { name: "labels, all different", make: |size| wrapped("<ul>", size, |i| format!("<li>{}", labels(i))) },
    Hostile {
        name: "long cells with many signs",
        make: |size| wrapped("<table>", size, |i| format!("<tr><td>{}<td>{i}", signs(i, 180))),
    },
    Hostile {
        name: "words of equal count",
        make: |size| wrapped("<ul>", size, |i| format!("<li>a{i} b{i} c{i} d{i} e{i} f{i} g{i} h{i}")),
    },
    Hostile {
        name: "rows of odd classes",
        make: |size| wrapped("<ul>", size, |i| format!("<li class='r {}'><b>{i}</b>", letters(i))),
    },
    Hostile { name: "random tree in rows", make: |size| random_rows(size) },
    Hostile {
        name: "forms",
        make: |size| fill(size, |i| format!("<form><label>l{i}<input name=n{i} value=v{i}></label></form>")),
    },
    Hostile { name: "json, rows of optional keys", make: |size| json_optional(size) },
    Hostile { name: "json, deep and wide", make: |size| json_deep(size) },
    Hostile { name: "json in a script", make: |size| json_in_script(size) },
];

/// Nested levels, each with the same number of items before the next one begins.
fn deep_and_wide(size: usize, depth: usize, width: usize) -> Vec<u8> {
    fill(size, |i| {
        let level =
            |k: usize| format!("<div>{}", (0..width).map(|j| format!("<p>{}</p>", i + j * k)).collect::<String>());
        (0..depth).map(level).collect::<String>() + &"</div>".repeat(depth)
    })
}

fn deep_and_wide_classes(size: usize) -> Vec<u8> {
    fill(size, |i| {
        let level = |k: usize| format!("<div class={}><p class={}>{k}</p><p>{i}</p>", letters(i + k), letters(i * k));
        (0..50).map(level).collect::<String>() + &"</div>".repeat(50)
    })
}

fn lines(i: usize, count: usize) -> String {
    (0..count).map(|k| format!("l{k}: {}<br>", i * k)).collect()
}

/// Among a thousand rows, no two have the same cells.
fn optional_cells(i: usize) -> String {
    let cell =
        |k: usize| if (i >> (k % 10)) & 1 == 1 { format!("<td class={}>{}", letters(k), i + k) } else { String::new() };
    format!("<tr>{}", (0..60).map(cell).collect::<String>())
}

fn optional_fields(i: usize) -> String {
    let field = |k: usize| match (i * 31 + k * 17) % 7 {
        0..3 => format!("<span class={}>{i} {k}</span>", letters(k)),
        3 => format!("<b><i class={}>{k}</i></b>", letters(k)),
        _ => String::new(),
    };
    format!("<li>{}</li>", (0..120).map(field).collect::<String>())
}

fn lists_in_rows(i: usize) -> String {
    let list = |k: usize| format!("<p class={}>{}</p>", letters(k), "<a href=x>t</a>, ".repeat((i + k) % 9));
    format!("<li>{}</li>", (0..8).map(list).collect::<String>())
}

fn long_list_in_row(i: usize, most: usize) -> String {
    let tags: String = (0..i * 37 % most).map(|k| format!("<a href=/{k}>tag{}</a> ", i + k)).collect();
    format!("<li><b>{i}</b>{tags}</li>")
}

fn lists_in_lists(i: usize) -> String {
    let inner = |k: usize| format!("<ul>{}</ul>", (0..(i + k) % 5).map(|j| format!("<li>{j}{i}")).collect::<String>());
    format!("<li>{i}{}</li>", (0..i % 6).map(inner).collect::<String>())
}

fn delimited(i: usize, fields: usize) -> String {
    let field = |k: usize| format!("{}{}", i * k % 1000, [",", "; ", " | ", "\t", ": ", " - "][k % 6]);
    (0..fields).map(field).collect::<String>() + "\n"
}

fn pictures_in_row(i: usize) -> String {
    let picture = |k: usize| format!("<a href=/{i}/{k} title=t{k}><img src=/{k}.png alt='a {i}'></a>");
    format!("<li>{}</li>", (0..40).map(picture).collect::<String>())
}

fn nearly_alike(i: usize) -> String {
    let tag = ["b", "i", "u", "em", "code", "span", "small"][i % 7];
    format!("<div class='card {}'><{tag}>{i}</{tag}><p>x</p><p>{i}</p></div>", letters(i % 50))
}

fn items(i: usize, most: usize) -> String {
    format!("<ul>{}</ul>", (0..i % most).map(|k| format!("<li><a href=/{k}>{i}</a> {k}")).collect::<String>())
}

fn labels(i: usize) -> String {
    (0..20).map(|k| format!("<p>Label {}: {i}</p>", letters(k + i % 40))).collect()
}

fn signs(i: usize, count: usize) -> String {
    (0..count).map(|k| format!("{}{}", (i + k) % 10, [" (", ") ", "; ", " $", "% ", " | "][k % 6])).collect()
}

/// A number written in letters, since the learner ignores class names with digits.
fn letters(mut number: usize) -> String {
    let mut word = String::from("k");
    loop {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return word;
        }
    }
}

fn random_rows(size: usize) -> Vec<u8> {
    const TAGS: [&str; 6] = ["b", "i", "p", "span", "div", "a"];
    let row = |i: usize| {
        let mut random = Random(i as u64 * 977 + 13);
        let part = |_| {
            let tag = TAGS[(random.next() >> 20) as usize % TAGS.len()];
            format!("<{tag} class=c{}>{}</{tag}>", (random.next() >> 20) % 5, (random.next() >> 20) % 50)
        };
        format!("<li>{}</li>", (0..i % 30).map(part).collect::<String>())
    };
    wrapped("<ul>", size, row)
}

fn json_optional(size: usize) -> Vec<u8> {
    let row = |i: usize| {
        let keys = (0..40).filter(|k| (i >> (k % 11)) & 1 == 1);
        format!("{{{}\"z\":{i}}},", keys.map(|k| format!("\"{}\":\"{i} {k}\",", letters(k))).collect::<String>())
    };
    format!("[{}0]", text(size, row)).into_bytes()
}

fn json_deep(size: usize) -> Vec<u8> {
    let row = |i: usize| {
        let open: String = (0..40).map(|k| format!("{{\"l\":[{i},{k}],\"n\":")).collect();
        format!("{open}{i}{},", "}".repeat(40))
    };
    format!("[{}0]", text(size, row)).into_bytes()
}

fn json_in_script(size: usize) -> Vec<u8> {
    let script = text(size / 2, |i| format!("{{\"@type\":\"Thing\",\"name\":\"n{i}\",\"price\":{i}}},"));
    let list = text(size / 2, |i| format!("<li>n{i} <b>{i}</b></li>"));
    format!("<script type=application/ld+json>[{script}0]</script><ul>{list}</ul>").into_bytes()
}
