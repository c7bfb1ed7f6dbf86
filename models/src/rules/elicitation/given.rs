//! Elicitations by URL over time: the ids that a server names, in requests and in errors, and what it
//! reports as completed.

use mcpsim_traces::encode::Encoder;
use mcpsim_traces::event::{FrameNo, LinkKind, Role};
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Revision};
use mcpsim_traces::tape::Value;

use super::rows::{
    ELICIT_COMPLETE_KNOWN, ELICIT_COMPLETE_TWICE, ELICIT_ID_UNIQUE, URL_REQUIRED_ERROR_SHAPE,
    URL_REQUIRED_UNDECLARED,
};
use crate::deep::topics::ignore;
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::{Mode, Part, flag};
use crate::rules::asks::{Asks, Declared, Told};
use crate::rules::{Rule, When};
use crate::shape::{self, Def, Walk, What, required};

/// An elicitation by URL that the server named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Given {
    id: Key,
    url: Key,
    /// Where it was named first.
    frame: FrameNo,
    /// … in a request, not in an error.
    is_asked: bool,
    is_completed: bool,
}

impl Given {
    pub(crate) fn encode(&self, encoder: &mut Encoder) {
        encoder.key(self.id);
        encoder.key(self.url);
        encoder.word(u64::from(self.is_asked) << 1 | u64::from(self.is_completed));
    }
}

/// More ids than this are not remembered.
const GIVEN_MAX: usize = 512;
/// More completions that fit nothing are not kept.
const EARLY_MAX: usize = 64;

impl Asks {
    fn find(&self, id: Key) -> Result<usize, usize> {
        self.given.binary_search_by_key(&id, |given| given.id)
    }

    /// The server names an elicitation; what it named by that id before.
    fn give(&mut self, new: Given) -> Option<Given> {
        match self.find(new.id) {
            Ok(at) => {
                let before = self.given[at];
                self.given[at].is_asked |= new.is_asked;
                Some(before)
            }
            Err(at) if self.given.len() < GIVEN_MAX => {
                self.given.insert(at, new);
                None
            }
            Err(_) => {
                self.is_lossy = true;
                None
            }
        }
    }
}

/// The id of an elicitation, where that is a string.
fn id_of(elicitation: Value<'_>) -> Option<Value<'_>> {
    elicitation.get("elicitationId").filter(|id| id.is_text())
}

fn new_given(elicitation: Value<'_>, id: Value<'_>, frame: FrameNo, is_asked: bool) -> Given {
    Given {
        id: id.key(),
        url: elicitation.get("url").map_or(Key::ABSENT, Value::key),
        frame,
        is_asked,
        is_completed: false,
    }
}

/// The server sends elicitation/create.
pub(crate) fn asked_for(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, params: Value<'_>) {
    let is_by_url = params.get("mode").is_some_and(|mode| mode.is("url"));
    let Some(id) = id_of(params).filter(|_| is_by_url) else {
        return;
    };
    let new = new_given(params, id, cx.frame, true);
    let Some(before) = deep.asks.give(new) else {
        return;
    };
    if part.governing() != Some(Revision::V2025_11_25) {
        return;
    }
    let is_same = before.url == new.url;
    let (severity, text) = if is_same || !before.is_asked {
        let text = "an elicitationId is named again, by what seems to be the same elicitation";
        (Some(Severity::Note), text)
    } else {
        let text = "two elicitations share an elicitationId; each has one of its own";
        (None, text)
    };
    let frames = [before.frame, cx.frame];
    part.case(
        cx,
        &ELICIT_ID_UNIQUE,
        Verdict::Broken,
        severity,
        &frames,
        Some(id),
        text.to_string(),
    );
}

/// -32042: what was asked for needs an elicitation by URL first.
const CODE: i64 = -32042;

/// Errors in answer to whatever.
pub(crate) const URL_REQUIRED: Topic = Topic {
    by: refused_by,
    toward: ignore,
};

fn refused_by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let message = frame.message;
    if message.number == CODE && message.kind == Kind::Error && part.role == Role::Server {
        url_required(part, deep, cx, frame);
    }
}

