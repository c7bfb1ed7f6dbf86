//! Sessions that break a rule and sessions that only nearly do: the cases that the tests run, for the reader.

mod http;
mod session;

pub use session::{How, Line, judge, spell_out};

/// The cases of each category, as they are tested.
const FILES: &[&str] = &[
    include_str!("../cases/batch.md"),
    include_str!("../cases/cancellation.md"),
    include_str!("../cases/capability.md"),
    include_str!("../cases/envelope.md"),
    include_str!("../cases/errors.md"),
    include_str!("../cases/ids.md"),
    include_str!("../cases/correlation.md"),
    include_str!("../cases/lifecycle.md"),
    include_str!("../cases/notification.md"),
    include_str!("../cases/ping.md"),
    include_str!("../cases/progress.md"),
    include_str!("../cases/tools.md"),
    include_str!("../cases/transport-stdio.md"),
    include_str!("../cases/resources.md"),
    include_str!("../cases/prompts.md"),
    include_str!("../cases/completion.md"),
    include_str!("../cases/logging.md"),
    include_str!("../cases/roots.md"),
    include_str!("../cases/sampling.md"),
    include_str!("../cases/elicitation.md"),
    include_str!("../cases/tasks.md"),
    include_str!("../cases/pagination.md"),
    include_str!("../cases/transport-http.md"),
    include_str!("../cases/payload.md"),
    include_str!("../cases/stateless-envelope.md"),
    include_str!("../cases/stateless-correlation.md"),
    include_str!("../cases/stateless-versioning.md"),
    include_str!("../cases/stateless-eras.md"),
    include_str!("../cases/stateless-discovery.md"),
    include_str!("../cases/stateless-request-meta.md"),
    include_str!("../cases/stateless-result-type.md"),
    include_str!("../cases/stateless-payload.md"),
    include_str!("../cases/stateless-mrtr.md"),
    include_str!("../cases/stateless-subscriptions.md"),
    include_str!("../cases/stateless-capability.md"),
    include_str!("../cases/stateless-tools.md"),
    include_str!("../cases/stateless-client-features.md"),
    include_str!("../cases/stateless-utilities.md"),
    include_str!("../cases/stateless-errors.md"),
    include_str!("../cases/stateless-tasks-extension.md"),
    include_str!("../cases/stateless-transport-http.md"),
    include_str!("../cases/stateless-transport-stdio.md"),
];

/// One session and what is found in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    /// What it shows, in a sentence; may be empty.
    pub why: String,
    /// How it is judged: the words behind `frames` ([`How::parse`]).
    pub options: &'static str,
    /// The session, one frame or event a line, in the short form of the cases.
    pub frames: Vec<&'static str>,
    /// What is found, as `rule blame verdict severity [frames]`, parted by semicolons; or `none`.
    pub findings: &'static str,
}

impl Example {
    /// Whether that rule is found in it: broken, or (where no log can prove it) unsure.
    pub fn finds(&self, rule: &str) -> bool {
        self.findings
            .split(';')
            .any(|finding| finding.split_whitespace().next() == Some(rule))
    }

    /// The session spelled out: frames as they are on the wire, and events.
    ///
    /// # Errors
    /// A line that has no meaning; the tests see to it that there is none.
    pub fn lines(&self) -> Result<Vec<Line>, String> {
        spell_out(self.frames.iter().copied())
    }

    /// How it is judged.
    ///
    /// # Errors
    /// A word that has no meaning; the tests see to it that there is none.
    pub fn how(&self) -> Result<How, String> {
        How::parse(self.options)
    }
}

/// A line of a session with its abbreviations spelled out: `$M` is the `_meta` member that every request
/// of 2026-07-28 carries, `$M({…})` the same with those client capabilities, and `$/` the prefix
/// `io.modelcontextprotocol/`. Of HTTP, `$H` are the headers of every POST, `$V` those of 2026-07-28, `$J` is the head of an answer in
/// JSON and `$E` that of a stream of events.
pub fn expand(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("$M") {
        text.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let mut capabilities = "{}";
        if let Some(inner) = rest.strip_prefix('(') {
            let end = inner.find(")").unwrap_or(inner.len());
            capabilities = &inner[..end];
            rest = inner.get(end + 1..).unwrap_or("");
        }
        text.push_str("\"_meta\":{\"$/protocolVersion\":\"2026-07-28\",\"$/clientCapabilities\":");
        text.push_str(capabilities);
        text.push('}');
    }
    text.push_str(rest);
    let http = [
        (
            "$H",
            "\"content-type\":\"application/json\",\"accept\":\"application/json, text/event-stream\"",
        ),
        (
            "$V",
            "\"content-type\":\"application/json\",\"accept\":\"application/json, text/event-stream\",\
             \"mcp-protocol-version\":\"2026-07-28\"",
        ),
        ("$J", "200 {\"content-type\":\"application/json\"}"),
        ("$E", "200 {\"content-type\":\"text/event-stream\"}"),
        ("$/", "io.modelcontextprotocol/"),
    ];
    for (short, long) in http {
        if text.contains(short) {
            text = text.replace(short, long);
        }
    }
    text
}

/// The examples of that rule, in the order in which they are written.
pub fn examples(rule: &str) -> Vec<Example> {
    FILES.iter().flat_map(|file| of_file(file, rule)).collect()
}

fn of_file(file: &'static str, rule: &str) -> Vec<Example> {
    let mut found = vec![];
    let mut here = false;
    let mut is_inside = false;
    let mut why: Vec<&str> = vec![];
    let (mut options, mut frames) = ("", vec![]);
    for line in file.lines() {
        if is_inside {
            is_inside = !line.starts_with("```");
            if is_inside {
                frames.push(line);
            }
        } else if let Some(heading) = line.strip_prefix("## ") {
            here = heading.trim() == rule;
            why.clear();
        } else if let Some(words) = line.strip_prefix("```frames") {
            is_inside = true;
            options = words.trim();
            frames.clear();
        } else if let Some(findings) = line.strip_prefix("findings:") {
            if here {
                found.push(Example {
                    why: why.join(" "),
                    options,
                    frames: std::mem::take(&mut frames),
                    findings: findings.trim(),
                });
            }
            why.clear();
        } else if !line.trim().is_empty() {
            why.push(line.trim());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules;

    /// The reader of `explain` is never left without a session of either kind.
    #[test]
    fn every_rule_has_both_kinds_of_example() {
        for rule in rules() {
            let found = examples(rule.id);
            assert!(
                found.iter().any(|example| example.finds(rule.id)),
                "{}: none breaks it",
                rule.id
            );
            assert!(
                found.iter().any(|example| !example.finds(rule.id)),
                "{}: no near-miss",
                rule.id
            );
            assert!(
                found.iter().all(|example| !example.frames.is_empty()),
                "{}: an empty session",
                rule.id
            );
        }
    }
}
