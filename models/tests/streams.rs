//! What a log tells that lost the order of frames between streams: however they were interleaved, rules that are decided there all
//! the same find the same.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{How, Line, cases, judge, read};
use mcpsim_models::examples::spell_out;
use mcpsim_models::rule;
use mcpsim_models::rules::lost::needed;
use mcpsim_traces::classify::classify;
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Vantage, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::lost::Lost;
use mcpsim_traces::message::{Kind, Message, Method};
use mcpsim_traces::scan::Scanner;

/// Longer sessions are of floods and limits.
const LINES_MAX: usize = 200;
const ORDERS: u64 = 8;

/// What is accused there by one rule or another, as the order has it: a session of which only the first answers tell the era, made so
/// that they do not say it clearly; and a response to what was no request, which is wrong either way.
const NAMED_BY_ORDER: [&str; 2] = [
    "stateless-correlation.md, dir-client-never-responds 1",
    "stateless-request-meta.md, meta-required-fields 3",
];
/// Told once of each session, for whichever side comes first; each of them would be told alone, too.
const ONCE_A_SESSION: &str = "deprecated-features";

struct Session {
    place: String,
    lines: Vec<Line>,
    how: How,
}

/// Every session of the cases, as over HTTP and without times.
fn sessions() -> Vec<Session> {
    let pages = [cases(), cases().join("lawful")];
    let files = pages
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).expect("the cases"));
    let mut paths: Vec<_> = files.map(|file| file.expect("a file").path()).collect();
    paths.retain(|path| {
        path.extension().is_some_and(|ext| ext == "md") && !path.ends_with("README.md")
    });
    paths.retain(|path| !path.to_string_lossy().contains("-stdio"));
    paths.sort();
    let mut all = vec![];
    for path in paths {
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        let (mut options, mut block) = (None, vec![]);
        let (mut heading, mut nth) = ("", 0);
        let text = read(&path);
        for line in text.lines() {
            if let Some(words) = line.strip_prefix("## ") {
                (heading, nth) = (words.trim(), 0);
            } else if let Some(words) = line.strip_prefix("```frames") {
                nth += 1;
                options = Some(words.trim().to_owned());
                block.clear();
            } else if line == "```" {
                let options = options.take().expect("options");
                let lines = spell_out(block.iter().copied()).expect("a session");
                let place = format!("{name}, {heading} {nth}");
                if lines.len() <= LINES_MAX
                    && are_exchanges(&lines)
                    && !NAMED_BY_ORDER.contains(&&*place)
                {
                    all.push(Session {
                        place,
                        lines: over_http(lines),
                        how: How {
                            http: true,
                            ..How::parse(&options).expect("options")
                        },
                    });
                }
            } else if options.is_some() {
                block.push(line);
            }
        }
    }
    all
}

/// Whether each stream carries one request at most.
fn are_exchanges(lines: &[Line]) -> bool {
    let mut asked = BTreeSet::new();
    let mut requests = lines.iter().filter(|line| {
        line.from == Role::Client && message(line).is_some_and(|one| one.kind == Kind::Request)
    });
    requests.all(|line| line.stream.is_none() || asked.insert(&line.stream))
}

fn message(line: &Line) -> Option<Message> {
    let is_frame = line.event.is_none();
    is_frame.then(|| classify(&line.bytes, &mut Scanner::new()).message)
}

/// Each frame of the client on a stream of its own, with its answer; what else the server says, on the latest that is open, or on
/// one that listens.
fn over_http(mut lines: Vec<Line>) -> Vec<Line> {
    for line in &mut lines {
        line.at_ms = None;
    }
    if lines.iter().any(|line| line.stream.is_some()) {
        return lines;
    }
    let mut open: Vec<(Key, String)> = vec![];
    for (nth, line) in lines.iter_mut().enumerate() {
        let Some(message) = message(line) else {
            continue;
        };
        line.stream = Some(match line.from {
            Role::Client => {
                let stream = format!("post {nth}");
                if message.kind == Kind::Request {
                    open.push((message.id, stream.clone()));
                }
                stream
            }
            Role::Server => {
                let asked = open.iter().position(|(id, _)| *id == message.id);
                match asked.filter(|_| message.kind.is_response()) {
                    Some(asked) => open.remove(asked).1,
                    None => open
                        .last()
                        .map_or("get".to_owned(), |(_, stream)| stream.clone()),
                }
            }
        });
    }
    lines
}

