//! Long ids in the words of a finding: a key keeps only their hash, which tells a reader nothing.

use mcpsim_traces::tape::Value;

use crate::shape::shown;

/// What keys beyond their short form begin with as [`Key`](mcpsim_traces::key::Key) writes them, and what stands
/// there where the value itself is not at hand.
const LONG: [(&str, &str); 3] = [
    ("(long text ", "(a long text)"),
    ("(big integer ", "(a big integer)"),
    ("(fraction ", "(a fraction)"),
];
/// The digits of the hash, and the bracket after them.
const HASH: usize = 8;

/// Where a frame has values that findings name by their key.
const PLACES: &[&[&str]] = &[
    &["id"],
    &["params", "requestId"],
    &["params", "progressToken"],
    &["params", "_meta", "progressToken"],
    &["params", "cursor"],
    &["params", "taskId"],
];

/// The words with the beginnings of long values, as far as they stand in the frame, and without hashes.
#[cold]
pub(crate) fn spelled(words: &str, body: Option<Value<'_>>) -> String {
    let mut out = String::with_capacity(words.len());
    let mut rest = words;
    while let Some((at, end, plain)) = next(rest) {
        out.push_str(&rest[..at]);
        let name = &rest[at..end];
        let mut values = PLACES.iter().filter_map(|path| body?.path(path));
        match values.find(|value| value.key().to_string() == name) {
            Some(value) => out.push_str(&shown(value)),
            None => out.push_str(plain),
        }
        rest = &rest[end..];
    }
    out.push_str(rest);
    out
}

/// Whether the words name a long value.
pub(crate) fn has_long(words: &str) -> bool {
    next(words).is_some()
}

/// The first name of a long value: from where to where, and what stands for it.
fn next(words: &str) -> Option<(usize, usize, &'static str)> {
    let of = |(start, plain): &(&str, &'static str)| {
        words.match_indices(start).find_map(|(at, _)| {
            let hash = at + start.len();
            let end = hash + HASH + 1;
            let digits = words.as_bytes().get(hash..end)?.strip_suffix(b")")?;
            let is_hash = digits.iter().all(u8::is_ascii_hexdigit);
            is_hash.then_some((at, end, *plain))
        })
    };
    LONG.iter().filter_map(of).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_traces::key::Key;
    use mcpsim_traces::scan::Scanner;

    /// What stands in the frame is shown by its beginning; another long value only by its kind.
    #[test]
    fn long_values_are_shown_by_their_beginning() {
        let long = "x".repeat(100);
        let frame = format!(r#"{{"id":"{long}","params":{{"requestId":1e400}}}}"#);
        let mut scanner = Scanner::recording();
        scanner.value(frame.as_bytes(), 0).expect("JSON");
        let body = scanner.body(frame.as_bytes());
        let (one, other) = (Key::text(long.as_bytes()), Key::text(&[b'y'; 100]));
        let number = Key::number(b"1e400").expect("a number");
        let words = format!("{one} and {number}, not {other}, (long text), (long text 0123456é)");
        assert!(has_long(&words));
        assert_eq!(
            spelled(&words, body),
            format!(
                "\"{}…\" and 1e400, not (a long text), (long text), (long text 0123456é)",
                "x".repeat(40)
            )
        );
        assert_eq!(
            spelled(&words, None),
            "(a long text) and (a big integer), not (a long text), (long text), (long text 0123456é)"
        );
        assert!(!has_long("the id 7"));
    }
}
