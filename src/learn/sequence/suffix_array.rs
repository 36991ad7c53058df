//! The suffix array of a sequence, and its longest common prefixes.

use crate::page::encode::Symbol;

/// The suffix array by prefix doubling: n log n, with two counting sorts per round.
pub fn suffix_array(symbols: &[Symbol]) -> Vec<u32> {
    let n = symbols.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.sort_unstable_by_key(|&place| symbols[place as usize]);
    let mut rank = class_ranks(&order, |a, b| symbols[a] == symbols[b]);
    let mut length = 1;
    while length < n && order.last().is_some_and(|&last| (rank[last as usize] as usize) < n - 1) {
        // Sorts by the second half: first suffixes that have none, then in the order known so far.
        let mut by_second: Vec<u32> = (n as u32 - length as u32..n as u32).collect();
        by_second.extend(order.iter().filter(|&&place| place as usize >= length).map(|&place| place - length as u32));
        // Then, stably, by the rank of the first half: `next` is the next free index of each rank.
        let mut next: Vec<u32> = vec![0; n + 1];
        for &rank in &rank {
            next[rank as usize + 1] += 1;
        }
        for i in 0..n {
            next[i + 1] += next[i];
        }
        for place in by_second {
            let bucket = &mut next[rank[place as usize] as usize];
            order[*bucket as usize] = place;
            *bucket += 1;
        }
        let second = |place: usize| rank.get(place + length);
        let same = |a: usize, b: usize| rank[a] == rank[b] && second(a) == second(b);
        rank = class_ranks(&order, same);
        length *= 2;
    }
    order
}

/// The rank of each position: the number of its equivalence class, in the given order.
fn class_ranks(order: &[u32], same: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    let mut rank = vec![0; order.len()];
    for pair in order.windows(2) {
        let (a, b) = (pair[0] as usize, pair[1] as usize);
        rank[b] = rank[a] + u32::from(!same(a, b));
    }
    rank
}

/// The longest common prefix of each suffix with the one before it in the order (Kasai et al.).
pub fn lcp_array(symbols: &[Symbol], order: &[u32]) -> Vec<usize> {
    let n = symbols.len();
    let mut rank = vec![0; n];
    for (i, &place) in order.iter().enumerate() {
        rank[place as usize] = i;
    }
    let mut shared = vec![0; n];
    let mut height = 0;
    for place in 0..n {
        if rank[place] == 0 {
            height = 0;
            continue;
        }
        let before = order[rank[place] - 1] as usize;
        let same = symbols[place + height..].iter().zip(&symbols[before + height..]).take_while(|(a, b)| a == b);
        height += same.count();
        shared[rank[place]] = height;
        height = height.saturating_sub(1);
    }
    shared
}
