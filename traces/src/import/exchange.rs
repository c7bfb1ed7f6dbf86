//! Exchanges over HTTP as documents hold them, each whole in one place: their frames are put back into an order in which they may
//! have been sent, and what that order cannot tell is said.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::http_sessions::{Signs, sort};
use super::json_lines::Members;
use super::sse::{self, Written};
use super::whole::{Document, Item, Plan, Span, Tells, Words};
use super::{Lost, Reading, several};
use crate::capture::EventKind;
use crate::classify::classify;
use crate::event::{LinkKind, Role};
use crate::export::har::NOWHERE;
use crate::file::json::Wrong;
use crate::http::{Field, Head, Http, Sse, Start};
use crate::key::Key;
use crate::message::{Kind, Message, Method};
use crate::scan::{Scanner, unescape, white};

/// Clocks and durations are cut to milliseconds, each of them: what is nearer than this may have been the other way round.
const NEAR_MS: u64 = 2;

/// Where header fields stand.
#[derive(Clone, Debug, Default)]
pub(super) enum Fields {
    #[default]
    Unknown,
    /// A list of objects with a name and a value.
    Pairs(Span),
    /// An object.
    Members(Span),
}

/// A body.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) enum Body {
    #[default]
    Empty,
    /// There was one, and the recorder left it out.
    Missing,
    /// Nothing tells whether there was one.
    Unknown,
    /// Between the quotes of a string.
    Text(Span),
    /// There, in base64.
    Base64(Span),
}

impl Body {
    /// Whether it is known that there was none.
    fn is_empty(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Text(span) | Body::Base64(span) => span.is_empty(),
            Body::Missing | Body::Unknown => false,
        }
    }

    /// Whether it is known what it was.
    fn is_told(&self) -> bool {
        !matches!(self, Body::Missing | Body::Unknown)
    }
}

/// An exchange as it stands in the document.
#[derive(Debug, Default)]
pub(super) struct Exchange<'a> {
    /// Where it begins.
    pub(super) at: usize,
    pub(super) start_ms: Option<u64>,
    pub(super) took_ms: Option<u64>,
    /// The session that it belongs to, where the document says so.
    pub(super) session: Option<Cow<'a, str>>,
    /// There was no such exchange: frames on a pipe were written so.
    pub(super) is_made_up: bool,
    pub(super) method: Cow<'a, str>,
    pub(super) url: Cow<'a, str>,
    pub(super) asked: Fields,
    pub(super) request: Body,
    pub(super) status: Option<u16>,
    pub(super) answered: Fields,
    /// What the answer's body is.
    pub(super) mime: Cow<'a, str>,
    pub(super) response: Body,
    /// Frames of the answer were left out.
    pub(super) is_cut: bool,
    /// Whether the heads were recorded: what stands for them may be made up.
    pub(super) has_request_head: bool,
    pub(super) has_answer_head: bool,
    /// How it ended, where the document says so.
    pub(super) end: Option<(Role, EventKind)>,
}

/// What is known of whoever wrote the document.
#[derive(Clone, Copy, Default)]
pub(super) struct Writer {
    /// It keeps bodies as they were: ids of events are the server's.
    pub(super) keeps_bodies: bool,
    /// It reads events as Latin-1.
    pub(super) reads_latin: bool,
    /// It is one of our archives: all of it is of MCP, and it says what it knows of sessions and ends.
    pub(super) is_ours: bool,
    /// All of it is one session's, whatever the headers name: they may be incomplete.
    pub(super) is_one_session: bool,
}

impl Exchange<'_> {
    fn end_ms(&self) -> Option<u64> {
        self.start_ms?.checked_add(self.took_ms?)
    }

    /// Scheme, host and path.
    fn address(&self) -> &str {
        self.url.split(['?', '#']).next().unwrap_or_default()
    }

    /// What the request names: the address without scheme and host.
    fn target(&self) -> String {
        let rest = self.url.split_once("://").map_or("", |(_, rest)| rest);
        let target = rest.find('/').map_or("/", |slash| &rest[slash..]);
        target.split('#').next().unwrap_or_default().to_owned()
    }

    fn is_events(&self) -> bool {
        let mime = self.mime.trim_start();
        mime.get(..17)
            .is_some_and(|mime| mime.eq_ignore_ascii_case("text/event-stream"))
    }

    fn is_json(&self) -> bool {
        self.mime.to_ascii_lowercase().contains("json")
    }
}

