//! CSS selectors over the tree, matched by the `selectors` crate of Servo and Firefox.

use std::fmt;

use cssparser::{Parser as CssParser, ToCss};
use html5ever::LocalName;
use precomputed_hash::PrecomputedHash;
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::context::{
    MatchingContext, MatchingForInvalidation, MatchingMode, NeedsSelectorFlags, QuirksMode, SelectorCaches,
};
use selectors::matching::{ElementSelectorFlags, matches_selector_list};
use selectors::parser::{ParseRelative, SelectorList, SelectorParseErrorKind};
use selectors::{OpaqueElement, SelectorImpl};

use super::tree::{NodeId, Tree};

/// A parsed CSS selector.
#[derive(Clone, Debug)]
pub struct Selector(SelectorList<CssSelectorImpl>);

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a CSS selector")]
pub struct SelectorError(pub String);

impl Selector {
    pub fn parse(css: &str) -> Result<Selector, SelectorError> {
        SelectorList::parse(&SelectorGrammar, &mut CssParser::new(css), ParseRelative::No)
            .map(Selector)
            .map_err(|_| SelectorError(css.to_owned()))
    }

    /// The matching elements inside `scope`, in document order.
    pub fn all(&self, tree: &Tree, scope: NodeId) -> Vec<NodeId> {
        self.find(tree, scope, usize::MAX)
    }

    pub fn first(&self, tree: &Tree, scope: NodeId) -> Option<NodeId> {
        self.find(tree, scope, 1).pop()
    }

    pub fn matches(&self, tree: &Tree, node: NodeId) -> bool {
        tree.element(node).is_some()
            && self.with_context(|list, context| matches_selector_list(list, ElementRef { tree, node }, context))
    }

    /// The first of these elements that matches; `:scope` is the given element.
    pub fn first_of(
        &self,
        tree: &Tree,
        mut elements: impl Iterator<Item = NodeId>,
        scope: Option<NodeId>,
    ) -> Option<NodeId> {
        self.with_context(|list, context| {
            context.scope_element = scope.map(|node| OpaqueElement::new(&tree.nodes[node.index()]));
            elements.find(|&node| matches_selector_list(list, ElementRef { tree, node }, context))
        })
    }

    fn find(&self, tree: &Tree, scope: NodeId, most: usize) -> Vec<NodeId> {
        self.with_context(|list, context| {
            tree.subtree(scope)
                .filter(|&node| tree.element(node).is_some())
                .filter(|&node| matches_selector_list(list, ElementRef { tree, node }, context))
                .take(most)
                .collect()
        })
    }

    fn with_context<T>(
        &self,
        work: impl FnOnce(&SelectorList<CssSelectorImpl>, &mut MatchingContext<'_, CssSelectorImpl>) -> T,
    ) -> T {
        let mut caches = SelectorCaches::default();
        let mut context = MatchingContext::new(
            MatchingMode::Normal,
            None,
            &mut caches,
            QuirksMode::NoQuirks,
            NeedsSelectorFlags::No,
            MatchingForInvalidation::No,
        );
        work(&self.0, &mut context)
    }
}

struct SelectorGrammar;

impl<'i> selectors::Parser<'i> for SelectorGrammar {
    type Impl = CssSelectorImpl;
    type Error = SelectorParseErrorKind;

    fn parse_is_and_where(&self) -> bool {
        true
    }

    fn parse_has(&self) -> bool {
        true
    }

    fn parse_nth_child_of(&self) -> bool {
        true
    }
}

#[derive(Clone, Debug)]
struct CssSelectorImpl;

impl SelectorImpl for CssSelectorImpl {
    type ExtraMatchingData<'a> = ();
    type AttrValue = CssText;
    type Identifier = CssText;
    type LocalName = CssName;
    type NamespaceUrl = CssName;
    type NamespacePrefix = CssName;
    type BorrowedNamespaceUrl = CssName;
    type BorrowedLocalName = CssName;
    type NonTSPseudoClass = NoPseudoClass;
    type PseudoElement = NoPseudoClass;
}

/// Name of a tag or attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct CssName(LocalName);

/// Value of a class, id or attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CssText(Box<str>);

/// Pseudo-classes and pseudo-elements: none apply to a static page.
#[derive(Clone, Debug, PartialEq, Eq)]
enum NoPseudoClass {}

impl From<&str> for CssName {
    fn from(text: &str) -> CssName {
        CssName(LocalName::from(text))
    }
}

impl From<&str> for CssText {
    fn from(text: &str) -> CssText {
        CssText(text.into())
    }
}

impl AsRef<str> for CssText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl PrecomputedHash for CssName {
    fn precomputed_hash(&self) -> u32 {
        self.0.precomputed_hash()
    }
}

impl PrecomputedHash for CssText {
    fn precomputed_hash(&self) -> u32 {
        LocalName::from(&*self.0).precomputed_hash()
    }
}

impl ToCss for CssName {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        cssparser::serialize_identifier(&self.0, out)
    }
}

impl ToCss for CssText {
    fn to_css<W: fmt::Write>(&self, out: &mut W) -> fmt::Result {
        cssparser::serialize_string(&self.0, out)
    }
}

impl ToCss for NoPseudoClass {
    fn to_css<W: fmt::Write>(&self, _out: &mut W) -> fmt::Result {
        match *self {}
    }
}

impl selectors::parser::NonTSPseudoClass for NoPseudoClass {
    fn is_active_or_hover(&self) -> bool {
        match *self {}
    }

