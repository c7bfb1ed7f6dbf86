//! Log messages against the level that the client asked for, and what must not stand in them.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, Input, MatchKind};
use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::message::{Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::levels::LEVELS;
use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::Cx;
use crate::part::{Mode, Part};
use crate::rules::{Basis, Category, MUST, NOTE, Needs, Rule, SHOULD, Side, When, refusals};
use crate::shape::shown;

pub(crate) const LOG_BELOW_LEVEL: Rule = Rule {
    id: "log-below-level",
    category: Category::Logging,
    basis: Basis::Lowercase,
    side: Side::Server,
    source: "2025-11-25 server/utilities/logging (Message Flow)",
    says: "Once a level is set, the server sends messages of that severity or higher only.",
    why: "Who asked for errors is flooded with debug lines.",
    needs: Needs::SameDirection,
    when: When::call(Method::LogMessage),
    ..SHOULD
};

pub(crate) const LOG_SECRETS: Rule = Rule {
    id: "log-secrets",
    category: Category::Logging,
    level: MUST.level,
    side: Side::Server,
    source: "2025-11-25 server/utilities/logging (Security)",
    says: "Log messages carry no credentials.",
    why: "They end in the client's log, its screen and its bug reports.",
    when: When::call(Method::LogMessage),
    ..NOTE
};

/// The rows of this group.
pub(crate) const ROWS: &[Rule] = &[LOG_BELOW_LEVEL, LOG_SECRETS];

/// logging/setLevel and its answers.
pub(crate) const SET_LEVEL: Topic = Topic {
    by: |part, deep, cx, frame| {
        let is_answer = part.role == Role::Server && frame.message.kind.is_response();
        if is_answer && !frame.is_stateless {
            let is_granted = frame.message.kind == Kind::Result;
            deep.levels.answer(frame.message.id, is_granted, cx.frame);
            refusals::level_answered(part, cx, frame);
        }
    },
    toward: |part, deep, _, frame| {
        let is_request = part.role == Role::Server && frame.message.kind == Kind::Request;
        if is_request && !frame.is_stateless {
            let level = frame.payload.and_then(|params| params.get("level"));
            deep.levels.ask(frame.message.id, level.and_then(rank));
        }
    },
};

/// Log messages.
pub(crate) const MESSAGE: Topic = Topic {
    by: message,
    toward: ignore,
};

/// The place of a level among all.
fn rank(level: Value<'_>) -> Option<u8> {
    let at = LEVELS.iter().position(|known| level.is(known))?;
    Some(at as u8)
}

fn message(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(params) = frame.payload.filter(|_| part.role == Role::Server) else {
        return;
    };
    if frame.is_stateless {
        return;
    }
    if let Some(data) = params.get("data")
        && let Some(what) = secret(data.raw())
    {
        // The words do not show what was found, and the place is not marked.
        let text = format!("the log message seems to hold {what}");
        part.unsure(cx, &LOG_SECRETS, &[cx.frame], text);
    }
    // Across streams there is no order to compare in.
    if part.mode == Mode::Loose {
        return;
    }
    let level = params.get("level");
    if let Some(level) = level
        && let Some(rank) = rank(level)
        && let Some((least, granted)) = deep.levels.least()
        && rank < least
    {
        let text = format!(
            "a log message of level {} after the client set {}; less severe ones are left out",
            shown(level),
            LEVELS[usize::from(least)]
        );
        part.case(
            cx,
            &LOG_BELOW_LEVEL,
            Verdict::Broken,
            None,
            &[granted, cx.frame],
            Some(level),
            text,
        );
    }
}

/// How a secret begins, how many characters of its own follow at least, and what it is.
const SECRETS: &[(&str, usize, &str)] = &[
    ("-----BEGIN RSA PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN EC PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN OPENSSH PRIVATE KEY", 0, "a private key"),
    ("-----BEGIN PRIVATE KEY", 0, "a private key"),
    ("AKIA", 16, "an access key of AWS"),
    ("ghp_", 30, "a token of GitHub"),
    ("github_pat_", 30, "a token of GitHub"),
    ("xoxb-", 20, "a token of Slack"),
    ("sk-", 32, "an API key"),
    ("Bearer ", 24, "a bearer token"),
];

/// Finds the beginnings; what that needs is made once.
static BEGINNINGS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    // Vector code finds leftmost matches only.
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostFirst)
        .build(SECRETS.iter().map(|(start, ..)| start))
        .ok()
});

/// What a text seems to hold, by the looks of it.
fn secret(text: &[u8]) -> Option<&'static str> {
    let is_own = |byte: &&u8| byte.is_ascii_alphanumeric() || b"-_.~+/".contains(byte);
    let beginnings = BEGINNINGS.as_ref()?;
    let mut from = 0;
    while let Some(found) = beginnings.find(Input::new(text).range(from..)) {
        let (_, length, what) = SECRETS[found.pattern()];
        let before = found.start().checked_sub(1).map(|before| text[before]);
        let rest = &text[found.end()..];
        let own = rest.iter().take(length).take_while(is_own).count();
        if own == length && !before.is_some_and(|byte| byte.is_ascii_alphanumeric()) {
            return Some(what);
        }
        // Another one may begin within this beginning.
        from = found.start() + 1;
    }
    None
}
