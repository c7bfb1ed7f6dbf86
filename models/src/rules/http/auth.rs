//! Tokens: who carries one, and how a request without one is refused.

use mcpsim_traces::event::Role;
use mcpsim_traces::http::Head;
use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};

use super::{HTTP, HTTP_SHOULD};
use crate::http::head::has_token_in_query;
use crate::http::{Exchange, Exchanges, Scene, mark};
use crate::observer::Seen;
use crate::rules::{Level, Rule, Side, When};

pub(crate) const HTTP_AUTH_HEADER: Rule = Rule {
    id: "http-auth-header",
    side: Side::Client,
    source: "2025-11-25 basic/authorization (Token Requirements)",
    says: "Once a token is used, every request carries it, in its Authorization header and never in the query.",
    why: "A request without it is refused in the middle of a session; a query ends up in logs.",
    when: When::HTTP_TOKEN,
    ..HTTP
};

pub(crate) const HTTP_401_INVALID_TOKEN: Rule = Rule {
    id: "http-401-invalid-token",
    level: Level::Must,
    side: Side::Server,
    source: "2025-11-25 basic/authorization (Token Handling)",
    says: "A request without a valid token gets 401 where a token is required.",
    why: "Served once without a token and once not, nobody knows what is protected.",
    when: When::HTTP_TOKEN,
    ..HTTP_SHOULD
};

pub(crate) const HTTP_401_CHALLENGE: Rule = Rule {
    id: "http-401-challenge",
    level_by: &[(Revision::V2025_11_25, Level::MayNote)],
    severity_by: &[(Revision::V2025_11_25, Severity::Note)],
    side: Side::Server,
    from: Revision::V2025_06_18,
    source: "2025-06-18 basic/authorization (Authorization Server Location)",
    says: "A 401 says in WWW-Authenticate where the metadata of the resource is.",
    why: "The client does not learn where to get a token, unless it guesses the well-known address.",
    when: When::HTTP_TOKEN,
    ..HTTP
};

/// The rows of this theme.
pub(crate) const ROWS: &[Rule] = &[HTTP_AUTH_HEADER, HTTP_401_INVALID_TOKEN, HTTP_401_CHALLENGE];

impl Exchanges {
    /// The token of a request.
    pub(crate) fn judge_token_sent(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        head: &Head<'_>,
        seen: Option<&Seen<'_>>,
    ) {
        let rule = &HTTP_AUTH_HEADER;
        if head.target().is_some_and(has_token_in_query) {
            let text = "the target carries an access token in its query; a token stands in the Authorization header";
            return self.broken(scene, Role::Client, rule, &[exchange.frame], text);
        }
        if exchange.is(mark::TOKEN) {
            scene.saw(When::HTTP_TOKEN);
            return;
        }
        if !exchange.is(mark::FIELDS) || !self.session.is_authorized {
            return;
        }
        // Seen from elsewhere, only the session shows that it was sent after the first token.
        let is_later = scene.is_client_exact()
            || self.session.is_opened_with_token
                && exchange.session.is_present()
                && exchange.session == self.session.id;
        if !is_later {
            return;
        }
        let what = seen.map_or("a request", |seen| crate::rules::ids::name(seen.message));
        let text =
            format!("{what} carries no Authorization header, although requests before it did");
        self.broken(scene, Role::Client, rule, &[exchange.frame], text);
    }

    /// The status of a request with or without a token.
    pub(crate) fn judge_token_of_answer(
        &mut self,
        scene: &mut Scene<'_>,
        exchange: &Exchange,
        head: &Head<'_>,
    ) {
        let Some(status) = exchange.status.filter(|_| self.is_endpoint(exchange)) else {
            return;
        };
        let frames = exchange.frames(exchange.answer_frame);
        if exchange.is(mark::TOKEN) {
            if status < 300 {
                self.session.is_authorized = true;
                self.session.is_opened_with_token |= exchange.is(mark::INITIALIZE);
            }
        } else if exchange.is(mark::FIELDS) && exchange.method != Method::None {
            if status == 401 {
                self.session.needs_token.insert(exchange.method);
            } else if status < 300 && self.session.needs_token.contains(&exchange.method) {
                let text = format!(
                    "{} is served without a token, for lack of which another one was refused with 401",
                    exchange.method.words()
                );
                let rule = &HTTP_401_INVALID_TOKEN;
                self.broken(scene, Role::Server, rule, &frames, text);
            }
        }
        if status != 401 || head.fields.is_none() {
            return;
        }
        scene.saw(When::HTTP_TOKEN);
        let mut challenges = head.values("www-authenticate").peekable();
        let text = if challenges.peek().is_none() {
            "401 without a WWW-Authenticate header, which says where the metadata of the resource is"
        } else if !challenges.any(|challenge| challenge.contains("resource_metadata")) {
            "the WWW-Authenticate header of a 401 has no resource_metadata parameter"
        } else {
            return;
        };
        self.broken(scene, Role::Server, &HTTP_401_CHALLENGE, &frames, text);
    }
}
