//! Elicitation by form and by URL.

mod fit;
mod given;
mod hints;
mod rows;
mod shapes;
mod url;

use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::Revision;
use mcpsim_traces::tape::Value;

use crate::deep::{Asked, Deep, Frame};
use crate::ledger::{Cx, bit};
use crate::part::Part;
use crate::rules::asks::{Declared, Told, may_be_cancelled};
use crate::rules::{Rule, When};
use crate::shape::{self, Walk, shown};

pub(crate) use given::{COMPLETE, Given, URL_REQUIRED};
use rows::{
    ELICIT_ACCEPT_CONTENT, ELICIT_ACTION, ELICIT_CONTENT_VALUE_TYPE, ELICIT_CONTENT_WITH_DECLINE,
    ELICIT_FORM_PARAMS, ELICIT_MODE_ERROR, ELICIT_MODE_UNDECLARED, ELICIT_MODE_VALUE,
    ELICIT_URL_CONTENT, ELICIT_URL_PARAMS, ELICIT_URL_SECRETS,
};
pub(crate) use rows::{ELICIT_CAPABILITY_MODE, ROWS};

/// The server asks for an elicitation, inside a session.
pub(crate) fn requested(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let (Some(mut walk), Some(params)) = (Walk::begin(frame), frame.payload) else {
        return shape::judge(part, cx, frame, &shapes::FORM, &ELICIT_FORM_PARAMS);
    };
    judge_request(&mut walk, params, &Declared::of_session(part, deep));
    walk.report(part, cx);
    given::asked_for(part, deep, cx, params);
}

/// How an elicitation is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Form,
    Url,
    /// Something that is no mode.
    Neither,
}

impl Mode {
    /// The mode of a request; before 2025-11-25 there are forms only.
    fn of(params: Value<'_>, has_modes: bool) -> Mode {
        match params.get("mode") {
            Some(mode) if has_modes && mode.is("url") => Mode::Url,
            Some(mode) if has_modes && !mode.is("form") => Mode::Neither,
            _ => Mode::Form,
        }
    }

    /// Whether the client declared elicitation, and not this mode of it.
    fn is_undeclared(self, declared: &Declared) -> bool {
        match self {
            Mode::Form => declared.form == Told::No,
            Mode::Url => declared.url == Told::No,
            Mode::Neither => false,
        }
    }
}

/// What is wrong with an elicitation, be it a frame's or one inside a result.
pub(crate) fn judge_request<'a>(walk: &mut Walk<'a>, params: Value<'a>, declared: &Declared) {
    // Not settled, it may be older: then the mode means nothing.
    if !walk.every(Revision::V2025_06_18, Revision::V2026_07_28) {
        return;
    }
    let has_modes = walk.every(Revision::V2025_11_25, Revision::V2026_07_28);
    let mode = Mode::of(params, has_modes);
    if mode.is_undeclared(declared) {
        let value = params.get("mode").unwrap_or(params);
        let name = if mode == Mode::Url { "url" } else { "form" };
        walk.flaw(&ELICIT_MODE_UNDECLARED, value, || {
            format!("an elicitation by {name}, but the client did not declare `elicitation.{name}`")
        });
    }
    match mode {
        Mode::Form => {
            walk.object(params, &shapes::FORM, &ELICIT_FORM_PARAMS);
            hints::judge_form(walk, params);
        }
        Mode::Url => {
            walk.object(params, &shapes::BY_URL, &ELICIT_URL_PARAMS);
            judge_url(walk, params);
        }
        Mode::Neither => {
            if let Some(mode) = params.get("mode") {
                walk.flaw(&ELICIT_MODE_VALUE, mode, || {
                    format!(
                        "the mode of an elicitation is {}; it is form or url",
                        shown(mode)
                    )
                });
            }
        }
    }
}

fn judge_url<'a>(walk: &mut Walk<'a>, params: Value<'a>) {
    if let (true, Some(id)) = (walk.is_stateless(), params.get("elicitationId")) {
        walk.flaw_at(&ELICIT_URL_PARAMS, Severity::Note, id, || {
            "an elicitation has an elicitationId, which 2026-07-28 took out".to_string()
        });
    }
    let Some(value) = params.get("url") else {
        return;
    };
    let Some(text) = value.as_text().filter(|text| url::is_url(text)) else {
        return;
    };
    walk.saw(When::BY_URL);
    if url::is_plain_http(&text) {
        let (rule, severity) = if walk.is_stateless() {
            (&ELICIT_URL_SECRETS, Severity::Error)
        } else {
            (&ELICIT_URL_PARAMS, Severity::Note)
        };
        walk.flaw_at(rule, severity, value, || {
            format!(
                "the url {} goes over plain http; outside development it is https",
                shown(value)
            )
        });
    }
    let secret = url::secret_in(&text);
    // Outside sessions only what is certain is a rule.
    let secret = secret.filter(|secret| !walk.is_stateless() || *secret == url::Secret::Login);
    if let Some(secret) = secret {
        walk.flaw(&ELICIT_URL_SECRETS, value, || {
            format!(
                "the url of an elicitation seems to hold {}",
                secret.as_str()
            )
        });
    }
}

