//! PIEME's inference matrix: one row per labelled node, one column per sub-node of their parent. A path through it
//! shows which sub-node corresponds to which label, and where the pattern starts again (thesis, 5.3.4).

/// One pass through the pattern: (label, sub-node), labels ascending.
pub type SubPath = Vec<(usize, usize)>;

/// Walks the matrix of `labels` × `nodes`; `maps(i, j)` says whether label i may be sub-node j. The walk starts at the
/// top left and steps down-right. At an empty cell, or at the bottom, it goes to the top of the column. Nodes that map
/// to nothing are ignored.
///
/// Beyond the thesis: a cell further down continues the path, so that a field may be missing. Nodes before the labelled
/// ones are read as well, so that a person need not label the first occurrence.
pub fn sub_paths(labels: usize, nodes: usize, maps: impl Fn(usize, usize) -> bool) -> Vec<SubPath> {
    let mut paths: Vec<SubPath> = Vec::new();
    for node in 0..nodes {
        let Some(top) = (0..labels).find(|&label| maps(label, node)) else { continue };
        let open = paths.last_mut().filter(|path| !path.is_empty());
        match open {
            Some(path) => {
                let next = path[path.len() - 1].0 + 1;
                if next < labels && maps(next, node) {
                    path.push((next, node));
                } else if top >= next {
                    path.push((top, node));
                } else {
                    paths.push(vec![(top, node)]);
                }
            }
            None => paths.push(vec![(top, node)]),
        }
    }
    paths
}

/// The repeats of a pattern, outer ones first, as (first label, last label), and the optional labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepeatPattern {
    pub repeats: Vec<(usize, usize)>,
    pub optional: Vec<bool>,
}

impl RepeatPattern {
    pub fn of(paths: &[SubPath], labels: usize) -> RepeatPattern {
        let mut repeats = Vec::new();
        let mut optional = vec![false; labels];
        let mut before: Option<usize> = None;
        for &(label, _) in paths.iter().flatten() {
            match before {
                Some(from) if label <= from => repeats.push((label, from)),
                Some(from) => optional[from + 1..label].fill(true),
                None => {}
            }
            before = Some(label);
        }
        // Of several repeats that start at one label the widest is kept: the last field may be missing in some
        // occurrence.
        repeats.sort_unstable_by_key(|&(from, to)| (from, std::cmp::Reverse(to)));
        repeats.dedup_by_key(|&mut (from, _)| from);
        for &(from, to) in &repeats {
            let inside = paths.iter().filter(|path| path.iter().any(|&(label, _)| (from..=to).contains(&label)));
            for path in inside {
                let last = path[path.len() - 1].0;
                optional[(last + 1).min(to + 1)..=to].fill(true);
            }
        }
        RepeatPattern { repeats, optional }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pattern of the paths in the thesis' notation: `(A(BC)*)*`. A step back ends a repeat at one label and starts
    /// it at another; a label that a path skips is optional.
    fn expression(paths: &[SubPath], names: &[char]) -> String {
        let pattern = RepeatPattern::of(paths, names.len());
        let mut text = String::new();
        for (label, name) in names.iter().enumerate() {
            let starts = pattern.repeats.iter().filter(|&&(from, _)| from == label).count();
            let ends = pattern.repeats.iter().filter(|&&(_, to)| to == label).count();
            text.push_str(&"(".repeat(starts));
            text.push(*name);
            if pattern.optional[label] {
                text.push('?');
            }
            text.push_str(&")*".repeat(ends));
        }
        text
    }

    /// `nodes` in the thesis' notation: upper case is labelled, lower case is not. `alike` are letters that only their
    /// position distinguishes. A labelled node maps to itself alone.
    fn check(labels: &str, nodes: &str, alike: &str, expected: &[&str], pattern: &str) {
        let labels: Vec<char> = labels.chars().collect();
        let nodes: Vec<char> = nodes.chars().collect();
        let maps = |i: usize, j: usize| {
            let small = labels[i].to_ascii_lowercase();
            nodes[j] == labels[i] || nodes[j] == small || (alike.contains(small) && alike.contains(nodes[j]))
        };
        let paths = sub_paths(labels.len(), nodes.len(), maps);
        let words = |path: &SubPath| path.iter().map(|&(label, _)| labels[label]).collect::<String>();
        assert_eq!(paths.iter().map(words).collect::<Vec<_>>(), expected, "{nodes:?}");
        assert_eq!(expression(&paths, &labels), pattern, "{nodes:?}");
    }

    #[test]
    fn a_walk_gives_the_pattern_of_the_thesis() {
        // Figures 5.6 and 5.7: a nested repeat.
        check("ABC", "ABCbcbcabc", "bc", &["ABC", "BC", "BC", "ABC"], "(A(BC)*)*");
        // A node that maps to nothing is discarded.
        check("ABC", "ABCxbcxxabc", "bc", &["ABC", "BC", "ABC"], "(A(BC)*)*");
        // One flat repeat, and a single occurrence, which repeats nothing.
        check("AB", "ABabab", "", &["AB", "AB", "AB"], "(AB)*");
        check("AB", "AB", "", &["AB"], "AB");
    }

    #[test]
    fn what_the_thesis_left_out_a_field_may_be_missing() {
        check("ABC", "ABCacabc", "", &["ABC", "AC", "ABC"], "(AB?C)*");
        check("ABC", "ABCababc", "", &["ABC", "AB", "ABC"], "(ABC?)*");
    }

    #[test]
    fn what_the_thesis_left_out_the_labels_need_not_be_in_the_first_occurrence() {
        check("ABC", "abcbcABCbc", "bc", &["ABC", "BC", "ABC", "BC"], "(A(BC)*)*");
    }
}
