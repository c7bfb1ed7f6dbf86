//! What the Inspector exports of its Protocol screen: one JSON array of messages, each response folded into its request with how
//! long it took. Messages are written anew, and put back into the order of their times.

use super::json_lines::Members;
use super::sender::only_sender;
use super::whole::{Document, Item, Plan, Words};
use super::{Head, Kind, Lost, Reading, several};
use crate::classify::classify;
use crate::event::Role;
use crate::file::json::Wrong;
use crate::key::Key;
use crate::message::Method;
use crate::scan::Scanner;

pub(super) const FORMAT: super::Format = super::Format {
    name: "inspector-protocol",
    what: "an export of the Inspector's Protocol screen",
    found: "the Inspector, Protocol, Export",
    lost: Lost::RAW.with(Lost::LINES),
    hint: "it holds the last 1,000 messages; order is that of their times",
    is_read: true,
    recognises,
    kind: Kind::InspectorProtocol,
};

fn recognises(head: &Head<'_>) -> bool {
    let names: [&[u8]; 3] = [b"\"timestamp\"", b"\"direction\"", b"\"message\""];
    head.begins_with(b"[", b"{") && names.into_iter().all(|name| head.has(name))
}

/// So many messages the Inspector keeps: a full export may lack its beginning.
const RING: usize = 1000;

const NAMES: [&[u8]; 5] = [
    b"timestamp",
    b"origin",
    b"message",
    b"response",
    b"duration",
];
const TIME: usize = 0;
const ORIGIN: usize = 1;
const MESSAGE: usize = 2;
const RESPONSE: usize = 3;
const DURATION: usize = 4;

/// What was not told.
#[derive(Default)]
struct Lacks {
    times: u64,
    origins: u64,
    /// Of each frame in the plan.
    marks: Vec<Mark>,
}

/// What tells where a frame belongs among those of its millisecond.
#[derive(Clone, Copy)]
enum Mark {
    /// It stands in a place of its own.
    Alone,
    /// Progress of what goes by that token.
    Tells(Key),
    /// It was folded into its request, which goes by that token: nothing but its time tells its place.
    Folded(Key),
}

/// An answer that was folded into its request comes behind the progress of its millisecond; whether one of its side came in the
/// same millisecond, so that nobody knows which was first.
fn untie(all: &mut [(Item, Mark)]) -> bool {
    let mut is_blurred = false;
    for run in all.chunk_by_mut(|(one, _), (other, _)| one.t_ms == other.t_ms) {
        for at in (0..run.len()).rev() {
            let Mark::Folded(token) = run[at].1 else {
                continue;
            };
            let from = run[at].0.from;
            let is_of_side =
                |(nth, (item, _)): (usize, &(Item, Mark))| nth != at && item.from == from;
            is_blurred |= run.iter().enumerate().any(is_of_side);
            let tells = |(_, mark): &(Item, Mark)| matches!(mark, Mark::Tells(of) if *of == token && token.is_present());
            if let Some(behind) = run.iter().rposition(tells).filter(|behind| *behind > at) {
                run[at..=behind].rotate_left(1);
            }
        }
    }
    is_blurred
}

pub(super) fn plan(document: &Document, plan: &mut Plan) -> Reading<()> {
    let mut scanner = Scanner::new();
    let mut lacks = Lacks::default();
    let mut count = 0;
    for entry in document.items(document.root()) {
        take(document, entry.start, plan, &mut lacks, &mut scanner)?;
        count += 1;
    }
    // What has no time stays behind the message before it.
    let mut last = None;
    for item in &mut plan.items {
        last = item.t_ms.or(last);
        item.t_ms = last;
    }
    let mut marks = std::mem::take(&mut lacks.marks).into_iter();
    let mut all: Vec<(Item, Mark)> = plan.items.drain(..).zip(marks.by_ref()).collect();
    all.sort_by_key(|(item, _)| item.t_ms);
    let is_blurred = untie(&mut all);
    plan.items.extend(all.into_iter().map(|(item, _)| item));
    if is_blurred {
        plan.lost |= Lost::STREAMS;
    }
    let is_tie = |pair: &[Item]| pair[0].t_ms == pair[1].t_ms && pair[0].from != pair[1].from;
    if lacks.times > 0 || plan.items.windows(2).any(is_tie) {
        plan.lost |= Lost::ORDER;
    }
    plan.guessed
        .push("the order of the messages, from their times".to_owned());
    if lacks.times > 0 {
        plan.lost |= Lost::TIME;
    }
    if lacks.origins > 0 {
        plan.lost |= Lost::DIRECTION;
        let messages = several(lacks.origins, "message", "messages");
        plan.guessed
            .push(format!("who sent {messages} without an \"origin\""));
    }
    if count >= RING {
        plan.lost |= Lost::FRAMES;
        plan.remarks.push(format!(
            "it has {count} messages, as many as the Inspector keeps: what came before them may be missing"
        ));
    }
    Ok(())
}

fn take(
    document: &Document,
    at: usize,
    plan: &mut Plan,
    lacks: &mut Lacks,
    scanner: &mut Scanner,
) -> Reading<()> {
    if document.bytes[at] != b'{' {
        return Err(Wrong::new(at, "a message of the export was expected"));
    }
    let members = Members::of(&document.bytes, at, &NAMES, scanner)?;
    let Some(message) = members.span(MESSAGE) else {
        return Err(Wrong::new(at, "an entry without a \"message\""));
    };
    let from = match () {
        () if members.is(ORIGIN, "client") => Role::Client,
        () if members.is(ORIGIN, "server") => Role::Server,
        () => {
            lacks.origins += 1;
            let found = classify(&document.bytes[message.clone()], scanner).message;
            // Whoever is not asked tells how far it has come: a server nearly always.
            let is_servers = found.kind.is_response() || found.method == Method::Progress;
            let usual = if is_servers {
                Role::Server
            } else {
                Role::Client
            };
            only_sender(found.method).unwrap_or(usual)
        }
    };
    let told = classify(&document.bytes[message.clone()], scanner).message;
    lacks.marks.push(match told.method {
        Method::Progress => Mark::Tells(told.token),
        _ => Mark::Alone,
    });
    let t_ms = members.time(TIME);
    lacks.times += u64::from(t_ms.is_none());
    plan.items
        .push(Item::frame(from, t_ms, Words::Value(message)));
    if let Some(response) = members.span(RESPONSE) {
        lacks.marks.push(Mark::Folded(told.token));
        let duration = members
            .integer(DURATION)
            .map(|ms| u64::try_from(ms).unwrap_or(0));
        lacks.times += u64::from(duration.is_none());
        let answered = t_ms
            .zip(duration)
            .map(|(sent, took)| sent.saturating_add(took));
        plan.items
            .push(Item::frame(from.other(), answered, Words::Value(response)));
    }
    Ok(())
}