/// Puts the exchanges that are of MCP into the plan.
pub(super) fn plan(
    document: &Document,
    mut exchanges: Vec<Exchange<'_>>,
    writer: Writer,
    plan: &mut Plan,
) -> Reading<()> {
    let mut addresses = BTreeSet::new();
    for exchange in &exchanges {
        if !addresses.contains(exchange.address())
            && (writer.is_ours || is_mcp(document, exchange)?)
        {
            addresses.insert(exchange.address().to_owned());
        }
    }
    let all = exchanges.len();
    // What a browser asks before is not the client's doing.
    exchanges.retain(|one| {
        let is_before = one.method.eq_ignore_ascii_case("options") && !writer.is_ours;
        addresses.contains(one.address()) && !is_before
    });
    if exchanges.is_empty() {
        let message = "no exchange in it holds a JSON-RPC message";
        return Err(Wrong::new(document.root(), message));
    }
    let passed = (all - exchanges.len()) as u64;
    if passed > 0 {
        let exchanges = several(
            passed,
            "exchange that is not MCP was",
            "exchanges that are not MCP were",
        );
        plan.remarks.push(format!("{exchanges} passed over"));
    }
    plan.opening.transport = Some(LinkKind::Http);
    if exchanges.iter().any(|one| one.start_ms.is_none()) {
        plan.lost |= Lost::TIME;
        // Ours stand in the order in which they began.
        if !writer.is_ours {
            plan.lost |= Lost::ORDER;
        }
    }
    // What has no time stays behind what stands before it.
    let mut last = None;
    for exchange in &mut exchanges {
        last = exchange.start_ms.or(last);
        exchange.start_ms = last;
    }
    exchanges.sort_by_key(|one| one.start_ms);
    if exchanges.iter().all(|one| one.is_made_up) {
        plan.opening.transport = Some(LinkKind::Pipe);
        plan.lost |= Lost::LINES;
    }
    let mut teller = Teller {
        document,
        writer,
        scanner: Scanner::new(),
        plan,
        told: vec![],
        counts: Counts::default(),
    };
    for (nth, exchange) in exchanges.iter().enumerate() {
        let told = Told {
            stream: u32::try_from(nth).ok(),
            ..teller.read(exchange)?
        };
        teller.told.push(match exchange.is_made_up {
            true => without_http(told),
            false => told,
        });
    }
    let Teller {
        mut told, counts, ..
    } = teller;
    plan.streams = (1..=told.len()).map(|nth| nth.to_string()).collect();
    let signs: Vec<Signs> = told
        .iter_mut()
        .map(|one| std::mem::take(&mut one.signs))
        .collect();
    let sessions = sort(&signs);
    // Otherwise whoever reads it tells them apart by the headers, as in a capture. Ours have the names that there were.
    let are_named = !writer.is_ours && (sessions.are_apart || writer.is_one_session);
    for ((one, signs), nth) in told.iter_mut().zip(&signs).zip(sessions.of) {
        one.whose = nth;
        let number = u32::try_from(nth).ok();
        one.session = number.filter(|_| are_named || signs.given.is_some());
    }
    plan.sessions = sessions.names;
    let mixed = sessions
        .mixed
        .filter(|_| are_named && !writer.is_one_session);
    if let Some(address) = mixed {
        plan.lost |= Lost::FRAMES;
        plan.remarks.push(format!(
            "several sessions began at {address} without an Mcp-Session-Id, and nothing tells whose a request is"
        ));
    }
    counts.say(writer, plan);
    if overlap(&exchanges, &told) {
        plan.lost |= Lost::STREAMS;
    }
    arrange(&exchanges, told, plan);
    Ok(())
}

/// Only the frames: all else was made up.
fn without_http(told: Told) -> Told {
    let bare = |said: Said| {
        let item = Item {
            http: None,
            ..said.item
        };
        said.message.is_some().then_some(Said { item, ..said })
    };
    Told {
        stream: None,
        request: told.request.and_then(bare),
        response: told.response.into_iter().filter_map(bare).collect(),
        end: None,
        silence: None,
        ..told
    }
}

