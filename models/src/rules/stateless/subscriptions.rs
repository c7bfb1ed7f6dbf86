//! subscriptions/listen and what is sent on it.

mod rows;

use mcpsim_traces::event::{LinkKind, Role};
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::subscriptions::{Ack, Change, End, Filter, SUBSCRIPTION_ID, Subscription};
use crate::deep::{Deep, Frame, Topic};
use crate::ledger::{Cx, bit};
use crate::part::{Fact, Mode, Part, flag, open};
use crate::rules::When;
use crate::rules::ids::is_coerced;
use crate::shape::shown;

pub(crate) use rows::*;

/// Requests subscriptions/listen, what they are told, and how they end.
pub(crate) const TOPIC: Topic = Topic { by, toward };

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role != Role::Server {
        return;
    }
    match frame.message.kind {
        Kind::Notification => notified(part, deep, cx, frame),
        Kind::Result | Kind::Error if frame.method == Method::SubscriptionsListen => {
            answered(part, deep, cx, frame);
        }
        _ => {}
    }
}

fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if part.role != Role::Server {
        return;
    }
    match (frame.message.kind, frame.method) {
        (Kind::Request, Method::SubscriptionsListen) => listen(part, deep, cx, frame),
        (Kind::Notification, Method::Cancelled) => {
            if let Some(one) = deep.subscriptions.find_mut(frame.message.token)
                && !one.cancel.is_some()
            {
                one.cancel = frame.fact;
                one.cancel_frame = cx.frame;
            }
        }
        _ => {}
    }
}

fn listen(part: &Part, deep: &mut Deep, cx: &Cx<'_>, frame: &Frame<'_>) {
    let id = frame.message.id;
    if !id.is_legal() {
        return;
    }
    let filter = frame.payload.and_then(|params| params.get("notifications"));
    deep.subscriptions.open(Subscription {
        id,
        stream: if part.link == LinkKind::Http {
            cx.stream
        } else {
            0
        },
        frame: cx.frame,
        fact: frame.fact,
        since: cx.now_ms,
        asked: Filter::read(filter),
        agreed: Filter::read(None),
        ack: Ack::None,
        is_blurred: false,
        cancel: Fact::NONE,
        cancel_frame: 0,
        end: None,
        end_frame: 0,
        is_torn: false,
        is_shut: false,
        is_dropped: false,
    });
}

/// Whether such a notification always belongs to a subscription: where it travels and when, rules of
/// subscriptions say.
pub(crate) fn is_of_subscriptions(method: Method) -> bool {
    brings(method).is_some() || method == Method::SubscriptionsAcknowledged
}

/// What a notification brings on a subscription, and whether others belong there at all.
pub(crate) fn brings(method: Method) -> Option<Change> {
    Some(match method {
        Method::ToolsListChanged => Change::Tools,
        Method::PromptsListChanged => Change::Prompts,
        Method::ResourcesListChanged => Change::Resources,
        Method::ResourcesUpdated => Change::Updated,
        Method::TasksNotification => Change::Tasks,
        _ => return None,
    })
}

fn notified(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let meta = frame.payload.and_then(|params| params.get("_meta"));
    let tag = meta.and_then(|meta| meta.get(SUBSCRIPTION_ID));
    match frame.method {
        Method::Cancelled => return cancelled(deep, cx, frame),
        Method::Progress | Method::LogMessage => {
            cx.ledger.saw(bit(When::STATELESS_SCOPED));
            if frame.method == Method::Progress {
                cx.ledger.saw(bit(When::STATELESS_PROGRESS));
            }
            return request_scoped(part, deep, cx, frame, tag);
        }
        _ => {}
    }
    let is_core = brings(frame.method).is_some_and(|topic| topic != Change::Tasks)
        || frame.method == Method::SubscriptionsAcknowledged;
    match tag {
        Some(tag) => tagged(part, deep, cx, frame, tag),
        // Metadata that is no object is the envelope's matter.
        None if meta.is_some_and(|meta| !meta.is_object())
            || frame.message.has(Condition::ParamsNotObject) =>
        {
            told_of_some_ack(deep, cx, frame);
        }
        None if is_core => untagged(part, deep, cx, frame),
        None => {}
    }
}

