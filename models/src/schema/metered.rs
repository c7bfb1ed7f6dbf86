//! JSON as the validator reads it, on a meter: what a hostile schema costs is bounded, and known.
//!
//! When the meter is empty, values look like nulls: what is left of the validation ends soon, and its
//! verdict is thrown away.

use std::borrow::Cow;
use std::cell::Cell;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object, unique};
use mcpsim_traces::tape::{self, ValueKind};
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

/// A value, as it lies in its frame or read into a tree; or the name of a member as a value.
#[derive(Clone, Copy)]
pub(super) enum Place<'a> {
    Tape(tape::Value<'a>, &'a Meter),
    Value(&'a Value, &'a Meter),
    Name(&'a str),
}

/// The same, while looks are left.
enum Look<'a> {
    Tape(tape::Value<'a>),
    Value(&'a Value),
}

/// How many members cost as much as one look, where they are looked for one after the other.
const MEMBERS_PER_LOOK: u64 = 8;

impl<'a> Place<'a> {
    /// The value, while looks are left.
    #[inline]
    fn look(&self) -> Option<(Look<'a>, &'a Meter)> {
        match *self {
            Place::Tape(value, meter) if meter.spend(1) => Some((Look::Tape(value), meter)),
            Place::Value(value, meter) if meter.spend(1) => Some((Look::Value(value), meter)),
            _ => None,
        }
    }
}

/// The value as a tree of its own; a value of a frame is JSON.
fn read(value: tape::Value<'_>) -> Value {
    serde_json::from_slice(value.raw()).unwrap_or(Value::Null)
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
    type Number = Number;

    fn as_object(&self) -> Option<Members<'a>> {
        let (value, meter) = self.look()?;
        let all = match value {
            Look::Tape(value) => AllMembers::Tape(Some(value).filter(|value| value.is_object())?),
            Look::Value(value) => AllMembers::Map(value.as_object()?),
        };
        Some(Members { all, meter })
    }

    fn as_array(&self) -> Option<Items<'a>> {
        let (value, meter) = self.look()?;
        let all = match value {
            Look::Tape(value) => AllItems::Tape(Some(value).filter(|value| value.is_array())?),
            Look::Value(value) => AllItems::Slice(value.as_array()?),
        };
        Some(Items { all, meter })
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        if let Place::Name(name) = *self {
            return Some(Cow::Borrowed(name));
        }
        let (value, meter) = self.look()?;
        let text = match value {
            Look::Tape(value) => value.as_text()?,
            Look::Value(value) => Cow::Borrowed(value.as_str()?),
        };
        let share = if meter.has_patterns { PATTERN_SHARE } else { 0 };
        meter.spend(text.len() as u64 * share / 8).then_some(text)
    }

    fn as_number(&self) -> Option<Number> {
        match self.look()?.0 {
            Look::Tape(value) if value.is_number() => serde_json::from_slice(value.raw()).ok(),
            Look::Tape(_) => None,
            Look::Value(value) => value.as_number().cloned(),
        }
    }

    fn is_number(&self) -> bool {
        self.json_type() == JsonType::Number
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.look()?.0 {
            Look::Tape(value) => value.as_bool(),
            Look::Value(value) => value.as_bool(),
        }
    }

    fn is_null(&self) -> bool {
        match self {
            Place::Name(_) => false,
            _ => self.json_type() == JsonType::Null,
        }
    }

    fn json_type(&self) -> JsonType {
        if let Place::Name(_) = self {
            return JsonType::String;
        }
        match self.look() {
            None => JsonType::Null,
            Some((Look::Tape(value), _)) => match value.kind() {
                ValueKind::Null => JsonType::Null,
                ValueKind::True | ValueKind::False => JsonType::Boolean,
                ValueKind::Number => JsonType::Number,
                ValueKind::Text => JsonType::String,
                ValueKind::Array => JsonType::Array,
                ValueKind::Object => JsonType::Object,
            },
            Some((Look::Value(value), _)) => match value {
                Value::Null => JsonType::Null,
                Value::Bool(_) => JsonType::Boolean,
                Value::Number(_) => JsonType::Number,
                Value::String(_) => JsonType::String,
                Value::Array(_) => JsonType::Array,
                Value::Object(_) => JsonType::Object,
            },
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match *self {
            Place::Name(name) => expected.as_str() == Some(name),
            Place::Tape(value, meter) => {
                if value.is_text() {
                    let text = expected.as_str();
                    return meter.spend(1) && text.is_some_and(|text| value.is(text));
                }
                meter.spend(1 + value.size() as u64)
                    && jsonschema::json::cmp::equal(&read(value), expected)
            }
            Place::Value(value, meter) => {
                meter.spend(1 + size(value).min(size(expected)))
                    && jsonschema::json::cmp::equal(value, expected)
            }
        }
    }

    fn to_value(&self) -> Cow<'a, Value> {
        match *self {
            Place::Tape(value, _) => Cow::Owned(read(value)),
            Place::Value(value, _) => Cow::Borrowed(value),
            Place::Name(name) => Cow::Owned(Value::String(name.to_owned())),
        }
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(match *self {
            Place::Tape(value, _) => NodeIdentity::tagged(value.span().start, 2),
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
enum AllMembers<'a> {
    Tape(tape::Value<'a>),
    Map(&'a Map<String, Value>),
}

#[derive(Clone, Copy)]
pub(super) struct Members<'a> {
    all: AllMembers<'a>,
    meter: &'a Meter,
}

impl<'a> Object<'a, Metered> for Members<'a> {
    type Node = Place<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = MembersIter<'a>;

    fn len(&self) -> usize {
        match self.all {
            AllMembers::Tape(object) => object.members().count(),
            AllMembers::Map(map) => map.len(),
        }
    }

    fn get(&self, key: &String) -> Option<Place<'a>> {
        let (place, looks) = match self.all {
            AllMembers::Tape(object) => {
                let (mut found, mut members) = (None, 0);
                for (name, value) in object.members() {
                    members += 1;
                    if name.is(key) {
                        found = Some(value);
                    }
                }
                (
                    Place::Tape(found?, self.meter),
                    1 + members / MEMBERS_PER_LOOK,
                )
            }
            AllMembers::Map(map) => (Place::Value(map.get(key.as_str())?, self.meter), 1),
        };
        self.meter.spend(looks).then_some(place)
    }

    fn members(&self) -> MembersIter<'a> {
        MembersIter {
            inner: match self.all {
                AllMembers::Tape(object) => InnerMembers::Tape(object.members()),
                AllMembers::Map(map) => InnerMembers::Map(map.iter()),
            },
            meter: self.meter,
        }
    }
}