/// Whether frames of two exchanges may have come one way round or the other.
fn overlap(exchanges: &[Exchange<'_>], told: &[Told]) -> bool {
    let mut end = Some(0);
    for (exchange, told) in exchanges.iter().zip(told) {
        let has_frames = told
            .request
            .as_ref()
            .is_some_and(|said| said.message.is_some())
            || told.response.iter().any(|said| said.message.is_some());
        if !has_frames {
            continue;
        }
        let is_after = exchange
            .start_ms
            .zip(end)
            .is_some_and(|(start, end)| end <= start);
        if !is_after {
            return true;
        }
        end = exchange.end_ms().map(|end| end.saturating_add(NEAR_MS));
    }
    false
}

/// The text of a body: between its quotes as it is meant, or out of base64.
fn text_of<'d>(document: &'d Document, body: &Body) -> Reading<Cow<'d, [u8]>> {
    Ok(match body {
        Body::Empty | Body::Missing | Body::Unknown => Cow::Borrowed(b""),
        Body::Text(span) => unescaped(&document.bytes[span.clone()]),
        Body::Base64(span) => {
            let text = unescaped(&document.bytes[span.clone()]);
            let plain = STANDARD.decode(&text);
            Cow::Owned(plain.map_err(|_| Wrong::new(span.start, "not base64"))?)
        }
    })
}

fn unescaped(inside: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', inside).is_none() {
        return Cow::Borrowed(inside);
    }
    let mut plain = vec![];
    unescape(inside, &mut plain);
    Cow::Owned(plain)
}

/// Whether a message of JSON-RPC is in it.
fn is_mcp(document: &Document, exchange: &Exchange<'_>) -> Reading<bool> {
    let mut scanner = Scanner::new();
    if is_message(&text_of(document, &exchange.request)?, &mut scanner) {
        return Ok(true);
    }
    if exchange.is_json() {
        return Ok(is_message(
            &text_of(document, &exchange.response)?,
            &mut scanner,
        ));
    }
    if !exchange.is_events() {
        return Ok(false);
    }
    let body = text_of(document, &exchange.response)?;
    let events = sse::events(&body, 0..body.len(), Written::Plain);
    let is_message = |span: &Span| is_message(&body[span.clone()], &mut scanner);
    Ok(events.iter().flat_map(|event| &event.data).any(is_message))
}

/// Whether that is an object with a member `jsonrpc`, or a list that begins with one.
fn is_message(text: &[u8], scanner: &mut Scanner) -> bool {
    let mut at = white(text, 0);
    if text.get(at) == Some(&b'[') {
        at = white(text, at + 1);
    }
    scanner.reset();
    text.get(at) == Some(&b'{')
        && Members::of(text, at, &[b"jsonrpc"], scanner).is_ok_and(|members| members.has(0))
}

/// What one side said at once.
struct Said {
    item: Item,
    /// `None` where it is no frame.
    message: Option<Message>,
}

impl Said {
    /// The id of a session among the fields of its head.
    fn session_id(&self) -> Option<String> {
        let head = self.item.http.as_ref()?.head.as_ref()?;
        let id = head.value("mcp-session-id").filter(|id| !id.is_empty());
        id.map(str::to_owned)
    }

    /// Whether it is a server-sent event of that name.
    fn is_event(&self, name: &str) -> bool {
        let http = self.item.http.as_ref();
        http.is_some_and(|http| http.sse.event.as_deref() == Some(name))
    }
}

/// What is told of an exchange.
#[derive(Default)]
struct Told {
    /// Its session, and that as it is to be named.
    whose: usize,
    session: Option<u32>,
    stream: Option<u32>,
    /// What tells whose it is.
    signs: Signs,
    request: Option<Said>,
    response: Vec<Said>,
    end: Option<Item>,
    /// Nothing came until then.
    silence: Option<Item>,
}

/// What is counted on the way.
#[derive(Default)]
struct Counts {
    cut: u64,
    unknown: u64,
    untimed: u64,
    latin: u64,
    /// Bodies whose events have ids that count from 1, and those whose have others.
    counting: u64,
    not_counting: u64,
}

impl Counts {
    fn count(&mut self, body: &Body) {
        self.cut += u64::from(*body == Body::Missing);
        self.unknown += u64::from(*body == Body::Unknown);
    }

