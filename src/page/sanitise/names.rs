//! Which elements and attributes are kept, replaced or dropped.

use std::borrow::Cow;

use super::style::without_fetches;

pub enum Rendering<'t> {
    /// Written with this tag.
    Tag(&'t str),
    /// Written as a box with its text.
    Placeholder,
    /// Only the children are written.
    ChildrenOnly,
    /// Dropped with its content.
    Omit,
}

pub fn rendering_of(tag: &str) -> Rendering<'_> {
    match tag {
        // They give structure and appearance, and none of them fetches, sends or runs anything.
        "a" | "abbr" | "address" | "article" | "aside" | "b" | "bdi" | "bdo" | "big" | "blockquote" | "body" | "br"
        | "caption" | "center" | "cite" | "code" | "col" | "colgroup" | "data" | "dd" | "del" | "details" | "dfn"
        | "div" | "dl" | "dt" | "em" | "fieldset" | "figcaption" | "figure" | "font" | "footer" | "h1" | "h2"
        | "h3" | "h4" | "h5" | "h6" | "header" | "hgroup" | "hr" | "i" | "ins" | "kbd" | "label" | "legend" | "li"
        | "main" | "mark" | "menu" | "nav" | "ol" | "p" | "pre" | "q" | "rp" | "rt" | "ruby" | "s" | "samp"
        | "section" | "small" | "span" | "strike" | "strong" | "sub" | "summary" | "sup" | "table" | "tbody" | "td"
        | "tfoot" | "th" | "thead" | "time" | "tr" | "tt" | "u" | "ul" | "var" | "wbr" => Rendering::Tag(tag),
        "html" | "picture" | "frameset" | "noembed" | "noframes" => Rendering::ChildrenOnly,
        "form" | "dialog" | "search" => Rendering::Tag("div"),
        "xmp" | "plaintext" | "listing" => Rendering::Tag("pre"),
        "img" | "image" | "input" | "select" | "svg" | "math" | "canvas" | "audio" | "video" | "meter" | "progress" => {
            Rendering::Placeholder
        }
        "script" | "noscript" | "style" | "template" | "head" | "title" | "meta" | "link" | "base" | "basefont"
        | "iframe" | "frame" | "object" | "embed" | "applet" | "param" | "source" | "track" | "map" | "area"
        | "datalist" | "portal" | "fencedframe" | "bgsound" | "keygen" | "isindex" => Rendering::Omit,
        // Buttons, text fields, and custom elements.
        _ => Rendering::Tag("span"),
    }
}

pub fn is_void(tag: &str) -> bool {
    matches!(tag, "br" | "col" | "hr" | "wbr")
}

/// The value with which an attribute is written; `None` if it is dropped. Kept are appearance and meaning: no address,
/// event handler or name; `id` and `class` are for the page's own style sheets.
pub fn kept_value<'v>(name: &str, value: &'v str) -> Option<Cow<'v, str>> {
    match name {
        "style" => Some(Cow::Owned(without_fetches(value))),
        "abbr" | "align" | "bgcolor" | "border" | "cellpadding" | "cellspacing" | "class" | "color" | "colspan"
        | "datetime" | "dir" | "face" | "headers" | "height" | "hidden" | "id" | "lang" | "nowrap" | "reversed"
        | "rowspan" | "scope" | "size" | "span" | "start" | "title" | "valign" | "value" | "width" => {
            Some(Cow::Borrowed(value))
        }
        _ => None,
    }
}
