//! What a schema will cost, told before it is compiled: circles of `$ref` that consume nothing are found
//! here, and what is nested or branches too far is refused.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Why;

/// More keywords than this, applied to one value through references and combinations, are not judged.
const WIDTH_MAX: u64 = 20_000;
/// A longer way through references and combinations, at one value, is not followed.
const DEPTH_MAX: u32 = 64;
/// So much of a pattern is shown.
const PATTERN_SHOWN_MAX: usize = 60;

/// What is known of a schema that can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Plan {
    /// The longest way through references and combinations at one value.
    pub(super) depth: u32,
    /// The most keywords that are applied to one value.
    pub(super) width: u64,
    pub(super) has_patterns: bool,
}

/// Looks a schema through.
pub(super) fn plan(root: &Value) -> Result<Plan, Why> {
    let mut graph = Graph::new(root);
    graph.collect()?;
    let (depth, width) = graph.measure()?;
    Ok(Plan {
        depth,
        width,
        has_patterns: graph.has_patterns,
    })
}

/// A pattern of the schema that no engine takes, with the reason.
pub(super) fn broken_pattern(root: &Value) -> Option<String> {
    let mut graph = Graph::new(root);
    // What was found before something that is not followed stands.
    let _ = graph.collect();
    let (pattern, why) = graph.broken?;
    let shown: String = pattern.chars().take(PATTERN_SHOWN_MAX).collect();
    Some(format!(
        "the pattern {shown:?} is no regular expression: {why}"
    ))
}

/// What keeps a text from being a regular expression, in every dialect of them.
fn pattern_flaw(pattern: &str) -> Option<&'static str> {
    let mut rest = pattern.chars().peekable();
    let (mut open, mut in_class, mut is_empty) = (0u32, false, true);
    while let Some(one) = rest.next() {
        let was_empty = std::mem::replace(&mut is_empty, false);
        match one {
            '\\' if rest.next().is_none() => return Some("it ends with a backslash"),
            '\\' => {}
            ']' if in_class => in_class = false,
            _ if in_class => {}
            '[' => {
                in_class = true;
                // A bracket right at the beginning of a class is a member in some dialects: nothing is said of these.
                rest.next_if_eq(&'^');
                if rest.peek() == Some(&']') {
                    return None;
                }
            }
            '(' => {
                open += 1;
                is_empty = true;
                if rest.next_if_eq(&'?').is_some() {
                    rest.next();
                }
            }
            ')' if open == 0 => return Some("it closes a group that it has not opened"),
            ')' => open -= 1,
            '|' => is_empty = true,
            '*' | '+' | '?' if was_empty => return Some("it repeats nothing"),
            _ => {}
        }
    }
    match (in_class, open) {
        (true, _) => Some("a class is not closed"),
        (_, 1..) => Some("a group is not closed"),
        _ => None,
    }
}

/// One schema in the document, and those that it applies to the same value.
#[derive(Default)]
struct Node {
    in_place: Vec<u32>,
    /// What looking at its own keywords costs.
    width: u64,
    /// It looks at what its parts have seen, so they are run again.
    looks_back: bool,
}

struct Graph<'a> {
    root: &'a Value,
    /// The document's own address.
    base: &'a str,
    nodes: Vec<Node>,
    values: Vec<&'a Value>,
    /// Where a schema stands in the document, and its number.
    numbers: BTreeMap<usize, u32>,
    anchors: BTreeMap<&'a str, Vec<u32>>,
    /// References by name, from where.
    named: Vec<(u32, &'a str)>,
    has_patterns: bool,
    /// The first pattern that is none, and why.
    broken: Option<(&'a str, &'static str)>,
    /// A part has an address of its own.
    is_bundle: bool,
    has_refs: bool,
}

