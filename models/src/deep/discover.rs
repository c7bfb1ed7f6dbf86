//! What requests outside sessions say of themselves, and what a server tells of itself when it is asked.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::FrameNo;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{
    Capabilities, Capability, Condition, Kind, Message, Method, Revision,
};
use mcpsim_traces::tape::Value;

use crate::deep::{Deep, Frame};
use crate::ledger::{Cx, bit};
use crate::part::{Fact, Part};
use crate::rules::When;

/// What a request outside sessions says of itself in `_meta`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Meta {
    /// The version that it names; absent where it names none, or nothing that can be one.
    pub(crate) version: Key,
    /// What the client says that it can.
    pub(crate) capabilities: Capabilities,
    /// It names version and capabilities, as it has to.
    pub(crate) is_whole: bool,
    /// It asks for log messages.
    pub(crate) logs: bool,
    /// It names the client.
    pub(crate) names_client: bool,
    /// It declares extensions.
    pub(crate) has_extensions: bool,
}

impl Meta {
    pub(crate) fn of(message: &Message, params: Option<Value<'_>>) -> Meta {
        let mut meta = Meta::default();
        let Some(given) = params.and_then(|params| params.get("_meta")) else {
            return meta;
        };
        let mut has_capabilities = false;
        for (name, value) in given.members() {
            let Some(name) = name.as_bytes() else {
                continue;
            };
            match name.strip_prefix(b"io.modelcontextprotocol/") {
                Some(b"protocolVersion") if value.is_text() => meta.version = value.key(),
                Some(b"clientCapabilities") => {
                    has_capabilities = true;
                    meta.capabilities = capabilities_of(value);
                    meta.has_extensions = extensions_of(value).next().is_some();
                }
                Some(b"clientInfo") => meta.names_client = true,
                Some(b"logLevel") => meta.logs = true,
                _ => {}
            }
        }
        meta.is_whole = has_capabilities && message.has(Condition::MetaVersion);
        meta
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.key(self.version);
        encoder.word(
            u64::from(self.capabilities.bits()) << 8
                | u64::from(self.is_whole) << 3
                | u64::from(self.logs) << 2
                | u64::from(self.names_client) << 1
                | u64::from(self.has_extensions),
        );
    }
}

/// Whether a value declares something, even where it is of a type that it should not have: that is a fault of its own.
pub(crate) fn may_declare(value: Value<'_>) -> bool {
    !value.is_null() && value.as_bool() != Some(false)
}

/// The capabilities that an object declares.
pub(crate) fn capabilities_of(value: Value<'_>) -> Capabilities {
    let mut found = Capabilities::NONE;
    for (name, value) in value.members().filter(|(_, value)| may_declare(*value)) {
        for &capability in Capability::ALL {
            match capability.as_str().split_once('.') {
                None if name.is(capability.as_str()) => found.insert(capability),
                // Of what is no object nobody can tell what would be in it.
                Some((parent, child))
                    if name.is(parent)
                        && (!value.is_object() || value.get(child).is_some_and(may_declare)) =>
                {
                    found.insert(capability);
                }
                _ => {}
            }
        }
    }
    found
}

/// The names of the extensions that an object of capabilities declares, with their settings.
pub(crate) fn extensions_of(
    capabilities: Value<'_>,
) -> impl Iterator<Item = (Value<'_>, Value<'_>)> {
    let extensions = capabilities.get("extensions");
    extensions.into_iter().flat_map(Value::members)
}

/// So many extensions and versions are remembered of each list.
const LIST_MAX: usize = 32;

/// What a server told of itself in a result of server/discover.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    /// When it came to the party, where it came to it.
    pub(crate) fact: Fact,
    pub(crate) frame: FrameNo,
    pub(crate) capabilities: Capabilities,
    pub(crate) extensions: Vec<Key>,
    pub(crate) versions: Versions,
    /// The version under which it was asked: whether that is listed, server/discover has a rule for.
    pub(crate) answered: Key,
}

/// Versions that a server says it supports.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Versions {
    pub(crate) list: Vec<Key>,
    /// There were more than can be remembered, or something that is no version.
    pub(crate) is_cut: bool,
}

