//! What is open, sorted: a plain vector while it is small, chunks of one where it is not.

use std::ops::{Index, IndexMut};

/// What has a place in the order.
pub(crate) trait Keyed {
    /// What it is sorted by.
    type By: Ord + Copy;

    /// Its place.
    fn by(&self) -> Self::By;
}

/// A chunk holds no more than this; the first one is the whole list while that is small.
const CHUNK_MAX: usize = 512;
/// With more than this, what nobody waits for is looked for and dropped.
pub(crate) const SWEEP_MIN: usize = 256;
/// So many are looked at one by one.
const HANDFUL: usize = 12;
/// A place is the number of its chunk, and its place there.
const BITS: u32 = 16;

/// A sorted list. Places (`usize`) are good until the next change; those in the first chunk count from 0.
///
/// Invariants: no chunk is empty but the first, and that only when nothing is in the list.
#[derive(Clone, Debug)]
pub(crate) struct Opens<T> {
    head: Vec<T>,
    tail: Option<Box<Tail<T>>>,
}

#[derive(Clone, Debug)]
struct Tail<T> {
    chunks: Vec<Vec<T>>,
    /// How many are in the chunks.
    count: usize,
    /// The length at which to look for what can be dropped.
    sweep_at: usize,
}

impl<T> Default for Opens<T> {
    fn default() -> Self {
        Opens {
            head: vec![],
            tail: None,
        }
    }
}

impl<T: PartialEq> PartialEq for Opens<T> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<T: Eq> Eq for Opens<T> {}

impl<T> Opens<T> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.head.len() + self.tail.as_ref().map_or(0, |tail| tail.count)
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.head.is_empty()
    }

    /// Whether there is more than the first chunk.
    #[inline]
    pub(crate) fn is_large(&self) -> bool {
        self.tail.as_ref().is_some_and(|tail| tail.count > 0)
    }

    /// The first chunk: everything while the list is small.
    #[inline]
    pub(crate) fn head(&self) -> &[T] {
        &self.head
    }

    #[inline]
    fn chunks(&self) -> &[Vec<T>] {
        self.tail.as_ref().map_or(&[], |tail| &tail.chunks)
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.head.iter().chain(self.chunks().iter().flatten())
    }

    #[inline]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let chunks: &mut [Vec<T>] = match &mut self.tail {
            Some(tail) => &mut tail.chunks,
            None => &mut [],
        };
        self.head.iter_mut().chain(chunks.iter_mut().flatten())
    }

    /// Everything from that place on.
    pub(crate) fn iter_from(&self, at: usize) -> impl Iterator<Item = &T> {
        let (chunk, at) = split(at);
        let (first, rest) = match chunk.checked_sub(1) {
            None => (&self.head[at.min(self.head.len())..], self.chunks()),
            Some(chunk) => match self.chunks().get(chunk) {
                Some(first) => (&first[at.min(first.len())..], &self.chunks()[chunk + 1..]),
                None => (&[][..], &[][..]),
            },
        };
        first.iter().chain(rest.iter().flatten())
    }

    /// The place of the first that is not less.
    #[inline]
    pub(crate) fn place(&self, less: impl Fn(&T) -> bool) -> usize {
        match &self.tail {
            Some(tail) if tail.count > 0 && self.head.last().is_some_and(&less) => {
                let chunks = &tail.chunks;
                let chunk = chunks.partition_point(|chunk| chunk.last().is_some_and(&less));
                // Behind the last: at its end.
                let chunk = chunk.min(chunks.len() - 1);
                (chunk + 1) << BITS | chunks[chunk].partition_point(less)
            }
            // What is new mostly comes behind all others.
            _ if self.head.last().is_none_or(&less) => self.head.len(),
            _ => self.head.partition_point(less),
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, at: usize, one: T) {
        if self.tail.is_none() && self.head.len() < CHUNK_MAX {
            self.head.insert(at, one);
        } else {
            self.insert_in_chunks(at, one);
        }
    }

    fn insert_in_chunks(&mut self, at: usize, one: T) {
        let (chunk, at) = split(at);
        if chunk == 0 {
            self.head.insert(at, one);
            if self.head.len() > CHUNK_MAX {
                let half = self.head.split_off(CHUNK_MAX / 2);
                let tail = self.tail();
                tail.count += half.len();
                tail.chunks.insert(0, half);
            }
            return;
        }
        let tail = self.tail();
        tail.count += 1;
        let place = &mut tail.chunks[chunk - 1];
        place.insert(at, one);
        if place.len() > CHUNK_MAX {
            let half = place.split_off(CHUNK_MAX / 2);
            tail.chunks.insert(chunk, half);
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, at: usize) -> T {
        if self.tail.is_none() {
            return self.head.remove(at);
        }
        self.remove_in_chunks(at)
    }

    fn remove_in_chunks(&mut self, at: usize) -> T {
        let (chunk, at) = split(at);
        if chunk == 0 {
            let one = self.head.remove(at);
            if self.head.is_empty()
                && let Some(tail) = &mut self.tail
                && !tail.chunks.is_empty()
            {
                self.head = tail.chunks.remove(0);
                tail.count -= self.head.len();
            }
            self.gather();
            return one;
        }
        let tail = self.tail();
        tail.count -= 1;
        let one = tail.chunks[chunk - 1].remove(at);
        if tail.chunks[chunk - 1].is_empty() {
            tail.chunks.remove(chunk - 1);
        }
        self.gather();
        one
    }

    /// A list that is small again is one vector again.
    fn gather(&mut self) {
        if let Some(tail) = &mut self.tail
            && self.head.len() + tail.count <= CHUNK_MAX / 4
        {
            tail.count = 0;
            self.head.extend(tail.chunks.drain(..).flatten());
        }
    }

    #[cold]
    fn tail(&mut self) -> &mut Tail<T> {
        self.tail.get_or_insert_with(|| {
            Box::new(Tail {
                chunks: vec![],
                count: 0,
                sweep_at: SWEEP_MIN,
            })
        })
    }

    /// Whether it is time to look for what can be dropped.
    #[inline]
    pub(crate) fn is_sweep_due(&self) -> bool {
        self.len() >= SWEEP_MIN
            && self
                .tail
                .as_ref()
                .is_none_or(|tail| self.len() >= tail.sweep_at)
    }

    /// It was looked for: not again before the list has grown by a good part.
    #[cold]
    pub(crate) fn swept(&mut self) {
        let next = self.len() + self.len() / 8;
        self.tail().sweep_at = next.max(SWEEP_MIN);
    }
}

impl<T: Keyed> Opens<T> {
    /// Where it is, or where it belongs.
    #[inline]
    pub(crate) fn find(&self, by: T::By) -> Result<usize, usize> {
        // One or two are usual: the last one first.
        match self.head.last() {
            None => Err(0),
            Some(last) if last.by() == by => Ok(self.head.len() - 1),
            // What is new mostly comes behind all others.
            Some(last) if self.tail.is_none() && last.by() < by => Err(self.head.len()),
            _ if self.tail.is_none() => {
                let head = &self.head;
                // Of a handful, looking at each costs less than guessing where it lies.
                let found = match head.len() {
                    ..=HANDFUL => head.iter().rposition(|one| one.by() == by),
                    _ => None,
                };
                match found {
                    Some(at) => Ok(at),
                    None => head.binary_search_by_key(&by, Keyed::by),
                }
            }
            _ => self.find_in_chunks(by),
        }
    }

    fn find_in_chunks(&self, by: T::By) -> Result<usize, usize> {
        let at = self.place(|one| one.by() < by);
        match self.iter_from(at).next() {
            Some(one) if one.by() == by => Ok(at),
            _ => Err(at),
        }
    }
}

#[inline]
fn split(at: usize) -> (usize, usize) {
    (at >> BITS, at & ((1 << BITS) - 1))
}

impl<T> Index<usize> for Opens<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        match split(at) {
            (0, at) => &self.head[at],
            (chunk, at) => &self.chunks()[chunk - 1][at],
        }
    }
}

