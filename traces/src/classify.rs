//! From the bytes of one line to a [`Message`]: one strict pass that finds the kind by presence of members,
//! the keys and the conditions, and where the members' text lies.

use std::ops::Range;

use crate::key::Key;
use crate::message::{
    Capabilities, Capability, Condition, Conditions, Kind, Message, Method, Revision, Shape, Tool,
    Version, ordered,
};
use crate::scan::{Fault, FaultKind, Scanner, unescape, white};

/// Deeper than this, today's most careful reader gives up ([`Condition::DeeplyNested`]).
pub const DEPTH_USUAL_MAX: usize = 128;

/// Where the members' values lie in the line, quotes and braces included; empty where there is none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Spans {
    /// The value of `id`.
    pub id: Range<usize>,
    /// The value of `method`.
    pub method: Range<usize>,
    /// The value of `params`.
    pub params: Range<usize>,
    /// The value of `result`.
    pub result: Range<usize>,
    /// The value of `error`.
    pub error: Range<usize>,
}

/// What one pass over a line found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Classified {
    /// The frame as a structured value.
    pub message: Message,
    /// Where its members' text lies.
    pub spans: Spans,
    /// Why it is not JSON, where it is not.
    pub fault: Option<Fault>,
}

/// Classifies one line, given without its LF. The bytes are looked at and never changed.
pub fn classify(line: &[u8], scanner: &mut Scanner) -> Classified {
    let mut frame = Frame::default();
    if simdutf8::basic::from_utf8(line).is_err() {
        frame.conditions.insert(Condition::NotUtf8);
    }
    frame.classify(line, scanner)
}

/// As [`classify`], for a line that somebody has found to be UTF-8 already.
pub fn classify_utf8(line: &[u8], scanner: &mut Scanner) -> Classified {
    debug_assert!(simdutf8::basic::from_utf8(line).is_ok(), "the caller knows");
    Frame::default().classify(line, scanner)
}

/// The members of a top-level array, as byte ranges of the line; ends early where the array is not
/// JSON. Each member can be given to [`classify`].
pub fn batch_members<'a>(
    line: &'a [u8],
    scanner: &'a mut Scanner,
) -> impl Iterator<Item = Range<usize>> + 'a {
    let start = if line.starts_with(b"\xEF\xBB\xBF") {
        3
    } else {
        0
    };
    let open = white(line, start);
    let mut at = if line.get(open) == Some(&b'[') {
        white(line, open + 1)
    } else {
        line.len()
    };
    std::iter::from_fn(move || {
        if matches!(line.get(at), None | Some(b']')) {
            return None;
        }
        let end = scanner.value(line, at).ok()?;
        let member = at..end;
        at = white(line, end);
        at = if line.get(at) == Some(&b',') {
            white(line, at + 1)
        } else {
            line.len()
        };
        Some(member)
    })
}

/// What the pass has gathered so far.
#[derive(Default)]
struct Frame {
    conditions: Conditions,
    spans: Spans,
    seen: u8,
    method: Option<Method>,
    id: Key,
    is_batch: bool,
    params: Payload,
    result: Payload,
    error_code: i64,
}

// Bits of `seen`.
const JSONRPC: u8 = 1;
const ID: u8 = 2;
const METHOD: u8 = 4;
const PARAMS: u8 = 8;
const RESULT: u8 = 16;
const ERROR: u8 = 32;

/// What `params` and `result` hold that some rule or peer looks at.
#[derive(Default)]
struct Payload {
    members: u32,
    tool: Tool,
    shape: Shape,
    version: Version,
    capabilities: Option<Capabilities>,
    has_info: bool,
    meta_token: Key,
    meta_version: Option<Version>,
    progress_token: Key,
    request_id: Key,
    progress: Option<i64>,
    value: u32,
    conditions: Conditions,
}

type Scan = Result<usize, Fault>;

