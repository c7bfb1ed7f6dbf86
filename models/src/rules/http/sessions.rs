//! Session ids: given once, sent with everything, and dead after the end.

use mcpsim_traces::event::Role;
use mcpsim_traces::http::Head;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::key::Key;

use super::{HTTP, HTTP_NOTE, HTTP_SHOULD};
use crate::http::{Dead, Exchange, Exchanges, Fault, HowDead, Issued, Past, Scene, Verb, mark};
use crate::observer::Seen;
use crate::part::Knows;
use crate::rules::ids::name;
use crate::rules::{Basis, Level, Rule, Side, When};

pub(crate) const HTTP_SESSION_ID_CHARSET: Rule = Rule {
    id: "http-session-id-charset",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "A session id has visible ASCII characters only.",
    why: "Anything else is changed or refused on the way, and the session is not found again.",
    when: When::HTTP_SESSION,
    ..HTTP
};

pub(crate) const HTTP_SESSION_ID_ISSUE: Rule = Rule {
    id: "http-session-id-issue",
    level: Level::MayNote,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "The session id comes with the answer to initialize.",
    why: "Clients look for it there: one that comes later, or changes, is never sent back.",
    when: When::HTTP_SESSION,
    ..HTTP_NOTE
};

pub(crate) const HTTP_SESSION_ID_SENT: Rule = Rule {
    id: "http-session-id-sent",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "Once given, the session id is sent with every request: one-way messages, GET and DELETE included.",
    why: "Without it the server finds no session and refuses the request.",
    when: When::HTTP_SESSION,
    ..HTTP
};

pub(crate) const HTTP_SESSION_REQUIRED_400: Rule = Rule {
    id: "http-session-required-400",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "A request without the session id is refused with 400.",
    why: "By 404 the client would take its session for dead and begin anew.",
    when: When::HTTP_SESSION,
    ..HTTP_NOTE
};

pub(crate) const HTTP_SESSION_ENDED_404: Rule = Rule {
    id: "http-session-ended-404",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "Requests of a session that has ended get 404.",
    why: "By 404 alone a client learns that it has to begin anew; after anything else it fails for good.",
    when: When::HTTP_SESSION,
    ..HTTP
};

pub(crate) const HTTP_404_NEW_SESSION: Rule = Rule {
    id: "http-404-new-session",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "After 404 the client begins a new session: by initialize, without the old id.",
    why: "Nothing under the old id is ever served again.",
    when: When::HTTP_SESSION,
    ..HTTP
};

pub(crate) const HTTP_SESSION_ID_ON_INITIALIZE: Rule = Rule {
    id: "http-session-id-on-initialize",
    side: Side::Client,
    severity: Severity::Warning,
    tier: 2,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "initialize carries no session id.",
    why: "It opens a session; under an old id the server looks for that one.",
    when: When::HTTP_POST,
    ..HTTP
};

pub(crate) const HTTP_DELETE_ON_LEAVE: Rule = Rule {
    id: "http-delete-on-leave",
    side: Side::Client,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "A client that no longer needs a session sends DELETE.",
    why: "Until its own timer runs out the server keeps everything that it holds for the session.",
    when: When::HTTP_SESSION,
    ..HTTP_NOTE
};

