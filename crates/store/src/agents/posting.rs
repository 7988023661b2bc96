//! Sets of agents, as the index of attributes stores them: for each value, chunks of 4096 row numbers. A value
//! that a whole fleet shares costs one small row per chunk instead of one row per agent, and a selector is a few
//! set operations.

use std::collections::BTreeMap;

use crate::error::StoreError;

/// Row numbers in one chunk.
const CHUNK: i64 = 4096;
/// 64-bit words in a chunk's bitmap.
const WORDS: usize = 64;
/// The most members that are stored as a list of two bytes each. One more, and the bitmap is not longer.
const MAX_LIST: usize = 255;

/// Which chunk a row's number is in.
pub(super) const fn chunk_of(id: i64) -> i64 {
    id.div_euclid(CHUNK)
}

/// Members of one chunk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Chunk(Box<[u64; WORDS]>);

impl Chunk {
    pub(super) fn empty() -> Self {
        Self(Box::new([0; WORDS]))
    }

    /// Reads a chunk: a list of little-endian numbers of two bytes, or when it has the length of one, a bitmap.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, StoreError> {
        let mut chunk = Self::empty();
        if bytes.len() == WORDS * 8 {
            for (word, bytes) in chunk.0.iter_mut().zip(bytes.as_chunks().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            return Ok(chunk);
        }
        let (members, rest) = bytes.as_chunks();
        for member in members {
            let member = i64::from(u16::from_le_bytes(*member));
            if member >= CHUNK {
                return Err(StoreError::Corrupt("set of agents"));
            }
            chunk.insert(member);
        }
        if rest.is_empty() { Ok(chunk) } else { Err(StoreError::Corrupt("set of agents")) }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        if self.len() > MAX_LIST {
            return self.0.iter().flat_map(|word| word.to_le_bytes()).collect();
        }
        self.offsets().flat_map(|offset| u16::try_from(offset).unwrap_or(0).to_le_bytes()).collect()
    }

    /// The encoding of a chunk with one member.
    pub(super) fn encode_one(id: i64) -> [u8; 2] {
        u16::try_from(id.rem_euclid(CHUNK)).unwrap_or(0).to_le_bytes()
    }

    pub(super) fn insert(&mut self, id: i64) {
        let (word, bit) = place(id);
        self.0[word] |= bit;
    }

    pub(super) fn remove(&mut self, id: i64) {
        let (word, bit) = place(id);
        self.0[word] &= !bit;
    }

    fn contains(&self, id: i64) -> bool {
        let (word, bit) = place(id);
        self.0[word] & bit != 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The members, counted from the chunk's first row number.
    pub(super) fn offsets(&self) -> impl Iterator<Item = i64> {
        (0i64..).zip(self.0.iter()).flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| i64::from(rest.trailing_zeros()))?;
                rest &= rest - 1;
                Some(index * 64 + bit)
            })
        })
    }

    fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) {
        self.0.iter_mut().zip(other.0.iter()).for_each(|(own, other)| *own = with(*own, *other));
    }
}

/// The word and the bit of a row's number within its chunk.
const fn place(id: i64) -> (usize, u64) {
    let offset = id.rem_euclid(CHUNK) as usize;
    (offset / 64, 1 << (offset % 64))
}

/// Any number of agents.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct IdSet(BTreeMap<i64, Chunk>);

impl IdSet {
    /// Adds the members of a chunk.
    pub(super) fn add(&mut self, number: i64, chunk: Chunk) {
        match self.0.get_mut(&number) {
            Some(own) => own.combine(&chunk, |own, other| own | other),
            None => {
                self.0.insert(number, chunk);
            }
        }
    }

    /// Keeps what is in both.
    pub(super) fn intersect(&mut self, other: &Self) {
        self.0.retain(|number, own| {
            other.0.get(number).is_some_and(|other| {
                own.combine(other, |own, other| own & other);
                true
            })
        });
    }

    /// Takes away what is in the other.
    pub(super) fn subtract(&mut self, other: &Self) {
        for (number, own) in &mut self.0 {
            if let Some(other) = other.0.get(number) {
                own.combine(other, |own, other| own & !other);
            }
        }
    }

    /// Adds what is in the other.
    pub(super) fn union(&mut self, other: Self) {
        other.0.into_iter().for_each(|(number, chunk)| self.add(number, chunk));
    }

    pub(super) fn contains(&self, id: i64) -> bool {
        self.0.get(&chunk_of(id)).is_some_and(|chunk| chunk.contains(id))
    }

    pub(super) fn len(&self) -> usize {
        self.0.values().map(Chunk::len).sum()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = i64> {
        self.0.iter().flat_map(|(number, chunk)| chunk.offsets().map(move |offset| number * CHUNK + offset))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn set(ids: &[i64]) -> IdSet {
        let mut set = IdSet::default();
        for id in ids {
            let mut chunk = Chunk::empty();
            chunk.insert(*id);
            set.add(chunk_of(*id), chunk);
        }
        set
    }

    proptest! {
        #[test]
        fn a_chunk_reads_back_whatever_its_size(ids in prop::collection::btree_set(0..CHUNK, 0..600)) {
            let mut chunk = Chunk::empty();
            ids.iter().for_each(|id| chunk.insert(*id + 3 * CHUNK));
            let bytes = chunk.encode();
            prop_assert!(bytes.len() <= 512);
            prop_assert_eq!(Chunk::decode(&bytes).unwrap(), chunk.clone());
            prop_assert_eq!(chunk.offsets().collect::<Vec<_>>(), ids.iter().copied().collect::<Vec<_>>());
            ids.iter().for_each(|id| chunk.remove(*id));
            prop_assert!(chunk.is_empty());
        }

        #[test]
        fn sets_do_what_sets_do(
            a in prop::collection::btree_set(0..20_000i64, 0..40),
            b in prop::collection::btree_set(0..20_000i64, 0..40),
        ) {
            let members = |set: &IdSet| set.iter().collect::<Vec<_>>();
            let list = |ids: &std::collections::BTreeSet<i64>| ids.iter().copied().collect::<Vec<_>>();
            let (x, y) = (set(&list(&a)), set(&list(&b)));
            prop_assert_eq!((members(&x), x.len()), (list(&a), a.len()));
            let mut both = x.clone();
            both.intersect(&y);
            prop_assert_eq!(members(&both), a.intersection(&b).copied().collect::<Vec<_>>());
            let mut either = x.clone();
            either.union(y.clone());
            prop_assert_eq!(members(&either), a.union(&b).copied().collect::<Vec<_>>());
            let mut only = x;
            only.subtract(&y);
            prop_assert_eq!(members(&only), a.difference(&b).copied().collect::<Vec<_>>());
            prop_assert!(a.iter().all(|id| y.contains(*id) == b.contains(id)));
        }
    }

    #[test]
    fn damaged_bytes_are_no_chunk() {
        assert!(Chunk::decode(&[1]).is_err());
        assert!(Chunk::decode(&[0, 0x10]).is_err());
        assert_eq!(Chunk::decode(&Chunk::encode_one(4097)).unwrap().offsets().collect::<Vec<_>>(), [1]);
    }
}