impl Frame {
    fn classify(mut self, line: &[u8], scanner: &mut Scanner) -> Classified {
        let mut end = line.len();
        if line.last() == Some(&b'\r') {
            self.conditions.insert(Condition::CarriageReturn);
            end -= 1;
        }
        let mut start = 0;
        if line.starts_with(b"\xEF\xBB\xBF") {
            self.conditions.insert(Condition::ByteOrderMark);
            start = 3.min(end);
        }
        // Offsets stay those of the line itself.
        let text = &line[..end];
        let first = white(text, start);
        scanner.reset();
        let fault = match text.get(first) {
            None => {
                self.conditions.insert(Condition::Blank);
                None
            }
            Some(b'{') => self.object(text, first, scanner).err(),
            Some(b'[') => self.batch(text, first, scanner).err(),
            Some(_) => self.scalar(text, first, scanner).err(),
        };
        if let Some(fault) = &fault {
            self.not_json(text, first, fault);
        }
        if scanner.depth_max() > DEPTH_USUAL_MAX {
            self.conditions.insert(Condition::DeeplyNested);
        }
        if scanner.saw_lone_surrogate() {
            self.conditions.insert(Condition::LoneSurrogate);
        }
        Classified {
            message: self.message(),
            spans: self.spans,
            fault,
        }
    }

