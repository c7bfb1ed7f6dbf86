//! Too much in a short time: progress, log messages and pings beyond a bound that is ours.

use mcpsim_traces::event::Role;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Method};

use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::{Category, NOTE, Needs, Rule, Side, When};

/// The text gives no numbers. These are what no reader can use any more.
const PROGRESS_MAX: u32 = 100;
const LOGS_MAX: u32 = 200;
/// For a client that asked for everything.
const DEBUG_LOGS_MAX: u32 = 2000;
const PINGS_MAX: u32 = 50;
/// … in so many milliseconds.
const SPAN_MS: u64 = 1000;
/// Progress of so many tokens is counted at a time.
const TOKENS_MAX: usize = 16;

pub(crate) const PROGRESS_FLOOD: Rule = Rule {
    id: "progress-flood",
    category: Category::Progress,
    side: Side::Both,
    source: "2025-11-25 basic/utilities/progress (Implementation Notes)",
    says: "Progress is reported at a rate that somebody can follow.",
    why: "The reports crowd out the answers; the bound here, 100 a second for one token, is this tool's own.",
    needs: Needs::Time,
    when: When::PROGRESS,
    ..NOTE
};

pub(crate) const LOG_FLOOD: Rule = Rule {
    id: "log-flood",
    category: Category::Logging,
    side: Side::Server,
    source: "2025-11-25 server/utilities/logging (Implementation Considerations)",
    says: "The server limits the rate of its log messages.",
    why: "They crowd out the answers; the bound here, 200 a second and 2000 at level debug, is this tool's own.",
    needs: Needs::Time,
    when: When::call(Method::LogMessage),
    ..NOTE
};

pub(crate) const PING_FLOOD: Rule = Rule {
    id: "ping-flood",
    category: Category::Ping,
    source: "2025-11-25 basic/utilities/ping (Implementation Considerations)",
    says: "Pings are not sent excessively.",
    why: "Each is answered, and nothing else is meanwhile; the bound here, 50 a second, is this tool's own.",
    needs: Needs::Time,
    when: When::call(Method::Ping),
    ..NOTE
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[PROGRESS_FLOOD, LOG_FLOOD, PING_FLOOD];

/// How many in a span of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Span {
    from_ms: u64,
    count: u32,
}

impl Span {
    /// One more; whether that is the first too many of this span.
    fn is_over(&mut self, now_ms: u64, most: u32) -> bool {
        if now_ms.saturating_sub(self.from_ms) >= SPAN_MS {
            *self = Span {
                from_ms: now_ms,
                count: 0,
            };
        }
        self.count = self.count.saturating_add(1);
        self.count == most + 1
    }
}

/// What is counted of one party; nothing where no time is kept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Floods {
    progress: Vec<(Key, Span)>,
    logs: Span,
    pings: Span,
    /// Each is reported once.
    is_told: [bool; 3],
}

/// Progress, log messages and pings.
pub(crate) const FLOODS: Topic = Topic {
    by: count,
    toward: ignore,
};

fn count(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if cx.now_ms == 0 || frame.is_stateless || frame.message.kind.is_response() {
        return;
    }
    let now = cx.now_ms;
    let floods = &mut deep.floods;
    let (rule, at, most, span) = match (frame.method, frame.message.kind) {
        (Method::Progress, Kind::Notification) => {
            let span = of_token(&mut floods.progress, frame.message.token);
            (&PROGRESS_FLOOD, 0, PROGRESS_MAX, span)
        }
        (Method::LogMessage, Kind::Notification) if part.role == Role::Server => {
            let is_debug = deep.levels.least().is_some_and(|(level, _)| level == 0);
            let most = if is_debug { DEBUG_LOGS_MAX } else { LOGS_MAX };
            (&LOG_FLOOD, 1, most, &mut floods.logs)
        }
        (Method::Ping, Kind::Request) => (&PING_FLOOD, 2, PINGS_MAX, &mut floods.pings),
        _ => return,
    };
    if span.is_over(now, most) && !std::mem::replace(&mut floods.is_told[at], true) {
        let text = format!("more than {most} {} within a second", frame.method.words());
        part.broken(cx, rule, &[cx.frame], text);
    }
}

fn of_token(spans: &mut Vec<(Key, Span)>, token: Key) -> &mut Span {
    let at = match spans.iter().position(|(known, _)| *known == token) {
        Some(at) => at,
        None => {
            if spans.len() >= TOKENS_MAX {
                spans.remove(0);
            }
            spans.push((token, Span::default()));
            spans.len() - 1
        }
    };
    &mut spans[at].1
}