impl<'a> Graph<'a> {
    fn new(root: &'a Value) -> Graph<'a> {
        let base = root.get("$id").and_then(Value::as_str).unwrap_or("");
        let mut graph = Graph {
            root,
            base: base.trim_end_matches('#'),
            nodes: vec![],
            values: vec![],
            numbers: BTreeMap::new(),
            anchors: BTreeMap::new(),
            named: vec![],
            has_patterns: false,
            broken: None,
            is_bundle: false,
            has_refs: false,
        };
        graph.number(root);
        graph
    }

    /// The number of the schema that stands there.
    fn number(&mut self, value: &'a Value) -> u32 {
        let next = self.nodes.len() as u32;
        let place = std::ptr::from_ref(value) as usize;
        let number = *self.numbers.entry(place).or_insert(next);
        if number == next {
            self.nodes.push(Node::default());
            self.values.push(value);
        }
        number
    }

    /// Finds every schema that can be reached.
    fn collect(&mut self) -> Result<(), Why> {
        let mut at = 0;
        while at < self.nodes.len() {
            if let Value::Object(members) = self.values[at] {
                self.nodes[at].width = members.len() as u64;
                for (keyword, value) in members {
                    self.keyword(at as u32, keyword, value)?;
                }
            }
            at += 1;
        }
        if self.is_bundle && self.has_refs {
            return Err(Why::Elsewhere);
        }
        for (from, name) in std::mem::take(&mut self.named) {
            let Some(found) = self.anchors.get(name) else {
                return Err(Why::Elsewhere);
            };
            self.nodes[from as usize].in_place.extend(found);
        }
        Ok(())
    }

    fn keyword(&mut self, at: u32, keyword: &'a str, value: &'a Value) -> Result<(), Why> {
        match (keyword, value) {
            ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(to)) => {
                return self.reference(at, to);
            }
            ("$id" | "id", Value::String(id)) => match id.strip_prefix('#') {
                Some(name) => self.anchors.entry(name).or_default().push(at),
                None => self.is_bundle |= at != 0,
            },
            ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                self.anchors.entry(name).or_default().push(at);
            }
            ("not" | "if" | "then" | "else", _) => self.apply(at, value),
            ("allOf" | "anyOf" | "oneOf" | "extends", Value::Array(list)) => {
                list.iter().for_each(|one| self.apply(at, one));
            }
            ("dependentSchemas" | "dependencies", Value::Object(map)) => {
                let schemas = map.values().filter(|one| !one.is_array());
                schemas.for_each(|one| self.apply(at, one));
            }
            ("unevaluatedItems" | "unevaluatedProperties", _) => {
                self.nodes[at as usize].looks_back = true;
                self.number(value);
            }
            ("properties" | "patternProperties" | "$defs" | "definitions", Value::Object(map)) => {
                if keyword == "patternProperties" {
                    self.has_patterns = true;
                    map.keys().for_each(|pattern| self.pattern(pattern));
                }
                self.nodes[at as usize].width += map.len() as u64;
                for one in map.values() {
                    self.number(one);
                }
            }
            ("items" | "prefixItems", Value::Array(list)) => {
                for one in list {
                    self.number(one);
                }
            }
            (
                "items"
                | "additionalItems"
                | "additionalProperties"
                | "contains"
                | "propertyNames"
                | "contentSchema",
                _,
            ) => {
                self.number(value);
            }
            ("enum" | "required", Value::Array(list)) => {
                self.nodes[at as usize].width += list.len() as u64;
            }
            ("pattern", _) => {
                self.has_patterns = true;
                if let Value::String(pattern) = value {
                    self.pattern(pattern);
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn pattern(&mut self, pattern: &'a str) {
        if self.broken.is_none() {
            self.broken = pattern_flaw(pattern).map(|why| (pattern, why));
        }
    }

    fn apply(&mut self, at: u32, value: &'a Value) {
        let number = self.number(value);
        self.nodes[at as usize].in_place.push(number);
    }

    fn reference(&mut self, at: u32, to: &'a str) -> Result<(), Why> {
        self.has_refs = true;
        let local = match to.strip_prefix(self.base) {
            Some(rest) if rest.is_empty() || rest.starts_with('#') => rest,
            _ => to,
        };
        let fragment = match local.strip_prefix('#') {
            Some(fragment) => fragment,
            None if local.is_empty() => "",
            None => return Err(Why::Elsewhere),
        };
        if fragment.is_empty() {
            let root = self.root;
            self.apply(at, root);
        } else if fragment.starts_with('/') {
            let path = decoded(fragment).ok_or(Why::Elsewhere)?;
            let found = self.root.pointer(&path).ok_or(Why::Elsewhere)?;
            self.apply(at, found);
        } else {
            self.named.push((at, fragment));
        }
        Ok(())
    }

    /// The longest way at one value, and the widest; an error where one has no end or branches too far. The
    /// walk keeps its own stack.
    fn measure(&self) -> Result<(u32, u64), Why> {
        const NEW: u64 = 0;
        const OPEN: u64 = u64::MAX;
        // Of each schema, what it costs with all that it applies; and how far that goes.
        let mut widths = vec![NEW; self.nodes.len()];
        let mut depths = vec![0u32; self.nodes.len()];
        let mut stack: Vec<(u32, usize)> = vec![];
        let (mut deepest, mut widest) = (0, 0);
        for start in 0..self.nodes.len() as u32 {
            if widths[start as usize] != NEW {
                continue;
            }
            stack.push((start, 0));
            while let Some((number, next)) = stack.pop() {
                let node = &self.nodes[number as usize];
                widths[number as usize] = OPEN;
                if let Some(&child) = node.in_place.get(next) {
                    stack.push((number, next + 1));
                    match widths[child as usize] {
                        OPEN => return Err(Why::Circle),
                        NEW => stack.push((child, 0)),
                        _ => {}
                    }
                    continue;
                }
                let children = node.in_place.iter().map(|&child| child as usize);
                let parts = children.clone().map(|child| widths[child]);
                let mut width = parts.fold(1 + node.width, u64::saturating_add);
                if node.looks_back {
                    width = width.saturating_mul(2);
                }
                let depth = children.map(|child| depths[child] + 1).max().unwrap_or(0);
                if width > WIDTH_MAX || depth > DEPTH_MAX {
                    return Err(Why::Complex);
                }
                widths[number as usize] = width;
                depths[number as usize] = depth;
                (deepest, widest) = (deepest.max(depth), widest.max(width));
            }
        }
        Ok((deepest, widest))
    }
}

/// A fragment without its percent signs.
fn decoded(fragment: &str) -> Option<String> {
    if !fragment.contains('%') {
        return Some(fragment.to_string());
    }
    let mut plain = vec![];
    let mut bytes = fragment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            plain.push(byte);
            continue;
        }
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        plain.push((high * 16 + low) as u8);
    }
    String::from_utf8(plain).ok()
}