/// Which lines certainly came before which: on one stream; the client's requests among each other; what an answer answers; and
/// around what concerns all, a handshake, and the event that names an endpoint, everything as it was.
fn before(lines: &[Line]) -> Vec<Vec<usize>> {
    let mut before = vec![vec![]; lines.len()];
    let mut firsts: BTreeMap<&str, usize> = BTreeMap::new();
    for (nth, line) in lines.iter().enumerate() {
        if let Some(stream) = &line.stream {
            firsts.entry(stream).or_insert(nth);
        }
    }
    let messages: Vec<Option<Message>> = lines.iter().map(message).collect();
    let handshakes: BTreeSet<&str> = lines
        .iter()
        .zip(&messages)
        .filter(|(_, message)| message.is_some_and(|one| one.method == Method::Initialize))
        .filter_map(|(line, _)| line.stream.as_deref())
        .collect();
    let is_fixed = |line: &Line| {
        let http = line.http.as_ref();
        let event = http.and_then(|http| http.sse.event.as_deref());
        let status = http.and_then(|http| http.head.as_ref()?.status());
        let stream = line.stream.as_deref();
        event == Some("endpoint")
            // A break comes as late as it can have come.
            || line.event.as_deref() == Some("drop")
            // A request that was sent elsewhere is sent again when that was said.
            || status.is_some_and(|status| (300..400).contains(&status))
            || stream.is_none_or(|stream| handshakes.contains(stream))
    };
    for (nth, line) in lines.iter().enumerate() {
        for (earlier, other) in lines.iter().enumerate().take(nth) {
            let is_first = |nth: usize, line: &Line| {
                line.stream
                    .as_ref()
                    .is_some_and(|stream| firsts[&**stream] == nth)
            };
            let is_answer = match (messages[nth], messages[earlier]) {
                (Some(one), Some(other_one)) if line.from != other.from => {
                    let is_response = one.kind.is_response() && other_one.kind == Kind::Request;
                    let has_batch = [one.kind, other_one.kind].contains(&Kind::Batch);
                    is_response && one.id == other_one.id || has_batch
                }
                _ => false,
            };
            // An id is free again behind its answer, and a cursor is known behind the page that gave it.
            let is_again = match (messages[nth], messages[earlier]) {
                (Some(one), Some(answer)) => {
                    let is_spent = one.kind == Kind::Request && answer.kind.is_response();
                    is_spent
                        && line.from != other.from
                        && (one.id == answer.id || goes_on(line, other))
                }
                _ => false,
            };
            let is_before = line.stream == other.stream
                || is_fixed(line)
                || is_fixed(other)
                || is_first(nth, line) && is_first(earlier, other)
                || is_answer
                || is_again;
            if is_before {
                before[nth].push(earlier);
            }
        }
    }
    before
}

/// Whether a request has the cursor of that page.
fn goes_on(request: &Line, page: &Line) -> bool {
    let text_after = |line: &Line, name: &str| {
        let text = String::from_utf8_lossy(&line.bytes).into_owned();
        let (_, rest) = text.split_once(name)?;
        // Also one that is no string: who sends it was given it.
        let end = rest.find([',', '}'])?;
        Some(rest[..end].to_owned())
    };
    let cursor = text_after(request, "\"cursor\":");
    cursor.is_some() && cursor == text_after(page, "\"nextCursor\":")
}

/// Another order in which the lines may have come.
fn shuffled(lines: &[Line], before: &[Vec<usize>], seed: u64) -> Vec<Line> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut below = |bound: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound as u64) as usize
    };
    let mut is_out = vec![false; lines.len()];
    let mut order = vec![];
    while order.len() < lines.len() {
        let is_ready = |nth: &usize| !is_out[*nth] && before[*nth].iter().all(|one| is_out[*one]);
        let ready: Vec<usize> = (0..lines.len()).filter(is_ready).collect();
        // Extremes tell more than chance: as early as possible, or as late.
        let pick = match seed {
            0 => ready.len() - 1,
            _ => below(ready.len()),
        };
        is_out[ready[pick]] = true;
        order.push(lines[ready[pick]].clone());
    }
    order
}

/// What is certain, as rule and blame, of rules that need no order between streams.
fn accusations(lines: &[Line], how: &How) -> BTreeSet<String> {
    let findings = judge(lines, how);
    let needs_none =
        |id: &str| rule(id).is_some_and(|rule| needed(rule, Lost::STREAMS).is_nothing());
    let is_decided = |id: &str| id != ONCE_A_SESSION && needs_none(id);
    let decided = findings
        .iter()
        .filter(|one| one.verdict == Verdict::Broken && is_decided(one.rule));
    decided
        .map(|one| format!("{} {}", one.rule, one.blame.as_str()))
        .collect()
}

/// What accuses somebody in one order and nobody in another depends on an order that such a log does not have. That an order
/// hides a fault accuses nobody.
#[test]
fn no_interleaving_accuses_anybody() {
    let mut wrong: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut shuffles, mut moved) = (0, 0);
    for session in sessions() {
        let before = before(&session.lines);
        for vantage in [Vantage::Between, Vantage::Client, Vantage::Server] {
            let how = How {
                vantage,
                ..session.how
            };
            let as_it_was = accusations(&session.lines, &how);
            for seed in 0..ORDERS {
                let lines = shuffled(&session.lines, &before, seed);
                shuffles += 1;
                moved += u64::from(lines != session.lines);
                for one in accusations(&lines, &how).difference(&as_it_was) {
                    let places = wrong.entry(one.clone()).or_default();
                    places.insert(format!("{} {}", session.place, vantage.as_str()));
                }
            }
        }
    }
    let told: Vec<String> = wrong
        .iter()
        .map(|(one, places)| format!("{one}: {places:?}"))
        .collect();
    assert!(told.is_empty(), "\n{}", told.join("\n"));
    assert!(moved * 5 > shuffles, "{moved} of {shuffles}");
}
