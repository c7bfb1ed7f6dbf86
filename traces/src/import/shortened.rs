//! Frames that the writer of a log has shortened: `{"jsonrpc":"2.0","id":1,"result":{"tools":… (truncated)`.

use crate::scan::{FaultKind, Scanner};

/// How long the log's lines become, where that shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Limit(Option<usize>);

impl Limit {
    /// Of a log that begins with these lines: the longest are as long as each other.
    pub(super) fn of(lines: &[&[u8]]) -> Limit {
        let Some((_, whole)) = lines.split_last() else {
            return Limit(None);
        };
        let longest = whole.iter().map(|line| line.len()).max().unwrap_or(0);
        let those = whole.iter().filter(|line| line.len() == longest);
        let is_limit = longest >= BYTES_MIN && those.count() > 1;
        Limit(is_limit.then_some(longest))
    }

    /// Whether a line of that length may have been cut to it.
    pub(super) fn is(self, length: usize) -> bool {
        self.0 == Some(length)
    }
}

/// Nobody cuts lines that are shorter.
const BYTES_MIN: usize = 64;
/// What tells of a cut is no longer than this.
const MARK_BYTES_MAX: usize = 64;

/// How a frame ends in its log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tail {
    /// As it was written, as far as that can be told.
    Own,
    /// In the middle, where nothing says why.
    Open,
    /// In the middle, and it says that it was shortened.
    Marked,
}

impl Tail {
    /// Looks at the end of what has to be a frame.
    pub(super) fn of(text: &[u8], scanner: &mut Scanner) -> Tail {
        let mut is_open = |text: &[u8]| matches!(scanner.value(text, 0), Err(fault) if fault.kind == FaultKind::End);
        match mark(text) {
            _ if !matches!(text.first(), Some(b'{' | b'[')) => Tail::Own,
            Some(at) if is_open(&text[..at]) => Tail::Marked,
            _ if is_open(text) => Tail::Open,
            _ => Tail::Own,
        }
    }
}

/// Where the words begin that say that a text was shortened: dots, perhaps with a remark, or a remark in brackets.
fn mark(text: &[u8]) -> Option<usize> {
    let from = text.len().saturating_sub(MARK_BYTES_MAX);
    let end = &text[from..];
    let ellipsis = "…".as_bytes();
    let dots = [&b"..."[..], ellipsis].into_iter().filter_map(|dots| {
        let at = memchr::memmem::rfind(end, dots)?;
        Some((at, at + dots.len()))
    });
    let bracket = || {
        let last = end
            .last()
            .filter(|byte| matches!(byte, b')' | b']' | b'>'))?;
        let open = match last {
            b')' => b'(',
            b']' => b'[',
            _ => b'<',
        };
        let at = memchr::memrchr(open, end)?;
        Some((at, at)).filter(|_| says_so(&end[at..]))
    };
    let (at, behind) = dots.max().or_else(bracket)?;
    let remark = end[behind..].trim_ascii();
    (remark.is_empty() || says_so(remark)).then_some(from + at)
}

/// Whether the remark tells of a cut.
fn says_so(remark: &[u8]) -> bool {
    let words: [&[u8]; 7] = [
        b"trunc", b"more", b"cut", b"omitted", b"bytes", b"char", b"snip",
    ];
    let lower = remark.to_ascii_lowercase();
    let is_plain = !remark.iter().any(|byte| matches!(byte, b'"' | b'{' | b'}'));
    is_plain
        && words
            .iter()
            .any(|word| memchr::memmem::find(&lower, word).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Tail) {
        assert_eq!(
            Tail::of(text.as_bytes(), &mut Scanner::new()),
            expected,
            "{text}"
        );
    }

    #[test]
    fn what_says_that_it_was_shortened_was() {
        for end in [
            "...",
            "…",
            "... (truncated)",
            "…[truncated 512 bytes]",
            "... 300 more characters",
            " [truncated]",
            "<truncated>",
            "... [truncated]",
            "…(1234 more)",
        ] {
            for text in [
                "{\"a\":\"text",
                "{\"a\":[1,2",
                "[{\"a\":1}",
                "{\"a\":",
                "{\"a\": ",
            ] {
                check(&format!("{text}{end}"), Tail::Marked);
            }
        }
    }

    #[test]
    fn what_is_whole_or_broken_was_not_shortened() {
        for text in [
            "{\"a\":\"...\"}",
            "{\"a\":1} ...",
            "{\"a\":1,} trailing",
            "Loading...",
            "42",
        ] {
            check(text, Tail::Own);
        }
        check("{\"a\":\"wait...now", Tail::Open);
        check("{\"a\":", Tail::Open);
    }

    #[test]
    fn lines_that_end_at_one_length_have_a_limit() {
        let line = |length: usize, end: &str| format!("{}{end}", "x".repeat(length - end.len()));
        let limit = |lines: &[String]| {
            let lines: Vec<&[u8]> = lines.iter().map(|line| line.as_bytes()).collect();
            Limit::of(&lines)
        };
        let cut = [line(100, "a"), line(80, "}"), line(100, "b"), line(7, "")];
        assert!(limit(&cut).is(100) && !limit(&cut).is(80));
        let longer = [line(100, "a"), line(100, "b"), line(101, "}"), line(7, "")];
        assert_eq!(limit(&longer), Limit(None));
    }
}
