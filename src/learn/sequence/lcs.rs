//! Longest common subsequence (LCS) of two rows, or of all rows.

use std::ops::Range;

/// Words kept on the stack: enough for a row of 512 tokens.
const INLINE_WORDS: usize = 8;

/// The length of the LCS, bit-parallel, 64 positions per step (Hyyrö). `same` yields, for each element of the first
/// sequence, a bit set of the equal positions of the second, which has length `m`.
pub fn length<'a>(m: usize, same: impl Iterator<Item = &'a [u64]>) -> usize {
    let words = m.div_ceil(64);
    let (mut few, mut many) = ([u64::MAX; INLINE_WORDS], Vec::new());
    let free = if words <= INLINE_WORDS {
        &mut few[..words]
    } else {
        many.resize(words, u64::MAX);
        &mut many[..]
    };
    for same in same {
        let mut carry = false;
        for (word, &same) in free.iter_mut().zip(same) {
            let (sum, over) = word.overflowing_add(*word & same);
            let (sum, again) = sum.overflowing_add(u64::from(carry));
            carry = over || again;
            *word = sum | *word & !same;
        }
    }
    free.iter().map(|word| word.count_zeros() as usize).sum()
}

/// The length of the LCS for each prefix of the first sequence.
pub fn lengths(n: usize, m: usize, same: impl Fn(usize, usize) -> bool) -> Vec<usize> {
    let mut best = vec![0_usize; m + 1];
    let mut lengths = Vec::with_capacity(n);
    for i in 0..n {
        let mut diagonal = 0;
        for j in 0..m {
            let above = best[j + 1];
            best[j + 1] = if same(i, j) { diagonal + 1 } else { above.max(best[j]) };
            diagonal = above;
        }
        lengths.push(best[m]);
    }
    lengths
}