/// The client answers an elicitation.
pub(crate) fn answered(
    part: &mut Part,
    deep: &mut Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    asked: &Asked,
) {
    let (Some(mut walk), Some(result)) = (Walk::begin(frame), frame.payload) else {
        return;
    };
    judge_result(&mut walk, result);
    let is_wrong = is_misshapen(&walk);
    walk.report(part, cx);
    let Some(revision) = frame.revision else {
        return;
    };
    let frames = [asked.frame, cx.frame];
    asked.read_params(|params| {
        let has_modes = revision >= Revision::V2025_11_25;
        let mode = Mode::of(params, has_modes);
        if has_modes && mode.is_undeclared(&Declared::of_session(part, deep)) {
            cx.ledger.saw(bit(When::MISASKED));
            let text = "the client answers an elicitation in a mode that it did not declare; it refuses that with -32602";
            part.broken(cx, &ELICIT_MODE_ERROR, &frames, text.to_string());
        } else if !is_wrong && revision >= Revision::V2025_06_18 {
            judge_fit(params, result, revision, &mut |rule, value, text| {
                part.case(cx, rule, Verdict::Broken, None, &frames, value, text);
            });
        }
    });
}

/// What is wrong with the result of an elicitation, be it a frame's or one inside a request.
pub(crate) fn judge_result<'a>(walk: &mut Walk<'a>, result: Value<'a>) {
    walk.object(result, &shapes::RESULT, &ELICIT_ACTION);
}

/// Whether an answer is too wrong to be held against what was asked for.
pub(crate) fn is_misshapen(walk: &Walk<'_>) -> bool {
    walk.has(&ELICIT_ACTION) || walk.has(&ELICIT_CONTENT_VALUE_TYPE)
}

/// Takes a finding: rule, value, words.
pub(crate) type Tell<'t, 'a> = &'t mut dyn FnMut(&'static Rule, Option<Value<'a>>, String);

/// Whether an answer whose form is right fits what was asked for.
pub(crate) fn judge_fit<'a>(
    params: Value<'_>,
    result: Value<'a>,
    revision: Revision,
    tell: Tell<'_, 'a>,
) {
    let is_accepted = result
        .get("action")
        .is_some_and(|action| action.is("accept"));
    let content = result.get("content");
    match (Mode::of(params, revision >= Revision::V2025_11_25), content) {
        (Mode::Url, Some(content)) if is_accepted || revision.has_handshake() => {
            let text = "the answer to an elicitation by url has content; what the user enters there does not pass through the client";
            tell(&ELICIT_URL_CONTENT, Some(content), text.to_string());
        }
        (Mode::Form, Some(content)) if !is_accepted && content.members().next().is_some() => {
            let text = "the user did not accept, and the answer has content all the same";
            tell(
                &ELICIT_CONTENT_WITH_DECLINE,
                Some(content),
                text.to_string(),
            );
        }
        (Mode::Form, content) if is_accepted => {
            let Some(schema) = params.get("requestedSchema") else {
                return;
            };
            if let Some((value, text)) = fit::misfit(schema, result, content) {
                tell(&ELICIT_ACCEPT_CONTENT, Some(value), text);
            }
        }
        _ => {}
    }
}

/// The client refuses an elicitation.
pub(crate) fn refused(
    part: &mut Part,
    deep: &Deep,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    asked: &Asked,
) {
    let code = frame.message.number;
    let is_new = frame.revision == Some(Revision::V2025_11_25);
    if !is_new || code == -32602 || may_be_cancelled(part, frame) {
        return;
    }
    let declared = Declared::of_session(part, deep);
    let is_undeclared = |params: Value<'_>| Mode::of(params, true).is_undeclared(&declared);
    if asked.read_params(is_undeclared) == Some(true) {
        cx.ledger.saw(bit(When::MISASKED));
        let text = format!(
            "an elicitation in a mode that the client did not declare is refused with {code}; the code for that is -32602"
        );
        part.broken(cx, &ELICIT_MODE_ERROR, &[asked.frame, cx.frame], text);
    }
}