impl Versions {
    /// Reads a list of them.
    pub(crate) fn of(value: Option<Value<'_>>) -> Option<Versions> {
        let value = value.filter(|value| value.is_array())?;
        let mut versions = Versions::default();
        for item in value.items() {
            if versions.list.len() == LIST_MAX || !item.is_text() {
                versions.is_cut = true;
                break;
            }
            versions.list.push(item.key());
        }
        versions.list.sort_unstable();
        versions.list.dedup();
        Some(versions)
    }

    /// Whether that version is certainly none of them.
    pub(crate) fn lacks(&self, version: Key) -> bool {
        !self.is_cut && !self.list.contains(&version)
    }

    /// Whether a revision with a handshake is among them.
    pub(crate) fn has_older(&self) -> bool {
        self.list.iter().copied().any(is_older)
    }

    /// Those that need no handshake, as far as that is known.
    pub(crate) fn newer(&self) -> impl Iterator<Item = Key> {
        self.list
            .iter()
            .copied()
            .filter(|&version| !is_older(version))
    }

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word((self.list.len() as u64) << 1 | u64::from(self.is_cut));
        for &version in &self.list {
            encoder.key(version);
        }
    }
}

/// Whether a version is a revision with a handshake.
pub(crate) fn is_older(version: Key) -> bool {
    let mut older = Revision::ALL
        .into_iter()
        .filter(|revision| revision.has_handshake());
    older.any(|revision| Key::text(revision.as_str().as_bytes()) == version)
}

/// What is kept of frames outside sessions beside the open requests.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outside {
    /// What any request so far declared.
    pub(crate) declared: Capabilities,
    /// Extensions that any request so far declared.
    pub(crate) extensions: Vec<Key>,
    /// The latest result of server/discover.
    pub(crate) told: Option<Told>,
    /// The latest list of versions with which the server refused one.
    pub(crate) listed: Option<Listed>,
    /// What was seen or reported: bits of [`once`].
    pub(crate) seen: u32,
    /// Client: versions that it used.
    pub(crate) used: Vec<Key>,
    /// Client: its first request outside sessions.
    pub(crate) began: Option<(Method, FrameNo)>,
    /// Client: the first answer that only a server of 2026-07-28 gives.
    pub(crate) proof: Option<(Fact, FrameNo)>,
    /// Client: that answer came to a server/discover, or was an error with a code of its own.
    pub(crate) is_plain: bool,
    /// Client: it went on after that.
    pub(crate) is_past: bool,
    /// Client: something gave it a reason to fall back to an older revision.
    pub(crate) has_reason: bool,
    /// Client: a server/discover that was refused, its refusal and the code.
    pub(crate) probe: Option<(FrameNo, FrameNo, i64)>,
}

/// Versions that a server named when it refused one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Listed {
    pub(crate) fact: Fact,
    pub(crate) frame: FrameNo,
    pub(crate) versions: Versions,
    /// The client went on after it.
    pub(crate) is_used: bool,
}

/// Bits of what was seen, and of what is reported once.
pub(crate) mod once {
    /// Of three: it was there, it was missing, and that was reported.
    pub(crate) const CLIENT_INFO: u32 = 0;
    /// As before.
    pub(crate) const SERVER_INFO: u32 = 3;
    /// A name of an extension that can be none.
    pub(crate) const EXTENSION: u32 = 6;
    /// The capability `tasks` of older revisions.
    pub(crate) const TASKS: u32 = 7;
    /// Of three: roots, sampling and logging.
    pub(crate) const DEPRECATED: u32 = 8;
}