    fn say(&self, writer: Writer, plan: &mut Plan) {
        if self.cut > 0 {
            plan.lost |= Lost::FRAMES;
            let bodies = several(self.cut, "body was", "bodies were");
            plan.remarks.push(format!("{bodies} cut by the recorder"));
        }
        if self.unknown > 0 {
            plan.lost |= Lost::FRAMES;
            let bodies = several(self.unknown, "body is", "bodies are");
            plan.remarks.push(format!(
                "{bodies} not there, and nothing says that there was none"
            ));
        }
        if self.untimed > 0 {
            plan.lost |= Lost::TIME;
        }
        if self.latin > 0 {
            let bodies = several(self.latin, "body of events", "bodies of events");
            plan.guessed.push(format!(
                "that {bodies} had been read as Latin-1 and was UTF-8"
            ));
        }
        if self.counting > 1 && self.not_counting == 0 && !writer.keeps_bodies {
            plan.lost |= Lost::EVENT_IDS;
            plan.remarks.push(
                "the ids of events count from 1 in every body: who numbered them, the server or the recorder, cannot be told"
                    .to_owned(),
            );
        }
    }
}

struct Teller<'d, 'p> {
    document: &'d Document,
    writer: Writer,
    scanner: Scanner,
    plan: &'p mut Plan,
    told: Vec<Told>,
    counts: Counts,
}

impl Teller<'_, '_> {
    fn read(&mut self, exchange: &Exchange<'_>) -> Reading<Told> {
        let asked = self.fields(&exchange.asked)?;
        let head = Head {
            start: Start::Request {
                method: Cow::Owned(exchange.method.to_string()),
                target: self.target(exchange).map(Cow::Owned),
            },
            fields: asked,
        };
        let request = self.request(exchange, head)?;
        let response = self.response(exchange)?;
        let mut told = Told {
            signs: self.signs(exchange, request.as_ref(), &response),
            request,
            response,
            ..Told::default()
        };
        told.end = match self.writer.is_ours {
            true => exchange
                .end
                .map(|(by, kind)| Item::event(by, exchange.end_ms(), kind, exchange.at)),
            false => end(exchange, &told),
        };
        told.silence = silence(exchange).filter(|_| !self.writer.is_ours);
        Ok(told)
    }

    /// What the request names; in our archives a host that there is not stands for nothing known.
    fn target(&self, exchange: &Exchange<'_>) -> Option<String> {
        let is_unknown = self.writer.is_ours && exchange.url == NOWHERE;
        (!is_unknown).then(|| exchange.target())
    }

    /// What the exchange tells of its session.
    fn signs(&self, exchange: &Exchange<'_>, request: Option<&Said>, response: &[Said]) -> Signs {
        let url = exchange.url.split('#').next().unwrap_or_default();
        let endpoints = response.iter().filter(|said| said.is_event("endpoint"));
        let endpoint = |said: &Said| match &said.item.tells {
            Tells::Frame(words) => {
                let target = String::from_utf8_lossy(&self.text(words)).trim().to_owned();
                Some(resolved(&target, url))
            }
            _ => None,
        };
        Signs {
            given: exchange.session.as_deref().map(str::to_owned),
            address: exchange.address().to_owned(),
            url: url.to_owned(),
            asked: request.and_then(Said::session_id),
            answered: response.first().and_then(Said::session_id),
            is_initialize: request
                .and_then(|said| said.message)
                .is_some_and(|message| message.is_handshake()),
            is_served: exchange.status.is_some_and(|status| status < 300),
            endpoints: endpoints.filter_map(endpoint).collect(),
        }
    }

    fn request(&mut self, exchange: &Exchange<'_>, head: Head<'static>) -> Reading<Option<Said>> {
        let http = exchange.has_request_head.then(|| of_head(head));
        self.counts.count(&exchange.request);
        match self.words(&exchange.request)? {
            Some(words) => {
                let http = http.unwrap_or_default();
                Ok(Some(self.frame(
                    Role::Client,
                    exchange.start_ms,
                    words,
                    http,
                )))
            }
            None => Ok(http.map(|http| Said {
                item: Item::http(Role::Client, exchange.start_ms, http, exchange.at),
                message: None,
            })),
        }
    }

