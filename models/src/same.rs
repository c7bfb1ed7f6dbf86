//! Whether two JSON values are equal: numbers by their value, objects without regard to order. The
//! comparison keeps its own stack, so that nesting costs no depth of the machine's.

use mcpsim_traces::key::Key;
use mcpsim_traces::tape::{Value, ValueKind};

/// Whether both are one value.
pub(crate) fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    let mut pairs = vec![(one, other)];
    while let Some((one, other)) = pairs.pop() {
        if one.kind() != other.kind() {
            return false;
        }
        let is_same = match one.kind() {
            ValueKind::Null | ValueKind::True | ValueKind::False => true,
            ValueKind::Number | ValueKind::Text => one.key() == other.key(),
            ValueKind::Array => {
                let (mut left, mut right) = (one.items(), other.items());
                loop {
                    match (left.next(), right.next()) {
                        (Some(one), Some(other)) => pairs.push((one, other)),
                        (None, None) => break true,
                        _ => break false,
                    }
                }
            }
            ValueKind::Object => {
                let (left, right) = (sorted(one), sorted(other));
                let is_same = left.len() == right.len()
                    && left.iter().zip(&right).all(|(one, other)| one.0 == other.0);
                let values = left.iter().zip(&right);
                pairs.extend(values.map(|(one, other)| (one.1, other.1)));
                is_same
            }
        };
        if !is_same {
            return false;
        }
    }
    true
}

/// The members by name; of several with one name the last counts.
fn sorted(object: Value<'_>) -> Vec<(Key, Value<'_>)> {
    let members = object.members().map(|(name, value)| (name.key(), value));
    let mut members: Vec<_> = members.collect();
    members.reverse();
    members.sort_by_key(|(name, _)| *name);
    members.dedup_by_key(|(name, _)| *name);
    members
}

#[cfg(test)]
mod tests {
    use mcpsim_traces::scan::Scanner;

    use super::is_same;

    fn check(one: &str, other: &str, expected: bool) {
        let (mut left, mut right) = (Scanner::recording(), Scanner::recording());
        left.value(one.as_bytes(), 0).expect("JSON");
        right.value(other.as_bytes(), 0).expect("JSON");
        let one = left.body(one.as_bytes()).expect("a body");
        let other = right.body(other.as_bytes()).expect("a body");
        assert_eq!(is_same(one, other), expected, "{one:?} and {other:?}");
    }

    #[test]
    fn values_are_compared_as_json() {
        check(
            r#"{"a":1,"b":[2,null]}"#,
            r#"{ "b":[2.0,null],"a":1e0}"#,
            true,
        );
        check(r#"{"a":1,"a":2}"#, r#"{"a":2}"#, true);
        check(r#""\u0041""#, r#""A""#, true);
        check("9007199254740993", "9007199254740992", false);
        check("[1,2]", "[2,1]", false);
        check("[1]", "[1,1]", false);
        check(r#"{"a":1}"#, r#"{"b":1}"#, false);
        check(r#"{"a":1}"#, r#"{"a":1,"b":1}"#, false);
        check("1", r#""1""#, false);
        check("false", "null", false);
    }

    /// Deep values need no deep stack, and wide ones no quadratic time.
    #[test]
    fn hostile_values_are_compared() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        check(&deep, &deep, true);
        let members = (0..20_000).map(|number| format!("\"{number}\":{number}"));
        let members: Vec<String> = members.collect();
        let wide = format!("{{{}}}", members.join(","));
        let backwards: Vec<String> = members.into_iter().rev().collect();
        check(&wide, &format!("{{{}}}", backwards.join(",")), true);
    }
}
