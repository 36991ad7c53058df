//! A copy of a tree in which some elements have other children.

use super::nodes::{Node, NodeKind};
use super::tree::{Name, NodeId, Tree};

/// A child of a rearranged element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RearrangedChild {
    /// The node that comes here, with everything in it; without one, a new element comes.
    pub node: Option<NodeId>,
    /// Its new tag and classes; without them it stays as it is.
    pub appearance: Option<(Name, String)>,
}

impl Tree {
    /// The tree with these children instead of those that the elements have. The elements are in document order, and
    /// none contains another; a child that is left out is gone with everything in it.
    pub fn rearranged(&self, elements: &[(NodeId, Vec<RearrangedChild>)]) -> Tree {
        let mut copy = TreeCopy {
            from: self,
            places: vec![0; self.nodes.len()],
            tree: Tree {
                nodes: Vec::with_capacity(self.nodes.len()),
                contents: self.contents.clone(),
                limit: self.limit,
                ending: self.ending,
            },
        };
        let (mut elements, mut at) = (elements.iter().peekable(), 0);
        while at < self.nodes.len() {
            let node = NodeId(at as u32);
            let parent = copy.places[self.nodes[at].parent as usize];
            copy.push(node, parent);
            match elements.next_if(|(it, _)| *it == node) {
                Some((_, children)) => {
                    let parent = copy.places[at];
                    children.iter().for_each(|child| copy.push_child(child, parent));
                    at = self.end(node).index();
                }
                None => at += 1,
            }
        }
        copy.tree.link_siblings();
        copy.tree
    }

    /// Computes siblings and ends from the parents.
    fn link_siblings(&mut self) {
        let mut last_child: Vec<u32> = vec![0; self.nodes.len()];
        for (at, node) in self.nodes.iter_mut().enumerate().skip(1) {
            let last = &mut last_child[node.parent as usize];
            node.before = if *last == 0 { at as u32 } else { *last };
            *last = at as u32;
        }
        for at in (1..self.nodes.len()).rev() {
            let (parent, end) = (self.nodes[at].parent as usize, self.nodes[at].end);
            self.nodes[parent].end = self.nodes[parent].end.max(end);
        }
    }
}

struct TreeCopy<'t> {
    from: &'t Tree,
    /// The new place of each copied node.
    places: Vec<u32>,
    tree: Tree,
}

impl TreeCopy<'_> {
    fn push(&mut self, node: NodeId, parent: u32) {
        let place = self.push_kind(parent, self.from.nodes[node.index()].kind.clone());
        self.places[node.index()] = place;
    }

    fn push_kind(&mut self, parent: u32, kind: NodeKind) -> u32 {
        let place = self.tree.nodes.len() as u32;
        self.tree.nodes.push(Node { parent, before: place, end: place + 1, kind });
        place
    }

    fn push_child(&mut self, child: &RearrangedChild, parent: u32) {
        let kind = child.appearance.as_ref().map(|(tag, class)| {
            let own = child.node.and_then(|node| self.from.element(node));
            let others = own.into_iter().flat_map(|it| it.attributes()).filter(|(name, _)| &***name != "class");
            let others = others.map(|(name, value)| (name.clone(), value));
            let class = (!class.is_empty()).then(|| (Name::from("class"), class.as_str()));
            NodeKind::Element(tag.clone(), self.tree.contents.add_attributes(others.chain(class)))
        });
        let Some(node) = child.node else {
            if let Some(kind) = kind {
                self.push_kind(parent, kind);
            }
            return;
        };
        for inside in self.from.subtree(node) {
            let parent =
                if inside == node { parent } else { self.places[self.from.nodes[inside.index()].parent as usize] };
            self.push(inside, parent);
        }
        if let Some(kind) = kind {
            self.tree.nodes[self.places[node.index()] as usize].kind = kind;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_come_in_another_order_with_everything_in_them() {
        let tree = Tree::parse(
            "<table><tr id=r class=x><td class=a><b>1</b><i>2</i></td><td>3</td><td>4</td></tr><tr><td>5</td></tr>\
             </table><p>6",
        );
        let row = tree.elements("tr").next().expect("the table has rows");
        let cells: Vec<NodeId> = tree.children(row).collect();
        let child = |node| RearrangedChild { node, appearance: None };
        let children = vec![
            child(Some(cells[2])),
            RearrangedChild { node: None, appearance: Some((Name::from("td"), "new".to_owned())) },
            RearrangedChild { node: Some(cells[0]), appearance: Some((Name::from("th"), "b c".to_owned())) },
        ];
        let other = tree.rearranged(&[(row, children)]);
        other.check();
        let row = other.elements("tr").next().expect("the rows are there");
        let said: Vec<String> = other
            .children(row)
            .map(|cell| format!("{}.{}={}", other.tag(cell), other.class(cell).unwrap_or("-"), other.text(cell)))
            .collect();
        assert_eq!(said, ["td.-=4", "td.new=", "th.b c=1 2"]);
        assert_eq!(other.text(other.root()), "4 1 2 5 6");
        assert_eq!((other.attribute(row, "id"), other.class(row)), (Some("r"), Some("x")));
        assert_eq!(other.elements("b").map(|it| other.text(it)).collect::<Vec<_>>(), ["1"]);
        assert_eq!(tree.rearranged(&[]).text(NodeId(0)), tree.text(NodeId(0)), "nothing else changes");
    }
}
