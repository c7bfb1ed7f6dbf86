//! The ids that were used, in little memory while they are handed out in order.

use std::collections::BTreeMap;

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::key::{Key, KeyType};

/// Whether an id had been used before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Used {
    /// It had not.
    Never,
    /// It had.
    Before,
    /// It may have been among those that had to be forgotten.
    Unknown,
}

/// A set of ids: blocks of 64 consecutive numbers for each prefix, so that ids handed out in order
/// (`1`, `2`, …, or `"req-1"`, `"req-2"`, …) cost a bit each. Ids without a number, or longer than a
/// [`Key`] holds in place, cost an entry each; of these at most [`LOOSE_MAX`] are kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct IdSet {
    blocks: Blocks,
    loose: u32,
    forgot: bool,
}

/// The latest few ids of some kind, in any order: for what everybody may be full of, and matters for a while.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Latest {
    ids: Vec<Key>,
    forgot: bool,
}

impl Latest {
    /// When so many are remembered, the older half is forgotten.
    const MAX: usize = 128;

    pub(crate) fn insert(&mut self, key: Key) {
        if self.ids.contains(&key) {
            return;
        }
        if self.ids.len() >= Latest::MAX {
            self.ids.drain(..Latest::MAX / 2);
            self.forgot = true;
        }
        self.ids.push(key);
    }

    pub(crate) fn has(&self, key: Key) -> Used {
        match self.ids.contains(&key) {
            true => Used::Before,
            false if self.forgot => Used::Unknown,
            false => Used::Never,
        }
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word((self.ids.len() as u64) << 1 | u64::from(self.forgot));
        for id in &self.ids {
            encoder.key(*id);
        }
    }
}

/// How many ids that have no order are remembered.
pub(crate) const LOOSE_MAX: u32 = 100_000;
/// With more blocks than this, a sorted vector gives way to a tree.
const SMALL_MAX: usize = 64;

/// Prefix and number of a block; its bits are its members.
type Place = (u128, i64);

/// Invariant: a small set is canonical, so that equal small sets are equal values; a large one (a long
/// log, never a state that is explored) remembers which block was used last.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Blocks {
    /// Sorted by place.
    Small(Vec<(Place, u64)>),
    Large(Box<Large>),
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Large {
    /// The block used last, which stands outside the tree.
    hot: (Place, u64),
    tree: BTreeMap<Place, u64>,
}

impl Default for IdSet {
    fn default() -> Self {
        IdSet {
            blocks: Blocks::Small(vec![]),
            loose: 0,
            forgot: false,
        }
    }
}

impl IdSet {
    /// Adds an id and says whether it was in.
    #[inline]
    pub(crate) fn insert(&mut self, key: Key) -> Used {
        let (place, bit, is_loose) = place(key);
        if is_loose && self.loose >= LOOSE_MAX {
            return self.when_full(place, bit);
        }
        let word = match &mut self.blocks {
            Blocks::Small(blocks) => {
                // Ids mostly come in order: the last block first.
                let at = match blocks.last() {
                    Some((last, _)) if *last == place => Ok(blocks.len() - 1),
                    Some((last, _)) if *last > place => {
                        blocks.binary_search_by_key(&place, |(place, _)| *place)
                    }
                    _ => Err(blocks.len()),
                };
                let at = at.unwrap_or_else(|at| {
                    blocks.insert(at, (place, 0));
                    at
                });
                &mut blocks[at].1
            }
            Blocks::Large(large) => {
                let Large { hot, tree } = &mut **large;
                if hot.0 != place {
                    let word = tree.remove(&place).unwrap_or(0);
                    let (old, bits) = std::mem::replace(hot, (place, word));
                    tree.insert(old, bits);
                }
                &mut hot.1
            }
        };
        if *word & bit != 0 {
            return Used::Before;
        }
        *word |= bit;
        self.loose += u32::from(is_loose);
        if let Blocks::Small(blocks) = &mut self.blocks
            && blocks.len() > SMALL_MAX
        {
            self.blocks = Blocks::Large(Box::new(Large {
                hot: blocks.pop().unwrap_or_default(),
                tree: std::mem::take(blocks).into_iter().collect(),
            }));
        }
        if self.forgot && is_loose {
            Used::Unknown
        } else {
            Used::Never
        }
    }

