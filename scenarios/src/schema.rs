//! The JSON Schema of scenario files, for editors: the table of shapes in other words.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::shape::{Member, Need, SCENARIO, Shape, capability_paths};

/// The dialect that it is written in.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The JSON Schema of scenario files: a text that is always the same, with a line end.
///
/// What it refuses the reader refuses as well. The reader refuses more: names that lead nowhere, and what
/// contradicts itself.
pub fn scenario_schema() -> String {
    let mut text = serde_json::to_string_pretty(&Whole).expect("a schema is plain data");
    text.push('\n');
    text
}

struct Whole;

impl Serialize for Whole {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("$schema", DIALECT)?;
        map.serialize_entry("title", "A scenario of mcpsim")?;
        let says = "Who talks to whom, about what, and what may go wrong on the way: `mcpsim run --scenario FILE`.";
        map.serialize_entry("description", says)?;
        entries(&SCENARIO, &mut map)?;
        map.end()
    }
}

/// The schema of a shape.
struct Of<'a>(&'a Shape);

impl Serialize for Of<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        entries(self.0, &mut map)?;
        map.end()
    }
}

/// The schema of a member: what it is for, its shape, and its default.
struct OfMember<'a>(&'a Member);

impl Serialize for OfMember<'_> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(None)?;
        map.serialize_entry("description", self.0.says)?;
        entries(&self.0.shape, &mut map)?;
        if let Need::Or(default) = self.0.need {
            let default: Value = serde_json::from_str(default).expect("a default is JSON");
            map.serialize_entry("default", &default)?;
        }
        map.end()
    }
}

/// A word, and what it means.
#[derive(Serialize)]
struct Meaning {
    r#const: &'static str,
    description: &'static str,
}

/// The members of an object's schema by their names, in the order of the table.
struct Properties(&'static [Member]);

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|member| (member.name, OfMember(member))))
    }
}

/// The keywords of a shape.
fn entries<M: SerializeMap>(shape: &Shape, map: &mut M) -> Result<(), M::Error> {
    match *shape {
        Shape::Text => map.serialize_entry("type", "string"),
        Shape::Name(_) => {
            map.serialize_entry("type", "string")?;
            map.serialize_entry("minLength", &1)
        }
        Shape::Word(words) => {
            let meanings = words.iter().map(|&(word, says)| Meaning {
                r#const: word,
                description: says,
            });
            map.serialize_entry("type", "string")?;
            map.serialize_entry("oneOf", &meanings.collect::<Vec<_>>())
        }
        Shape::Path => {
            map.serialize_entry("type", "string")?;
            map.serialize_entry("enum", &capability_paths().collect::<Vec<_>>())
        }
        Shape::Flag => map.serialize_entry("type", "boolean"),
        Shape::Whole(least, most) => integer(least, most, map),
        Shape::Counted(most, _) => integer(1, most, map),
        Shape::List(elements) => {
            map.serialize_entry("type", "array")?;
            map.serialize_entry("items", &Of(elements.shape))?;
            map.serialize_entry("minItems", &elements.least)?;
            if elements.are_distinct {
                return map.serialize_entry("uniqueItems", &true);
            }
            map.serialize_entry("maxItems", &elements.most)
        }
        Shape::Object(members) => {
            let required = members
                .iter()
                .filter(|member| member.need == Need::Required);
            let required: Vec<&str> = required.map(|member| member.name).collect();
            map.serialize_entry("type", "object")?;
            map.serialize_entry("properties", &Properties(members))?;
            if !required.is_empty() {
                map.serialize_entry("required", &required)?;
            }
            map.serialize_entry("additionalProperties", &false)
        }
        Shape::Named(shape) => {
            map.serialize_entry("type", "object")?;
            map.serialize_entry("additionalProperties", &Of(shape))
        }
    }
}