    fn is_user_action_state(&self) -> bool {
        match *self {}
    }
}

impl selectors::parser::PseudoElement for NoPseudoClass {}

/// An element with its tree, for the matcher.
#[derive(Clone, Copy)]
struct ElementRef<'t> {
    tree: &'t Tree,
    node: NodeId,
}

impl fmt::Debug for ElementRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>#{}", self.tree.tag(self.node), self.node.0)
    }
}

impl<'t> ElementRef<'t> {
    fn at(self, node: NodeId) -> ElementRef<'t> {
        ElementRef { node, ..self }
    }

    fn is_element(&self) -> bool {
        self.tree.element(self.node).is_some()
    }
}

impl selectors::Element for ElementRef<'_> {
    type Impl = CssSelectorImpl;

    fn opaque(&self) -> OpaqueElement {
        OpaqueElement::new(&self.tree.nodes[self.node.index()])
    }

    fn parent_element(&self) -> Option<Self> {
        self.tree.parent(self.node).map(|node| self.at(node)).filter(Self::is_element)
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        std::iter::successors(self.tree.sibling_before(self.node), |&it| self.tree.sibling_before(it))
            .map(|node| self.at(node))
            .find(Self::is_element)
    }

    fn next_sibling_element(&self) -> Option<Self> {
        std::iter::successors(self.tree.sibling_after(self.node), |&it| self.tree.sibling_after(it))
            .map(|node| self.at(node))
            .find(Self::is_element)
    }

    fn first_element_child(&self) -> Option<Self> {
        self.tree.children(self.node).map(|node| self.at(node)).find(Self::is_element)
    }

    /// A tag with capitals is a JSON key or SVG and is compared as written.
    fn is_html_element_in_html_document(&self) -> bool {
        !self.tree.tag(self.node).bytes().any(|byte| byte.is_ascii_uppercase())
    }

    fn has_local_name(&self, name: &CssName) -> bool {
        self.tree.element(self.node).is_some_and(|element| *element.name == name.0)
    }

    fn has_namespace(&self, _namespace: &CssName) -> bool {
        true
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.tree.tag(self.node) == other.tree.tag(other.node)
    }

    fn attr_matches(
        &self,
        _namespace: &NamespaceConstraint<&CssName>,
        name: &CssName,
        operation: &AttrSelectorOperation<&CssText>,
    ) -> bool {
        self.tree.attribute(self.node, &name.0).is_some_and(|value| operation.eval_str(value))
    }

    fn match_non_ts_pseudo_class(
        &self,
        class: &NoPseudoClass,
        _context: &mut MatchingContext<'_, CssSelectorImpl>,
    ) -> bool {
        match *class {}
    }

    fn match_pseudo_element(
        &self,
        element: &NoPseudoClass,
        _context: &mut MatchingContext<'_, CssSelectorImpl>,
    ) -> bool {
        match *element {}
    }

    fn apply_selector_flags(&self, _flags: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        matches!(self.tree.tag(self.node), "a" | "area" | "link") && self.tree.attribute(self.node, "href").is_some()
    }

    fn is_html_slot_element(&self) -> bool {
        false
    }

    fn has_id(&self, id: &CssText, case: CaseSensitivity) -> bool {
        self.tree.attribute(self.node, "id").is_some_and(|it| case.eq(it.as_bytes(), id.0.as_bytes()))
    }

    fn has_class(&self, name: &CssText, case: CaseSensitivity) -> bool {
        self.tree.classes(self.node).any(|it| case.eq(it.as_bytes(), name.0.as_bytes()))
    }

    fn has_custom_state(&self, _name: &CssText) -> bool {
        false
    }

    fn imported_part(&self, _name: &CssText) -> Option<CssText> {
        None
    }

    fn is_part(&self, _name: &CssText) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        self.tree.children(self.node).all(|child| self.tree.own_text(child).is_some_and(str::is_empty))
    }

    fn is_root(&self) -> bool {
        self.parent_element().is_none()
    }

    fn add_element_unique_hashes(&self, _filter: &mut BloomFilter) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(css: &str, tree: &Tree) -> usize {
        Selector::parse(css).expect("a selector of the table").all(tree, tree.root()).len()
    }

    #[test]
    fn selectors_find_what_a_browser_finds() {
        let tree = Tree::parse(
            "<div id=a class='x y'><p>1<p title=T>2</div><div><p>3</p><a href=/q rel=next>n</a><form name=f></form>\
             </div>",
        );
        for (css, found) in [
            ("p", 3),
            ("#a > p", 2),
            (".x.y p:nth-child(2)", 1),
            ("a[rel~=next], p[title='T']", 2),
            ("div:has(a) p", 1),
            ("P", 3),
            ("p:not([title])", 2),
            ("form[name=f]", 1),
            ("span", 0),
        ] {
            assert_eq!(count(css, &tree), found, "{css}");
        }
        assert!(Selector::parse("p[").is_err());
        assert!(Selector::parse("").is_err());
    }

    #[test]
    fn keys_of_json_are_found_as_they_are_written() {
        let tree = Tree::parse(r#"{"hits": [{"firstName": "A"}, {"firstName": "B"}]}"#);
        for (css, found) in
            [("hits > item > firstName", 2), ("firstname", 0), ("ITEM", 2), ("item.hits:nth-child(2)", 1)]
        {
            assert_eq!(count(css, &tree), found, "{css}");
        }
    }
}
