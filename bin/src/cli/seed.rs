//! Fresh seeds: the one place where randomness from outside comes in.

use std::hash::{BuildHasher, Hasher, RandomState};

use super::outcome::{Failure, Result};
use crate::sim::choose::SEED_END;

/// A fresh seed below 2^53, from the randomness that the operating system gives the standard library.
pub(crate) fn fresh() -> u64 {
    RandomState::new().build_hasher().finish() % SEED_END
}

/// A seed that was given.
///
/// # Errors
/// Seeds of 2^53 and above, which tools that read numbers as doubles would change.
pub(crate) fn checked(seed: u64) -> Result<u64> {
    if seed < SEED_END {
        Ok(seed)
    } else {
        Err(Failure::new(format!(
            "--seed {seed}: seeds lie below 2^53 ({SEED_END})"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_stay_below_2_to_53() {
        assert!((0..1000).all(|_| fresh() < SEED_END));
        assert!(checked(SEED_END - 1).is_ok());
        assert!(checked(SEED_END).is_err());
    }
}
