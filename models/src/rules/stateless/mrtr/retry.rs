//! The request that brings the input: which question it comes back to, and whether it fits.

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Method;
use mcpsim_traces::scan::Scanner;
use mcpsim_traces::tape::Value;

use super::{
    MRTR_NO_INVENTED_STATE, MRTR_RESPONSE_SHAPE, MRTR_RETRY_ANSWERS_ALL, MRTR_RETRY_NEW_ID,
    MRTR_RETRY_SAME_REQUEST, MRTR_RETRY_STATE_ECHO, MRTR_STATE_SINGLE_EXCHANGE, judge_state,
};
use crate::deep::exchanges::{Exchange, Input, Lack, Stage, State, fingerprint};
use crate::deep::{Deep, Frame};
use crate::ledger::{Cx, bit};
use crate::part::{Knows, Part, flag};
use crate::rules::stateless::client_features;
use crate::rules::{When, roots};
use crate::shape::{Walk, shown};

/// A request with a state or with answers.
struct Retry<'a> {
    method: Method,
    subject: Key,
    id: Key,
    state: State,
    /// inputResponses, where that is an object.
    answers: Option<Value<'a>>,
    params: Value<'a>,
}

impl<'a> Retry<'a> {
    /// Reads a request; `None` where it brings nothing.
    fn of(frame: &Frame<'a>) -> Option<Retry<'a>> {
        let params = frame.payload.filter(|params| params.is_object())?;
        let (mut state, mut answers) = (None, None);
        for (name, value) in params.members() {
            if name.is("requestState") {
                state = Some(value);
            } else if name.is("inputResponses") {
                answers = Some(value);
            }
        }
        if frame.method == Method::TasksUpdate {
            // Those belong to a task.
            answers = None;
        }
        if state.is_none() && answers.is_none() {
            return None;
        }
        let asked = frame.asked?;
        Some(Retry {
            method: asked.method,
            subject: asked.subject,
            id: asked.id,
            state: State::read(state),
            answers: answers.filter(|answers| answers.is_object()),
            params,
        })
    }

    fn keys(&self) -> impl Iterator<Item = Value<'a>> {
        let members = self.answers.into_iter().flat_map(Value::members);
        members.map(|(name, _)| name)
    }

    fn has_keys(&self) -> bool {
        self.keys().next().is_some()
    }

    /// Whether it has an answer under that key.
    fn answers(&self, key: Key) -> bool {
        self.keys().any(|name| name.key() == key)
    }

    /// Whether it is about what that exchange is about.
    fn is_about(&self, one: &Exchange) -> bool {
        self.method == one.method && self.subject == one.subject
    }

    /// Whether the keys alone say that it comes back to that exchange.
    fn resembles(&self, one: &Exchange) -> bool {
        one.is_vague
            || self.keys().all(|name| one.asked(name.key()).is_some())
            || !one.keys.is_empty() && one.keys.iter().all(|asked| self.answers(asked.key))
    }

    /// What is wrong with it as a return to that exchange.
    fn flaws(&self, part: &Part, one: &Exchange) -> Flaws {
        let mut flaws = Flaws {
            id: one.id == self.id,
            ..Flaws::default()
        };
        match (one.state, self.state) {
            (State::Unclear, _) | (_, State::Unclear) | (State::None, State::None) => {}
            (State::Some(one), State::Some(own)) if one != own => flaws.state = Some(Echo::Other),
            (State::Some(_), State::Some(_)) => {
                let is_old = part.knows(one.superseded) == Knows::Must;
                flaws.state = is_old.then_some(Echo::Old);
            }
            (State::Some(_), State::None) => flaws.state = Some(Echo::Missing),
            (State::None, State::Some(_)) => flaws.state = Some(Echo::Invented),
        }
        flaws.lacks = one
            .keys
            .iter()
            .position(|asked| !self.answers(asked.key))
            .filter(|_| !one.is_vague);
        if let (State::Some(_), None) = (one.state, flaws.state) {
            let own = fingerprint(self.params);
            flaws.params = own.is_some() && one.params.is_some() && own != one.params;
        }
        flaws
    }
}

/// What is wrong with the state of a retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Echo {
    Missing,
    Other,
    /// There was a further question since.
    Old,
    /// The question had none.
    Invented,
}

