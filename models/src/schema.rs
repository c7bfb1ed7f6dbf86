//! JSON Schemas that peers announced: kept once each, compiled when first needed, held against values.
//!
//! Schemas and values come from hostile peers. Both are limited in size and nesting, the way of every `$ref`
//! is looked through before it is compiled ([`plan`]), validation runs on a meter ([`metered`]), patterns have
//! no backtracking, and nothing is ever fetched. What is beyond a limit is [`Fit::Unknown`], never a fault.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use mcpsim_traces::key::Key;
use mcpsim_traces::tape::{Value, ValueKind};
use serde_json::Value as Json;

use metered::{Meter, Metered, Place};
use plan::{Plan, broken_pattern, plan};

mod metered;
mod plan;
#[cfg(test)]
mod tests;

/// A longer schema is not judged.
pub(crate) const SCHEMA_MAX: usize = 128 << 10;
/// A longer value is not held against its schema.
const INSTANCE_MAX: usize = 1 << 20;
/// Schemas of one session are kept up to so many bytes of their text.
const KEPT_MAX: usize = 2 << 20;
/// … and up to that number.
const COUNT_MAX: usize = 2048;
/// Looks at values that a validation may take, and for each value in it. The crate's own bookkeeping is not
/// on the meter, and goes with these.
const LOOKS: u64 = 20_000;
const LOOKS_PER_VALUE: u64 = 200;
const LOOKS_MAX: u64 = 4_000_000;
/// Looks at values that finding words for a misfit may take, and how far the schema may branch then.
const WORDS_LOOKS: u64 = 5_000;
const WORDS_WIDTH_MAX: u64 = 2_000;
/// Levels of a value times the longest way of its schema at each: what the machine's stack has to hold.
const FRAMES_MAX: u32 = 1024;
/// Programs of patterns, in bytes.
const PATTERN_MAX: usize = 1 << 18;
/// A message of the validator is cut here.
const WORDS_MAX: usize = 160;

/// Why a schema is not judged by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Why {
    /// It is longer than what is kept.
    Large,
    /// It refers to itself without consuming anything.
    Circle,
    /// It is nested or branches too far.
    Complex,
    /// It refers to what is not in it.
    Elsewhere,
    /// It is written in a dialect that is not known here.
    Dialect,
    /// It, or the value, has numbers of more digits than are kept here.
    Digits,
    /// It cannot be used for another reason: a pattern of another engine, half a surrogate.
    Unusable,
}

impl Why {
    /// The reason in words.
    pub(crate) const fn told(self) -> &'static str {
        match self {
            Why::Large => "it is too large",
            Why::Circle => "its `$ref` goes in a circle that consumes nothing",
            Why::Complex => "it is nested or branches too far",
            Why::Dialect => "its `$schema` is a dialect that is not known here",
            Why::Elsewhere => "it refers to what does not stand in it",
            Why::Digits => "it has numbers of more digits than are kept here",
            Why::Unusable => "it has a pattern or a text that cannot be used here",
        }
    }
}

/// Whether a schema is one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Validity {
    Valid,
    /// It fails the meta-schema of its dialect: where and how.
    Invalid(String),
    /// It has a pattern that is no regular expression, which it should be.
    Odd(String),
    Unknown(Why),
}

/// Whether a value satisfies a schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fit {
    Fits,
    /// Where and how not.
    Misfit(String),
    /// It cannot be told.
    Unknown(Why),
}

/// Which dialects a schema without `$schema` may be written in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Reading {
    /// 2020-12, as the protocol says from 2025-11-25 on.
    Newest,
    /// Nothing was said: what draft-07 or 2020-12 accepts is accepted.
    Either,
}

/// The schemas of a session, each kept once.
#[derive(Clone, Default, Debug)]
pub(crate) struct Schemas {
    known: BTreeMap<Key, Arc<Schema>>,
    bytes: usize,
}

impl Schemas {
    /// The schema that stands there; `None` where it is too long or too many are kept.
    pub(crate) fn intern(&mut self, value: Value<'_>) -> Option<Arc<Schema>> {
        let text = value.raw();
        if text.len() > SCHEMA_MAX {
            return None;
        }
        let key = Key::text(text);
        if let Some(known) = self.known.get(&key) {
            return Some(known.clone());
        }
        if self.bytes + text.len() > KEPT_MAX || self.known.len() >= COUNT_MAX {
            self.sweep();
            if self.bytes + text.len() > KEPT_MAX || self.known.len() >= COUNT_MAX {
                return None;
            }
        }
        let schema = Arc::new(Schema::of(key, value));
        self.bytes += text.len();
        self.known.insert(key, schema.clone());
        Some(schema)
    }