    fn response(&mut self, exchange: &Exchange<'_>) -> Reading<Vec<Said>> {
        let Some(status) = exchange.status else {
            return Ok(vec![]);
        };
        let fields = self.fields(&exchange.answered)?;
        let http = exchange.has_answer_head.then(|| {
            of_head(Head {
                start: Start::Answer { status },
                fields,
            })
        });
        let alone = |http: Option<Http<'static>>, t_ms| {
            let said = http.map(|http| Said {
                item: Item::http(Role::Server, t_ms, http, exchange.at),
                message: None,
            });
            said.into_iter().collect::<Vec<Said>>()
        };
        let end_ms = exchange.end_ms();
        // Browsers keep no text of a stream that is still open, or that a page listens to.
        let is_listening = exchange.is_events() && exchange.response.is_empty();
        let body = match is_listening && !self.writer.keeps_bodies {
            true => &Body::Unknown,
            false => &exchange.response,
        };
        self.counts.cut += u64::from(exchange.is_cut);
        // What we knew nothing of was no body that is missing.
        let is_nothing = self.writer.is_ours && *body == Body::Unknown;
        if !exchange.is_cut && !is_nothing {
            self.counts.count(body);
        }
        if !body.is_told() {
            return Ok(alone(http, end_ms));
        }
        if exchange.is_events() {
            let mut said = alone(http, None);
            self.events(exchange, &mut said)?;
            return Ok(said);
        }
        let Some(words) = self.words(&exchange.response)? else {
            let empty = Item::event(Role::Server, end_ms, EventKind::EmptyBody, exchange.at);
            return Ok(vec![Said {
                item: Item {
                    http: http.map(Box::new),
                    ..empty
                },
                message: None,
            }]);
        };
        let text = text_of(self.document, &exchange.response)?;
        let first = text.get(white(&text, 0));
        if !self.writer.is_ours && !exchange.is_json() && !matches!(first, Some(b'{' | b'[')) {
            // A page of words for people.
            return Ok(alone(http, end_ms));
        }
        let http = http.unwrap_or_default();
        Ok(vec![self.frame(Role::Server, end_ms, words, http)])
    }

    /// The events of a body; those without data, too.
    fn events(&mut self, exchange: &Exchange<'_>, said: &mut Vec<Said>) -> Reading<()> {
        let (body, written) = match &exchange.response {
            Body::Text(span) if !self.is_latin(span) => (span.clone(), Written::Escaped),
            Body::Text(span) => (self.undone(span), Written::Plain),
            other => {
                let text = text_of(self.document, other)?;
                (self.keep(&text), Written::Plain)
            }
        };
        let at = exchange.at;
        let at = match &exchange.response {
            Body::Text(span) | Body::Base64(span) => span.start,
            Body::Empty | Body::Missing | Body::Unknown => at,
        };
        let bytes = match written {
            Written::Escaped => &self.document.bytes,
            Written::Plain => &self.plan.kept,
        };
        let events = sse::events(bytes, body, written);
        self.count_ids(&events);
        for event in events {
            let http = Http {
                head: None,
                sse: Sse {
                    id: event.id.map(Cow::Owned),
                    event: event.name.map(Cow::Owned),
                    retry_ms: event.retry_ms,
                },
            };
            let words = match (&event.data[..], written) {
                ([one], Written::Escaped) => Words::Inside(one.clone()),
                ([one], Written::Plain) => Words::Kept {
                    text: one.clone(),
                    at,
                },
                (lines, _) => self.joined(lines, written, at),
            };
            if self.text(&words).is_empty() {
                let item = Item::http(Role::Server, None, http, at);
                said.push(Said {
                    item,
                    message: None,
                });
                continue;
            }
            // A recorder may have cut the blank line off at the end of a body.
            let is_whole = event.is_ended || is_value(&self.text(&words));
            if !is_whole {
                self.counts.cut += 1;
                continue;
            }
            self.counts.untimed += 1;
            let frame = self.frame(Role::Server, None, words, http);
            said.push(frame);
        }
        Ok(())
    }

    fn count_ids(&mut self, events: &[sse::Event]) {
        let is_counted = |(nth, event): (usize, &sse::Event)| {
            event.id.as_deref() == Some(&*(nth + 1).to_string())
        };
        match events.iter().enumerate().all(is_counted) {
            _ if events.is_empty() => {}
            true => self.counts.counting += 1,
            false => self.counts.not_counting += 1,
        }
    }

    /// Whether a body was read in the wrong way.
    fn is_latin(&self, span: &Span) -> bool {
        self.writer.reads_latin && latin(&self.document.bytes[span.clone()]).is_some()
    }

    fn undone(&mut self, span: &Span) -> Span {
        self.counts.latin += 1;
        let text = latin(&self.document.bytes[span.clone()]).unwrap_or_default();
        self.keep(&text)
    }

    fn keep(&mut self, text: &[u8]) -> Span {
        let start = self.plan.kept.len();
        self.plan.kept.extend_from_slice(text);
        start..self.plan.kept.len()
    }

    /// Lines of data as one text.
    fn joined(&mut self, lines: &[Span], written: Written, at: usize) -> Words {
        let mut all = vec![];
        for (nth, line) in lines.iter().enumerate() {
            if nth > 0 {
                all.push(b'\n');
            }
            match written {
                Written::Plain => all.extend_from_slice(&self.plan.kept[line.clone()]),
                Written::Escaped => {
                    all.extend_from_slice(&unescaped(&self.document.bytes[line.clone()]));
                }
            }
        }
        let at = match (lines.first(), written) {
            (Some(first), Written::Escaped) => first.start,
            _ => at,
        };
        Words::Kept {
            text: self.keep(&all),
            at,
        }
    }

    /// Where the frame of a body stands; `None` where there is none.
    fn words(&mut self, body: &Body) -> Reading<Option<Words>> {
        Ok(match body {
            Body::Empty | Body::Missing | Body::Unknown => None,
            Body::Text(span) if span.is_empty() => None,
            Body::Text(span) => Some(Words::Inside(span.clone())),
            Body::Base64(span) => {
                let text = text_of(self.document, body)?;
                let kept = self.keep(&text);
                let at = span.start;
                (!kept.is_empty()).then_some(Words::Kept { text: kept, at })
            }
        })
    }

    fn text(&self, words: &Words) -> Cow<'_, [u8]> {
        match words {
            Words::Value(span) => Cow::Borrowed(&self.document.bytes[span.clone()]),
            Words::Inside(span) => unescaped(&self.document.bytes[span.clone()]),
            Words::Kept { text, .. } => Cow::Borrowed(&self.plan.kept[text.clone()]),
        }
    }

    fn frame(&mut self, from: Role, t_ms: Option<u64>, words: Words, http: Http<'static>) -> Said {
        let mut scanner = std::mem::take(&mut self.scanner);
        let message = classify(&self.text(&words), &mut scanner).message;
        self.scanner = scanner;
        let item = Item {
            http: Some(Box::new(http)).filter(|http| !http.is_empty()),
            ..Item::frame(from, t_ms, words)
        };
        Said {
            item,
            message: Some(message),
        }
    }

    fn fields(&mut self, fields: &Fields) -> Reading<Option<Vec<Field<'static>>>> {
        let bytes = &self.document.bytes;
        let mut all = vec![];
        match fields {
            Fields::Unknown => return Ok(None),
            Fields::Pairs(span) => {
                for item in self.document.items(span.start) {
                    if bytes[item.start] != b'{' {
                        return Err(Wrong::new(item.start, "a header field was expected"));
                    }
                    let names: [&[u8]; 2] = [b"name", b"value"];
                    let pair = Members::of(bytes, item.start, &names, &mut self.scanner)?;
                    if let Some((name, value)) = pair.text(0).zip(pair.text(1)) {
                        all.push((name.into_owned(), value.into_owned()));
                    }
                }
            }
            Fields::Members(span) => {
                if bytes[span.start] != b'{' {
                    return Err(Wrong::new(span.start, "header fields were expected"));
                }
                let mut values = vec![];
                self.scanner
                    .object(bytes, span.start, |scanner, name, at| {
                        let end = scanner.value(bytes, at)?;
                        values.push((String::from_utf8_lossy(name).into_owned(), at..end));
                        Ok(end)
                    })?;
                for (name, value) in values {
                    if let Some(inside) = self.document.inside(&value) {
                        let value = unescaped(&bytes[inside]);
                        all.push((name, String::from_utf8_lossy(&value).into_owned()));
                    }
                }
            }
        }
        // HTTP/2 has what stands in the first line among its fields.
        all.retain(|(name, _)| !name.starts_with(':'));
        let field = |(name, value)| Field {
            name: Cow::Owned(name),
            value: Cow::Owned(value),
        };
        Ok(Some(all.into_iter().map(field).collect()))
    }
}

