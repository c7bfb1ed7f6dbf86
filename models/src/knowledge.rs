//! What a party knew when it sent a frame, in words: how far the handshake was, what was open.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::message::Method;

use crate::ledger::Cx;
use crate::part::{In, Knows, Own, Part, flag, open};
use crate::rules::{Needs, Rule};

/// So many open requests are named, in each direction.
const NAMED_MAX: usize = 3;
/// So many are looked at to find them.
const LOOKED_AT_MAX: usize = 64;

impl Part {
    /// What the party knew, in a sentence; empty for rules that need no more than the frame, and for findings
    /// that are only counted.
    #[cold]
    pub(crate) fn knowledge(&self, cx: &Cx<'_>, rule: &Rule, verdict: Verdict) -> String {
        if rule.needs == Needs::Frame || cx.ledger.is_full(rule.id, verdict) {
            return String::new();
        }
        let mut parts = vec![self.handshake_in_words(cx.is_stateless)];
        let waiting = self.own.iter().take(LOOKED_AT_MAX);
        let waiting = waiting.filter(|own| own.frame != cx.frame || cx.frame == 0);
        let waiting = waiting.filter(|own| own.flags & open::CANCELLED == 0);
        let waiting: Vec<String> = waiting.map(|own| self.own_in_words(own)).collect();
        let more = self.own.len().saturating_sub(LOOKED_AT_MAX);
        parts.extend(list("waiting for ", &waiting, more));
        let owing = self.inn.iter().take(LOOKED_AT_MAX);
        let owing: Vec<String> = owing.map(|request| self.inn_in_words(request)).collect();
        let more = self.inn.len().saturating_sub(LOOKED_AT_MAX);
        parts.extend(list("owing ", &owing, more));
        parts.retain(|part| !part.is_empty());
        parts.join("; ")
    }

    fn handshake_in_words(&self, is_stateless: bool) -> String {
        if is_stateless {
            return "no session, each request speaks for itself".to_string();
        }
        if self.is(flag::FORCED) {
            let revision = self
                .revision
                .map_or("no revision", |revision| revision.as_str());
            return format!("judged by {revision}, as it was given");
        }
        if self.is(flag::JOINED) && !self.handshake_begun() {
            return "the start of the session was not seen".to_string();
        }
        match self.role {
            Role::Client => self.client_in_words(),
            Role::Server => self.server_in_words(),
        }
    }

    fn client_in_words(&self) -> String {
        if !self.is(flag::INIT_SENT) {
            return "initialize not sent".to_string();
        }
        let agreed = self.agreed();
        match (self.knows(self.opened), self.knows(self.refused)) {
            (Knows::Must, _) if self.is(flag::INITIALIZED_SENT) => {
                format!("{agreed}, initialized sent")
            }
            (Knows::Must, _) => format!("{agreed}, initialized not sent yet"),
            (Knows::May, _) if self.is(flag::INITIALIZED_SENT) => {
                format!("{agreed}, initialized sent")
            }
            (Knows::May, _) => format!("{agreed} if the answer to initialize had arrived"),
            (_, Knows::Must) => "initialize was refused".to_string(),
            (_, Knows::May) => "initialize was refused, if the answer had arrived".to_string(),
            _ => "initialize sent, not answered yet".to_string(),
        }
    }

    fn server_in_words(&self) -> String {
        if !self.is(flag::ANSWERED_INIT) {
            return match self.knows(self.opened) {
                _ if self.is(flag::INIT_REFUSED) => "initialize refused",
                Knows::Must => "initialize received, not answered yet",
                Knows::May => "initialize not answered yet, and perhaps not received",
                Knows::No => "no initialize received",
            }
            .to_string();
        }
        let agreed = self.agreed();
        match self.knows(self.initialized) {
            Knows::Must => format!("{agreed}, initialized received"),
            Knows::May => format!("{agreed}, initialized perhaps received"),
            Knows::No => format!("{agreed}, initialized not received yet"),
        }
    }

    fn agreed(&self) -> String {
        match self.revision {
            Some(revision) => format!("{revision} agreed on"),
            None => "no known revision agreed on".to_string(),
        }
    }