#[cold]
fn untagged(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    cx.ledger.saw(bit(When::SUBSCRIPTION));
    let text = format!(
        "{} names no subscription; its `_meta` says under {SUBSCRIPTION_ID} which one it is for",
        frame.method.words()
    );
    part.broken(cx, &SUB_ID_TAG, &[cx.frame], text);
    told_of_some_ack(deep, cx, frame);
}

/// An acknowledgement acknowledges something, if nobody can tell what.
#[cold]
fn told_of_some_ack(deep: &mut Deep, cx: &Cx<'_>, frame: &Frame<'_>) {
    if frame.method == Method::SubscriptionsAcknowledged {
        let open = deep.subscriptions.iter_mut();
        open.filter(|one| one.end.is_none() && may_travel(one, cx))
            .for_each(Subscription::told_of_ack);
    }
}

/// Whether frames of that subscription may travel where this one does.
fn may_travel(one: &Subscription, cx: &Cx<'_>) -> bool {
    one.stream == 0 || cx.stream == 0 || one.stream == cx.stream
}

/// A server's cancel: the end of a subscription. What else it may name, other rules say.
fn cancelled(deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    if let Some(one) = deep.subscriptions.find_mut(frame.message.token) {
        cx.ledger.saw(bit(When::SUBSCRIPTION));
        if one.end.is_none() {
            one.end = Some(End::Cancel);
            one.end_frame = cx.frame;
        }
    }
}

/// Progress and log messages belong to requests.
fn request_scoped(
    part: &Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    tag: Option<Value<'_>>,
) {
    let name = frame.method.words();
    if let Some(tag) = tag {
        let text = format!("{name} is tagged with a subscription; it belongs to a request");
        return part.broken_value(cx, &SUB_NO_TAG_ELSEWHERE, tag, text);
    }
    let listen = match part.link {
        LinkKind::Http => deep.subscriptions.on_stream(cx.stream),
        LinkKind::Pipe => None,
    };
    if let Some(listen) = listen {
        let text = format!(
            "{name} travels on the stream of the subscription {}; it belongs on the stream of its own request",
            listen.id
        );
        part.broken(cx, &SUB_NO_TAG_ELSEWHERE, &[listen.frame, cx.frame], text);
    }
}

fn tagged(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, tag: Value<'_>) {
    cx.ledger.saw(bit(When::SUBSCRIPTION));
    let id = tag.key();
    let Some(one) = deep.subscriptions.find(id).filter(|_| id.is_legal()) else {
        return unknown(part, deep, cx, frame, tag);
    };
    part.proven(one.fact);
    if !may_travel(one, cx) {
        return elsewhere(part, deep, cx, frame, tag);
    }
    // Where frames have no order but that of their streams, nothing is early or late.
    let is_ordered = part.mode != Mode::Loose || cx.stream != 0 && cx.stream == one.stream;
    let is_ack = frame.method == Method::SubscriptionsAcknowledged;
    // What was reported as missing when the closing result came, and comes only now, is one fault.
    let is_late_ack = is_ack && one.ack == Ack::Told && one.end == Some(End::Result);
    if is_ordered && !is_late_ack && ended(part, cx, frame, one) {
        return;
    }
    if is_ack {
        return acknowledged(part, deep, cx, frame, id);
    }
    if !one.is_acknowledged() && is_ordered {
        if !one.is_blurred {
            unacknowledged(part, cx, frame.method.words(), one);
        }
        if let Some(one) = deep
            .subscriptions
            .find_mut(id)
            .filter(|one| !one.is_blurred)
        {
            one.told_of_ack();
        }
        return;
    }
    if !one.is_blurred {
        delivered(part, cx, frame, one);
    }
}