impl Outside {
    /// More versions than this are not remembered of one client.
    pub(crate) const USED_MAX: usize = 8;

    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.word(0x6f75_7473 << 32 | u64::from(self.declared.bits()));
        encoder.word(u64::from(self.seen));
        for &extension in &self.extensions {
            encoder.key(extension);
        }
        if let Some(told) = &self.told {
            encoder.word(u64::from(told.capabilities.bits()) << 32 | u64::from(told.fact.0));
            told.extensions.iter().for_each(|&name| encoder.key(name));
            told.versions.encode(encoder);
            encoder.key(told.answered);
        }
        if let Some(listed) = &self.listed {
            encoder.word(u64::from(listed.fact.0) << 1 | u64::from(listed.is_used));
            listed.versions.encode(encoder);
        }
        self.used.iter().for_each(|&version| encoder.key(version));
        let began = self.began.map_or(0, |(method, _)| method as u64 + 1);
        let proof = self.proof.map_or(0, |(fact, _)| u64::from(fact.0));
        let code = self.probe.map_or(0, |(_, _, code)| code as u64);
        encoder.word(
            proof << 16
                | began << 8
                | u64::from(self.is_plain) << 2
                | u64::from(self.is_past) << 1
                | u64::from(self.has_reason),
        );
        encoder.word(code);
    }

    /// Whether something that is there or missing now was the other way before; told once.
    pub(crate) fn is_odd(&mut self, place: u32, is_there: bool) -> bool {
        let bit = if is_there { 1 } else { 2 };
        self.seen |= bit << place;
        self.seen >> place & 7 == 3 && self.first(place + 2)
    }

    /// Whether that bit was not set before; it is from now on.
    pub(crate) fn first(&mut self, place: u32) -> bool {
        let was = self.seen >> place & 1 == 1;
        self.seen |= 1 << place;
        !was
    }

    /// Whether some request so far declared that extension.
    pub(crate) fn has_extension(&self, name: &str) -> bool {
        self.extensions.contains(&Key::text(name.as_bytes()))
    }
}

impl Deep {
    /// What was told outside sessions so far.
    pub(crate) fn outside(&mut self) -> &mut Outside {
        self.outside.get_or_insert_with(Box::default)
    }

    /// What the latest result of server/discover told.
    pub(crate) fn told(&self) -> Option<&Told> {
        self.outside.as_ref()?.told.as_ref()
    }
}

/// What the party sends is known to it at once.
pub(crate) fn by(_: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    learn(deep, cx, frame);
}

/// What comes to it, once it is read.
pub(crate) fn toward(_: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    learn(deep, cx, frame);
}

fn learn(deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    match (frame.message.kind, frame.method) {
        (Kind::Request, _) => learn_request(deep, frame),
        (Kind::Result, Method::ServerDiscover) => learn_told(deep, cx, frame),
        _ => {}
    }
}

fn learn_request(deep: &mut Deep, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    let meta = &asked.meta;
    let is_new = meta.capabilities.bits() != 0
        && deep.outside.as_ref().is_none_or(|known| {
            known.declared.bits() & meta.capabilities.bits() != meta.capabilities.bits()
        });
    if is_new {
        deep.outside().declared.add(meta.capabilities);
    }
    if meta.has_extensions {
        let declared = frame.payload.and_then(|params| {
            params.path(&["_meta", "io.modelcontextprotocol/clientCapabilities"])
        });
        let known = &mut deep.outside().extensions;
        for (name, _) in declared.into_iter().flat_map(extensions_of) {
            if known.len() < LIST_MAX && !known.contains(&name.key()) {
                known.push(name.key());
            }
        }
    }
}

fn learn_told(deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(result) = frame.payload else { return };
    cx.ledger.saw(bit(When::DISCOVERED));
    let capabilities = result.get("capabilities");
    let extensions = capabilities.into_iter().flat_map(extensions_of);
    deep.outside().told = Some(Told {
        fact: frame.fact,
        frame: cx.frame,
        // Where they are missing nobody can tell what is not among them.
        capabilities: capabilities
            .filter(|all| all.is_object())
            .map_or(Capabilities::of(Capability::ALL), capabilities_of),
        extensions: extensions
            .take(LIST_MAX)
            .map(|(name, _)| name.key())
            .collect(),
        versions: Versions::of(result.get("supportedVersions")).unwrap_or(Versions {
            list: vec![],
            is_cut: true,
        }),
        answered: frame.asked.map_or(Key::ABSENT, |asked| asked.meta.version),
    });
}
