//! The baseline: html5ever with its own tokenizer and a tree of reference-counted nodes, as in markup5ever_rcdom.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{Attribute, ExpandedName, ParseOpts, QualName, parse_document};

pub type Handle = Rc<Node>;

pub struct Node {
    parent: Cell<Option<Weak<Node>>>,
    children: RefCell<Vec<Handle>>,
    data: Data,
}

enum Data {
    Other,
    Text(RefCell<StrTendril>),
    Element { name: QualName, attributes: RefCell<Vec<Attribute>>, contents: RefCell<Option<Handle>> },
}

pub fn parse(html: &str) -> Handle {
    parse_document(Dom { document: node(Data::Other) }, ParseOpts::default()).one(StrTendril::from_slice(html)).document
}

pub struct Dom {
    document: Handle,
}

fn node(data: Data) -> Handle {
    Rc::new(Node { parent: Cell::new(None), children: RefCell::new(Vec::new()), data })
}

/// The node's parent, and its index there.
fn place(target: &Handle) -> Option<(Handle, usize)> {
    let parent = target.parent.take()?;
    target.parent.set(Some(parent.clone()));
    let parent = parent.upgrade()?;
    let place = parent.children.borrow().iter().position(|child| Rc::ptr_eq(child, target))?;
    Some((parent, place))
}

fn insert(parent: &Handle, place: usize, child: NodeOrText<Handle>) {
    let child = match child {
        NodeOrText::AppendNode(child) => child,
        NodeOrText::AppendText(text) => {
            let children = parent.children.borrow();
            if let Some(Data::Text(there)) = place.checked_sub(1).map(|before| &children[before].data) {
                there.borrow_mut().push_tendril(&text);
                return;
            }
            node(Data::Text(RefCell::new(text)))
        }
    };
    detach(&child);
    child.parent.set(Some(Rc::downgrade(parent)));
    let mut children = parent.children.borrow_mut();
    let place = place.min(children.len());
    children.insert(place, child);
}

fn detach(target: &Handle) {
    if let Some((parent, place)) = place(target) {
        parent.children.borrow_mut().remove(place);
        target.parent.set(None);
    }
}

impl TreeSink for Dom {
    type Handle = Handle;
    type Output = Dom;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Dom {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Rc::clone(&self.document)
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        match &target.data {
            Data::Element { name, .. } => name.expanded(),
            Data::Other | Data::Text(_) => unreachable!("the builder asks only for names of elements"),
        }
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Handle {
        let contents = RefCell::new(flags.template.then(|| node(Data::Other)));
        node(Data::Element { name, attributes: RefCell::new(attributes), contents })
    }

    fn create_comment(&self, _text: StrTendril) -> Handle {
        node(Data::Other)
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Handle {
        node(Data::Other)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        let last = parent.children.borrow().len();
        insert(parent, last, child);
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        if place(element).is_some() {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _name: StrTendril, _public: StrTendril, _system: StrTendril) {}

    fn get_template_contents(&self, target: &Handle) -> Handle {
        match &target.data {
            Data::Element { contents, .. } => contents.borrow().clone().unwrap_or_else(|| node(Data::Other)),
            Data::Other | Data::Text(_) => node(Data::Other),
        }
    }

    fn same_node(&self, x: &Handle, y: &Handle) -> bool {
        Rc::ptr_eq(x, y)
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        if let NodeOrText::AppendNode(child) = &child {
            detach(child);
        }
        if let Some((parent, place)) = place(sibling) {
            insert(&parent, place, child);
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        if let Data::Element { attributes: there, .. } = &target.data {
            let mut there = there.borrow_mut();
            for attribute in attributes {
                if !there.iter().any(|it| it.name == attribute.name) {
                    there.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        detach(target);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        for child in node.children.take() {
            child.parent.set(Some(Rc::downgrade(new_parent)));
            new_parent.children.borrow_mut().push(child);
        }
    }
}
