//! The types of the members of a scenario file, checked before anything else is made of them: what stands in
//! a place is said in the words of the file format.

use serde_json::Value;

use crate::parse::{Mistake, Place};

/// What may stand somewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    Flag,
    /// A whole number between these two.
    Whole(i64, i64),
    /// A list of things of one shape, each of which has a name of its own.
    List(&'static str, &'static Shape),
    /// An object with these members.
    Object(&'static [(&'static str, Shape)]),
    /// An object with members of any name.
    Named(&'static Shape),
}

use Shape::{Flag, List, Named, Object, Text, Whole};

const SMALL: Shape = Whole(0, u8::MAX as i64);
const COUNT: Shape = Whole(0, u32::MAX as i64);

const PARTY: Shape = Object(&[
    ("name", Text),
    ("role", Text),
    ("revisions", List("a revision", &Text)),
    ("capabilities", List("a capability", &Text)),
    ("window", COUNT),
    ("first_id", Whole(i64::MIN, i64::MAX)),
    ("ids", Text),
    ("hesitates", Flag),
    ("closes", Flag),
    ("pings", Flag),
    ("timeout_ms", COUNT),
    ("routing", Text),
]);

const BEYOND: Shape = Object(&[("reorder", Flag), ("drop", Flag), ("duplicate", Flag)]);

const LINK: Shape = Object(&[
    ("kind", Text),
    ("client", Text),
    ("server", Text),
    ("capacity", COUNT),
    ("beyond", BEYOND),
]);

const STEP: Shape = Object(&[
    ("do", Text),
    ("tool", Text),
    ("n", COUNT),
    ("progress", Flag),
    ("timeout_ms", COUNT),
    ("cancel_after_progress", COUNT),
    ("cancel_soon", Flag),
    ("of", Whole(0, u16::MAX as i64)),
    ("task", Flag),
]);

const FAULTS: Shape = Object(&[
    ("delay", SMALL),
    ("duplicate", SMALL),
    ("drop", SMALL),
    ("cut", SMALL),
    ("crash", SMALL),
]);

const BOUNDS: Shape = Object(&[("steps_max", COUNT), ("hostile_steps", COUNT)]);

/// A scenario file.
pub(crate) const SCENARIO: Shape = Object(&[
    ("name", Text),
    ("about", Text),
    ("parties", List("a party", &PARTY)),
    ("links", List("a link", &LINK)),
    ("workload", Named(&List("a step", &STEP))),
    ("faults", FAULTS),
    ("bounds", BOUNDS),
]);

impl Shape {
    /// The shape in words.
    fn words(&self) -> String {
        match self {
            Text => "a text".to_owned(),
            Flag => "true or false".to_owned(),
            Whole(least, most) => format!("a whole number from {least} to {most}"),
            List(..) => "a list".to_owned(),
            Object(_) | Named(_) => "an object".to_owned(),
        }
    }

    /// Whether the value has this shape; names that are not known are left to others.
    ///
    /// # Errors
    /// With the first value that has another shape.
    pub(crate) fn check(&self, value: &Value) -> Result<(), Mistake> {
        self.check_at("a scenario", value, &mut vec![])
    }

    fn check_at(&self, what: &str, value: &Value, path: &mut Vec<Place>) -> Result<(), Mistake> {
        match (self, value) {
            (Text, Value::String(_)) | (Flag, Value::Bool(_)) => Ok(()),
            (Whole(least, most), Value::Number(number))
                if number
                    .as_i64()
                    .is_some_and(|number| (*least..=*most).contains(&number)) =>
            {
                Ok(())
            }
            (List(each, shape), Value::Array(elements)) => {
                for (at, element) in elements.iter().enumerate() {
                    path.push(Place::At(at));
                    shape.check_at(each, element, path)?;
                    path.pop();
                }
                Ok(())
            }
            (Object(members), Value::Object(found)) => {
                for (name, shape) in *members {
                    if let Some(value) = found.get(*name) {
                        path.push(Place::Key((*name).to_owned()));
                        shape.check_at(&format!("`{name}`"), value, path)?;
                        path.pop();
                    }
                }
                Ok(())
            }
            (Named(shape), Value::Object(found)) => {
                for (name, value) in found {
                    path.push(Place::Key(name.clone()));
                    shape.check_at(&format!("`{name}`"), value, path)?;
                    path.pop();
                }
                Ok(())
            }
            _ => Err(Mistake {
                path: std::mem::take(path),
                message: format!("{what} must be {}, not {}", self.words(), found(value)),
            }),
        }
    }
}

/// What a value is, in words.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// The members here are those of the structs, as the reader names them for an unknown one.
    #[test]
    fn the_members_are_those_of_the_structs() {
        let files = [
            (SCENARIO, "{\"?\": 1}"),
            (PARTY, "{\"parties\": [{\"?\": 1}]}"),
            (LINK, "{\"links\": [{\"?\": 1}]}"),
            (BEYOND, "{\"links\": [{\"beyond\": {\"?\": 1}}]}"),
            (STEP, "{\"workload\": {\"c\": [{\"?\": 1}]}}"),
            (FAULTS, "{\"faults\": {\"?\": 1}}"),
            (BOUNDS, "{\"bounds\": {\"?\": 1}}"),
        ];
        for (shape, text) in files {
            let text = text.replace('?', "unknown-to-everyone");
            let said = Scenario::parse(&text).expect_err("an unknown key").message;
            let Object(members) = shape else {
                panic!("an object")
            };
            let names: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
            let known = format!("known here: {}", names.join(", "));
            assert!(said.ends_with(&known), "{said}\n{known}");
        }
    }
}
