//! Whether two JSON values are equal, told by a fingerprint: values of one side are long gone when the
//! other side's come.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::tape::{Value, ValueKind};

/// What is nested deeper is compared as it is written.
const DEPTH_MAX: u32 = 64;

/// The fingerprint of a value: the order of members, white space and the spelling of numbers and strings do
/// not matter.
pub(crate) fn of(value: Value<'_>) -> u128 {
    at_depth(value, 0, &mut false)
}

/// The fingerprint of an object without its member of that name.
pub(crate) fn without(object: Value<'_>, name: &str) -> u128 {
    of_sum(members(object, 1, |member, _| !member.is(name), &mut false))
}

/// The fingerprint of the members of an object that count; `None` where one of them is nested too deep to be
/// compared as a value.
pub(crate) fn of_members(
    object: Value<'_>,
    counts: impl Fn(Value<'_>, Value<'_>) -> bool,
) -> Option<u128> {
    let mut is_cut = false;
    let sum = members(object, 0, counts, &mut is_cut);
    (!is_cut).then_some(sum)
}

fn at_depth(value: Value<'_>, depth: u32, is_cut: &mut bool) -> u128 {
    let mut encoder = Encoder::new(value.kind() as u64);
    match value.kind() {
        _ if depth > DEPTH_MAX => {
            *is_cut = true;
            encoder.bytes(value.raw());
        }
        ValueKind::Object => return of_sum(members(value, depth + 1, |_, _| true, is_cut)),
        ValueKind::Array => {
            for item in value.items() {
                word(&mut encoder, at_depth(item, depth + 1, is_cut));
            }
        }
        ValueKind::Number => encoder.key(value.key()),
        ValueKind::Text => encoder.bytes(value.as_bytes().as_deref().unwrap_or_default()),
        ValueKind::Null | ValueKind::True | ValueKind::False => {}
    }
    encoder.finish()
}

/// The sum over the members that count, whose values lie at that depth: their order says nothing.
fn members(
    object: Value<'_>,
    depth: u32,
    counts: impl Fn(Value<'_>, Value<'_>) -> bool,
    is_cut: &mut bool,
) -> u128 {
    let mut sum = 0u128;
    for (name, value) in object
        .members()
        .filter(|&(name, value)| counts(name, value))
    {
        let mut encoder = Encoder::new(1);
        encoder.bytes(name.as_bytes().as_deref().unwrap_or_default());
        word(&mut encoder, at_depth(value, depth, is_cut));
        sum = sum.wrapping_add(encoder.finish());
    }
    sum
}

fn of_sum(sum: u128) -> u128 {
    let mut encoder = Encoder::new(ValueKind::Object as u64);
    word(&mut encoder, sum);
    encoder.finish()
}

fn word(encoder: &mut Encoder, digest: u128) {
    encoder.word((digest >> 64) as u64);
    encoder.word(digest as u64);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_traces::scan::Scanner;

    fn read(text: &str, but: Option<&str>) -> u128 {
        let mut scanner = Scanner::recording();
        scanner.value(text.as_bytes(), 0).expect("JSON");
        let value = scanner.body(text.as_bytes()).expect("a body");
        but.map_or_else(|| of(value), |but| without(value, but))
    }

    #[test]
    fn values_are_compared_as_values() {
        for (one, other, is_same) in [
            (r#"{"a":1,"b":[2]}"#, r#"{ "b": [2.0], "a": 1e0 }"#, true),
            (r#"{"a":"A"}"#, r#"{"a":"A"}"#, true),
            (r#"{"a":1}"#, r#"{"a":"1"}"#, false),
            (r#"{"a":{"b":1}}"#, r#"{"a":1,"b":1}"#, false),
            ("[1,2]", "[2,1]", false),
            ("[]", "{}", false),
            ("[null]", "[false]", false),
            (r#"{"a":[1],"b":[]}"#, r#"{"a":[],"b":[1]}"#, false),
        ] {
            assert_eq!(
                read(one, None) == read(other, None),
                is_same,
                "{one} {other}"
            );
        }
        let with = r#"{"a":1,"_meta":{"x":1}}"#;
        assert_eq!(read(with, Some("_meta")), read(r#"{"a":1}"#, Some("_meta")));
    }
}
