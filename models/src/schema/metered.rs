//! JSON as the validator reads it, on a meter: what a hostile schema costs is bounded, and known.
//!
//! When the meter is empty, values look like nulls: what is left of the validation ends soon, and its
//! verdict is thrown away.

use std::borrow::Cow;
use std::cell::Cell;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, unique};
use serde_json::{Map, Number, Value};

/// How many looks one character costs where the schema has patterns, of 8.
const PATTERN_SHARE: u64 = 8;

/// How many looks at values are left.
pub(super) struct Meter {
    left: Cell<u64>,
    has_patterns: bool,
}

impl Meter {
    pub(super) fn new(looks: u64, has_patterns: bool) -> Meter {
        Meter {
            left: Cell::new(looks),
            has_patterns,
        }
    }

    /// Whether so many are left; they are spent.
    #[inline]
    fn spend(&self, looks: u64) -> bool {
        let left = self.left.get().saturating_sub(looks);
        self.left.set(left);
        left > 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.left.get() == 0
    }
}

/// The representation.
pub(super) struct Metered;

/// A value, or the name of a member as a value.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Value(&'a Value, &'a Meter),
    Name(&'a str),
}

impl<'a> Place<'a> {
    /// The value, while looks are left.
    #[inline]
    fn look(&self) -> Option<(&'a Value, &'a Meter)> {
        match *self {
            Place::Value(value, meter) if meter.spend(1) => Some((value, meter)),
            _ => None,
        }
    }
}

impl Json for Metered {
    type Node<'a> = Place<'a>;
    type PreparedKey = String;
    type StringBuffer = ();

    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Place<'_>) -> T) -> T {
        f(Place::Name(string))
    }
}

impl<'a> Node<'a, Metered> for Place<'a> {
    type Object = Members<'a>;
    type Array = Items<'a>;
    type Number = &'a Number;

    fn as_object(&self) -> Option<Members<'a>> {
        let (value, meter) = self.look()?;
        let map = value.as_object()?;
        Some(Members { map, meter })
    }

    fn as_array(&self) -> Option<Items<'a>> {
        let (value, meter) = self.look()?;
        let items = value.as_array()?;
        Some(Items { items, meter })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        if let Place::Name(name) = *self {
            return Some(Cow::Borrowed(name));
        }
        let (value, meter) = self.look()?;
        let text = value.as_str()?;
        let share = if meter.has_patterns { PATTERN_SHARE } else { 0 };
        meter
            .spend(text.len() as u64 * share / 8)
            .then_some(Cow::Borrowed(text))
    }

    fn as_number(&self) -> Option<&'a Number> {
        self.look()?.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        self.look()?.0.as_bool()
    }

    fn is_null(&self) -> bool {
        match self {
            Place::Value(..) => self.look().is_none_or(|(value, _)| value.is_null()),
            Place::Name(_) => false,
        }
    }

    fn json_type(&self) -> JsonType {
        if let Place::Name(_) = self {
            return JsonType::String;
        }
        match self.look() {
            None | Some((Value::Null, _)) => JsonType::Null,
            Some((Value::Bool(_), _)) => JsonType::Boolean,
            Some((Value::Number(_), _)) => JsonType::Number,
            Some((Value::String(_), _)) => JsonType::String,
            Some((Value::Array(_), _)) => JsonType::Array,
            Some((Value::Object(_), _)) => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match *self {
            Place::Name(name) => expected.as_str() == Some(name),
            Place::Value(value, meter) => {
                meter.spend(1 + size(value).min(size(expected)))
                    && jsonschema::json::cmp::equal(value, expected)
            }
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        match *self {
            Place::Value(value, _) => Cow::Borrowed(value),
            Place::Name(name) => Cow::Owned(Value::String(name.to_owned())),
        }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(match *self {
            Place::Value(value, _) => NodeIdentity::new(std::ptr::from_ref(value) as usize),
            Place::Name(name) => NodeIdentity::tagged(name.as_ptr() as usize, 1),
        })
    }
}

/// What comparing that value costs, roughly: its own length.
fn size(value: &Value) -> u64 {
    let length = match value {
        Value::String(text) => text.len() / 64,
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    length as u64
}

#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    map: &'a Map<String, Value>,
    meter: &'a Meter,
}

impl<'a> Object<'a, Metered> for Members<'a> {
    type Node = Place<'a>;
    type MemberName = &'a str;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        self.map.len()
    }

    fn get(&self, key: &String) -> Option<Place<'a>> {
        let value = self.map.get(key.as_str())?;
        self.meter
            .spend(1)
            .then_some(Place::Value(value, self.meter))
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter {
            inner: self.map.iter(),
            meter: self.meter,
        }
    }
}

pub(super) struct MembersIter<'a> {
    inner: serde_json::map::Iter<'a>,
    meter: &'a Meter,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (&'a str, Place<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = self.inner.next()?;
        let share = if self.meter.has_patterns {
            PATTERN_SHARE
        } else {
            0
        };
        self.meter
            .spend(1 + name.len() as u64 * share / 8)
            .then_some((name.as_str(), Place::Value(value, self.meter)))
    }
}

#[derive(Clone, Copy)]
pub(super) struct Items<'a> {
    items: &'a [Value],
    meter: &'a Meter,
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Place<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        self.items.len()
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter {
            inner: self.items.iter(),
            meter: self.meter,
        }
    }

    fn is_unique(&self) -> bool {
        self.meter.spend(4 * self.items.len() as u64) && unique::is_unique(self.items)
    }
}

pub(super) struct ItemsIter<'a> {
    inner: std::slice::Iter<'a, Value>,
    meter: &'a Meter,
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Place<'a>;

    fn next(&mut self) -> Option<Place<'a>> {
        let value = self.inner.next()?;
        self.meter
            .spend(1)
            .then_some(Place::Value(value, self.meter))
    }
}