impl<T> IndexMut<usize> for Opens<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        match split(at) {
            (0, at) => &mut self.head[at],
            (chunk, at) => &mut self.tail().chunks[chunk - 1][at],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    impl Keyed for u16 {
        type By = u16;

        fn by(&self) -> u16 {
            *self
        }
    }

    fn toggle(opens: &mut Opens<u16>, plain: &mut BTreeSet<u16>, one: u16) {
        match opens.find(one) {
            Ok(at) => {
                assert_eq!(opens[at], one);
                assert_eq!(opens.remove(at), one);
                assert!(plain.remove(&one));
            }
            Err(at) => {
                opens.insert(at, one);
                assert!(plain.insert(one));
            }
        }
    }

    proptest! {
        /// The list agrees with the plainest one, through every growth and decline.
        #[test]
        fn agrees_with_a_tree(runs in proptest::collection::vec((0u16..3000, 0u16..1500, 1u16..7, any::<bool>()), 0..8)) {
            let mut opens = Opens::default();
            let mut plain = BTreeSet::new();
            for &(start, count, step, is_up) in &runs {
                for number in 0..count {
                    let number = if is_up { number } else { count - number };
                    toggle(&mut opens, &mut plain, start + number * step);
                }
                prop_assert_eq!(opens.len(), plain.len());
                prop_assert!(opens.iter().eq(plain.iter()));
                prop_assert!(opens.len() > CHUNK_MAX / 4 || opens.head().len() == opens.len());
                let at = opens.place(|one| *one < start);
                prop_assert!(opens.iter_from(at).eq(plain.range(start..)));
                prop_assert_eq!(opens.is_empty(), plain.is_empty());
            }
        }
    }
}
