//! Canonical 128-bit fingerprints: the same on every machine, in every build, for every run.

/// Mixes words into a 128-bit fingerprint, order-sensitive. Not for keeping secrets: a peer that
/// wants a collision can find one, and all it wins is a state that the explorer visits once less.
#[derive(Clone, Debug)]
pub struct Encoder {
    one: u64,
    two: u64,
}

impl Encoder {
    /// An encoder; different salts give unrelated fingerprints.
    #[inline]
    pub fn new(salt: u64) -> Encoder {
        Encoder {
            one: salt ^ 0x243F_6A88_85A3_08D3,
            two: salt.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x1319_8A2E_0370_7344,
        }
    }

    /// Mixes in one word: two folded 64×64→128-bit multiplications with odd constants.
    #[inline]
    pub fn word(&mut self, word: u64) {
        let first = u128::from(self.one ^ word) * 0xA409_3822_299F_31D1;
        let second = u128::from(self.two ^ word.rotate_left(32)) * 0x082E_FA98_EC4E_6C89;
        self.one = (first >> 64) as u64 ^ first as u64 ^ 0x4528_21E6_38D0_1377;
        self.two = (second >> 64) as u64
            ^ second as u64
            ^ 0xBE54_66CF_34E9_0C6C
            ^ self.one.rotate_left(23);
    }

    /// Mixes in a key.
    #[inline]
    pub fn key(&mut self, key: crate::key::Key) {
        let (head, tail) = key.words();
        self.word(head);
        self.word(tail);
    }

    /// Mixes in bytes, with their length.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    /// The fingerprint of everything mixed in so far.
    #[inline]
    pub fn finish(&self) -> u128 {
        let mut last = self.clone();
        last.word(0xC0AC_29B7_C97C_50DD);
        u128::from(last.one) << 64 | u128::from(last.two)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u64]) -> u128 {
        let mut encoder = Encoder::new(1);
        words.iter().for_each(|&word| encoder.word(word));
        encoder.finish()
    }

    /// Pinned: a fingerprint that changes between versions or machines makes stored ones worthless.
    #[test]
    fn fingerprints_are_pinned_and_order_sensitive() {
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[0]), of(&[0, 0]));
        assert_eq!(of(&[1, 2, 3]), of(&[1, 2, 3]));
    }
}