#[cold]
fn url_required(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    // Before, the code is a server's own; after, it is retired.
    if frame.is_stateless
        || frame
            .revision
            .is_some_and(|revision| revision != Revision::V2025_11_25)
    {
        return;
    }
    if frame.revision.is_some() {
        cx.ledger.saw(bit(When::URL_REQUIRED));
        let declared = Declared::of_session(part, deep);
        if declared.elicitation == Told::No || declared.url == Told::No {
            let text = "the error asks for an elicitation by url, which the client did not declare";
            let asked = frame.asked.map_or(0, |asked| asked.frame);
            let frames = [asked, cx.frame];
            part.broken(cx, &URL_REQUIRED_UNDECLARED, &frames, text.to_string());
        }
        shape::judge(part, cx, frame, &ERROR, &URL_REQUIRED_ERROR_SHAPE);
    }
    let list = frame
        .payload
        .and_then(|error| error.path(&["data", "elicitations"]));
    for elicitation in list.into_iter().flat_map(Value::items) {
        if let Some(id) = id_of(elicitation) {
            let _ = deep.asks.give(new_given(elicitation, id, cx.frame, false));
        }
    }
}

static ERROR: Def = Def::new("this error", &[required("data", What::Def(&DATA))]);
static DATA: Def = Def::new(
    "the data of this error",
    &[required(
        "elicitations",
        What::Check("an array of elicitations by url", elicitations),
    )],
);
static ELICITATION: Def = Def::new(
    "an elicitation by url",
    &[
        required("mode", What::OneOf(&["url"])),
        required("elicitationId", What::Text),
        required("url", What::Text),
        required("message", What::Text),
    ],
);

fn elicitations<'a>(walk: &mut Walk<'a>, list: Value<'a>, rule: &'static Rule) {
    static LIST: What = What::ArrayOf(&What::Def(&ELICITATION));
    if list.is_array() && list.items().next().is_none() {
        return walk.flaw(rule, list, || {
            "the error names no elicitation; it lists those that are needed".to_string()
        });
    }
    walk.value(list, &LIST, rule);
    for elicitation in list.items() {
        super::judge_url(walk, elicitation);
    }
}

/// notifications/elicitation/complete
pub(crate) const COMPLETE: Topic = Topic {
    by: completed_by,
    toward: ignore,
};

static COMPLETED: Def = Def::new("a completion", &[required("elicitationId", What::Text)]);

fn completed_by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let is_new = frame.revision == Some(Revision::V2025_11_25);
    if part.role != Role::Server || frame.is_stateless || !is_new {
        return;
    }
    let Some(id) = frame.payload.and_then(id_of) else {
        return shape::judge(part, cx, frame, &COMPLETED, &ELICIT_COMPLETE_KNOWN);
    };
    let asks = &mut deep.asks;
    let key = id.key();
    let first = match asks.find(key) {
        Ok(at) if asks.given[at].is_completed => Some(asks.given[at].frame),
        Ok(at) => {
            asks.given[at].is_completed = true;
            return;
        }
        Err(_) => {
            let early = asks.early.iter().find(|(known, _)| *known == key);
            early.map(|(_, frame)| *frame)
        }
    };
    if let Some(first) = first {
        let text = "an elicitation is reported as completed once more".to_string();
        return part.broken(cx, &ELICIT_COMPLETE_TWICE, &[first, cx.frame], text);
    }
    // A log that begins later does not know what was named before.
    if part.is(flag::JOINED) || !part.opened.is_some() || asks.is_lossy {
        return;
    }
    if part.mode == Mode::Loose {
        // What named it may travel on another stream.
        if asks.early.len() < EARLY_MAX && !cx.is_expected(&ELICIT_COMPLETE_KNOWN) {
            asks.early.push((key, cx.frame));
        }
        return;
    }
    let frame = cx.frame;
    unknown(part, cx, frame, Some(id));
}

/// A completion of what this client was never told of.
#[cold]
fn unknown(part: &Part, cx: &mut Cx<'_>, frame: FrameNo, id: Option<Value<'_>>) {
    // Over http the elicitation may be of an earlier session of the same client.
    let severity = (part.link == LinkKind::Http).then_some(Severity::Note);
    let text = "a completion names an elicitation that the client was never told of".to_string();
    let rule = &ELICIT_COMPLETE_KNOWN;
    part.case(cx, rule, Verdict::Broken, severity, &[frame], id, text);
}

impl Part {
    /// At the end: completions that never found their elicitation.
    pub(crate) fn judge_early_completions(&mut self, cx: &mut Cx<'_>) {
        let Some(deep) = &mut self.deep else { return };
        let early = std::mem::take(&mut deep.asks.early);
        let strays: Vec<FrameNo> = early
            .into_iter()
            .filter(|(id, _)| deep.asks.find(*id).is_err() && !deep.asks.is_lossy)
            .map(|(_, frame)| frame)
            .collect();
        for frame in strays {
            unknown(self, cx, frame, None);
        }
    }
}