    fn own_in_words(&self, own: &Own) -> String {
        let name = name(own.method);
        match self.knows(own.answer) {
            Knows::No => format!("{name} {}", own.id),
            _ => format!("{name} {} (its answer may have arrived)", own.id),
        }
    }

    fn inn_in_words(&self, request: &In) -> String {
        let name = name(request.method);
        let doubt = match (self.knows(request.fact), self.knows(request.cancel)) {
            (Knows::May, _) => " (which may not have arrived)",
            (_, Knows::Must) => " (cancelled)",
            (_, Knows::May) => " (whose cancel may have arrived)",
            _ => "",
        };
        format!("{name} {}{doubt}", request.id)
    }
}

fn name(method: Method) -> &'static str {
    match method.as_str() {
        "" => "an unknown method",
        name => name,
    }
}

/// A few by name, the rest counted; `None` where there is nothing.
fn list(verb: &str, all: &[String], more: usize) -> Option<String> {
    let first = all.len().min(NAMED_MAX);
    let rest = all.len() - first + more;
    let mut text = verb.to_string();
    match (&all[..first], rest) {
        ([], 0) => return None,
        ([], rest) => text.push_str(&format!("up to {rest} more")),
        ([one], 0) => text.push_str(one),
        ([before @ .., last], 0) => {
            text.push_str(&format!("{} and {last}", before.join(", ")));
        }
        (named, rest) => text.push_str(&format!("{} and {rest} more", named.join(", "))),
    }
    Some(text)
}

#[cfg(test)]
mod tests {

    use crate::examples::{How, judge, spell_out};

    /// What the party knew when it broke the rule.
    fn knew(options: &str, rule: &str, session: &str) -> String {
        let lines = spell_out(session.lines().map(str::trim)).expect("a session");
        let findings = judge(&lines, &How::parse(options).expect("options"));
        let found = findings.iter().find(|finding| finding.rule == rule);
        found.unwrap_or_else(|| panic!("{findings:?}")).knew.clone()
    }

    #[test]
    fn the_handshake_and_what_is_open_are_told() {
        let session = r#"handshake
            c2s {"id":1,"method":"tools/call","params":{"name":"t"}}
            s2c {"id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}
            c2s {"id":9,"result":{}}"#;
        assert_eq!(
            knew("", "response-unknown-id", session),
            "2025-06-18 agreed on, initialized sent; waiting for tools/call 1; owing sampling/createMessage 1"
        );
        assert_eq!(
            knew("vantage=server", "response-unknown-id", session),
            "2025-06-18 agreed on, initialized sent; waiting for tools/call 1; \
             owing sampling/createMessage 1 (which may not have arrived)"
        );
    }

    #[test]
    fn before_the_handshake() {
        assert_eq!(
            knew(
                "",
                "initialize-first",
                r#"c2s {"id":1,"method":"tools/list"}"#
            ),
            "initialize not sent"
        );
        let session = r#"c2s {"id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}
            s2c {"id":5,"method":"roots/list"}"#;
        assert_eq!(
            knew("", "server-request-before-initialized", session),
            "initialize received, not answered yet; owing initialize 1"
        );
    }

    #[test]
    fn a_few_are_named_and_the_rest_is_counted() {
        let calls: Vec<String> = (1..=80)
            .map(|id| format!("c2s {{\"id\":{id},\"method\":\"ping\"}}\n"))
            .collect();
        let session = format!(
            "handshake\n{}c2s {{\"id\":\"x\",\"result\":{{}}}}",
            calls.concat()
        );
        assert_eq!(
            knew("", "response-unknown-id", &session),
            "2025-06-18 agreed on, initialized sent; waiting for ping 1, ping 2, ping 3 and 77 more"
        );
    }

    /// A rule about the frame alone needs no knowledge.
    #[test]
    fn rules_of_the_frame_alone_tell_nothing() {
        let session = "handshake\nc2s= {\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}";
        assert_eq!(knew("", "jsonrpc-version", session), "");
    }
}
