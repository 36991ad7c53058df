//! Which element is written as which, and which of its attributes.

/// How an element is written.
pub enum Rendering {
    /// Under this tag.
    Tag(&'static str),
    /// A box with what it says of itself.
    Placeholder,
    /// Not itself, but what stands in it.
    ChildrenOnly,
    /// Not at all.
    Omit,
}

/// Tags that stay what they are: they structure and show, and none of them fetches, sends or runs anything.
const ALLOWED_TAGS: &[&str] = &[
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
pub const ALLOWED_ATTRIBUTES: &[&str] = &[
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

pub fn rendering_of(tag: &str) -> Rendering {
    if let Some(kept) = ALLOWED_TAGS.iter().find(|kept| **kept == tag) {
        return Rendering::Tag(kept);
    }
    match tag {
        "html" | "picture" | "frameset" | "noembed" | "noframes" => Rendering::ChildrenOnly,
        "form" | "dialog" | "search" => Rendering::Tag("div"),
        "xmp" | "plaintext" | "listing" => Rendering::Tag("pre"),
        "img" | "image" | "input" | "select" | "svg" | "math" | "canvas" | "audio" | "video" | "meter" | "progress" => {
            Rendering::Placeholder
        }
        "script" | "noscript" | "style" | "template" | "head" | "title" | "meta" | "link" | "base" | "basefont"
        | "iframe" | "frame" | "object" | "embed" | "applet" | "param" | "source" | "track" | "map" | "area"
        | "datalist" | "portal" | "fencedframe" | "bgsound" | "keygen" | "isindex" => Rendering::Omit,
        // Buttons, text fields, and what pages have invented.
        _ => Rendering::Tag("span"),
    }
}

pub fn is_void(tag: &str) -> bool {
    matches!(tag, "br" | "col" | "hr" | "wbr")
}
