//! Centre star alignment of several strings (Gusfield; IEPAD section 3.6).
//!
//! The string with the smallest sum of edit distances to the others is the centre. Each other string is aligned to it,
//! and a gap that one of them needs is a gap in all. The sum of pairwise distances is at most twice the optimum.

/// One line per string, in the order given, all of equal length; `None` is a gap.
pub type AlignedStrings<T> = Vec<Vec<Option<T>>>;

/// Aligns the strings. `weights` are their frequencies, so that the centre is near the commonest. `None` if every
/// string is more than `limit` edits from some other one: such an alignment would be mostly gaps.
pub fn align<T: PartialEq + Copy>(strings: &[&[T]], weights: &[usize], limit: usize) -> Option<AlignedStrings<T>> {
    let middle = strings[centre(strings, weights, limit)?];
    let aligned: Vec<Vec<Edit>> = strings.iter().map(|string| edits(middle, string)).collect();
    // inserted[i] = the most symbols that any string has before the centre's symbol i.
    let mut inserted = vec![0; middle.len() + 1];
    for edits in &aligned {
        let (mut place, mut run) = (0, 0);
        for edit in edits {
            if *edit == Edit::Insert {
                run += 1;
                inserted[place] = inserted[place].max(run);
            } else {
                (place, run) = (place + 1, 0);
            }
        }
    }
    Some(strings.iter().zip(&aligned).map(|(string, edits)| apply_edits(string, edits, &inserted)).collect())
}

/// One edit that turns the centre into a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    /// The same symbol, or another one in its place.
    Keep,
    /// The centre's symbol is missing.
    Delete,
    /// The string has an additional symbol.
    Insert,
}

fn apply_edits<T: Copy>(string: &[T], edits: &[Edit], inserted: &[usize]) -> Vec<Option<T>> {
    let mut line = Vec::new();
    let mut symbols = string.iter().copied();
    let (mut place, mut run) = (0, 0);
    for edit in edits {
        match edit {
            Edit::Insert => {
                line.push(symbols.next());
                run += 1;
            }
            Edit::Keep | Edit::Delete => {
                line.extend(std::iter::repeat_n(None, inserted[place] - run));
                line.push(if *edit == Edit::Keep { symbols.next() } else { None });
                (place, run) = (place + 1, 0);
            }
        }
    }
    line.extend(std::iter::repeat_n(None, inserted[place] - run));
    line
}

/// The string with the smallest weighted sum of distances, if all are within the limit; on ties the first.
fn centre<T: PartialEq>(strings: &[&[T]], weights: &[usize], limit: usize) -> Option<usize> {
    let error = |i: usize| -> Option<usize> {
        let others = strings.iter().zip(weights);
        others.map(|(other, weight)| Some(weight * distance(strings[i], other, limit)?)).sum()
    };
    (0..strings.len()).filter_map(|i| Some((error(i)?, i))).min().map(|(_, i)| i)
}

/// Edit distance up to the limit; fills only the band around the diagonal (Ukkonen).
fn distance<T: PartialEq>(a: &[T], b: &[T], limit: usize) -> Option<usize> {
    if a.len().abs_diff(b.len()) > limit {
        return None;
    }
    let far = limit + 1;
    let mut line: Vec<usize> = (0..=b.len()).map(|j| j.min(far)).collect();
    for (i, x) in a.iter().enumerate() {
        let (from, to) = (i.saturating_sub(limit), b.len().min(i + limit + 1));
        let mut diagonal = line[from];
        line[from] = if from == 0 { (i + 1).min(far) } else { far };
        for j in from..to {
            let above = if j + 1 > i + limit { far } else { line[j + 1] };
            line[j + 1] = (diagonal + usize::from(*x != b[j])).min(above + 1).min(line[j] + 1).min(far);
            diagonal = above;
        }
    }
    Some(line[b.len()]).filter(|&distance| distance <= limit)
}