    fn object(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Result<(), Fault> {
        let end = scanner.object(text, at, |scanner, name, at| {
            self.member(text, name, at, scanner)
        })?;
        let rest = white(text, end);
        if rest == text.len() {
            return Ok(());
        }
        self.conditions.insert(Condition::TrailingData);
        Err(Fault {
            at: rest,
            kind: FaultKind::Unexpected,
        })
    }

    fn member(&mut self, text: &[u8], name: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        let bit = match name {
            b"jsonrpc" => JSONRPC,
            b"id" => ID,
            b"method" => METHOD,
            b"params" => PARAMS,
            b"result" => RESULT,
            b"error" => ERROR,
            _ if name.contains(&b'\\') => {
                let mut plain = vec![];
                unescape(name, &mut plain);
                // An escaped backslash may leave one in the plain name: then it is no member of ours.
                if !plain.contains(&b'\\') {
                    return self.member(text, &plain, at, scanner);
                }
                0
            }
            _ => 0,
        };
        if bit == 0 {
            self.conditions.insert(Condition::ExtraMember);
            return scanner.value(text, at);
        }
        if self.seen & bit != 0 {
            self.conditions.insert(Condition::DuplicateMember);
        }
        self.seen |= bit;
        match bit {
            JSONRPC => {
                let end = scanner.value(text, at)?;
                let is_two = scanned_key(text, at, end, scanner) == Key::text(b"2.0");
                set(&mut self.conditions, Condition::VersionTagWrong, !is_two);
                Ok(end)
            }
            ID => {
                let end = scanner.value(text, at)?;
                self.id = scanned_key(text, at, end, scanner);
                self.spans.id = at..end;
                Ok(end)
            }
            METHOD => self.method_member(text, at, scanner),
            PARAMS => {
                self.params = Payload::default();
                let is_object = text.get(at) == Some(&b'{');
                set(&mut self.conditions, Condition::ParamsNotObject, !is_object);
                let end = self.params.scan(text, at, scanner)?;
                self.spans.params = at..end;
                Ok(end)
            }
            RESULT => {
                self.result = Payload::default();
                let is_object = text.get(at) == Some(&b'{');
                set(&mut self.conditions, Condition::ResultNotObject, !is_object);
                let end = self.result.scan(text, at, scanner)?;
                self.spans.result = at..end;
                Ok(end)
            }
            _ => self.error_member(text, at, scanner),
        }
    }

    fn method_member(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        let end = scanner.value(text, at)?;
        self.spans.method = at..end;
        let is_string = text[at] == b'"';
        set(&mut self.conditions, Condition::MethodNotString, !is_string);
        self.conditions.remove(Condition::NotificationPrefix);
        self.conditions.remove(Condition::RpcPrefix);
        self.method = Some(Method::Unknown);
        if is_string {
            with_text(text, at, end, scanner.was_escaped(), |name| {
                let method = Method::parse(name);
                self.method = Some(method);
                set(
                    &mut self.conditions,
                    Condition::UnprefixedNotification,
                    method == Method::Unknown && is_unprefixed(name),
                );
                let prefix = name.starts_with(b"notifications/");
                set(&mut self.conditions, Condition::NotificationPrefix, prefix);
                set(
                    &mut self.conditions,
                    Condition::RpcPrefix,
                    name.starts_with(b"rpc."),
                );
            });
        }
        Ok(end)
    }

    fn error_member(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        let (mut code, mut has_message) = (None, false);
        let is_object = text.get(at) == Some(&b'{');
        let end = if is_object {
            scanner.object(text, at, |scanner, name, at| {
                let end = scanner.value(text, at)?;
                match name {
                    b"code" => code = Some(scanned_key(text, at, end, scanner)),
                    b"message" => has_message = text[at] == b'"',
                    _ => {}
                }
                Ok(end)
            })?
        } else {
            scanner.value(text, at)?
        };
        self.spans.error = at..end;
        // An integer beyond 64 bits is an integer still; its value decides nothing.
        let is_integer = code.is_none_or(|code| {
            text_is_number(code) && code.key_type() == crate::key::KeyType::Integer
        });
        set(&mut self.conditions, Condition::ErrorNotObject, !is_object);
        set(
            &mut self.conditions,
            Condition::ErrorCodeMissing,
            is_object && code.is_none(),
        );
        set(
            &mut self.conditions,
            Condition::ErrorCodeNotInteger,
            is_object && !is_integer,
        );
        set(
            &mut self.conditions,
            Condition::ErrorMessageMissing,
            is_object && !has_message,
        );
        self.error_code = code.and_then(Key::as_integer).unwrap_or(0);
        Ok(end)
    }

    fn batch(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Result<(), Fault> {
        let end = scanner.value(text, at)?;
        self.is_batch = true;
        let first = white(text, at + 1);
        if text[first] == b']' {
            self.conditions.insert(Condition::EmptyBatch);
        }
        // Arrays directly inside: the scanner has proven the text, so this walk cannot fail.
        let mut inner = Scanner::new();
        if batch_members(&text[at..end], &mut inner).any(|member| text[at + member.start] == b'[') {
            self.conditions.insert(Condition::NestedBatch);
        }
        let rest = white(text, end);
        if rest == text.len() {
            return Ok(());
        }
        self.conditions.insert(Condition::TrailingData);
        Err(Fault {
            at: rest,
            kind: FaultKind::Unexpected,
        })
    }

    fn scalar(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Result<(), Fault> {
        let end = scanner.value(text, at)?;
        let rest = white(text, end);
        if rest == text.len() {
            self.conditions.insert(Condition::Scalar);
            return Ok(());
        }
        // `5 apples` is a banner, not two values.
        Err(Fault {
            at: rest,
            kind: FaultKind::Unexpected,
        })
    }

    fn not_json(&mut self, text: &[u8], first: usize, fault: &Fault) {
        if text.contains(&0) {
            self.conditions.insert(Condition::NulByte);
        }
        if self.conditions.has(Condition::TrailingData) {
            return;
        }
        // A bracket alone does not make a claim: `[INFO] started` is a log line.
        let claims = match text[first] {
            b'{' => true,
            b'[' => matches!(text.get(white(text, first + 1)), Some(b'{' | b'[' | b']')),
            _ => false,
        };
        if !claims {
            self.conditions.insert(Condition::Noise);
            return;
        }
        self.conditions.insert(Condition::NotJson);
        match fault.kind {
            FaultKind::End => self.conditions.insert(Condition::Truncated),
            FaultKind::NotANumber => self.conditions.insert(Condition::NotANumber),
            _ => {}
        }
    }

    fn message(&mut self) -> Message {
        if self.conditions.intersects(Conditions::of(&[
            Condition::Blank,
            Condition::NotJson,
            Condition::Noise,
            Condition::TrailingData,
            Condition::Scalar,
        ])) {
            return Message::malformed(self.conditions);
        }
        if self.is_batch {
            return Message {
                kind: Kind::Batch,
                ..Message::malformed(self.conditions)
            };
        }
        let has = |bit| self.seen & bit != 0;
        set(
            &mut self.conditions,
            Condition::VersionTagMissing,
            !has(JSONRPC),
        );
        set(&mut self.conditions, Condition::HasParams, has(PARAMS));
        let answer = has(RESULT) || has(ERROR);
        set(
            &mut self.conditions,
            Condition::ResultAndError,
            has(RESULT) && has(ERROR),
        );
        set(
            &mut self.conditions,
            Condition::MethodAndAnswer,
            has(METHOD) && answer,
        );
        set(
            &mut self.conditions,
            Condition::KindUnclear,
            !has(METHOD) && !answer,
        );
        let kind = match () {
            () if self.conditions.is_malformed() => Kind::Malformed,
            () if has(METHOD) && has(ID) => Kind::Request,
            () if has(METHOD) => Kind::Notification,
            () if has(RESULT) => Kind::Result,
            () => Kind::Error,
        };
        let mut message = Message {
            kind,
            method: self.method.unwrap_or(Method::None),
            id: self.id,
            ..Message::malformed(self.conditions)
        };
        match kind {
            Kind::Request | Kind::Notification => self.params.request_facts(&mut message),
            Kind::Result => self.result.result_facts(&mut message),
            Kind::Error => message.number = self.error_code,
            Kind::Batch | Kind::Malformed => {}
        }
        if message.has(Condition::ResultAndError) {
            message.number = self.error_code;
        }
        message
    }
}

impl Payload {
    /// Scans the value of `params` or `result`, object or not.
    fn scan(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        if text.get(at) != Some(&b'{') {
            return scanner.value(text, at);
        }
        self.shape = Shape::Empty;
        let end = scanner.object(text, at, |scanner, name, at| {
            self.members += 1;
            self.member(text, name, at, scanner)
        })?;
        Ok(end)
    }

    fn member(&mut self, text: &[u8], name: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        if name == b"_meta" {
            self.members -= 1;
            return self.meta(text, at, scanner);
        }
        if self.shape == Shape::Empty {
            self.shape = Shape::Other;
        }
        match name {
            b"arguments" | b"structuredContent" => {
                if name == b"structuredContent" {
                    self.shape = Shape::Tool;
                }
                return self.numbered(text, at, scanner);
            }
            b"capabilities" => return self.capabilities(text, at, scanner),
            _ => {}
        }
        let end = scanner.value(text, at)?;
        let value = &text[at..end];
        match name {
            b"name" => with_text(text, at, end, scanner.was_escaped(), |name| {
                self.tool = Tool::parse(name)
            }),
            b"protocolVersion" => {
                self.shape = Shape::Initialize;
                self.version = version_of(text, at, end, scanner.was_escaped());
            }
            b"clientInfo" | b"serverInfo" => self.has_info = true,
            b"progressToken" => self.progress_token = scanned_key(text, at, end, scanner),
            b"requestId" => self.request_id = scanned_key(text, at, end, scanner),
            b"progress" => self.progress(value),
            b"total" => self.flag(
                Condition::TotalNotNumber,
                !matches!(value[0], b'-' | b'0'..=b'9'),
            ),
            b"reason" => self.flag(Condition::ReasonNotString, value[0] != b'"'),
            b"mode" => self.flag(Condition::ElicitationUrl, value == b"\"url\""),
            b"toolChoice" => self.flag(Condition::SamplingTools, true),
            b"isError" => {
                self.flag(Condition::IsError, value == b"true");
                self.flag(
                    Condition::IsErrorNotBoolean,
                    !matches!(value, b"true" | b"false"),
                );
            }
            b"resources" | b"resourceTemplates" | b"prompts" => {
                self.flag(Condition::EmptyList, is_empty_list(value));
            }
            b"tools" => {
                self.flag(Condition::EmptyList, is_empty_list(value));
                self.shape = Shape::Tools;
                self.flag(Condition::SamplingTools, true);
            }
            b"content" if self.shape == Shape::Other => self.shape = Shape::Tool,
            b"roots" => {
                self.flag(Condition::EmptyList, is_empty_list(value));
                self.shape = Shape::Roots;
            }
            b"role" | b"model" => self.shape = Shape::Sampling,
            b"action" => self.shape = Shape::Elicitation,
            b"task" => {
                self.flag(Condition::TaskAsked, true);
                self.shape = Shape::Task;
            }
            _ => {}
        }
        Ok(end)
    }

    fn flag(&mut self, condition: Condition, on: bool) {
        set(&mut self.conditions, condition, on);
    }

    fn meta(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        if text.get(at) != Some(&b'{') {
            self.flag(Condition::MetaNotObject, true);
            return scanner.value(text, at);
        }
        scanner.object(text, at, |scanner, name, at| {
            let end = scanner.value(text, at)?;
            match name {
                b"progressToken" => self.meta_token = scanned_key(text, at, end, scanner),
                b"io.modelcontextprotocol/protocolVersion" => {
                    self.meta_version = Some(version_of(text, at, end, scanner.was_escaped()));
                }
                _ => {}
            }
            Ok(end)
        })
    }

    /// An object in which reference peers put their number `n`.
    fn numbered(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        if text.get(at) != Some(&b'{') {
            return scanner.value(text, at);
        }
        scanner.object(text, at, |scanner, name, at| {
            let end = scanner.value(text, at)?;
            if name == b"n" {
                let number = scanned_key(text, at, end, scanner).as_integer();
                self.value = number.and_then(|n| u32::try_from(n).ok()).unwrap_or(0);
            }
            Ok(end)
        })
    }

    fn capabilities(&mut self, text: &[u8], at: usize, scanner: &mut Scanner) -> Scan {
        if text.get(at) != Some(&b'{') {
            return scanner.value(text, at);
        }
        let mut found = Capabilities::NONE;
        let end = scanner.object(text, at, |scanner, name, at| {
            let parent = std::str::from_utf8(name).unwrap_or("");
            if text.get(at) != Some(&b'{') {
                let end = scanner.value(text, at)?;
                if may_declare(&text[at..end]) {
                    declare_all(&mut found, parent);
                }
                return Ok(end);
            }
            declare(&mut found, parent, "");
            scanner.object(text, at, |scanner, name, at| {
                let end = scanner.value(text, at)?;
                if may_declare(&text[at..end]) {
                    declare(
                        &mut found,
                        parent,
                        std::str::from_utf8(name).unwrap_or("\0"),
                    );
                }
                Ok(end)
            })
        })?;
        self.capabilities = Some(found);
        Ok(end)
    }

    fn progress(&mut self, value: &[u8]) {
        if !matches!(value[0], b'-' | b'0'..=b'9') {
            return;
        }
        let Some(number) = std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse::<f64>().ok())
        else {
            return;
        };
        self.progress = Some(ordered(number));
        // A double keeps 15 decimal digits of any number in its range; with more, or outside, two texts can become one.
        let digits = value.iter().filter(|byte| byte.is_ascii_digit()).count();
        let is_outside =
            !number.is_normal() && value.iter().any(|byte| matches!(byte, b'1'..=b'9'));
        self.flag(Condition::ProgressRounded, digits > 15 || is_outside);
    }

    fn request_facts(&self, message: &mut Message) {
        let mut take = |condition| {
            if self.conditions.has(condition) {
                message.conditions.insert(condition);
            }
        };
        take(Condition::MetaNotObject);
        take(Condition::TaskAsked);
        match message.method {
            Method::Cancelled => take(Condition::ReasonNotString),
            Method::ElicitationCreate => take(Condition::ElicitationUrl),
            Method::SamplingCreateMessage => take(Condition::SamplingTools),
            Method::Progress => {
                take(Condition::ProgressRounded);
                take(Condition::TotalNotNumber);
            }
            _ => {}
        }
        message.token = match message.method {
            Method::Progress => self.progress_token,
            Method::Cancelled => self.request_id,
            _ => self.meta_token,
        };
        match message.method {
            Method::Progress => match self.progress {
                Some(number) => message.number = number,
                None => message.conditions.insert(Condition::ProgressMissing),
            },
            Method::ToolsCall => {
                message.tool = self.tool;
                message.value = self.value;
            }
            Method::Initialize => self.handshake_facts(message),
            _ => {}
        }
        if let Some(version) = self.meta_version {
            message.conditions.insert(Condition::MetaVersion);
            if message.method != Method::Initialize {
                message.version = version;
            }
        }
    }

    fn result_facts(&self, message: &mut Message) {
        for condition in [
            Condition::IsError,
            Condition::IsErrorNotBoolean,
            Condition::MetaNotObject,
            Condition::EmptyList,
        ] {
            if self.conditions.has(condition) {
                message.conditions.insert(condition);
            }
        }
        message.shape = self.shape;
        message.value = self.value;
        if self.shape == Shape::Task {
            message.conditions.insert(Condition::TaskCreated);
        }
        if self.shape == Shape::Initialize {
            self.handshake_facts(message);
        } else if let Some(capabilities) = self.capabilities {
            // The answer to initialize may lack its version alone.
            message.capabilities = capabilities;
        }
    }

    fn handshake_facts(&self, message: &mut Message) {
        message.version = self.version;
        set(
            &mut message.conditions,
            Condition::CapabilitiesMissing,
            self.capabilities.is_none(),
        );
        set(
            &mut message.conditions,
            Condition::InfoMissing,
            !self.has_info,
        );
        message.capabilities = self.capabilities.unwrap_or_default();
    }
}

#[inline]
fn set(conditions: &mut Conditions, condition: Condition, on: bool) {
    if on {
        conditions.insert(condition);
    } else {
        conditions.remove(condition);
    }
}

/// Whether a value says that there is something, even where it is of a type that it should not have.
fn may_declare(value: &[u8]) -> bool {
    !matches!(value, b"null" | b"false")
}

fn declare(found: &mut Capabilities, parent: &str, child: &str) {
    let declared =
        Capability::ALL
            .iter()
            .find(|capability| match capability.as_str().split_once('.') {
                Some((above, below)) => above == parent && below == child,
                None => child.is_empty() && capability.as_str() == parent,
            });
    if let Some(&capability) = declared {
        found.insert(capability);
    }
}

/// Of what is no object nobody can tell what would be in it: all that there is.
#[cold]
fn declare_all(found: &mut Capabilities, parent: &str) {
    let is_part = |capability: &&Capability| {
        let path = capability.as_str();
        path.split('.').next() == Some(parent)
    };
    for &capability in Capability::ALL.iter().filter(is_part) {
        found.insert(capability);
    }
}

fn text_is_number(key: Key) -> bool {
    matches!(
        key.key_type(),
        crate::key::KeyType::Integer | crate::key::KeyType::Fraction
    )
}

/// Whether the name lacks nothing but `notifications/` to be a defined notification's.
fn is_unprefixed(name: &[u8]) -> bool {
    Method::ALL.iter().any(|method| {
        method
            .as_str()
            .strip_prefix("notifications/")
            .is_some_and(|rest| rest.as_bytes() == name)
    })
}

fn is_empty_list(value: &[u8]) -> bool {
    value[0] == b'[' && value.get(white(value, 1)) == Some(&b']')
}

/// Hands `use_text` the bytes of the string at `at..end`, escapes resolved; nothing for other values.
#[inline]
fn with_text(text: &[u8], at: usize, end: usize, is_escaped: bool, use_text: impl FnOnce(&[u8])) {
    if text[at] != b'"' {
        return;
    }
    let inner = &text[at + 1..end - 1];
    if !is_escaped {
        return use_text(inner);
    }
    let mut plain = Vec::with_capacity(inner.len());
    unescape(inner, &mut plain);
    use_text(&plain);
}

/// The key of the scanned value at `at..end`.
#[inline]
pub fn key_of(text: &[u8], at: usize, end: usize) -> Key {
    let is_escaped = memchr::memchr(b'\\', &text[at..end]).is_some();
    key_with(text, at, end, is_escaped)
}

/// As [`key_of`], of the value that was scanned last.
#[inline]
fn scanned_key(text: &[u8], at: usize, end: usize, scanner: &Scanner) -> Key {
    key_with(text, at, end, scanner.was_escaped())
}

/// As [`key_of`], where it is known whether the value is a string with escapes.
#[inline]
pub(crate) fn key_with(text: &[u8], at: usize, end: usize, is_escaped: bool) -> Key {
    match text[at] {
        b'"' => {
            let mut key = Key::ABSENT;
            with_text(text, at, end, is_escaped, |plain| key = Key::text(plain));
            key
        }
        b'n' => Key::NULL,
        b'-' | b'0'..=b'9' => Key::number(&text[at..end]).unwrap_or(Key::ILLEGAL),
        _ => Key::ILLEGAL,
    }
}

fn version_of(text: &[u8], at: usize, end: usize, is_escaped: bool) -> Version {
    let mut version = Version::NotString;
    with_text(text, at, end, is_escaped, |plain| {
        let known = std::str::from_utf8(plain).ok().and_then(Revision::parse);
        version = known.map_or(Version::Unknown, Version::Known);
    });
    version
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(line: &str) -> Message {
        bytes(line.as_bytes())
    }

    fn bytes(line: &[u8]) -> Message {
        classify(line, &mut Scanner::new()).message
    }

    fn check(line: &str, kind: Kind, conditions: &[Condition]) {
        let found = message(line);
        assert_eq!(found.kind, kind, "{line}");
        for &condition in conditions {
            assert!(
                found.has(condition),
                "{line}: {condition:?} of {:?}",
                found.conditions
            );
        }
    }

    /// The kind follows the presence of members, never their truthiness.
    #[test]
    fn kind_is_by_presence() {
        check(
            r#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#,
            Kind::Request,
            &[],
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
            Kind::Request,
            &[],
        );
        check(
            r#"{"jsonrpc":"2.0","method":"ping"}"#,
            Kind::Notification,
            &[],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
            Kind::Result,
            &[Condition::ResultNotObject],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
            Kind::Error,
            &[Condition::ErrorNotObject],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{}}"#,
            Kind::Result,
            &[Condition::ResultAndError],
        );
        check(
            r#"{"jsonrpc":"2.0","id":1}"#,
            Kind::Malformed,
            &[Condition::KindUnclear],
        );
        check(
            r#"{"id":1,"method":"ping","result":{}}"#,
            Kind::Malformed,
            &[Condition::MethodAndAnswer],
        );
        check(
            r#"{"\u0069d":1,"method":"ping","jsonrpc":"2.0"}"#,
            Kind::Request,
            &[],
        );
        check(
            r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#,
            Kind::Request,
            &[Condition::VersionTagWrong],
        );
        check(
            r#"{"id":1,"method":"ping"}"#,
            Kind::Request,
            &[Condition::VersionTagMissing],
        );
        check(
            r#"{"id":1,"id":2,"method":"ping"}"#,
            Kind::Request,
            &[Condition::DuplicateMember],
        );
        check(
            r#"{"method":5,"id":1}"#,
            Kind::Malformed,
            &[Condition::MethodNotString],
        );
    }

    #[test]
    fn malformations_are_named() {
        check("", Kind::Malformed, &[Condition::Blank]);
        check(
            " \t\r",
            Kind::Malformed,
            &[Condition::Blank, Condition::CarriageReturn],
        );
        check("Server started", Kind::Malformed, &[Condition::Noise]);
        check("[INFO] started", Kind::Malformed, &[Condition::Noise]);
        check("5", Kind::Malformed, &[Condition::Scalar]);
        check("5 apples", Kind::Malformed, &[Condition::Noise]);
        check("{nope", Kind::Malformed, &[Condition::NotJson]);
        check(
            "{",
            Kind::Malformed,
            &[Condition::NotJson, Condition::Truncated],
        );
        check(
            r#"{"a":NaN}"#,
            Kind::Malformed,
            &[Condition::NotJson, Condition::NotANumber],
        );
        check(
            r#"{"a":1} {"b":2}"#,
            Kind::Malformed,
            &[Condition::TrailingData],
        );
        check("[]", Kind::Batch, &[Condition::EmptyBatch]);
        check("[[]]", Kind::Batch, &[Condition::NestedBatch]);
        check(
            "\u{feff}{\"id\":1,\"method\":\"ping\"}\r",
            Kind::Request,
            &[Condition::ByteOrderMark, Condition::CarriageReturn],
        );
        check(
            "{\"id\":\0}",
            Kind::Malformed,
            &[Condition::NotJson, Condition::NulByte],
        );
        let found = bytes(b"{\"id\":1,\"method\":\"\xff\"}");
        assert!(found.has(Condition::NotUtf8) && found.kind == Kind::Request);
        assert!(bytes(b"\xff\xfe\x00 bytes").has(Condition::Noise));
        check(
            r#"{"id":"\ud800","method":"ping"}"#,
            Kind::Request,
            &[Condition::LoneSurrogate],
        );
    }

    #[test]
    fn large_and_deep_lines_are_classified() {
        let deep = format!(
            r#"{{"id":1,"method":"ping","params":{{"a":{}1{}}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        check(&deep, Kind::Request, &[Condition::DeeplyNested]);
        let wide = format!("[{}]", vec!["{}"; 100_000].join(","));
        assert_eq!(
            batch_members(wide.as_bytes(), &mut Scanner::new()).count(),
            100_000
        );
        check(&wide, Kind::Batch, &[]);
        let long = format!(
            r#"{{"id":1,"method":"ping","params":{{"a":"{}"}}}}"#,
            "x".repeat(10_000_000)
        );
        check(&long, Kind::Request, &[]);
    }

    #[test]
    fn ids_are_values() {
        let id = |text: &str| message(&format!(r#"{{"id":{text},"method":"ping"}}"#)).id;
        assert_eq!(id("1.0"), id("1"));
        assert_eq!(id("1e2"), id("100"));
        assert_ne!(id("9007199254740993"), id("9007199254740992"));
        assert_eq!(id(r#""\u0031""#), id(r#""1""#));
        assert_eq!(id("true"), Key::ILLEGAL);
        assert_eq!(id("null"), Key::NULL);
        assert_eq!(id("-0"), id("0"));
    }

    #[test]
    fn payload_facts_are_found_in_any_order() {
        let found = message(
            r#"{"params":{"_meta":{"progressToken":"t"},"arguments":{"n":7},"name":"echo"},"method":"tools/call","id":3,"jsonrpc":"2.0"}"#,
        );
        assert_eq!(
            found,
            Message::tools_call(Key::integer(3), Tool::Echo, 7, Key::text(b"t"))
        );
        let found = message(
            r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"tools":{"listChanged":true},"logging":{},"x":1},"serverInfo":{},"protocolVersion":"2025-06-18"}}"#,
        );
        assert_eq!(found.version, Version::Known(Revision::V2025_06_18));
        assert_eq!(
            found.capabilities,
            Capabilities::of(&[
                Capability::Tools,
                Capability::ToolsListChanged,
                Capability::Logging
            ])
        );
        assert_eq!(found.shape, Shape::Initialize);
        let found = message(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602.0,"message":""}}"#);
        assert!(found.number == -32602 && !found.has(Condition::ErrorCodeNotInteger));
        let found = message(r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":7}}"#);
        assert!(
            found.has(Condition::ErrorCodeNotInteger) && found.has(Condition::ErrorMessageMissing)
        );
    }

    /// Every cut of a frame is a handled condition, and never a panic.
    #[test]
    fn every_prefix_is_handled() {
        let whole = r#"{"jsonrpc":"2.0","id":1.5e3,"method":"tools/call","params":{"_meta":{"progressToken":"\ud83d\ude00"},"arguments":{"n":7},"name":"echo"}}"#;
        for cut in 0..whole.len() {
            let found = bytes(&whole.as_bytes()[..cut]);
            assert_eq!(found.kind, Kind::Malformed, "cut at {cut}");
        }
    }
}