    /// A full set forgets the newest: what it holds stays certain.
    #[cold]
    fn when_full(&mut self, place: Place, bit: u64) -> Used {
        if self.bits(place) & bit != 0 {
            return Used::Before;
        }
        if std::mem::replace(&mut self.forgot, true) {
            Used::Unknown
        } else {
            Used::Never
        }
    }

    #[inline]
    fn bits(&self, place: Place) -> u64 {
        match &self.blocks {
            Blocks::Small(blocks) => match blocks.last() {
                Some((last, bits)) if *last == place => *bits,
                Some((last, _)) if *last < place => 0,
                _ => match blocks.binary_search_by_key(&place, |(place, _)| *place) {
                    Ok(at) => blocks[at].1,
                    Err(_) => 0,
                },
            },
            Blocks::Large(large) if large.hot.0 == place => large.hot.1,
            Blocks::Large(large) => large.tree.get(&place).copied().unwrap_or(0),
        }
    }

    /// Whether the id is in.
    #[inline]
    pub(crate) fn has(&self, key: Key) -> Used {
        if self.is_empty() {
            return Used::Never;
        }
        let (place, bit, is_loose) = place(key);
        match self.bits(place) & bit {
            0 if is_loose && self.forgot => Used::Unknown,
            0 => Used::Never,
            _ => Used::Before,
        }
    }

    /// Takes an id out: it turned out never to have been used.
    #[cold]
    pub(crate) fn remove(&mut self, key: Key) {
        let (place, bit, is_loose) = place(key);
        if self.bits(place) & bit == 0 {
            return;
        }
        self.loose -= u32::from(is_loose);
        match &mut self.blocks {
            Blocks::Small(blocks) => {
                if let Ok(at) = blocks.binary_search_by_key(&place, |(place, _)| *place) {
                    blocks[at].1 &= !bit;
                    if blocks[at].1 == 0 {
                        blocks.remove(at);
                    }
                }
            }
            Blocks::Large(large) if large.hot.0 == place => large.hot.1 &= !bit,
            Blocks::Large(large) => {
                if let Some(word) = large.tree.get_mut(&place) {
                    *word &= !bit;
                }
            }
        }
    }

    /// Whether nothing was ever added.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        match &self.blocks {
            Blocks::Small(blocks) => blocks.is_empty() && !self.forgot,
            Blocks::Large(_) => false,
        }
    }

    /// How many blocks and single entries it holds: what its memory follows.
    pub(crate) fn entries(&self) -> usize {
        match &self.blocks {
            Blocks::Small(blocks) => blocks.len(),
            Blocks::Large(large) => large.tree.len() + 1,
        }
    }

    /// Mixes the set's canonical encoding in.
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        let mut put = |(group, number): Place, bits: u64| {
            encoder.word(group as u64);
            encoder.word((group >> 64) as u64);
            encoder.word(number as u64);
            encoder.word(bits);
        };
        match &self.blocks {
            Blocks::Small(blocks) => blocks.iter().for_each(|&(place, bits)| put(place, bits)),
            Blocks::Large(large) => {
                large
                    .tree
                    .iter()
                    .for_each(|(&place, &bits)| put(place, bits));
                put(large.hot.0, large.hot.1);
            }
        }
        encoder.word(self.entries() as u64 | u64::from(self.forgot) << 63);
    }
}

/// Where an id's bit is: prefix and block, and whether it has an entry of its own.
#[inline]
fn place(key: Key) -> (Place, u64, bool) {
    if let Some(number) = key.as_integer() {
        return ((0, number >> 6), 1 << (number & 63), false);
    }
    let (head, tail) = key.words();
    let whole = u128::from(head) << 64 | u128::from(tail);
    if key.key_type() == KeyType::Text
        && head as u8 == Key::text(b"").words().0 as u8
        && let Some((prefix, number)) = numbered(head, tail)
    {
        return ((prefix, number >> 6), 1 << (number & 63), false);
    }
    ((whole, 0), 1, true)
}

