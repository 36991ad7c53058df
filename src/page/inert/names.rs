//! Which element is written as which, and which of its attributes.

/// How an element is written.
pub enum As {
    /// Under this tag.
    Tag(&'static str),
    /// A box with what it says of itself.
    Box,
    /// Not itself, but what stands in it.
    Through,
    /// Not at all.
    Nothing,
}

/// Tags that stay what they are: they structure and show, and none of them fetches, sends or runs anything.
const KEPT: &[&str] = &[
    "a",
    "abbr",
    "address",
    "article",
    "aside",
    "b",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "body",
    "br",
    "caption",
    "center",
    "cite",
    "code",
    "col",
    "colgroup",
    "data",
    "dd",
    "del",
    "details",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "fieldset",
    "figcaption",
    "figure",
    "font",
    "footer",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "i",
    "ins",
    "kbd",
    "label",
    "legend",
    "li",
    "main",
    "mark",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "q",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "section",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "summary",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "time",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "wbr",
];

/// Attributes of theirs that say how they look or what they mean. No address, no handler, no name; `id` and `class` for the page's
/// own sheets.
pub const KEPT_ATTRIBUTES: &[&str] = &[
    "abbr",
    "align",
    "bgcolor",
    "border",
    "cellpadding",
    "cellspacing",
    "class",
    "color",
    "colspan",
    "datetime",
    "dir",
    "face",
    "headers",
    "height",
    "hidden",
    "id",
    "lang",
    "nowrap",
    "reversed",
    "rowspan",
    "scope",
    "size",
    "span",
    "start",
    "title",
    "valign",
    "value",
    "width",
];

pub fn written_as(tag: &str) -> As {
    if let Some(kept) = KEPT.iter().find(|kept| **kept == tag) {
        return As::Tag(kept);
    }
    match tag {
        "html" | "picture" | "frameset" | "noembed" | "noframes" => As::Through,
        "form" | "dialog" | "search" => As::Tag("div"),
        "xmp" | "plaintext" | "listing" => As::Tag("pre"),
        "img" | "image" | "input" | "select" | "svg" | "math" | "canvas" | "audio" | "video" | "meter" | "progress" => {
            As::Box
        }
        "script" | "noscript" | "style" | "template" | "head" | "title" | "meta" | "link" | "base" | "basefont"
        | "iframe" | "frame" | "object" | "embed" | "applet" | "param" | "source" | "track" | "map" | "area"
        | "datalist" | "portal" | "fencedframe" | "bgsound" | "keygen" | "isindex" => As::Nothing,
        // Buttons, text fields, and what pages have invented.
        _ => As::Tag("span"),
    }
}

pub fn is_void(tag: &str) -> bool {
    matches!(tag, "br" | "col" | "hr" | "wbr")
}