/// The cheapest edits from the centre to the string. On ties, gaps come as late as possible.
fn edits<T: PartialEq>(centre: &[T], string: &[T]) -> Vec<Edit> {
    let (n, m) = (centre.len(), string.len());
    let width = m + 1;
    let mut cost = vec![0_usize; (n + 1) * width];
    for j in 0..=m {
        cost[n * width + j] = m - j;
    }
    for i in (0..n).rev() {
        cost[i * width + m] = n - i;
        for j in (0..m).rev() {
            let keep = cost[(i + 1) * width + j + 1] + usize::from(centre[i] != string[j]);
            let gap = cost[(i + 1) * width + j].min(cost[i * width + j + 1]) + 1;
            cost[i * width + j] = keep.min(gap);
        }
    }
    let mut edits = Vec::with_capacity(n.max(m));
    let (mut i, mut j) = (0, 0);
    while i < n || j < m {
        let here = cost[i * width + j];
        let edit = if i == n {
            Edit::Insert
        } else if j == m {
            Edit::Delete
        } else if here == cost[(i + 1) * width + j + 1] + usize::from(centre[i] != string[j]) {
            Edit::Keep
        } else if here == cost[(i + 1) * width + j] + 1 {
            Edit::Delete
        } else {
            Edit::Insert
        };
        i += usize::from(edit != Edit::Insert);
        j += usize::from(edit != Edit::Delete);
        edits.push(edit);
    }
    edits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(strings: &[&str], expected: &[&str]) {
        let strings: Vec<Vec<char>> = strings.iter().map(|it| it.chars().collect()).collect();
        let strings: Vec<&[char]> = strings.iter().map(Vec::as_slice).collect();
        let lines = align(&strings, &vec![1; strings.len()], 10).expect("all are near each other");
        let lines: Vec<String> = lines.iter().map(|line| line.iter().map(|it| it.unwrap_or('-')).collect()).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn the_three_strings_of_iepad_stand_under_each_other_as_in_the_paper() {
        check(&["adcwbd", "adcxb", "adcxbd"], &["adcwbd", "adcxb-", "adcxbd"]);
    }

    #[test]
    fn a_gap_for_one_is_a_gap_for_all_and_one_string_is_aligned_too() {
        check(&[""], &[""]);
        check(&["abc"], &["abc"]);
        check(&["ab", "axb", "ab", "ayyb"], &["a--b", "ax-b", "a--b", "ayyb"]);
    }

    #[test]
    fn strings_that_differ_in_too_many_places_have_no_centre() {
        assert!(align(&["abcd".as_bytes(), b"abxx"], &[1, 1], 2).is_some());
        assert!(align(&["abcd".as_bytes(), b"axxx"], &[1, 1], 2).is_none());
        assert!(align::<u8>(&[], &[], 2).is_none());
    }

    /// Edit distance by the full table.
    fn plain_distance(a: &[u8], b: &[u8]) -> usize {
        let edits = edits(a, b);
        let (mut i, mut j, mut cost) = (0, 0, 0);
        for edit in edits {
            cost += usize::from(edit != Edit::Keep || a[i] != b[j]);
            i += usize::from(edit != Edit::Insert);
            j += usize::from(edit != Edit::Delete);
        }
        cost
    }

    proptest! {
        #[test]
        fn the_distance_near_the_diagonal_is_the_distance(
            a in proptest::collection::vec(0_u8..3, 0..14),
            b in proptest::collection::vec(0_u8..3, 0..14),
            limit in 0_usize..9,
        ) {
            let plain = plain_distance(&a, &b);
            prop_assert_eq!(distance(&a, &b, limit), (plain <= limit).then_some(plain));
        }

        #[test]
        fn every_line_is_its_string_with_gaps_and_all_are_of_one_length(
            strings in proptest::collection::vec(proptest::collection::vec(0_u8..4, 0..12), 0..6),
        ) {
            let views: Vec<&[u8]> = strings.iter().map(Vec::as_slice).collect();
            let lines = align(&views, &vec![1; views.len()], 12).unwrap_or_default();
            prop_assert_eq!(lines.len(), strings.len());
            for (line, string) in lines.iter().zip(&strings) {
                prop_assert_eq!(line.len(), lines[0].len());
                let symbols: Vec<u8> = line.iter().flatten().copied().collect();
                prop_assert_eq!(&symbols, string);
            }
        }
    }
}
