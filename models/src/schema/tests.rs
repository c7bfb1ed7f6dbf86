//! Schemas as peers write them, and as nobody should.

use jsonschema::Draft;
use mcpsim_traces::scan::Scanner;
use mcpsim_traces::tape::Value;
use proptest::prelude::*;

use super::{
    Fit, INSTANCE_MAX, Reading, SCHEMA_MAX, Schemas, Validity, Why, depth, depth_max, is_plain,
};

/// So much of the machine's stack has to do, whatever a peer sends.
const STACK: usize = 1 << 20;

fn read<T>(text: &str, look: impl FnOnce(Value<'_>) -> T) -> T {
    let mut scanner = Scanner::recording();
    scanner.value(text.as_bytes(), 0).expect("JSON");
    look(scanner.body(text.as_bytes()).expect("a body"))
}

fn fit(schema: &str, value: &str, reading: Reading) -> Fit {
    let schema = read(schema, |schema| Schemas::default().intern(schema));
    let schema = schema.expect("a schema that is kept");
    read(value, |value| schema.fit(Some(value), reading))
}

fn validity(schema: &str) -> Validity {
    let schema = read(schema, |schema| Schemas::default().intern(schema));
    schema.expect("a schema that is kept").validity().clone()
}

fn is_misfit(schema: &str, value: &str) -> bool {
    matches!(fit(schema, value, Reading::Newest), Fit::Misfit(_))
}

fn on_small_stack<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(task);
    thread.expect("a thread").join().expect("an end")
}