/// Splits a string of at most 14 bytes into what stands before its last digits and these digits'
/// value. Leading zeros belong to the prefix: "01" and "1" are two ids.
#[inline]
fn numbered(head: u64, tail: u64) -> Option<(u128, i64)> {
    let mut bytes = [0u8; 16];
    bytes[..8].copy_from_slice(&head.to_le_bytes());
    bytes[8..].copy_from_slice(&tail.to_le_bytes());
    // The tag, the length, then the text.
    let length = usize::from(bytes[1]).min(14);
    let text = &bytes[2..2 + length];
    let mut start = length;
    while start > 0 && text[start - 1].is_ascii_digit() {
        start -= 1;
    }
    while start < length && text[start] == b'0' && start + 1 < length {
        start += 1;
    }
    if start == length {
        return None;
    }
    let number = text[start..]
        .iter()
        .fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    let mut prefix = [0u8; 16];
    prefix[..start].copy_from_slice(&text[..start]);
    // The length keeps "a" + 1 apart from "a\0" + 1, the tag keeps strings apart from integers.
    prefix[14] = start as u8;
    prefix[15] = 0x80;
    Some((u128::from_le_bytes(prefix), number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn text(text: &str) -> Key {
        Key::text(text.as_bytes())
    }

    #[test]
    fn half_a_million_ids_in_order_cost_eight_thousand_blocks() {
        let mut set = IdSet::default();
        for number in 0..500_000 {
            assert_eq!(set.insert(Key::integer(number)), Used::Never);
        }
        assert_eq!(set.entries(), 7813);
        let mut set = IdSet::default();
        for number in 0..500_000 {
            assert_eq!(set.insert(text(&format!("req-{number}"))), Used::Never);
        }
        assert!(set.entries() <= 7900, "{}", set.entries());
        assert_eq!(set.insert(text("req-77")), Used::Before);
        assert_eq!(set.has(text("req-500000")), Used::Never);
    }

    #[test]
    fn spellings_that_differ_stay_apart() {
        let ids = [
            Key::integer(1),
            text("1"),
            text("01"),
            text("001"),
            text("0"),
            text("00"),
            text("a1"),
            text("a01"),
            text("a"),
            text(""),
            text("a\u{0}1"),
            Key::integer(-1),
            Key::integer(i64::MIN),
            text("99999999999999"),
            text("a text of more than fourteen bytes 1"),
        ];
        let mut set = IdSet::default();
        for id in ids {
            assert_eq!(set.insert(id), Used::Never, "{id}");
        }
        for id in ids {
            assert_eq!(set.insert(id), Used::Before, "{id}");
        }
    }

    /// What had to be forgotten is never said to be new or used.
    #[test]
    fn a_full_set_says_that_it_does_not_know() {
        let mut set = IdSet::default();
        let id = |number: u32| text(&format!("a long id without order, number {number}"));
        for number in 0..=LOOSE_MAX {
            set.insert(id(number));
        }
        assert_eq!(set.has(id(3)), Used::Before);
        assert_eq!(set.has(id(LOOSE_MAX)), Used::Unknown);
        assert_eq!(set.insert(id(LOOSE_MAX + 7)), Used::Unknown);
        assert_eq!(set.insert(Key::integer(5)), Used::Never);
    }

    /// However many there are, few are kept, and of the others it is said that they may have been there.
    #[test]
    fn the_latest_are_few() {
        let mut latest = Latest::default();
        latest.insert(text("a"));
        latest.insert(text("a"));
        assert_eq!(latest.ids.len(), 1);
        assert_eq!(latest.has(text("b")), Used::Never);
        for number in 0..10_000 {
            latest.insert(Key::integer(number));
            assert!(latest.ids.len() <= Latest::MAX);
            assert_eq!(latest.has(Key::integer(number)), Used::Before);
        }
        assert_eq!(latest.has(text("a")), Used::Unknown);
    }

    proptest! {
        /// The set agrees with the plainest one, whatever the order.
        #[test]
        fn agrees_with_a_tree(ids in proptest::collection::vec((any::<bool>(), -300i64..300), 0..200)) {
            let mut set = IdSet::default();
            let mut plain = BTreeSet::new();
            for &(is_text, number) in &ids {
                let key = if is_text { text(&format!("k{number}")) } else { Key::integer(number) };
                let was = if plain.insert(key) { Used::Never } else { Used::Before };
                prop_assert_eq!(set.insert(key), was);
            }
            let mut sorted = IdSet::default();
            for &key in &plain {
                sorted.insert(key);
            }
            prop_assert_eq!(&set, &sorted);
            for (at, &key) in plain.iter().enumerate() {
                if at % 2 == 0 {
                    set.remove(key);
                    set.remove(key);
                }
            }
            let mut rest = IdSet::default();
            for &key in plain.iter().skip(1).step_by(2) {
                rest.insert(key);
            }
            prop_assert_eq!(set, rest);
        }
    }
}