/// The matched positions, ascending in both sequences, each as early as possible. On ties a position of the second
/// sequence is skipped before one of the first; only then does folding the rows give the template of Shi's Table II.
pub fn pairs(n: usize, m: usize, same: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let width = m + 1;
    // best[i][j] is the LCS of the suffixes from i and j, so that the path is traced from the front.
    let mut best = vec![0_u32; (n + 1) * width];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            best[i * width + j] = if same(i, j) {
                best[(i + 1) * width + j + 1] + 1
            } else {
                best[(i + 1) * width + j].max(best[i * width + j + 1])
            };
        }
    }
    let mut pairs = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < n && j < m {
        if same(i, j) {
            pairs.push((i, j));
            (i, j) = (i + 1, j + 1);
        } else if best[(i + 1) * width + j] > best[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    pairs
}

/// The common subsequence of all rows: the LCS of the first two, then folded with each further row (Shi figure 9).
pub fn common_to_all<T: PartialEq + Clone>(rows: &[&[T]]) -> Vec<T> {
    let Some((first, rest)) = rows.split_first() else { return Vec::new() };
    let mut common = first.to_vec();
    for row in rest {
        // A row that contains `common` changes nothing, and this check is linear. So the number of LCS computations is
        // at most the length of the first row, however many rows there are.
        if !is_subsequence(&common, row) {
            common = pairs(common.len(), row.len(), |i, j| common[i] == row[j])
                .into_iter()
                .map(|(i, _)| common[i].clone())
                .collect();
        }
    }
    common
}

fn is_subsequence<T: PartialEq>(part: &[T], row: &[T]) -> bool {
    let mut row = row.iter();
    part.iter().all(|it| row.any(|other| other == it))
}

/// The fields of a row: the ranges before, between and after the matched template tokens (Shi section 3.2). One more
/// than the template has tokens; empty between adjacent ones.
pub fn fields<T: PartialEq>(template: &[T], row: &[T]) -> Vec<Range<usize>> {
    let mut fields = Vec::with_capacity(template.len() + 1);
    let mut from = 0;
    for (_, place) in pairs(template.len(), row.len(), |i, j| template[i] == row[j]) {
        fields.push(from..place);
        from = place + 1;
    }
    fields.push(from..row.len());
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chars(text: &str) -> Vec<char> {
        text.chars().collect()
    }

    fn template(rows: &[&str]) -> String {
        let rows: Vec<Vec<char>> = rows.iter().map(|row| chars(row)).collect();
        common_to_all(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>()).into_iter().collect()
    }

    fn table(template: &str, rows: &[&str]) -> Vec<Vec<String>> {
        let cells = |row: &&str| {
            let (template, row) = (chars(template), chars(row));
            fields(&template, &row).into_iter().map(|field| row[field].iter().collect()).collect()
        };
        rows.iter().map(cells).collect()
    }

    /// Shi's Table II: each letter is a token sequence, B and D are the template.
    const TABLE_II: [&str; 3] = ["ABEDF", "CBFDA", "FBADH"];

    #[test]
    fn the_template_of_shis_table_ii_is_b_and_d_and_its_columns_lie_between() {
        assert_eq!(template(&TABLE_II), "BD");
        assert_eq!(table("BD", &TABLE_II), [["A", "E", "F"], ["C", "F", "A"], ["F", "A", "H"]]);
    }

    /// Lerman's method: a sequence grows from the first token as long as every row has it; the next one starts after
    /// it.
    fn grown_from_the_front(rows: &[&str]) -> String {
        let mut template = String::new();
        let mut rests: Vec<&str> = rows.to_vec();
        for c in rows[0].chars() {
            if let Some(after) = rests.iter().map(|rest| rest.split_once(c).map(|(_, after)| after)).collect() {
                template.push(c);
                rests = after;
            }
        }
        template
    }

    #[test]
    fn growing_the_template_from_the_first_token_takes_a_and_tears_the_columns_of_table_iii_apart() {
        assert_eq!(grown_from_the_front(&TABLE_II), "A");
        assert_eq!(table("A", &TABLE_II), [["", "BEDF"], ["CBFD", ""], ["FB", "DH"]]);
    }

    fn length_of(x: &[char], y: &[char]) -> usize {
        let bits = |word: &[char], c: char| (0..).zip(word).map(|(j, &it)| u64::from(it == c) << j).sum::<u64>();
        let mask = |&c: &char| y.chunks(64).map(|word| bits(word, c)).collect();
        let masks: Vec<Vec<u64>> = x.iter().map(mask).collect();
        length(y.len(), masks.iter().map(Vec::as_slice))
    }

    #[test]
    fn length_is_the_same_beyond_one_word_of_bits() {
        let letters = |count: usize, step: usize| -> Vec<char> {
            (0..count).map(|i| char::from(b'a' + (i * i * step % 7) as u8)).collect()
        };
        for (n, m) in [(1, 63), (64, 64), (65, 200), (200, 65), (130, 400)] {
            let (x, y) = (letters(n, 3), letters(m, 5));
            assert_eq!(length_of(&x, &y), pairs(n, m, |i, j| x[i] == y[j]).len(), "{n} {m}");
        }
    }

    #[test]
    fn length_and_pairs_agree() {
        for (a, b, expected) in [("", "", 0), ("abc", "", 0), ("abcbdab", "bdcaba", 4), ("xaxbx", "ab", 2)] {
            let (x, y) = (chars(a), chars(b));
            assert_eq!(length_of(&x, &y), expected, "{a} {b}");
            let pairs = pairs(x.len(), y.len(), |i, j| x[i] == y[j]);
            assert_eq!(pairs.len(), expected, "{a} {b}");
            assert!(pairs.windows(2).all(|it| it[0].0 < it[1].0 && it[0].1 < it[1].1), "{a} {b}");
        }
    }

    #[test]
    fn a_match_is_taken_where_it_comes_first() {
        let (template, row) = (chars("ab"), chars("abxxab"));
        assert_eq!(pairs(2, 6, |i, j| template[i] == row[j]), [(0, 0), (1, 1)]);
    }
}
