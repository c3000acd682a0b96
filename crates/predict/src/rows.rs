//! Rows of a vector clock, one number for each thread, that share what they have in common.
//!
//! **Paper:** Driscoll, Sarnak, Sleator, Tarjan, *Making data structures persistent*, JCSS 1989 (path copying).
//!
//! **What we changed, and why.** A row as a plain list costs as many numbers as there are threads, and there is a row
//! for each read of what another thread wrote: with thousands of threads that is most of the memory. Here a row is a
//! tree of [`FAN`] children a node. The larger of two rows takes over, unchanged, every part in which one of them
//! is nowhere smaller. A thread that learns what another one knows mostly takes over all but one path.
//!
//! **Promise:** the same numbers as plain lists. With at most [`FAN`] threads a row is one node.

use untorn_trace::ThreadId;

/// Children of a node.
const FAN: usize = 8;

/// A row, or a part of one: the number of its node. 0 is the row of zeros, at every height.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Row(u32);

/// All rows. None is ever changed.
#[derive(Debug)]
pub(crate) struct Rows {
    /// Leaves have numbers, other nodes have nodes.
    nodes: Vec<[u32; FAN]>,
    /// How many threads a child of a root stands for.
    span: usize,
}

impl Rows {
    pub(crate) fn new(threads: usize) -> Self {
        let mut span = 1;
        while span * FAN < threads {
            span *= FAN;
        }
        Self { nodes: vec![[0; FAN]], span }
    }

    /// The number of a thread.
    #[inline]
    pub(crate) fn get(&self, row: Row, thread: ThreadId) -> u32 {
        let (mut node, mut rest, mut span) = (row.0, thread.index(), self.span);
        while span > 1 {
            node = self.nodes[node as usize][rest / span];
            rest %= span;
            span /= FAN;
        }
        self.nodes[node as usize][rest]
    }

    /// The row with another number for a thread.
    pub(crate) fn with(&mut self, row: Row, thread: ThreadId, number: u32) -> Row {
        Row(self.replaced(row.0, self.span, thread.index(), number))
    }

    fn replaced(&mut self, node: u32, span: usize, rest: usize, number: u32) -> u32 {
        let mut parts = self.nodes[node as usize];
        let (child, old) = (rest / span, parts[rest / span]);
        parts[child] = match span {
            1 => number,
            _ => self.replaced(old, span / FAN, rest % span, number),
        };
        if parts[child] == old { node } else { self.node(parts) }
    }

    fn node(&mut self, parts: [u32; FAN]) -> u32 {
        if parts == [0; FAN] {
            return 0;
        }
        self.nodes.push(parts);
        (self.nodes.len() - 1) as u32
    }

    /// The larger number of each thread.
    pub(crate) fn join(&mut self, one: Row, other: Row) -> Row {
        Row(self.larger(one.0, other.0, self.span))
    }

    fn larger(&mut self, one: u32, other: u32, span: usize) -> u32 {
        if one == other || other == 0 {
            return one;
        }
        if one == 0 {
            return other;
        }
        let (ours, theirs) = (self.nodes[one as usize], self.nodes[other as usize]);
        let mut parts = ours;
        for (part, &their) in parts.iter_mut().zip(&theirs) {
            *part = match span {
                1 => (*part).max(their),
                _ => self.larger(*part, their, span / FAN),
            };
        }
        match parts {
            _ if parts == ours => one,
            _ if parts == theirs => other,
            _ => self.node(parts),
        }
    }

    /// Raises numbers to those of a row.
    pub(crate) fn join_into(&self, row: Row, numbers: &mut [u32]) {
        self.raise(row.0, self.span, numbers);
    }

    fn raise(&self, node: u32, span: usize, numbers: &mut [u32]) {
        if node == 0 {
            return;
        }
        for (&part, numbers) in self.nodes[node as usize].iter().zip(numbers.chunks_mut(span)) {
            match span {
                1 => numbers[0] = numbers[0].max(part),
                _ => self.raise(part, span / FAN, numbers),
            }
        }
    }

    /// How many numbers are kept, for all rows together.
    #[cfg(test)]
    pub(crate) fn size(&self) -> usize {
        self.nodes.len() * FAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(state: &mut u64) -> usize {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize
    }

    #[test]
    fn rows_have_the_numbers_of_plain_lists() {
        for threads in [1, 2, 8, 9, 64, 65, 200] {
            let mut rows = Rows::new(threads);
            let mut all = vec![(Row::default(), vec![0; threads])];
            let mut state = threads as u64;
            for _ in 0..2000 {
                let (a, b) = (random(&mut state) % all.len(), random(&mut state) % all.len());
                let (thread, number) = (random(&mut state) % threads, random(&mut state) % 5);
                let next = match random(&mut state) % 2 {
                    0 => {
                        let mut list = all[a].1.clone();
                        list[thread] = number as u32;
                        (rows.with(all[a].0, ThreadId::from_index(thread), number as u32), list)
                    }
                    _ => {
                        let pairs = all[a].1.iter().zip(&all[b].1);
                        let list = pairs.map(|(one, other)| *one.max(other)).collect();
                        (rows.join(all[a].0, all[b].0), list)
                    }
                };
                let mut raised = vec![0; threads];
                rows.join_into(next.0, &mut raised);
                assert_eq!(raised, next.1);
                let read = |thread| rows.get(next.0, ThreadId::from_index(thread));
                assert_eq!((0..threads).map(read).collect::<Vec<_>>(), next.1);
                all.push(next);
            }
        }
    }

    /// Every thread learns what the one before it knew.
    #[test]
    fn a_chain_of_threads_costs_a_path_for_each_step() {
        let threads = 2000;
        let mut rows = Rows::new(threads);
        let mut latest = vec![Row::default(); threads];
        let steps = 50_000;
        for step in 1..steps {
            let (from, to) = (ThreadId::from_index((step - 1) % threads), step % threads);
            let told = rows.with(latest[from.index()], from, step as u32);
            let known = rows.join(latest[to], told);
            latest[to] = known;
        }
        assert!(rows.size() < steps * 12 * FAN, "{} numbers", rows.size());
    }
}