    /// Forgets what nobody holds.
    #[cold]
    fn sweep(&mut self) {
        self.known.retain(|_, schema| Arc::strong_count(schema) > 1);
        self.bytes = self.known.values().map(|schema| schema.text.len()).sum();
    }
}

/// One schema, by its text.
pub(crate) struct Schema {
    key: Key,
    text: Box<[u8]>,
    dialect: Dialect,
    /// A number in it has more digits than a double keeps.
    is_rounded: bool,
    validity: OnceLock<Validity>,
    /// As its own dialect, or 2020-12, reads it.
    newest: OnceLock<Result<Compiled, Why>>,
    /// As draft-07 reads it.
    draft_07: OnceLock<Result<Compiled, Why>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Dialect {
    Unsaid,
    Known(Draft),
    Unknown,
}

struct Compiled {
    validator: Validator<Metered>,
    plan: Plan,
}

impl Compiled {
    /// What holding a value of so many levels and values against it may cost; `None` where the machine's stack
    /// would not do.
    fn meter(&self, levels: u32, size: usize) -> Option<Meter> {
        if (self.plan.depth + 1).saturating_mul(levels + 1) > FRAMES_MAX {
            return None;
        }
        let looks = (LOOKS + LOOKS_PER_VALUE * size as u64).min(LOOKS_MAX);
        Some(Meter::new(looks, self.plan.has_patterns))
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Schema) -> bool {
        self.key == other.key
    }
}

impl Eq for Schema {}

impl std::fmt::Debug for Schema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text))
    }
}

impl Schema {
    fn of(key: Key, value: Value<'_>) -> Schema {
        Schema {
            key,
            text: value.raw().into(),
            dialect: match value.get("$schema") {
                None => Dialect::Unsaid,
                Some(name) => dialect(name),
            },
            is_rounded: is_rounded(value),
            validity: OnceLock::new(),
            newest: OnceLock::new(),
            draft_07: OnceLock::new(),
        }
    }

    /// Whether it is a schema of its dialect: of 2020-12, where it names none.
    pub(crate) fn validity(&self) -> &Validity {
        self.validity.get_or_init(|| self.examine())
    }

    /// Whether the value satisfies it; no value stands for the empty object.
    pub(crate) fn fit(&self, value: Option<Value<'_>>, reading: Reading) -> Fit {
        let Some(draft) = self.draft() else {
            return Fit::Unknown(Why::Dialect);
        };
        let text = value.map_or(&b"{}"[..], Value::raw);
        if text.len() > INSTANCE_MAX {
            return Fit::Unknown(Why::Large);
        }
        if let Some(value) = value
            && self.fits_as_it_stands(draft, value)
        {
            return Fit::Fits;
        }
        let Ok(json) = serde_json::from_slice(text) else {
            return Fit::Unknown(Why::Unusable);
        };
        let first = self.fit_as(draft, value, &json);
        let is_open = reading == Reading::Either && self.dialect == Dialect::Unsaid;
        if !is_open || !matches!(first, Fit::Misfit(_)) {
            return first;
        }
        match self.fit_as(Draft::Draft7, value, &json) {
            Fit::Misfit(_) => first,
            other => other,
        }
    }

    /// Whether the value satisfies the schema as it lies in the frame: what is right, as most values are, is
    /// never read into a tree. Whatever is in doubt is read, and judged again.
    fn fits_as_it_stands(&self, draft: Draft, value: Value<'_>) -> bool {
        let Ok(compiled) = self.compiled(draft) else {
            return false;
        };
        if !is_plain(value) {
            return false;
        }
        let size = value.size();
        let meter = compiled.meter(depth_max(value), size);
        let Some(meter) = meter.or_else(|| compiled.meter(depth(value), size)) else {
            return false;
        };
        let fits = compiled.validator.is_valid(Place::Tape(value, &meter));
        fits && !meter.is_empty()
    }