/// The tag names no subscription that is known.
#[cold]
fn unknown(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, tag: Value<'_>) {
    let id = tag.key();
    let open = deep.subscriptions.iter().filter(|one| one.end.is_none());
    let meant = open
        .filter(|one| may_travel(one, cx))
        .find(|one| is_coerced(one.id, id) || cx.stream != 0 && one.stream == cx.stream);
    let meant = meant.map(|one| (one.id, one.frame));
    let text = match meant {
        Some((right, _)) if is_coerced(right, id) => format!(
            "the tag is {}; the subscription's id is {right}, of another JSON type or form",
            shown(tag)
        ),
        Some((right, _)) => format!(
            "the tag is {}, on the stream of the subscription {right}",
            shown(tag)
        ),
        None => format!(
            "the tag {} is the id of no request subscriptions/listen",
            shown(tag)
        ),
    };
    if frame.method == Method::SubscriptionsAcknowledged {
        // What it stands for was acknowledged all the same.
        let meant = meant.and_then(|(id, _)| deep.subscriptions.find_mut(id));
        match meant {
            Some(one) => one.told_of_ack(),
            None => told_of_some_ack(deep, cx, frame),
        }
    }
    // What lies before the recording, or could not be read or kept, may have had that id.
    if part.may_be_unseen() && meant.is_none() {
        return cx.pass_over(&SUB_ID_MATCHES_OPEN);
    }
    let is_blind = deep.subscriptions.is_lossy || part.is_undecided(id);
    if is_blind && meant.is_none() {
        return;
    }
    let verdict = match part.is(flag::GARBLED_IN) && meant.is_none() {
        true => Verdict::Unsure,
        false => Verdict::Broken,
    };
    let frames = [meant.map_or(0, |(_, frame)| frame), cx.frame];
    part.case(
        cx,
        &SUB_ID_MATCHES_OPEN,
        verdict,
        None,
        &frames,
        Some(tag),
        text,
    );
}

/// The subscription has a stream, and this is another one.
#[cold]
fn elsewhere(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, tag: Value<'_>) {
    let Some(one) = deep.subscriptions.find_mut(tag.key()) else {
        return;
    };
    if frame.method == Method::SubscriptionsAcknowledged {
        one.told_of_ack();
    }
    // Another request took its id: which of the two it is for cannot be told.
    let is_reused = |at: usize| part.inn[at].flags & open::REUSED != 0;
    if part.find_in(tag.key()).is_ok_and(is_reused) {
        return;
    }
    let text = format!(
        "{} for the subscription {} travels on another stream than the answer to its request",
        frame.method.words(),
        one.id
    );
    let frames = [one.frame, cx.frame];
    part.case(
        cx,
        &SUB_ID_MATCHES_OPEN,
        Verdict::Broken,
        None,
        &frames,
        Some(tag),
        text,
    );
}

/// Whether the subscription has ended, by the server's own doing or by a cancel that it had received;
/// with the finding.
fn ended(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, one: &Subscription) -> bool {
    let is_cancelled = one.cancel.is_some();
    if one.end.is_none() && !is_cancelled {
        return false;
    }
    let name = frame.method.words();
    let how = match one.end {
        Some(End::Result) => "the server's closing result",
        Some(End::Cancel) => "the server's cancel",
        Some(End::Refusal) => "the server's refusal",
        None => "the client's cancel",
    };
    let text = format!("{name} for the subscription {} after {how}", one.id);
    let frames = match one.end {
        Some(_) => [one.end_frame, cx.frame],
        None => [one.cancel_frame, cx.frame],
    };
    // A cancel may have crossed this frame.
    if one.end.is_some() || part.has_read(one.cancel, one.cancel_frame) {
        part.broken(cx, &SUB_SILENCE_AFTER_END, &frames, text);
    }
    true
}