/// The whole address that a reference at another one means.
fn resolved(target: &str, base: &str) -> String {
    if target.contains("://") {
        return target.to_owned();
    }
    let base = base.split('?').next().unwrap_or_default();
    let path = base.find("://").map_or(0, |at| at + 3);
    let path = base[path..].find('/').map_or(base.len(), |at| path + at);
    if target.starts_with('/') {
        return format!("{}{target}", &base[..path]);
    }
    let folder = base[path..].rfind('/').map_or(path, |at| path + at);
    format!("{}/{target}", &base[..folder])
}

fn of_head(head: Head<'static>) -> Http<'static> {
    Http {
        head: Some(head),
        sse: Sse::default(),
    }
}

fn is_value(text: &[u8]) -> bool {
    Scanner::new().value(text, white(text, 0)).is_ok()
}

/// The bytes of a text that was read as Latin-1 and is UTF-8; `None` for any other.
fn latin(inside: &[u8]) -> Option<Vec<u8>> {
    let text = unescaped(inside);
    let text = std::str::from_utf8(&text).ok()?;
    if text.is_ascii() {
        return None;
    }
    let bytes: Option<Vec<u8>> = text
        .chars()
        .map(|letter| u8::try_from(letter).ok())
        .collect();
    bytes.filter(|bytes| std::str::from_utf8(bytes).is_ok())
}

/// How the exchange ended, as far as that can be told: a server that has answered all has closed it.
fn end(exchange: &Exchange<'_>, told: &Told) -> Option<Item> {
    let asked = told.request.as_ref()?.message?;
    let is_answered = |said: &Said| {
        said.message
            .is_some_and(|message| message.kind.is_response() && message.id == asked.id)
    };
    if asked.kind != Kind::Request {
        return None;
    }
    if exchange.status.is_none() {
        // Whether the server got it, nobody knows: when it was given up is told apart from that.
        let end = |_| Item::event(Role::Server, None, EventKind::Drop, exchange.at);
        return exchange.took_ms.map(end);
    }
    let is_cut = !exchange.response.is_told();
    let kind = match told.response.iter().any(is_answered) {
        true => EventKind::Eof,
        false if is_cut || !exchange.is_events() => return None,
        false => EventKind::Drop,
    };
    Some(Item::event(
        Role::Server,
        exchange.end_ms(),
        kind,
        exchange.at,
    ))
}

/// Until when an exchange waited for an answer that never came.
fn silence(exchange: &Exchange<'_>) -> Option<Item> {
    let is_silent =
        exchange.status.is_none() && exchange.took_ms.is_some_and(|took_ms| took_ms > 0);
    let end_ms = exchange.end_ms().filter(|_| is_silent)?;
    let at = exchange.at;
    Some(Item::event(
        Role::Client,
        Some(end_ms),
        EventKind::Other,
        at,
    ))
}

/// A place among all: behind so many requests; early or late between two of them; by time, where that is known.
type Place = (usize, u8, u64);

const REQUEST: u8 = 0;
const EARLY: u8 = 1;
const LATE: u8 = 2;

/// Who says what under an id, by session.
type Ids = BTreeMap<(usize, Key), VecDeque<usize>>;

/// How late a frame of an answer can have been sent: before these requests, which answer what it or a later one asks.
#[derive(Clone, Copy, Default)]
struct Bound {
    own: Option<usize>,
    later: Option<usize>,
    all: Option<usize>,
}

/// The bounds of what an exchange was answered: frames of one answer have an order, and answers to several of them may have
/// another one.
fn bounds(one: &Told, nth: usize, answers: &mut Ids) -> Vec<Bound> {
    let mut bounds = vec![Bound::default(); one.response.len()];
    for (said, bound) in one.response.iter().zip(&mut bounds) {
        let asks = said.message.filter(|message| message.kind == Kind::Request);
        bound.own = asks.and_then(|message| {
            let key = (one.whose, message.id);
            answers.get_mut(&key).and_then(VecDeque::pop_front)
        });
    }
    let mut later = None;
    for bound in bounds.iter_mut().rev() {
        bound.later = later;
        let own = bound.own.filter(|answer| *answer > nth);
        later = own.into_iter().chain(later).min();
        bound.all = later;
    }
    bounds
}

/// Puts what was told into an order: requests by their times; answers early on their own streams, so that what follows from them
/// can; the server's requests as late as their answers allow.
fn arrange(exchanges: &[Exchange<'_>], told: Vec<Told>, plan: &mut Plan) {
    let starts: Vec<u64> = exchanges
        .iter()
        .map(|one| one.start_ms.unwrap_or(0))
        .collect();
    let (mut asked, mut answers) = (Ids::new(), Ids::new());
    let mut initialized: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (nth, one) in told.iter().enumerate() {
        let Some(message) = one.request.as_ref().and_then(|said| said.message) else {
            continue;
        };
        let ids = match message.kind {
            Kind::Request => &mut asked,
            Kind::Result | Kind::Error => &mut answers,
            _ => {
                // An array is sent by a revision that was agreed on.
                if message.method == Method::Initialized || message.kind == Kind::Batch {
                    initialized.entry(one.whose).or_default().push(nth);
                }
                continue;
            }
        };
        ids.entry((one.whose, message.id))
            .or_default()
            .push_back(nth);
    }
    let mut placed: Vec<(Place, Item)> = vec![];
    for (nth, one) in told.into_iter().enumerate() {
        let end = exchanges[nth].end_ms().unwrap_or(u64::MAX);
        // The last request that may have been sent before this exchange ended, and the last one that surely was.
        let last = |end: u64| {
            starts
                .partition_point(|start| *start < end)
                .saturating_sub(1)
                .max(nth)
        };
        let (latest, surely) = (
            last(end.saturating_add(NEAR_MS)),
            last(end.saturating_sub(1)),
        );
        let of = |item: Item| Item {
            session: one.session,
            stream: one.stream,
            ..item
        };
        let bounds = bounds(&one, nth, &mut answers);
        let own = one.request.as_ref().and_then(|said| said.message);
        if let Some(said) = one.request {
            placed.push(((nth, REQUEST, 0), of(said.item)));
        }
        let mut place: Place = (nth, EARLY, 0);
        if own.is_some_and(|own| own.method == Method::Initialize) {
            // What does not wait for the answer, its head included, may have been sent before it.
            let all = initialized.get(&one.whose).map_or(&[][..], Vec::as_slice);
            let after = all.partition_point(|one| *one <= nth);
            let follows = all.get(after).map_or(latest, |one| one - 1);
            place = (follows.min(latest), LATE, 0);
        }
        for (said, bound) in one.response.into_iter().zip(bounds) {
            let mut wanted = place;
            let mut next = None;
            if let Some(t_ms) = said.item.t_ms {
                wanted = (surely, EARLY, t_ms);
            }
            match said.message {
                Some(message) if message.kind == Kind::Request => {
                    if let Some(answer) = bound.own {
                        wanted = (bound.all.unwrap_or(answer).saturating_sub(1), LATE, 0);
                        // Who asks on the way waits for the answer, unless it goes on before.
                        let goes_on = bound.later.is_some_and(|later| later <= answer);
                        next = (answer <= latest && !goes_on).then_some((answer, EARLY, 0));
                    }
                }
                Some(message) if message.kind.is_response() => {
                    let is_own = own.is_some_and(|own| own.id == message.id);
                    if !is_own {
                        let key = (one.whose, message.id);
                        let request = asked.get_mut(&key).and_then(VecDeque::pop_front);
                        wanted = wanted.max((request.unwrap_or(0), EARLY, 0));
                    }
                }
                _ => {}
            }
            place = place.max(wanted);
            placed.push((place, of(said.item)));
            place = place.max(next.unwrap_or(place));
        }
        if let Some(item) = one.end {
            let t_ms = item.t_ms.unwrap_or(u64::MAX);
            // After a break nothing comes any more, and that is nobody's fault: it was no earlier than it can have been.
            let wanted = match item.tells {
                // Of what was never answered it is not known that it arrived.
                Tells::Event(EventKind::Drop) if item.t_ms.is_none() => place,
                Tells::Event(EventKind::Drop) => (latest, LATE, t_ms),
                _ => (surely, EARLY, t_ms),
            };
            placed.push((place.max(wanted), of(item)));
        }
        if let Some(item) = one.silence {
            let t_ms = item.t_ms.unwrap_or(u64::MAX);
            placed.push(((surely, EARLY, t_ms), of(item)));
        }
    }
    placed.sort_by_key(|(place, _)| *place);
    plan.items.extend(placed.into_iter().map(|(_, item)| item));
}