    fn fit_as(&self, draft: Draft, value: Option<Value<'_>>, json: &Json) -> Fit {
        let compiled = match self.compiled(draft) {
            Ok(compiled) => compiled,
            Err(why) => return Fit::Unknown(*why),
        };
        let (levels, size) = value.map_or((0, 1), |value| (depth(value), value.size()));
        let Some(meter) = compiled.meter(levels, size) else {
            return Fit::Unknown(Why::Complex);
        };
        let place = Place::Value(json, &meter);
        let fits = compiled.validator.is_valid(place);
        if meter.is_empty() {
            return Fit::Unknown(Why::Complex);
        }
        if fits {
            return Fit::Fits;
        }
        if self.is_rounded || value.is_some_and(is_rounded) {
            return Fit::Unknown(Why::Digits);
        }
        self.misfit(compiled, json)
    }

    /// How the value does not satisfy the schema. Finding words for it costs far more than finding it out.
    #[cold]
    fn misfit(&self, compiled: &Compiled, json: &Json) -> Fit {
        let plain = || Fit::Misfit("no words are short enough for how".to_string());
        if compiled.plan.width > WORDS_WIDTH_MAX {
            return plain();
        }
        let meter = Meter::new(WORDS_LOOKS, compiled.plan.has_patterns);
        let place = Place::Value(json, &meter);
        match compiled.validator.validate(place) {
            _ if meter.is_empty() => plain(),
            Err(error) => words(&error).map_or(Fit::Unknown(Why::Unusable), Fit::Misfit),
            Ok(()) => Fit::Unknown(Why::Unusable),
        }
    }

    /// The dialect that it is read in first.
    fn draft(&self) -> Option<Draft> {
        match self.dialect {
            Dialect::Unsaid => Some(Draft::Draft202012),
            Dialect::Known(draft) => Some(draft),
            Dialect::Unknown => None,
        }
    }

    fn compiled(&self, draft: Draft) -> &Result<Compiled, Why> {
        let place = if self.draft() == Some(draft) {
            &self.newest
        } else {
            &self.draft_07
        };
        place.get_or_init(|| self.compile(draft))
    }

    #[cold]
    fn compile(&self, draft: Draft) -> Result<Compiled, Why> {
        let json: Json = serde_json::from_slice(&self.text).map_err(|_| Why::Unusable)?;
        let plan = plan(&json)?;
        let patterns = PatternOptions::regex()
            .size_limit(PATTERN_MAX)
            .dfa_size_limit(PATTERN_MAX);
        let options = jsonschema::options_for::<Metered>()
            .with_draft(draft)
            .should_validate_formats(false)
            .offline()
            .with_pattern_options(patterns);
        let validator = options.build(&json).map_err(|_| Why::Unusable)?;
        Ok(Compiled { validator, plan })
    }

    #[cold]
    fn examine(&self) -> Validity {
        let Some(draft) = self.draft() else {
            return Validity::Unknown(Why::Dialect);
        };
        let Ok(json) = serde_json::from_slice(&self.text) else {
            return Validity::Unknown(Why::Unusable);
        };
        if let Err(error) = against_meta_schema(draft, &json) {
            return words(&error).map_or(Validity::Unknown(Why::Unusable), Validity::Invalid);
        }
        match plan(&json) {
            Ok(plan) if plan.has_patterns => {
                broken_pattern(&json).map_or(Validity::Valid, Validity::Odd)
            }
            Ok(_) => Validity::Valid,
            Err(why) => Validity::Unknown(why),
        }
    }
}

/// The dialect of that name.
fn dialect(name: Value<'_>) -> Dialect {
    let Some(text) = name.as_text() else {
        // No name at all: the newest one says so.
        return Dialect::Unsaid;
    };
    let path = text.trim_end_matches('#');
    let path = path.strip_prefix("http").unwrap_or(path);
    let path = path.strip_prefix('s').unwrap_or(path);
    Dialect::Known(match path {
        "://json-schema.org/draft-04/schema" => Draft::Draft4,
        "://json-schema.org/draft-06/schema" => Draft::Draft6,
        "://json-schema.org/draft-07/schema" => Draft::Draft7,
        "://json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        "://json-schema.org/draft/2020-12/schema" => Draft::Draft202012,
        _ => return Dialect::Unknown,
    })
}

/// What the schema of schemas finds wrong; formats are mere annotations there.
fn against_meta_schema(draft: Draft, schema: &Json) -> Result<(), ValidationError<'_>> {
    match draft {
        Draft::Draft4 => jsonschema::draft4::meta::validate(schema),
        Draft::Draft6 => jsonschema::draft6::meta::validate(schema),
        Draft::Draft7 => jsonschema::draft7::meta::validate(schema),
        Draft::Draft201909 => jsonschema::draft201909::meta::validate(schema),
        _ => jsonschema::draft202012::meta::validate(schema),
    }
}