#[cold]
fn unacknowledged(part: &Part, cx: &mut Cx<'_>, what: &str, one: &Subscription) {
    let text = format!(
        "{what} for the subscription {} before {}",
        one.id,
        Method::SubscriptionsAcknowledged.as_str()
    );
    part.broken(cx, &SUB_ACK_FIRST, &[one.frame, cx.frame], text);
}

fn acknowledged(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>, id: Key) {
    let Some(one) = deep.subscriptions.find_mut(id) else {
        return;
    };
    if one.is_blurred {
        // Whether it is for this one or for the one before nobody can tell.
        one.ack = Ack::Given;
        return;
    }
    if one.ack == Ack::Given {
        let text =
            format!("the subscription {id} is acknowledged a second time; once, first of all");
        return part.broken(cx, &SUB_ACK_ONCE, &[one.frame, cx.frame], text);
    }
    one.ack = Ack::Given;
    let filter = frame.payload.and_then(|params| params.get("notifications"));
    one.agreed = Filter::read(filter);
    if one.asked.is_vague {
        return;
    }
    if let Some((topic, value)) = filter.and_then(|filter| one.asked.excess(filter)) {
        let text = match topic {
            Change::Updated | Change::Tasks => format!(
                "{} is acknowledged under `{}`, and the request did not list it",
                shown(value),
                topic.member()
            ),
            _ => format!(
                "`{}` is acknowledged, and the request did not ask for it",
                topic.member()
            ),
        };
        let frames = [one.frame, cx.frame];
        part.case(
            cx,
            &SUB_ACK_SUBSET,
            Verdict::Broken,
            None,
            &frames,
            Some(value),
            text,
        );
    }
}

/// A notification on an open subscription.
fn delivered(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, one: &Subscription) {
    let Some(topic) = brings(frame.method).filter(|_| !one.asked.is_vague) else {
        return;
    };
    let frames = [one.frame, cx.frame];
    let name = frame.method.words();
    if !one.asked.has(topic) {
        let text = format!(
            "{name} on the subscription {}, whose request has no `{}`",
            one.id,
            topic.member()
        );
        return part.broken(cx, &SUB_ONLY_REQUESTED_TYPES, &frames, text);
    }
    if !one.agreed.is_vague && !one.agreed.has(topic) {
        let text = format!(
            "{name} on the subscription {}, whose acknowledgement leaves `{}` out",
            one.id,
            topic.member()
        );
        return part.broken(cx, &SUB_ONLY_ACKNOWLEDGED_TYPES, &frames, text);
    }
    if topic != Change::Updated {
        return;
    }
    let uri = frame.payload.and_then(|params| params.get("uri"));
    let Some(uri) = uri.filter(|uri| uri.is_text()) else {
        return;
    };
    if uri.as_bytes().is_some_and(|text| !one.asked.covers(&text)) {
        let text = format!(
            "{} is none of the resources of the subscription {}, nor below one",
            shown(uri),
            one.id
        );
        let rule = &SUB_UPDATED_URI_REQUESTED;
        part.case(cx, rule, Verdict::Broken, None, &frames, Some(uri), text);
    }
}

/// The server answers the request: the end of the subscription, or its refusal.
fn answered(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(asked) = frame.asked else { return };
    cx.ledger.saw(bit(When::SUBSCRIPTION));
    let is_result = frame.message.kind == Kind::Result;
    if let Some(one) = deep.subscriptions.find_mut(asked.id) {
        let is_early = is_result && !one.is_acknowledged() && !one.is_blurred;
        if is_early && !one.cancel.is_some() && one.end.is_none() && !asks_for_input(frame) {
            unacknowledged(part, cx, "the closing result", one);
            one.told_of_ack();
        }
        if one.end.is_none() {
            one.end = Some(if is_result { End::Result } else { End::Refusal });
            one.end_frame = cx.frame;
        }
    }
    if !is_result || asks_for_input(frame) {
        return;
    }
    let Some(result) = frame.payload.filter(|result| result.is_object()) else {
        return;
    };
    let frames = [asked.frame, cx.frame];
    match result.path(&["_meta", SUBSCRIPTION_ID]) {
        Some(tag) if tag.key() == asked.id => {}
        Some(tag) => {
            let text = format!(
                "the closing result is tagged {}; the subscription's id is {}",
                shown(tag),
                asked.id
            );
            part.case(
                cx,
                &SUB_RESULT_TAG,
                Verdict::Broken,
                None,
                &frames,
                Some(tag),
                text,
            );
        }
        // Metadata that is no object is the envelope's matter.
        None if result.get("_meta").is_some_and(|meta| !meta.is_object()) => {}
        None => {
            let text = format!(
                "the closing result of the subscription {} does not name it in `_meta`",
                asked.id
            );
            part.broken(cx, &SUB_RESULT_TAG, &frames, text);
        }
    }
}

