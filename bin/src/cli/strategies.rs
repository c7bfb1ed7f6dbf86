//! Strategies as people name them.

use super::outcome::{Failure, Result, unknown_in};
use crate::sim::strategy::{Depth, Strategy};

/// The strategy of that name.
///
/// # Errors
/// A name that is not known, with the nearest; a depth that is none.
pub(crate) fn named(name: &str) -> Result<Strategy> {
    Strategy::parse(name).ok_or_else(|| match name.strip_prefix("pct:") {
        Some(depth) => Failure::new(format!(
            "--strategy pct:{}: the depth is a number from 1 to {}",
            crate::traces::show::escape(depth),
            Depth::MAX
        )),
        None => unknown_in("strategy", name, Strategy::NAMES, "mcpsim run --help"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_name_is_told_with_the_nearest() {
        for (name, told) in [
            ("unifrom", "did you mean `uniform`?"),
            ("PCT", "mcpsim run --help"),
            ("", "mcpsim run --help"),
            ("pct:0", "from 1 to 16"),
            ("pct:17", "from 1 to 16"),
            ("pct:", "from 1 to 16"),
            ("pct:+3", "from 1 to 16"),
            ("pct:03", "from 1 to 16"),
            ("pct:256", "from 1 to 16"),
        ] {
            let error = named(name).expect_err(name).to_string();
            assert!(error.contains(told), "{name}: {error}");
        }
    }
}