/// What is wrong, in a few words; `None` where the engine gave up instead.
fn words(error: &ValidationError<'_>) -> Option<String> {
    let is_verdict = !matches!(
        error.kind(),
        ValidationErrorKind::BacktrackLimitExceeded { .. }
            | ValidationErrorKind::RegexEngineFailure { .. }
            | ValidationErrorKind::Referencing(_)
    );
    if !is_verdict {
        return None;
    }
    let path = error.instance_path().as_str();
    let place = match path {
        "" => "it".to_string(),
        path => format!("`{}`", cut(path)),
    };
    Some(cut(&error.masked_with(place).to_string()))
}

/// The text as it may stand in a message: without control characters, and not long.
fn cut(text: &str) -> String {
    let mut short = String::new();
    for (count, letter) in text.chars().enumerate() {
        if count == WORDS_MAX {
            short.push('…');
            break;
        }
        if letter.is_control() {
            short.extend(letter.escape_default());
        } else {
            short.push(letter);
        }
    }
    short
}

/// Whether a number in it loses digits in a double, or is beyond it.
fn is_rounded(value: Value<'_>) -> bool {
    let mut found = false;
    walk(value, |value, _| {
        found |= value.is_number() && loses_digits(value.raw());
    });
    found
}

/// Members of one object that may be compared with each other.
const PLAIN_MEMBERS_MAX: usize = 16;

/// How deep the value is nested at most, 0 for a plain one: each array and object may lie in the one before it.
fn depth_max(value: Value<'_>) -> u32 {
    let nested = value.all().filter(|one| one.is_array() || one.is_object());
    nested.count() as u32
}

/// How deep the value is nested.
fn depth(value: Value<'_>) -> u32 {
    let mut deepest = 0;
    walk(value, |_, depth| deepest = deepest.max(depth));
    deepest
}

/// Whether each reader makes the same of the value: no name twice, no half of a surrogate pair, no number that loses digits.
fn is_plain(value: Value<'_>) -> bool {
    value.all().all(|one| match one.kind() {
        ValueKind::Number => !loses_digits(one.raw()),
        ValueKind::Text if one.is_a_name() => !one.is_escaped(),
        ValueKind::Text => !one.is_escaped() || !may_have_surrogates(one.raw()),
        ValueKind::Object => !one.may_repeat() || has_plain_names(one),
        _ => true,
    })
}

/// Whether an object has few names, and each once.
fn has_plain_names(object: Value<'_>) -> bool {
    let names = || object.members().map(|(name, _)| name);
    names().count() <= PLAIN_MEMBERS_MAX
        && names().enumerate().all(|(at, name)| {
            let mut earlier = names().take(at);
            earlier.all(|other| other.raw() != name.raw())
        })
}

/// Whether a string may have an escape of half a surrogate pair, or of a whole one.
fn may_have_surrogates(text: &[u8]) -> bool {
    let mut escapes = memchr::memmem::find_iter(text, b"\\u");
    escapes.any(|at| matches!(text.get(at + 2), Some(b'd' | b'D')))
}

/// Every value in it, with how deep it lies; the walk keeps its own stack.
fn walk<'a>(value: Value<'a>, mut look: impl FnMut(Value<'a>, u32)) {
    let mut stack = vec![(value, 0)];
    while let Some((value, depth)) = stack.pop() {
        look(value, depth);
        if value.is_array() {
            stack.extend(value.items().map(|item| (item, depth + 1)));
        } else if value.is_object() {
            stack.extend(value.members().map(|(_, value)| (value, depth + 1)));
        }
    }
}

/// Whether a number's text says more than a double, or 64 bits, can hold.
fn loses_digits(text: &[u8]) -> bool {
    let text = text.strip_prefix(b"-").unwrap_or(text);
    let end = text.iter().position(|byte| matches!(byte, b'e' | b'E'));
    let (digits, exponent) = text.split_at(end.unwrap_or(text.len()));
    if exponent.is_empty() && digits.iter().all(u8::is_ascii_digit) {
        return digits.len() > 18;
    }
    let significant = digits.iter().filter(|byte| byte.is_ascii_digit()).count();
    let sign = exponent
        .get(1)
        .is_some_and(|byte| matches!(byte, b'+' | b'-'));
    let power = exponent.len().saturating_sub(1 + usize::from(sign));
    significant > 17 || power > 2
}