#[test]
fn values_are_held_against_schemas() {
    let schema = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;
    assert_eq!(fit(schema, r#"{"n":1}"#, Reading::Newest), Fit::Fits);
    assert_eq!(fit(schema, r#"{"n":1.0}"#, Reading::Newest), Fit::Fits);
    let words = "`/n` is not of type \"integer\"".to_string();
    assert_eq!(
        fit(schema, r#"{"n":"1"}"#, Reading::Newest),
        Fit::Misfit(words)
    );
    let words = "\"n\" is a required property".to_string();
    assert_eq!(fit(schema, "{}", Reading::Newest), Fit::Misfit(words));
}

/// No value stands for the empty object.
#[test]
fn no_value_is_the_empty_object() {
    let schema = read(r#"{"required":["n"]}"#, |schema| {
        Schemas::default().intern(schema)
    });
    let schema = schema.expect("a schema");
    assert!(matches!(schema.fit(None, Reading::Newest), Fit::Misfit(_)));
}

#[test]
fn formats_are_annotations() {
    for format in ["email", "uri", "date-time"] {
        let plain = format!(r#"{{"format":"{format}"}}"#);
        assert!(!is_misfit(&plain, r#""no""#));
        let seven = format!(
            r#"{{"$schema":"http://json-schema.org/draft-07/schema#","format":"{format}"}}"#
        );
        assert!(!is_misfit(&seven, r#""no""#));
    }
}

/// Where no dialect was fixed, what either accepts is accepted.
#[test]
fn dialects_are_told_apart() {
    // A list of items is a tuple in draft-07 and no schema in 2020-12; prefixItems the other way round.
    let tuple = r#"{"prefixItems":[{"type":"string"}]}"#;
    assert!(matches!(fit(tuple, "[1]", Reading::Newest), Fit::Misfit(_)));
    assert_eq!(fit(tuple, "[1]", Reading::Either), Fit::Fits);
    let seven =
        r#"{"$schema":"https://json-schema.org/draft-07/schema","items":[{"type":"string"}]}"#;
    assert!(is_misfit(seven, "[1]"));
    assert_eq!(validity(seven), Validity::Valid);
    assert!(matches!(
        validity(r#"{"items":[{"type":"string"}]}"#),
        Validity::Invalid(_)
    ));
    for draft in ["draft-04", "draft-06", "draft-07"] {
        let schema =
            format!(r#"{{"$schema":"http://json-schema.org/{draft}/schema#","type":"string"}}"#);
        assert!(is_misfit(&schema, "1"), "{draft}");
    }
    let unknown = r#"{"$schema":"https://example.com/mine","type":"strng"}"#;
    assert_eq!(validity(unknown), Validity::Unknown(Why::Dialect));
    assert_eq!(
        fit(unknown, "1", Reading::Newest),
        Fit::Unknown(Why::Dialect)
    );
}

#[test]
fn broken_schemas_are_found() {
    for schema in [
        r#"{"type":"strng"}"#,
        r#"{"properties":[]}"#,
        r#"{"required":"a"}"#,
        r#"{"$ref":12}"#,
        r#"{"minLength":-1}"#,
        r#"{"$schema":7}"#,
        r#"{"properties":{"a":{"properties":{"b":{"type":1}}}}}"#,
    ] {
        assert!(matches!(validity(schema), Validity::Invalid(_)), "{schema}");
        assert!(matches!(fit(schema, "1", Reading::Newest), Fit::Unknown(_)));
    }
    for schema in [
        "{}",
        r#"{"type":"object","x-mcp-header":"A","unknown":[1]}"#,
        r#"{"pattern":"^(?=a)b$"}"#,
        r#"{"$ref":"https://example.com/x.json"}"#,
    ] {
        assert!(
            !matches!(validity(schema), Validity::Invalid(_)),
            "{schema}"
        );
    }
}

/// Nothing is fetched, and what cannot be resolved is no fault of the value.
#[test]
fn references_stay_in_the_schema() {
    for schema in [
        r#"{"$ref":"https://example.com/x.json"}"#,
        r#"{"$ref":"file:///etc/passwd"}"#,
        r##"{"$ref":"#/$defs/none"}"##,
        r##"{"$ref":"#none"}"##,
        r#"{"$ref":"other.json#/a"}"#,
        r##"{"$ref":"#/%zz"}"##,
    ] {
        assert!(
            matches!(fit(schema, "1", Reading::Newest), Fit::Unknown(_)),
            "{schema}"
        );
    }
    for schema in [
        r##"{"$defs":{"a b":{"type":"string"}},"$ref":"#/$defs/a%20b"}"##,
        r##"{"$defs":{"a/b":{"type":"string"}},"$ref":"#/$defs/a~1b"}"##,
        r##"{"$defs":{"x":{"$anchor":"n","type":"string"}},"$ref":"#n"}"##,
        r##"{"$id":"https://e.com/s","$defs":{"a":{"type":"string"}},"$ref":"https://e.com/s#/$defs/a"}"##,
    ] {
        assert!(is_misfit(schema, "1"), "{schema}");
        assert!(!is_misfit(schema, r#""s""#), "{schema}");
    }
}

/// Circles that consume nothing are found before anything runs in them; those that consume are right.
#[test]
fn circles_are_found() {
    for schema in [
        r##"{"$ref":"#"}"##,
        r##"{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}"##,
        r##"{"allOf":[{"$ref":"#"}]}"##,
        r##"{"anyOf":[{"type":"string"},{"$ref":"#"}]}"##,
        r##"{"not":{"$ref":"#"}}"##,
        r##"{"if":{"oneOf":[{"$ref":"#"}]}}"##,
        r##"{"dependentSchemas":{"a":{"$ref":"#"}}}"##,
        r##"{"$dynamicAnchor":"a","allOf":[{"$dynamicRef":"#a"}]}"##,
        r##"{"$anchor":"a","allOf":[{"$ref":"#a"}]}"##,
        r##"{"properties":{"a":{"$ref":"#/properties/a"}}}"##,
        r##"{"$defs":{"a":{"allOf":[{"anyOf":[{"$ref":"#/$defs/b"}]}]},"b":{"not":{"$ref":"#/$defs/a"}}}}"##,
    ] {
        let found = fit(schema, r#"{"a":1}"#, Reading::Newest);
        assert_eq!(found, Fit::Unknown(Why::Circle), "{schema}");
        assert_eq!(validity(schema), Validity::Unknown(Why::Circle), "{schema}");
    }
    let tree = r##"{"type":"object","properties":{"kids":{"items":{"$ref":"#"}}}}"##;
    assert!(!is_misfit(tree, r#"{"kids":[{"kids":[{}]}]}"#));
    assert!(is_misfit(tree, r#"{"kids":[{"kids":[1]}]}"#));
}

/// Definitions that each use the next one twice: few bytes, and 2^60 ways through them.
fn doubling(word: &str, count: usize) -> String {
    let defs = (0..count).map(|at| {
        let next = format!(r##"{{"$ref":"#/$defs/a{}"}}"##, at + 1);
        format!(r#""a{at}":{{"{word}":[{next},{next}]}}"#)
    });
    let defs: Vec<String> = defs.collect();
    format!(
        r##"{{"$defs":{{{},"a{count}":{{"type":"string"}}}},"$ref":"#/$defs/a0"}}"##,
        defs.join(",")
    )
}

#[test]
fn schemas_that_double_are_refused() {
    for word in ["allOf", "anyOf", "oneOf"] {
        let found = fit(&doubling(word, 60), "1", Reading::Newest);
        assert_eq!(found, Fit::Unknown(Why::Complex), "{word}");
        // A few levels of that are nobody's harm.
        let found = fit(&doubling(word, 5), "1", Reading::Newest);
        assert!(matches!(found, Fit::Misfit(_)), "{word}: {found:?}");
    }
}

/// The same along the depth of the value: the meter, or what the validator remembers, puts an end to it.
#[test]
fn work_that_doubles_with_depth_has_an_end() {
    let next = r##"{"properties":{"x":{"$ref":"#/$defs/a"}},"required":["x"]}"##;
    for word in ["allOf", "anyOf", "oneOf"] {
        let schema = format!(
            r##"{{"$defs":{{"a":{{"{word}":[{next},{next}],"unevaluatedProperties":{{"$ref":"#/$defs/a"}}}}}},"$ref":"#/$defs/a"}}"##
        );
        let value = format!("{}1{}", "{\"x\":".repeat(100), "}".repeat(100));
        on_small_stack(move || fit(&schema, &value, Reading::Either));
    }
}

/// What is allowed to recurse fits a small stack.
#[test]
fn deep_values_need_little_stack() {
    for (hops, levels) in [(60, 15), (8, 110), (1, 120), (60, 120), (8, 100_000)] {
        let defs = (0..hops).map(|at| {
            let next = format!(r##"{{"$ref":"#/$defs/a{}"}}"##, at + 1);
            format!(r#""a{at}":{{"allOf":[{next}]}}"#)
        });
        let defs: Vec<String> = defs.collect();
        let schema = format!(
            r##"{{"$defs":{{{},"a{hops}":{{"properties":{{"x":{{"$ref":"#/$defs/a0"}}}}}}}},"$ref":"#/$defs/a0"}}"##,
            defs.join(",")
        );
        let value = format!("{}1{}", "{\"x\":".repeat(levels), "}".repeat(levels));
        let found = on_small_stack(move || fit(&schema, &value, Reading::Newest));
        assert!(!matches!(found, Fit::Misfit(_)), "{hops} {levels}");
    }
    for word in ["not", "items", "additionalItems"] {
        for levels in [100, 5_000] {
            let open = format!("{{\"{word}\":");
            let schema = format!("{}true{}", open.repeat(levels), "}".repeat(levels));
            on_small_stack(move || {
                validity(&schema);
                fit(&schema, "1", Reading::Either)
            });
        }
    }
}

#[test]
fn chains_of_references_are_followed_only_so_far() {
    let defs = (0..1500).map(|at| format!(r##""a{at}":{{"$ref":"#/$defs/a{}"}}"##, at + 1));
    let defs: Vec<String> = defs.collect();
    let schema = format!(
        r##"{{"$defs":{{{},"a1500":{{}}}},"$ref":"#/$defs/a0"}}"##,
        defs.join(",")
    );
    let found = on_small_stack(move || fit(&schema, "1", Reading::Newest));
    assert_eq!(found, Fit::Unknown(Why::Complex));
}

#[test]
fn patterns_take_linear_time() {
    let long = format!("\"{}\"", "x".repeat(50_000));
    for pattern in [
        "(x+x+)+y",
        "(a|aa)+$",
        "[01]*1[01]{200}$",
        "^(?=a)b",
        "(a{1000}){1000}",
        "(",
    ] {
        let schema = format!(r#"{{"pattern":"{pattern}"}}"#);
        fit(&schema, &long, Reading::Newest);
    }
    assert!(is_misfit(r#"{"pattern":"^a+$"}"#, r#""b""#));
    assert!(!is_misfit(r#"{"pattern":"^a+$"}"#, r#""aaa""#));
}

#[test]
fn what_is_too_large_is_not_judged() {
    let long = format!(r#"{{"title":"{}"}}"#, "x".repeat(SCHEMA_MAX));
    assert!(read(&long, |schema| Schemas::default().intern(schema)).is_none());
    let value = format!("\"{}\"", "x".repeat(INSTANCE_MAX));
    let found = fit(r#"{"type":"integer"}"#, &value, Reading::Newest);
    assert_eq!(found, Fit::Unknown(Why::Large));
}

/// Very many schemas: what somebody holds is kept, and the rest is not.
#[test]
fn schemas_are_kept_once_and_not_for_ever() {
    let mut schemas = Schemas::default();
    let first = read(r#"{"title":"first"}"#, |schema| schemas.intern(schema));
    let first = first.expect("a schema");
    for number in 0..20_000 {
        let text = format!(r#"{{"title":"{number}"}}"#);
        let kept = read(&text, |schema| schemas.intern(schema));
        assert!(kept.is_some(), "{number}");
    }
    assert!(schemas.known.len() <= super::COUNT_MAX);
    let again = read(r#"{"title":"first"}"#, |schema| schemas.intern(schema));
    assert!(again.is_some_and(|again| std::sync::Arc::ptr_eq(&again, &first)));
}

/// Digits that a double does not keep are never the ground of an accusation.
#[test]
fn numbers_lose_no_digits_silently() {
    let most = r#"{"maximum":9007199254740992}"#;
    assert!(is_misfit(most, "9007199254740993"));
    assert!(!is_misfit(most, "9007199254740992"));
    let big = r#"{"exclusiveMaximum":36893488147419103233}"#;
    assert_eq!(
        fit(big, "36893488147419103232", Reading::Newest),
        Fit::Unknown(Why::Digits)
    );
    assert_eq!(
        fit(
            r#"{"exclusiveMaximum":1}"#,
            "0.99999999999999999999",
            Reading::Newest
        ),
        Fit::Unknown(Why::Digits)
    );
    assert!(!is_misfit(r#"{"multipleOf":0.01}"#, "19.99"));
    assert!(is_misfit(r#"{"multipleOf":0.01}"#, "19.995"));
    assert!(matches!(
        fit(r#"{"maximum":1}"#, "1e400", Reading::Newest),
        Fit::Unknown(_)
    ));
}

/// A message shows no more of a peer's text than is sane.
#[test]
fn words_are_short_and_escaped() {
    let name = "\\u001b".repeat(500);
    let value = format!(r#"{{"{name}":1}}"#);
    let schema = r#"{"additionalProperties":{"type":"string"}}"#;
    let Fit::Misfit(words) = fit(schema, &value, Reading::Newest) else {
        panic!("a misfit");
    };
    assert!(words.chars().count() <= 8 * super::WORDS_MAX, "{words}");
    assert!(!words.contains('\u{1b}'), "{words}");
}

/// One schema for each way in which the validator looks at a value.
const KEYWORDS: &[&str] = &[
    r#"{"type":["integer","string"]}"#,
    r#"{"enum":[1,"a","\n",null,[1],{"a":1}]}"#,
    r#"{"const":{"a":[1,2.0]}}"#,
    r#"{"minimum":-1,"multipleOf":0.5,"maximum":2}"#,
    r#"{"minLength":1,"maxLength":2,"pattern":"^[a-c]"}"#,
    r#"{"items":{"type":"number"},"minItems":1,"maxItems":2,"uniqueItems":true}"#,
    r#"{"prefixItems":[{"type":"string"}],"items":false}"#,
    r#"{"contains":{"const":1},"minContains":2}"#,
    r##"{"properties":{"a":{"type":"string"},"b":{"$ref":"#"}},"required":["a"]}"##,
    r#"{"additionalProperties":{"type":"integer"},"patternProperties":{"^a":true}}"#,
    r#"{"propertyNames":{"maxLength":1},"minProperties":1,"maxProperties":2}"#,
    r#"{"anyOf":[{"type":"string"},{"not":{"required":["a"]}}]}"#,
    r#"{"if":{"type":"object"},"then":{"required":["b"]},"else":{"type":"null"}}"#,
    r#"{"unevaluatedProperties":false,"properties":{"a":true}}"#,
    r#"{"dependentRequired":{"a":["b"]}}"#,
];

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(serde_json::Value::from),
        (-3i64..4).prop_map(serde_json::Value::from),
        proptest::sample::select(&["-1.5", "-0.0", "0.5", "1.0", "2.5", "2e0"][..])
            .prop_map(|number| serde_json::from_str(number).expect("a number")),
        "[a-c\n\"é]{0,3}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(serde_json::Value::from),
            proptest::collection::btree_map("[a-c]{1,2}", inner, 0..4)
                .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// A value fits as it lies in its frame exactly where it fits as a tree.
    #[test]
    fn values_fit_as_they_stand(value in json(), schema in proptest::sample::select(KEYWORDS)) {
        let text = value.to_string();
        let schema = read(schema, |schema| Schemas::default().intern(schema)).expect("a schema");
        let draft = Draft::Draft202012;
        let (stands, is_plain, as_tree) = read(&text, |here| {
            let as_tree = schema.fit_as(draft, Some(here), &value);
            (schema.fits_as_it_stands(draft, here), is_plain(here), as_tree)
        });
        prop_assert!(is_plain);
        prop_assert_eq!(stands, as_tree == Fit::Fits, "{} {:?}", text, as_tree);
    }
}

/// What readers may take for different things is not judged as it stands.
#[test]
fn what_is_read_in_different_ways_is_not_plain() {
    for text in [
        r#"{"a":1,"a":2}"#,
        r#"[{"a":1,"\u0061":2}]"#,
        r#""\ud800""#,
        "1e999",
        "123456789012345678901",
    ] {
        assert!(!read(text, is_plain), "{text}");
    }
    for text in [
        r#"{"a":1,"b":{"a":2}}"#,
        r#"["a\n","a\"b"]"#,
        r#""\u20ac""#,
        "-1.5e3",
    ] {
        assert!(read(text, is_plain), "{text}");
    }
    for (text, levels, most) in [
        ("1", 0, 0),
        ("[[1],2]", 2, 2),
        (r#"{"a":{"b":[]},"c":[]}"#, 2, 4),
    ] {
        assert_eq!(
            read(text, |value| (depth(value), depth_max(value))),
            (levels, most)
        );
    }
}