/// Another rule's matter.
fn asks_for_input(frame: &Frame<'_>) -> bool {
    let kind = frame.payload.and_then(|result| result.get("resultType"));
    kind.is_some_and(|kind| kind.is("input_required"))
}

impl Part {
    /// Nothing more will come from the server: subscriptions that it left without a word, certainly so where they have waited for
    /// that long, and only those that `is_owed` says the server still had to speak of.
    #[cold]
    pub(crate) fn judge_acknowledged(
        &self,
        cx: &mut Cx<'_>,
        certain_ms: Option<u64>,
        is_owed: impl Fn(Key) -> bool,
    ) {
        let Some(deep) = &self.deep else { return };
        let now = cx.now_ms;
        let waiting = deep.subscriptions.iter().filter(|one| {
            let is_settled = one.is_acknowledged() || one.is_over();
            !is_settled && !one.is_blurred && is_owed(one.id)
        });
        for one in waiting {
            let waited = now.saturating_sub(one.since);
            let is_certain = certain_ms.is_some_and(|least| waited >= least);
            cx.is_stateless = true;
            let id = one.id;
            if is_certain {
                let text = format!("the subscription {id} was neither acknowledged nor refused");
                self.broken(cx, &SUB_ACK_MISSING, &[one.frame], text);
            } else {
                let text = format!(
                    "the subscription {id} was neither acknowledged nor refused; the recording stops there"
                );
                self.unsure(cx, &SUB_ACK_MISSING, &[one.frame], text);
            }
        }
    }

    /// The server took its subscriptions down: those that it had not said anything about by the end; `is_over`: the session
    /// came to rest, or the server ended.
    #[cold]
    pub(crate) fn judge_teardown(&self, cx: &mut Cx<'_>, is_over: bool) {
        let Some(deep) = &self.deep else { return };
        let left = deep.subscriptions.iter().filter(|one| one.is_torn);
        for one in left.filter(|one| !one.is_over() && !one.is_blurred && one.is_acknowledged()) {
            let text = format!(
                "the server ends the subscription {} and says nothing: a result for its request is due",
                one.id
            );
            cx.is_stateless = true;
            match is_over || one.is_shut {
                true => self.broken(cx, &SUB_END_ANNOUNCED, &[one.frame], text),
                false => self.unsure(cx, &SUB_END_ANNOUNCED, &[one.frame], text),
            }
        }
    }

    /// The client closed the stream of that subscription.
    #[cold]
    pub(crate) fn drop_subscription(&mut self, id: Key) {
        let deep = self.deep.as_mut();
        if let Some(one) = deep.and_then(|deep| deep.subscriptions.find_mut(id)) {
            one.is_dropped = true;
        }
    }

    /// The server takes its subscriptions down, or the one whose stream it ends.
    #[cold]
    pub(crate) fn tear_down(&mut self, stream: Option<u32>) {
        let Some(deep) = &mut self.deep else { return };
        for one in deep.subscriptions.iter_mut() {
            one.is_torn |= stream.is_none_or(|stream| one.stream == stream);
            one.is_shut |= stream == Some(one.stream);
        }
    }
}