/// What is wrong with a retry.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Flaws {
    id: bool,
    state: Option<Echo>,
    /// The place of a key that has no answer.
    lacks: Option<usize>,
    params: bool,
}

impl Flaws {
    /// The rules that it may break, or may not.
    #[cold]
    fn pass_over(self, cx: &mut Cx<'_>) {
        if self.id {
            cx.pass_over(&MRTR_RETRY_NEW_ID);
        }
        if self.state.is_some() {
            cx.pass_over(&MRTR_RETRY_STATE_ECHO);
            cx.pass_over(&MRTR_NO_INVENTED_STATE);
        }
        if self.lacks.is_some() {
            cx.pass_over(&MRTR_RETRY_ANSWERS_ALL);
        }
        if self.params {
            cx.pass_over(&MRTR_RETRY_SAME_REQUEST);
        }
    }

    fn count(self) -> u32 {
        u32::from(self.id)
            + u32::from(self.state.is_some())
            + u32::from(self.lacks.is_some())
            + u32::from(self.params)
    }
}

/// The client sends a request.
pub(super) fn sent(part: &Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let Some(retry) = Retry::of(frame) else {
        return;
    };
    cx.ledger.saw(bit(When::RETRY));
    if retry.state != State::None {
        let state = retry.params.get("requestState");
        let has_odd = deep
            .exchanges
            .iter()
            .any(|(_, one)| one.state == State::Unclear);
        if retry.state == State::Unclear && has_odd {
            // It repeats what it was given.
            return;
        }
        if !state.is_some_and(|state| judge_state(part, cx, state)) {
            return;
        }
    }
    let exchanges = &deep.exchanges;
    let same_state: Vec<usize> = match retry.state {
        State::Some(_) => exchanges
            .iter()
            .filter(|(_, one)| one.state == retry.state)
            .map(|(at, _)| at)
            .collect(),
        _ => vec![],
    };
    let about = |at: &usize| retry.is_about(exchanges.get(*at));
    let mut found: Vec<usize> = same_state.iter().copied().filter(about).collect();
    if found.is_empty() {
        if let Some(&at) = same_state.last().filter(|_| !exchanges.is_lossy) {
            return for_another(part, cx, &retry, exchanges.get(at));
        }
        let open = |one: &Exchange| matches!(one.stage, Stage::Asked | Stage::Retried);
        found = exchanges
            .iter()
            .filter(|(_, one)| open(one) && retry.is_about(one) && retry.resembles(one))
            .map(|(at, _)| at)
            .collect();
    }
    let best = found
        .iter()
        .map(|&at| (at, retry.flaws(part, exchanges.get(at))))
        .min_by_key(|&(at, flaws)| {
            let stage = exchanges.get(at).stage;
            // A clean fit goes to the oldest that waits, a fault to the newest.
            let age = if flaws.count() == 0 {
                at
            } else {
                usize::MAX - at
            };
            (flaws.count(), stage as u8, age)
        });
    let Some((at, flaws)) = best else {
        return fits_nothing(part, deep, cx, &retry);
    };
    if exchanges.is_lossy && flaws.count() > 0 {
        // It may come back to one that was forgotten.
        return flaws.pass_over(cx);
    }
    report(part, cx, &retry, exchanges.get(at), flaws);
    judge_answers(part, cx, frame, &retry, exchanges.get(at));
    deep.exchanges.retry(at, retry.id);
}

/// What a flaw is as long as the question that the retry comes back to is the one that was seen: a question from before
/// the recording may have had the same state, or the same keys.
fn verdict(part: &Part) -> Verdict {
    match part.may_be_unseen() {
        true => Verdict::Unsure,
        false => Verdict::Broken,
    }
}

/// The state was given in answer to another request.
#[cold]
fn for_another(part: &Part, cx: &mut Cx<'_>, retry: &Retry<'_>, one: &Exchange) {
    let what = if retry.method == one.method {
        "of another name or uri"
    } else {
        "of another method"
    };
    let text = format!(
        "the requestState was given for a request {what}; it serves the retry of that one alone"
    );
    let state = retry.params.get("requestState");
    let frames = [one.frame, cx.frame];
    let rule = &MRTR_STATE_SINGLE_EXCHANGE;
    // It may have been given twice.
    part.case(cx, rule, verdict(part), None, &frames, state, text);
}