pub(crate) const HTTP_SESSION_ID_UNIQUE: Rule = Rule {
    id: "http-session-id-unique",
    side: Side::Server,
    source: "2025-11-25 basic/transports (Session Management)",
    says: "Each session gets an id of its own.",
    why: "Two clients under one id see each other's messages.",
    when: When::HTTP_SESSION,
    ..HTTP_SHOULD
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[
    HTTP_SESSION_ID_CHARSET,
    HTTP_SESSION_ID_ISSUE,
    HTTP_SESSION_ID_SENT,
    HTTP_SESSION_REQUIRED_400,
    HTTP_SESSION_ENDED_404,
    HTTP_404_NEW_SESSION,
    HTTP_SESSION_ID_ON_INITIALIZE,
    HTTP_DELETE_ON_LEAVE,
    HTTP_SESSION_ID_UNIQUE,
];

/// What the client sends, in words.
fn what(exchange: &Exchange, seen: Option<&Seen<'_>>) -> &'static str {
    match (seen, exchange.verb) {
        (Some(seen), _) if seen.message.kind.is_response() => "a response",
        (Some(seen), _) => name(seen.message),
        (None, Verb::Get) => "a GET",
        (None, Verb::Delete) => "a DELETE",
        (None, _) => "a request",
    }
}

impl Exchanges {
    /// The session header of a request.
    pub(crate) fn judge_session_sent(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        seen: Option<&Seen<'_>>,
    ) {
        if exchange.verb == Verb::Delete && exchange.session == self.session.id {
            self.session.asked_to_end = true;
        }
        self.mark_after_end(exchange);
        if !exchange.is(mark::FIELDS) {
            return;
        }
        let past = self.past.iter().find(|past| past.id == exchange.session);
        let past = past.copied().filter(|_| exchange.session.is_present());
        if exchange.is(mark::INITIALIZE) {
            let dead = past.and_then(|past| past.dead);
            return self.judge_session_on_initialize(scene, exchange, dead);
        }
        if let Some(past) = past.filter(|past| past.id != self.session.id) {
            exchange.set(mark::OTHER_SESSION);
            if let Some(dead) = past.dead {
                self.judge_goes_on(scene, exchange, dead, seen);
            }
            return;
        }
        if exchange.is(mark::AFTER_END)
            && let Some(dead) = self.session.dead
        {
            self.judge_goes_on(scene, exchange, dead, seen);
            return;
        }
        if self.session.issued != Issued::Given || exchange.session == self.session.id {
            return;
        }
        let is_lacking = !exchange.session.is_present();
        if is_lacking {
            exchange.set(mark::NO_SESSION);
        }
        let knew = self.client_knew(scene, exchange, seen.map(|seen| seen.message));
        let text = format!(
            "{} {}; the server gave the session an id with the answer to initialize",
            what(exchange, seen),
            if is_lacking {
                "carries no session id"
            } else {
                "carries another session id"
            }
        );
        let frames = [self.session.issued_frame, exchange.frame];
        let fault = Fault::new(Role::Client, &HTTP_SESSION_ID_SENT, &frames, text);
        match knew {
            Knows::Must => self.say(scene, fault),
            // It may have been under way already.
            Knows::May if seen.is_none() => self.say(scene, fault.unsure()),
            Knows::May | Knows::No => {}
        }
    }

    /// The request comes after the session was known to have ended.
    pub(crate) fn mark_after_end(&mut self, exchange: &mut Exchange) {
        let Some(dead) = self.session.dead else {
            return;
        };
        let is_named = exchange.session.is_present() && exchange.session == self.session.id;
        // In a log without headers, what stands in the session belongs to it.
        let is_assumed = dead.how == HowDead::Exited && !exchange.is(mark::FIELDS);
        if is_named || is_assumed {
            exchange.set(mark::AFTER_END);
        }
    }

    fn judge_session_on_initialize(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        dead: Option<Dead>,
    ) {
        if !exchange.session.is_present() {
            return;
        }
        if let Some(dead) = dead.filter(|dead| dead.how == HowDead::NotFound) {
            let text = "initialize carries the id of the session that is not found any more";
            let frames = [dead.frame, exchange.frame];
            let fault = Fault::new(Role::Client, &HTTP_404_NEW_SESSION, &frames, text);
            let is_sure = scene.is_client_exact();
            return self.say(scene, fault.sure_if(is_sure));
        }
        let text = "initialize carries a session id; it opens a session";
        let rule = &HTTP_SESSION_ID_ON_INITIALIZE;
        self.broken(scene, Role::Client, rule, &[exchange.frame], text);
    }

    /// The client goes on with a session of which it was told that it is not found.
    fn judge_goes_on(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        dead: Dead,
        seen: Option<&Seen<'_>>,
    ) {
        let is_sure = scene.is_client_exact();
        if dead.how != HowDead::NotFound || dead.is_told && !is_sure {
            return;
        }
        if let Some(dead) = &mut self.session.dead {
            dead.is_told = true;
        }
        let text = format!(
            "{} carries the id of a session that was answered with 404; the client begins a new one",
            what(exchange, seen)
        );
        let frames = [dead.frame, exchange.frame];
        let fault = Fault::new(Role::Client, &HTTP_404_NEW_SESSION, &frames, text);
        self.say(scene, fault.sure_if(is_sure));
    }

    /// The session header of an answer, and statuses that concern the session.
    pub(crate) fn judge_session_of_answer(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &mut Exchange,
        head: &Head<'_>,
    ) {
        let Some(status) = exchange.status else {
            return;
        };
        let id = head.value("mcp-session-id").filter(|id| !id.is_empty());
        if head.fields.is_some() && status < 300 {
            let key = id.map_or(Key::ABSENT, |id| Key::text(id.as_bytes()));
            if id.is_some() {
                scene.saw(When::HTTP_SESSION);
            }
            if exchange.is(mark::INITIALIZE) {
                self.take_session_id(scene, exchange, key);
            } else {
                self.judge_late_id(scene, exchange, key);
            }
            let is_new = self.session.checked != key;
            if let Some(id) = id.filter(|_| is_new) {
                self.session.checked = key;
                self.judge_charset(scene, exchange, id);
            }
        }
        self.judge_after_end(scene, exchange, status);
        self.judge_without_id(scene, exchange, status);
        if !self.is_endpoint(exchange) {
            return;
        }
        let is_session = exchange.session.is_present() && exchange.session == self.session.id;
        if status == 404 && is_session {
            self.die(HowDead::NotFound, exchange.answer_frame);
        } else if exchange.verb == Verb::Delete && (200..300).contains(&status) && is_session {
            self.die(HowDead::Deleted, exchange.answer_frame);
        }
    }

    fn judge_charset(&mut self, scene: &mut Scene<'_>, exchange: &Exchange, id: &str) {
        if id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return;
        }
        let text = "the session id has a character outside of visible ASCII";
        let rule = &HTTP_SESSION_ID_CHARSET;
        let frames = exchange.frames(exchange.answer_frame);
        self.broken(scene, Role::Server, rule, &frames, text);
    }

    /// The answer to initialize: the session has that id, or none.
    fn take_session_id(&mut self, scene: &mut Scene<'_>, exchange: &Exchange, id: Key) {
        self.session.issued = if id.is_present() {
            Issued::Given
        } else {
            Issued::Never
        };
        self.session.id = id;
        self.session.issued_frame = exchange.answer_frame;
        let is_other = |past: &&Past| {
            past.id == id && (past.is_opened || past.opening != self.session.opening)
        };
        let other = self.past.iter().find(is_other).copied();
        if let Some(past) = other.filter(|_| id.is_present()) {
            self.past.retain(|past| past.id != id);
            let text = "a second session gets the id of an earlier one; each gets its own";
            let frames = [past.frame, exchange.answer_frame];
            let rule = &HTTP_SESSION_ID_UNIQUE;
            self.broken(scene, Role::Server, rule, &frames, text);
        }
    }

    /// A session id on another answer than that to initialize.
    fn judge_late_id(&mut self, scene: &mut Scene<'_>, exchange: &Exchange, id: Key) {
        if !id.is_present() || id == self.session.id {
            return;
        }
        let frames = [self.session.issued_frame, exchange.answer_frame];
        let rule = &HTTP_SESSION_ID_ISSUE;
        let fault = match self.session.issued {
            Issued::Unknown => return,
            Issued::Never => {
                let text = "a session id comes for the first time here; it comes with the answer to initialize";
                // What the client makes of it is not said anywhere.
                self.session.issued = Issued::Unknown;
                Fault::new(Role::Server, rule, &frames, text)
            }
            Issued::Given => {
                let text = "an answer carries another session id than the answer to initialize";
                Fault::new(Role::Server, rule, &frames, text).at(Severity::Warning)
            }
        };
        self.say(scene, fault);
    }

    /// The status of a request that names a session after its end.
    fn judge_after_end(&mut self, scene: &mut Scene<'_>, exchange: &Exchange, status: u16) {
        let Some(dead) = self.session.dead.filter(|_| exchange.is(mark::AFTER_END)) else {
            return;
        };
        let is_excused = matches!(status, 300..=399 | 401 | 403 | 404 | 429 | 500..=599)
            || status == 405 && exchange.verb != Verb::Post;
        if is_excused {
            return;
        }
        let frames = [dead.frame, exchange.answer_frame];
        let rule = &HTTP_SESSION_ENDED_404;
        let fault = match dead.how {
            // Another program may know its sessions: then it serves them.
            HowDead::Exited if status < 300 => {
                self.session.dead = None;
                return;
            }
            HowDead::Exited => {
                let text = format!(
                    "a request of a session from before the server ended is answered with {status}; \
                        a session that is gone is answered with 404"
                );
                Fault::new(Role::Server, rule, &frames, text).unsure()
            }
            HowDead::Deleted | HowDead::NotFound => {
                let text = format!(
                    "a request of a session that has ended is answered with {status}; it is answered with 404"
                );
                Fault::new(Role::Server, rule, &frames, text)
            }
        };
        self.say(scene, fault);
    }

    /// The status of a request without the session's id.
    fn judge_without_id(&mut self, scene: &mut Scene<'_>, exchange: &Exchange, status: u16) {
        let is_excused = matches!(
            status,
            300..=399 | 400 | 401 | 403 | 405 | 406 | 413 | 415 | 429 | 500..=599
        );
        if !exchange.is(mark::NO_SESSION) || is_excused {
            return;
        }
        let text = if status < 300 {
            format!(
                "a request without the session's id is served with {status}; it is refused with 400"
            )
        } else {
            format!(
                "a request without the session's id is refused with {status}; it is refused with 400"
            )
        };
        let frames = exchange.frames(exchange.answer_frame);
        let rule = &HTTP_SESSION_REQUIRED_400;
        self.broken(scene, Role::Server, rule, &frames, text);
    }

    /// At the end of the log.
    pub(crate) fn judge_leaving(&mut self, scene: &mut Scene<'_>, has_left: bool) {
        let session = &self.session;
        let is_left = has_left && session.issued == Issued::Given && session.dead.is_none();
        if !is_left || session.asked_to_end {
            return;
        }
        let text = "the client leaves and sends no DELETE for its session";
        let frames = [session.issued_frame];
        let rule = &HTTP_DELETE_ON_LEAVE;
        self.broken(scene, Role::Client, rule, &frames, text);
    }
}
