//! Log messages outside sessions: each belongs to a request that asked for them.

use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::log_streams::{Answered, Level};
use crate::deep::subscriptions::SUBSCRIPTION_ID;
use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::{Mode, Part, flag};
use crate::rules::{Basis, Category, Needs, Rule, STATELESS_MUST, STATELESS_SHOULD, Side, When};

const LOG: Rule = Rule {
    category: Category::Logging,
    side: Side::Server,
    needs: Needs::Causal,
    source: "2026-07-28 server/utilities/logging (Per-request log level)",
    when: When::STATELESS_LOG,
    ..STATELESS_MUST
};

pub(crate) const LOG_NEEDS_LEVEL: Rule = Rule {
    id: "log-needs-level",
    says: "Log messages are sent only for a request that asked for them with a level.",
    why: "Nobody reads them: the client did not ask, and has nothing to show them in.",
    ..LOG
};

pub(crate) const LOG_AT_OR_ABOVE: Rule = Rule {
    id: "log-at-or-above",
    category: Category::Logging,
    side: Side::Server,
    needs: Needs::Causal,
    basis: Basis::Lowercase,
    source: "2026-07-28 server/utilities/logging (Per-request log level)",
    says: "Log messages are at least as severe as the request asked for.",
    why: "Who asks for warnings gets them drowned in debugging output, and pays for every line.",
    when: When::STATELESS_LOG,
    ..STATELESS_SHOULD
};

pub(crate) const LOG_ON_OWN_STREAM: Rule = Rule {
    id: "log-on-own-stream",
    says: "A log message travels on the stream of the request that asked for it, before the answer.",
    why: "The client ties it to the request by the stream alone, and stops reading that one at the answer.",
    ..LOG
};

pub(crate) const LOG_BAD_LEVEL_REJECTED: Rule = Rule {
    id: "log-bad-level-rejected",
    category: Category::Logging,
    side: Side::Server,
    needs: Needs::Causal,
    tier: 3,
    source: "2026-07-28 server/utilities/logging (Error Handling)",
    says: "A request with a level that is none is refused with -32602.",
    why: "The client waits for log messages that the server will never send, or gets all of them.",
    when: When::BAD_LEVEL,
    ..STATELESS_SHOULD
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    LOG_NEEDS_LEVEL,
    LOG_AT_OR_ABOVE,
    LOG_ON_OWN_STREAM,
    LOG_BAD_LEVEL_REJECTED,
];

/// Log messages, and answers to requests that may have asked for them.
pub(crate) const TOPIC: Topic = Topic { by, toward: ignore };

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role != Role::Server {
        return;
    }
    match frame.message.kind {
        Kind::Notification if frame.method == Method::LogMessage => logs(part, deep, cx, frame),
        Kind::Result | Kind::Error => answers(part, deep, cx, frame),
        _ => {}
    }
}

fn answers(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    if asked.level == Level::Unknown {
        cx.ledger.saw(bit(When::BAD_LEVEL));
        let kind = frame.payload.and_then(|result| result.get("resultType"));
        if frame.message.kind == Kind::Result && kind.is_some_and(Value::is_text) {
            let text = format!(
                "{} is served although its logLevel is none; it is refused with -32602",
                asked.id
            );
            let frames = [asked.frame, cx.frame];
            part.broken(cx, &LOG_BAD_LEVEL_REJECTED, &frames, text);
        }
    }
    if part.link == LinkKind::Http && cx.stream != 0 {
        deep.logs.answer(Answered {
            stream: asked.stream,
            id: asked.id,
            level: asked.level,
            frame: cx.frame,
        });
    }
}

fn logs(part: &Part, deep: &Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    cx.ledger.saw(bit(When::STATELESS_LOG));
    let level = frame.payload.and_then(|params| params.get("level"));
    // On a subscription it is another rule's matter.
    let tag = frame
        .payload
        .and_then(|params| params.path(&["_meta", SUBSCRIPTION_ID]));
    if tag.is_some() {
        return;
    }
    match part.link {
        LinkKind::Http if cx.stream != 0 => on_stream(part, deep, cx, level),
        // Nothing is told of what belongs to what.
        LinkKind::Http if part.mode == Mode::Loose => {}
        _ => on_channel(part, deep, cx, level),
    }
}

/// On HTTP the stream names the request.
fn on_stream(part: &Part, deep: &Deep, cx: &mut Cx<'_>, level: Option<Value<'_>>) {
    let stream = cx.stream;
    if deep.subscriptions.on_stream(stream).is_some() {
        return;
    }
    if let Some(asked) = deep.inn.iter().find(|asked| asked.stream == stream) {
        let frames = [asked.frame, cx.frame];
        if asked.level == Level::None {
            let text = format!(
                "a log message on the stream of {} {}, which asked for none",
                asked.method.words(),
                asked.id
            );
            return part.broken(cx, &LOG_NEEDS_LEVEL, &frames, text);
        }
        return judge_level(part, cx, level, asked.level, &frames);
    }
    if let Some(answered) = deep.logs.on_stream(stream) {
        let (rule, text) = match answered.level {
            Level::None => (&LOG_NEEDS_LEVEL, "which asked for none"),
            _ => (&LOG_ON_OWN_STREAM, "which is answered"),
        };
        let text = format!("a log message on the stream of {}, {text}", answered.id);
        return part.broken(cx, rule, &[answered.frame, cx.frame], text);
    }
    if deep.logs.is_lossy || part.may_be_unseen() || part.is(flag::GARBLED_IN) {
        return;
    }
    let text = "a log message on a stream that answers no request".to_string();
    part.broken(cx, &LOG_ON_OWN_STREAM, &[cx.frame], text);
}

/// On a pipe a log message names no request: any that is open and asked for some may be meant.
fn on_channel(part: &Part, deep: &Deep, cx: &mut Cx<'_>, level: Option<Value<'_>>) {
    if deep.inn.is_large() {
        // Among very many nobody looks each time.
        return;
    }
    let mut least = None;
    let mut frame = 0;
    for asked in deep.inn.iter().filter(|asked| asked.level != Level::None) {
        let is_less = match (asked.level, least) {
            (_, None) => true,
            (Level::Unknown, _) => true,
            (level, Some(least)) => least != Level::Unknown && level < least,
        };
        if is_less {
            (least, frame) = (Some(asked.level), asked.frame);
        }
    }
    if let Some(least) = least {
        return judge_level(part, cx, level, least, &[frame, cx.frame]);
    }
    if deep.logs.is_lossy || part.may_be_unseen() || part.is(flag::GARBLED_IN) {
        return;
    }
    let text = "a log message while no open request asks for any; without a level in `_meta` there are none".to_string();
    part.broken(cx, &LOG_NEEDS_LEVEL, &[cx.frame], text);
}

/// Holds a message's level against the least that was asked for.
fn judge_level(
    part: &Part,
    cx: &mut Cx<'_>,
    value: Option<Value<'_>>,
    least: Level,
    frames: &[u32],
) {
    let level = Level::read(value);
    let (Level::Known(own), Level::Known(asked)) = (level, least) else {
        return;
    };
    if own < asked {
        let text = format!(
            "a log message of level {}; what was asked for is {} or worse",
            level.as_str(),
            least.as_str()
        );
        part.case(
            cx,
            &LOG_AT_OR_ABOVE,
            Verdict::Broken,
            None,
            frames,
            value,
            text,
        );
    }
}
