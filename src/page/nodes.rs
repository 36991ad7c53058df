//! How a tree stores its nodes: a list in document order, and one arena for all texts, values and attributes.

use html5ever::LocalName;

#[derive(Clone)]
pub struct Node {
    pub parent: u32,
    /// The previous sibling, or this node itself when there is none.
    pub before: u32,
    /// One past the last descendant.
    pub end: u32,
    pub kind: NodeKind,
}

#[derive(Clone)]
pub enum NodeKind {
    Document,
    /// Name, and the range of its attributes.
    Element(LocalName, ContentRange),
    /// Range of the text.
    Text(ContentRange),
}

/// A range of [`ContentArena`].
#[derive(Clone, Copy, Debug)]
pub struct ContentRange {
    pub from: u32,
    pub to: u32,
}

impl ContentRange {
    pub const NONE: ContentRange = ContentRange { from: 0, to: 0 };
}

#[derive(Clone)]
pub struct Attribute {
    pub name: LocalName,
    pub value: ContentRange,
}

/// All texts, values and attributes of a page in common buffers: none needs an allocation of its own.
#[derive(Clone, Default)]
pub struct ContentArena {
    text: String,
    attributes: Vec<Attribute>,
}

/// Four out of five pages of the corpus have an attribute in 40 to 130 bytes, half of them in 63 or less.
const BYTES_PER_ATTRIBUTE: usize = 64;

impl ContentArena {
    pub fn with_capacity(page_bytes: usize) -> ContentArena {
        let attributes = Vec::with_capacity(page_bytes / BYTES_PER_ATTRIBUTE);
        ContentArena { text: String::with_capacity(page_bytes), attributes }
    }

    #[inline]
    pub fn text(&self, places: ContentRange) -> &str {
        &self.text[places.from as usize..places.to as usize]
    }

    #[inline]
    pub fn list(&self, places: ContentRange) -> &[Attribute] {
        &self.attributes[places.from as usize..places.to as usize]
    }

    pub fn add_text(&mut self, text: &str) -> ContentRange {
        let from = self.text.len() as u32;
        self.text.push_str(text);
        ContentRange { from, to: self.text.len() as u32 }
    }

    pub fn add_attributes<'a>(&mut self, attributes: impl Iterator<Item = (LocalName, &'a str)>) -> ContentRange {
        self.extended(ContentRange::NONE, attributes)
    }

    /// Appends these attributes to those in the range.
    pub fn extended<'a>(
        &mut self,
        there: ContentRange,
        attributes: impl Iterator<Item = (LocalName, &'a str)>,
    ) -> ContentRange {
        let from = self.attributes.len() as u32;
        for place in there.from..there.to {
            let Attribute { name, value } = &self.attributes[place as usize];
            let copy = Attribute { name: name.clone(), value: *value };
            self.attributes.push(copy);
        }
        for (name, value) in attributes {
            let value = self.add_text(value);
            self.attributes.push(Attribute { name, value });
        }
        ContentRange { from, to: self.attributes.len() as u32 }
    }

    pub fn copied(&mut self, kind: &NodeKind, from: &ContentArena) -> NodeKind {
        match kind {
            NodeKind::Document => NodeKind::Document,
            NodeKind::Text(text) => NodeKind::Text(self.add_text(from.text(*text))),
            NodeKind::Element(name, places) => {
                let attributes = from.list(*places).iter().map(|it| (it.name.clone(), from.text(it.value)));
                NodeKind::Element(name.clone(), self.add_attributes(attributes))
            }
        }
    }
}