enum InnerMembers<'a> {
    Tape(tape::Members<'a>),
    Map(serde_json::map::Iter<'a>),
}

pub(super) struct MembersIter<'a> {
    inner: InnerMembers<'a>,
    meter: &'a Meter,
}

impl<'a> Iterator for MembersIter<'a> {
    type Item = (Cow<'a, str>, Place<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, place) = match &mut self.inner {
            InnerMembers::Tape(members) => {
                let (name, value) = members.next()?;
                (name.as_text()?, Place::Tape(value, self.meter))
            }
            InnerMembers::Map(members) => {
                let (name, value) = members.next()?;
                (
                    Cow::Borrowed(name.as_str()),
                    Place::Value(value, self.meter),
                )
            }
        };
        let share = if self.meter.has_patterns {
            PATTERN_SHARE
        } else {
            0
        };
        self.meter
            .spend(1 + name.len() as u64 * share / 8)
            .then_some((name, place))
    }
}

#[derive(Clone, Copy)]
enum AllItems<'a> {
    Tape(tape::Value<'a>),
    Slice(&'a [Value]),
}

#[derive(Clone, Copy)]
pub(super) struct Items<'a> {
    all: AllItems<'a>,
    meter: &'a Meter,
}

impl<'a> Array<'a, Metered> for Items<'a> {
    type Node = Place<'a>;
    type ElementsIter = ItemsIter<'a>;

    fn len(&self) -> usize {
        match self.all {
            AllItems::Tape(array) => array.items().count(),
            AllItems::Slice(items) => items.len(),
        }
    }

    fn elements(&self) -> ItemsIter<'a> {
        ItemsIter {
            inner: match self.all {
                AllItems::Tape(array) => InnerItems::Tape(array.items()),
                AllItems::Slice(items) => InnerItems::Slice(items.iter()),
            },
            meter: self.meter,
        }
    }

    fn is_unique(&self) -> bool {
        match self.all {
            AllItems::Tape(array) => {
                let spent = self.meter.spend(4 * array.size() as u64);
                let items = read(array);
                spent
                    && items
                        .as_array()
                        .is_none_or(|items| unique::is_unique(items))
            }
            AllItems::Slice(items) => {
                self.meter.spend(4 * items.len() as u64) && unique::is_unique(items)
            }
        }
    }
}

enum InnerItems<'a> {
    Tape(tape::Items<'a>),
    Slice(std::slice::Iter<'a, Value>),
}

pub(super) struct ItemsIter<'a> {
    inner: InnerItems<'a>,
    meter: &'a Meter,
}

impl<'a> Iterator for ItemsIter<'a> {
    type Item = Place<'a>;

    fn next(&mut self) -> Option<Place<'a>> {
        let place = match &mut self.inner {
            InnerItems::Tape(items) => Place::Tape(items.next()?, self.meter),
            InnerItems::Slice(items) => Place::Value(items.next()?, self.meter),
        };
        self.meter.spend(1).then_some(place)
    }
}