/// It comes back to no question that is known.
#[cold]
fn fits_nothing(part: &Part, deep: &Deep, cx: &mut Cx<'_>, retry: &Retry<'_>) {
    let exchanges = &deep.exchanges;
    if let State::Some(_) = retry.state {
        if exchanges.is_lossy || part.is(flag::GARBLED_IN) {
            return cx.pass_over(&MRTR_NO_INVENTED_STATE);
        }
        // The exchange may have begun on another connection, or before the recording.
        let text = "no result had this requestState".to_string();
        let (verdict, severity) = match part.is(flag::WHOLE) {
            true => (Verdict::Broken, None),
            false => (Verdict::Unsure, Some(Severity::Warning)),
        };
        let state = retry.params.get("requestState");
        let frames = [cx.frame];
        let rule = &MRTR_NO_INVENTED_STATE;
        return part.case(cx, rule, verdict, severity, &frames, state, text);
    }
    if !retry.has_keys() || exchanges.is_lossy {
        return;
    }
    let open = |one: &Exchange| matches!(one.stage, Stage::Asked | Stage::Retried);
    let waiting = || exchanges.iter().map(|(_, one)| one).filter(|one| open(one));
    if waiting().any(|one| retry.is_about(one)) {
        return;
    }
    let asks = |one: &&Exchange| {
        let mut keys = retry.keys();
        !one.is_vague && keys.all(|name| one.asked(name.key()).is_some())
    };
    let other = waiting().rfind(asks);
    let Some(other) = other else { return };
    let text = "the answers are under the keys of a question to another request".to_string();
    let frames = [other.frame, cx.frame];
    let severity = Some(Severity::Warning);
    let rule = &MRTR_STATE_SINGLE_EXCHANGE;
    part.case(
        cx,
        rule,
        verdict(part),
        severity,
        &frames,
        retry.answers,
        text,
    );
}

fn report(part: &Part, cx: &mut Cx<'_>, retry: &Retry<'_>, one: &Exchange, flaws: Flaws) {
    let frames = [one.frame, cx.frame];
    let verdict = verdict(part);
    let state = retry.params.get("requestState");
    if flaws.id {
        let text = format!(
            "the retry takes the id {} of the request that was answered with the question; it has a new one",
            retry.id
        );
        let rule = &MRTR_RETRY_NEW_ID;
        part.case(cx, rule, verdict, None, &frames, None, text);
    } else if one.first_id == retry.id {
        let text = format!(
            "the retry takes the id {}, with which the exchange began",
            retry.id
        );
        let (rule, severity) = (&MRTR_RETRY_NEW_ID, Some(Severity::Warning));
        part.case(cx, rule, verdict, severity, &frames, None, text);
    }
    if let Some(echo) = flaws.state {
        let (rule, text) = match echo {
            Echo::Missing => (
                &MRTR_RETRY_STATE_ECHO,
                "the retry has no requestState; it repeats that of the question",
            ),
            Echo::Other => (
                &MRTR_RETRY_STATE_ECHO,
                "the requestState of the retry differs from that of the question; it is repeated as it was",
            ),
            Echo::Old => (
                &MRTR_RETRY_STATE_ECHO,
                "the requestState is of an earlier question; the newest one counts",
            ),
            Echo::Invented => (
                &MRTR_NO_INVENTED_STATE,
                "the retry has a requestState, and the question had none",
            ),
        };
        part.case(cx, rule, verdict, None, &frames, state, text.to_string());
    }
    if flaws.params {
        let text = "the retry asks for something else than the request that it repeats; only what was asked for is added".to_string();
        let rule = &MRTR_RETRY_SAME_REQUEST;
        let params = Some(retry.params);
        part.case(cx, rule, verdict, None, &frames, params, text);
    }
    judge_keys(part, cx, retry, one, flaws.lacks);
}

fn judge_keys(
    part: &Part,
    cx: &mut Cx<'_>,
    retry: &Retry<'_>,
    one: &Exchange,
    lacks: Option<usize>,
) {
    let frames = [one.frame, cx.frame];
    let given = retry.params.get("inputResponses");
    // Answers that are no object are another rule's matter.
    if given.is_some_and(|given| !given.is_object()) {
        return;
    }
    let (verdict, rule) = (verdict(part), &MRTR_RETRY_ANSWERS_ALL);
    if let Some(at) = lacks {
        let text = format!(
            "the retry has no answer under {:?}, which the question asks for",
            one.keys[at].name
        );
        return part.case(cx, rule, verdict, None, &frames, retry.answers, text);
    }
    let mut extra = retry.keys().filter(|name| one.asked(name.key()).is_none());
    if let Some(name) = extra.next().filter(|_| !one.is_vague) {
        let text = format!(
            "the retry answers under {}, which nobody asked for",
            shown(name)
        );
        let severity = Some(Severity::Note);
        part.case(cx, rule, verdict, severity, &frames, Some(name), text);
    }
}