fn integer<M: SerializeMap>(least: i64, most: i64, map: &mut M) -> Result<(), M::Error> {
    map.serialize_entry("type", "integer")?;
    map.serialize_entry("minimum", &least)?;
    map.serialize_entry("maximum", &most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, scenarios};
    use serde_json::json;

    /// Every member that there is stands in it.
    const FULL: &str = r#"{
      "$schema": "scenario.schema.json",
      "name": "full",
      "about": "Everything is spelled out.",
      "parties": [
        {"name": "c", "role": "client", "capabilities": ["roots", "roots.listChanged"], "window": 3, "first_id": 0,
         "ids": "mixed", "hesitates": false, "closes": true, "timeout_ms": 20},
        {"name": "g", "role": "gateway", "routing": "tool", "ids": "text"},
        {"name": "s", "role": "server", "pings": true, "ids": "numbers"},
        {"name": "t", "role": "server", "writes_stderr": true, "asks_for_tasks": true},
        {"name": "d", "role": "client", "capabilities": ["sampling", "tasks"]}
      ],
      "links": [
        {"kind": "pipe", "client": "c", "server": "g", "capacity": 80,
         "beyond": {"reorder": true, "drop": true, "duplicate": true}},
        {"kind": "http", "client": "g", "server": "s", "resumable": true},
        {"kind": "pipe", "client": "g", "server": "t", "stderr_capacity": 4},
        {"kind": "pipe", "client": "d", "server": "t"}
      ],
      "workload": {
        "c": [
          {"do": "call", "tool": "count", "n": 2, "progress": true, "timeout_ms": 5, "cancel_after_progress": 2, "cancel_soon": true},
          {"do": "list_tools"},
          {"do": "ping"},
          {"do": "roots_changed"},
          {"do": "cancel", "of": 1},
          {"do": "batch"}
        ],
        "d": [{"do": "ping"}]
      },
      "faults": {"delay": 1, "duplicate": 1, "drop": 1, "cut": 1, "crash": 1},
      "bounds": {"steps_max": 1000, "hostile_steps": 500}
    }"#;

    fn schema() -> Value {
        serde_json::from_str(&scenario_schema()).expect("JSON")
    }

    fn validator() -> jsonschema::Validator {
        jsonschema::draft202012::new(&schema()).expect("a schema")
    }

    #[test]
    fn it_is_a_schema_and_always_the_same() {
        assert!(jsonschema::draft202012::meta::is_valid(&schema()));
        assert_eq!(schema()["$schema"], DIALECT);
        assert_eq!(scenario_schema(), scenario_schema());
        assert!(scenario_schema().starts_with("{\n  \"$schema\": "));
        assert!(scenario_schema().ends_with("}\n"));
    }

    #[test]
    fn it_takes_every_named_scenario() {
        let validator = validator();
        let full = Scenario::parse(FULL).expect("a scenario");
        let full_text: Value = serde_json::from_str(FULL).expect("JSON");
        assert!(validator.is_valid(&full_text));
        for scenario in scenarios().iter().chain([&full]) {
            let value = serde_json::from_str(&scenario.to_json()).expect("JSON");
            if let Err(error) = validator.validate(&value) {
                panic!("{}: {error}", scenario.name);
            }
        }
    }

    /// Every place of a full scenario, with each of many values in it, without what stands there, and with a
    /// member more: the schema takes what the reader takes for well-formed, and nothing else.
    #[test]
    fn it_refuses_what_the_reader_refuses_for_its_form() {
        let validator = validator();
        let full: Value = serde_json::from_str(FULL).expect("JSON");
        let mut pointers = vec![String::new()];
        places(&full, "", &mut pointers);
        let mut told = [0, 0];
        for pointer in &pointers {
            for broken in broken(&full, pointer) {
                let text = broken.to_string();
                let reads = SCENARIO.check(&broken).is_ok()
                    && serde_json::from_str::<Scenario>(&text).is_ok();
                assert_eq!(validator.is_valid(&broken), reads, "{pointer}: {text}");
                told[usize::from(reads)] += 1;
                // What the reader takes as a whole is well-formed before all.
                assert!(
                    reads || Scenario::parse(&text).is_err(),
                    "{pointer}: {text}"
                );
            }
        }
        assert!(told[0] > 1000 && told[1] > 100, "{told:?}");
    }

    fn places(value: &Value, here: &str, all: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| (format!("{here}/{name}"), value))
                .collect(),
            Value::Array(values) => values
                .iter()
                .enumerate()
                .map(|(at, value)| (format!("{here}/{at}"), value))
                .collect(),
            _ => vec![],
        };
        for (place, value) in below {
            places(value, &place, all);
            all.push(place);
        }
    }

    fn broken(full: &Value, pointer: &str) -> Vec<Value> {
        let mut all = vec![];
        for other in [
            json!(null),
            json!(true),
            json!(0),
            json!(1),
            json!(-1),
            json!(1.5),
            json!(255),
            json!(256),
            json!(65_536),
            json!(1u64 << 32),
            json!(i64::MIN),
            json!(u64::MAX),
            json!(""),
            json!("client"),
            json!("call"),
            json!("tools"),
            json!([]),
            json!(["tools"]),
            json!(["tools", "tools"]),
            json!([{}]),
            json!({}),
            json!({"c": []}),
        ] {
            let mut value = full.clone();
            *value.pointer_mut(pointer).expect("a place") = other;
            all.push(value);
        }
        let mut more = full.clone();
        match more.pointer_mut(pointer) {
            Some(Value::Object(members)) => _ = members.insert("unheard-of".to_owned(), json!([])),
            Some(Value::Array(values)) => values.extend(values.first().cloned()),
            _ => {}
        }
        all.push(more);
        if let Some((parent, name)) = pointer.rsplit_once('/') {
            let mut less = full.clone();
            match less.pointer_mut(parent) {
                Some(Value::Object(members)) => _ = members.remove(name),
                Some(Value::Array(values)) => _ = values.remove(name.parse().expect("an index")),
                _ => {}
            }
            all.push(less);
        }
        all
    }
}