/// The answers, each by what was asked under its key.
fn judge_answers(
    part: &Part,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    retry: &Retry<'_>,
    one: &Exchange,
) {
    let (Some(answers), Some(mut walk)) = (retry.answers, Walk::begin(frame)) else {
        return;
    };
    let mut scanner = Scanner::recording();
    let requests = one.requests.as_deref().and_then(|text| {
        scanner.value(text, 0).ok()?;
        scanner.body(text)
    });
    for (name, answer) in answers.members() {
        let Some(asked) = one.asked(name.key()) else {
            continue;
        };
        let request = requests.and_then(|requests| {
            let mut members = requests.members();
            let found = members.find(|(known, _)| known.key() == asked.key);
            found.map(|(_, request)| request)
        });
        judge_answer(&mut walk, name, answer, asked.input, request);
    }
    walk.report_as(part, cx, verdict(part));
}

/// An answer inside a request, by what was asked under its name; the request itself where it is known.
pub(crate) fn judge_answer<'a>(
    walk: &mut Walk<'a>,
    name: Value<'a>,
    answer: Value<'a>,
    input: Input,
    request: Option<Value<'_>>,
) {
    if let Some(why) = wrapping(input, answer) {
        return walk.flaw(&MRTR_RESPONSE_SHAPE, answer, || {
            format!("the answer under {} {why}", shown(name))
        });
    }
    match (input, request) {
        (Input::Roots, _) => walk.object(answer, &roots::RESULT, &roots::ROOTS_RESULT_SHAPE),
        (_, Some(request)) => client_features::answered_inside(walk, request, answer),
        (_, None) => {}
    }
}

/// What stands around an answer that should be bare.
fn wrapping(input: Input, answer: Value<'_>) -> Option<&'static str> {
    if !answer.is_object() {
        return Some("is no object");
    }
    let member = match input {
        Input::Elicitation => "action",
        Input::Sampling => "content",
        Input::Roots => "roots",
        Input::Other => return None,
    };
    let has = |name| answer.get(name).is_some();
    if has("jsonrpc") || has("id") {
        return Some("is wrapped like a frame; it is the bare result");
    }
    if has(member) {
        return None;
    }
    if has("result") {
        return Some("is wrapped in `result`; it is the bare result");
    }
    let is_error = has("error") || has("code") && has("message");
    is_error.then_some("is an error; a client that has no answer does not come back")
}

/// A request comes to the server: whether it comes back with less than was asked.
pub(super) fn received(deep: &mut Deep, frame: &Frame<'_>) {
    let brings_mistyped = |params: Value<'_>| {
        let answers = params.get("inputResponses");
        answers.is_some_and(|answers| !answers.is_object())
    };
    let Some(retry) = Retry::of(frame) else {
        return;
    };
    if retry.answers.is_none() && brings_mistyped(retry.params) {
        return deep.exchanges.lack(retry.id, Lack::Mistyped);
    }
    let exchanges = &deep.exchanges;
    let fits = |one: &Exchange| match retry.state {
        State::Some(_) => one.state == retry.state && retry.is_about(one),
        _ => one.state == State::None && retry.is_about(one) && retry.resembles(one),
    };
    let found: Vec<usize> = exchanges
        .iter()
        .filter(|(_, one)| fits(one))
        .map(|(at, _)| at)
        .collect();
    let Some(&last) = found.last() else { return };
    let lacks = |&at: &usize| {
        let one = exchanges.get(at);
        let mut keys = one.keys.iter();
        !one.is_vague && keys.any(|asked| !retry.answers(asked.key))
    };
    let is_lacking = found.iter().all(lacks);
    let has_state = retry.state != State::None;
    deep.exchanges.retry(last, retry.id);
    if is_lacking {
        deep.exchanges.lack(retry.id, Lack::Lacking { has_state });
    }
}
