//! `mcpsim explain`: what a rule says, why it exists, where it is written, how it is broken and how it is kept.

use serde::Serialize;

use super::args::{ExplainArgs, Format};
use super::evidence::excerpt_lines;
use super::findings::{blame_words, level_words};
use super::list::{RuleRow, rule_row};
use super::outcome::{Failure, Outcome, Result, print, unknown};
use super::report::to_json;
use crate::models::examples::{Example, How, Line, examples, judge};
use crate::models::rules::{NOT_JUDGED, NotJudged, cite, milder};
use crate::models::{Rule, rule, rules};
use crate::traces::event::{FrameNo, Role};
use crate::traces::http::{Http, Start};
use crate::traces::judge::{Finding, Vantage, Verdict};
use crate::traces::message::Revision;
use crate::traces::show::{escape, escape_bytes};

#[derive(Serialize)]
struct ExplainReport {
    schema: &'static str,
    judged: bool,
    #[serde(flatten)]
    row: RuleRow,
    why: &'static str,
    basis_in_words: &'static str,
    blame_in_words: &'static str,
    needs_in_words: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    less_severe: Option<&'static str>,
    revisions: Vec<RevisionReport>,
    breaking: Vec<String>,
    near_miss: Vec<String>,
    near_miss_because: String,
}

/// The rule in one revision.
#[derive(Serialize)]
struct RevisionReport {
    revision: &'static str,
    level: &'static str,
    severity: &'static str,
    cites: Vec<CiteReport>,
}

#[derive(Serialize)]
struct CiteReport {
    text: String,
    address: Option<String>,
}

#[derive(Serialize)]
struct NotJudgedReport {
    schema: &'static str,
    judged: bool,
    rule: &'static str,
    because: &'static str,
}

/// Runs the command.
///
/// # Errors
/// An unknown rule, with the nearest names.
pub(crate) fn explain(args: &ExplainArgs) -> Result<Outcome> {
    if let Some(row) = NOT_JUDGED.iter().find(|row| row.id == args.rule) {
        print(&not_judged(row, args.format)?)?;
        return Ok(Outcome::Clean);
    }
    let ids = rules().iter().map(|rule| rule.id);
    let ids = ids.chain(NOT_JUDGED.iter().map(|row| row.id));
    let known = rule(&args.rule).ok_or_else(|| unknown("rule", &args.rule, ids))?;
    let examples = examples(known.id);
    let breaking = Session::shortest(&examples, |example| example.finds(known.id))?;
    let near_miss = Session::shortest(&examples, |example| !example.finds(known.id))?;
    print(&match args.format {
        Format::Json => to_json(&ExplainReport {
            schema: "mcpsim-explain/1",
            judged: true,
            row: rule_row(known, None),
            why: known.why,
            basis_in_words: known.basis.in_words(),
            blame_in_words: known.side.in_words(),
            needs_in_words: known.needs.in_words(),
            less_severe: milder(known.id),
            revisions: revisions(known)
                .map(|revision| RevisionReport::new(known, revision))
                .collect(),
            breaking: breaking.as_ref().map_or(vec![], Session::frames),
            near_miss: near_miss.as_ref().map_or(vec![], Session::frames),
            near_miss_because: near_miss
                .as_ref()
                .map_or(String::new(), |session| session.example.why.clone()),
        })?,
        Format::Text => text(known, breaking.as_ref(), near_miss.as_ref()),
    })?;
    Ok(Outcome::Clean)
}

fn not_judged(row: &NotJudged, format: Format) -> Result<String> {
    Ok(match format {
        Format::Json => to_json(&NotJudgedReport {
            schema: "mcpsim-explain/1",
            judged: false,
            rule: row.id,
            because: row.because,
        })?,
        Format::Text => format!("{}   not judged\n\n{}\n", row.id, row.because),
    })
}

impl RevisionReport {
    fn new(rule: &Rule, revision: Revision) -> RevisionReport {
        let cites = cite::cites(rule, revision).into_iter();
        RevisionReport {
            revision: revision.as_str(),
            level: rule.level_at(Some(revision)).as_str(),
            severity: rule.severity_at(Some(revision)).as_str(),
            cites: cites
                .map(|cite| CiteReport {
                    text: cite.text,
                    address: cite.address,
                })
                .collect(),
        }
    }
}

/// The revisions that have the rule, the newest first.
fn revisions(rule: &Rule) -> impl Iterator<Item = Revision> {
    let mut all: Vec<Revision> = Revision::ALL
        .into_iter()
        .filter(|revision| rule.is_in(*revision))
        .collect();
    all.reverse();
    all.into_iter()
}

/// An example, spelled out and judged.
struct Session<'a> {
    example: &'a Example,
    how: How,
    lines: Vec<Line>,
    findings: Vec<Finding>,
}

impl Session<'_> {
    /// The shortest of those that are wanted, by what its reader has to read.
    fn shortest(
        examples: &[Example],
        wanted: impl Fn(&&Example) -> bool,
    ) -> Result<Option<Session<'_>>> {
        let fitting = examples.iter().filter(wanted);
        let Some(example) = fitting.min_by_key(|example| example.frames.len()) else {
            return Ok(None);
        };
        let how = example.how().map_err(Failure::new)?;
        let lines = example.lines().map_err(Failure::new)?;
        Ok(Some(Session {
            findings: judge(&lines, &how),
            example,
            how,
            lines,
        }))
    }

    /// Frames and events, one a line.
    fn frames(&self) -> Vec<String> {
        self.lines.iter().map(line_text).collect()
    }

    /// Frames and events as they are shown, a handshake as one line, what is at fault underlined.
    fn text(&self) -> String {
        let mut text = String::new();
        let mut number: FrameNo = 0;
        let mut at = 0;
        while at < self.lines.len() {
            let handshake = self.lines[at..]
                .iter()
                .take_while(|line| line.is_handshake)
                .take(HANDSHAKE_LINES_MAX)
                .count();
            if handshake > 0 {
                let frames = &self.lines[at..at + handshake];
                let count = frames.iter().filter(|line| line.is_numbered()).count() as u32;
                text.push_str(&handshake_text(frames, number + 1, number + count));
                number += count;
                at += handshake;
                continue;
            }
            let line = &self.lines[at];
            at += 1;
            number += u32::from(line.is_numbered());
            text.push_str(&self.line(line, number));
        }
        text
    }

    fn line(&self, line: &Line, number: FrameNo) -> String {
        let arrow = match line.from {
            Role::Client => "client → server",
            Role::Server => "client ← server",
        };
        let mut head = match line.is_numbered() {
            true => format!("  {:<4} {arrow}  ", format!("#{number}")),
            false => format!("  {:<4} {arrow}  ", "--"),
        };
        if let Some(at_ms) = line.at_ms {
            head.push_str(&format!("at {at_ms} ms  "));
        }
        if let Some(stream) = &line.stream {
            head.push_str(&format!("[exchange {stream}]  "));
        }
        let marks = line.http.as_ref().filter(|_| line.event.is_none());
        if let Some(marks) = marks.map(http_text).filter(|marks| !marks.is_empty()) {
            head.push_str(&format!("{marks}  "));
        }
        if line.event.is_some() {
            return format!("{head}{}\n", event_text(line));
        }
        let here = |finding: &&Finding| finding.frames.last() == Some(&number);
        let spot = self.findings.iter().filter(here).find_map(|one| one.spot);
        excerpt_lines(&head, &line.bytes, spot)
    }

    /// What is found in it.
    fn found(&self) -> String {
        let mut text = String::new();
        for finding in &self.findings {
            let frames: Vec<String> = finding.frames.iter().map(|no| format!("#{no}")).collect();
            let unsure = match finding.verdict {
                Verdict::Broken => "",
                Verdict::Unsure => "unsure, ",
            };
            let place = match &frames[..] {
                [] => String::new(),
                [one] => format!(", frame {one}"),
                all => format!(", frames {}", all.join(", ")),
            };
            text.push_str(&format!(
                "  found: {} {}, {unsure}{}{place}: {}\n",
                finding.severity.as_str(),
                finding.rule,
                blame_words(finding.blame.as_str()),
                escape(&finding.message)
            ));
        }
        if self.findings.is_empty() {
            text.push_str("  found: nothing\n");
        }
        text
    }

    /// Where it is seen from, where that is not the usual place.
    fn seen(&self) -> String {
        let mut words = vec![];
        match self.how.vantage {
            Vantage::World => {}
            Vantage::Between => words.push("seen from between the two".to_owned()),
            end => words.push(format!("as the {}'s own log has it", end.as_str())),
        }
        if self.how.http {
            words.push("over http".to_owned());
        }
        if !self.how.whole {
            words.push("the start of the session may be missing".to_owned());
        }
        if self.how.quiet {
            words.push("nothing more is sent".to_owned());
        }
        if let Some(revision) = self.how.revision {
            words.push(format!("judged by {revision}"));
        }
        words.join(", ")
    }
}

/// The lines of a handshake over http, heads included.
const HANDSHAKE_LINES_MAX: usize = 7;

fn handshake_text(lines: &[Line], first: FrameNo, last: FrameNo) -> String {
    let version = lines.iter().find_map(|line| {
        let text = String::from_utf8_lossy(&line.bytes);
        let found = Revision::ALL
            .into_iter()
            .find(|revision| text.contains(revision.as_str()));
        found.map(|revision| format!(" to {}", revision.as_str()))
    });
    format!(
        "  #{first}–{last}  initialize, its answer and initialized: the handshake{}\n",
        version.unwrap_or_default()
    )
}

/// A line as JSON reports have it.
fn line_text(line: &Line) -> String {
    let dir = match line.from {
        Role::Client => "c2s",
        Role::Server => "s2c",
    };
    match &line.event {
        Some(_) => format!("{dir}! {}", event_text(line)),
        None => format!("{dir} {}", escape_bytes(&line.bytes)),
    }
}

fn event_text(line: &Line) -> String {
    let name = line.event.as_deref().unwrap_or("");
    if let Some(http) = line.http.as_ref().filter(|_| name == "http") {
        return http_text(http);
    }
    let meaning = match name {
        "eof" => "closes its output",
        "exit" => "its program ends",
        "stall" => "nothing more comes from it",
        "timeout" => "gives up waiting",
        "stderr-full" => "nobody reads its stderr, which is full",
        "drop" => "the exchange breaks",
        "empty-body" => "the answer has no body",
        other => other,
    };
    match line.status {
        Some(status) => format!("{meaning} with status {status}"),
        None => meaning.to_owned(),
    }
}

/// A head or the marks of an event, on one line.
fn http_text(http: &Http<'_>) -> String {
    let mut words = vec![];
    if let Some(head) = &http.head {
        words.push(match &head.start {
            Start::Request { method, target } => {
                format!("{method} {}", target.as_deref().unwrap_or(""))
            }
            Start::Answer { status } => format!("status {status}"),
        });
        for field in head.fields.iter().flatten() {
            words.push(format!("{}: {};", field.name, field.value));
        }
    }
    if let Some(id) = &http.sse.id {
        words.push(format!("event id {id}"));
    }
    if let Some(event) = &http.sse.event {
        words.push(format!("event {event}"));
    }
    if let Some(retry_ms) = http.sse.retry_ms {
        words.push(format!("retry {retry_ms} ms"));
    }
    escape(words.join(" ").trim_end_matches(';')).into_owned()
}

fn text(rule: &Rule, breaking: Option<&Session<'_>>, near_miss: Option<&Session<'_>>) -> String {
    let mut text = format!(
        "{}   {} · {} · {}\n",
        rule.id,
        level_words(rule.level.as_str()),
        rule.severity.as_str(),
        rule.category.as_str()
    );
    text.push_str(&format!("\n{}\n{}\n", rule.says, rule.why));
    text.push_str(&format!("\nIts basis:   {}\n", rule.basis.in_words()));
    text.push_str(&format!("To blame:    {}\n", rule.side.in_words()));
    text.push_str(&format!("Decided by:  {}\n", rule.needs.in_words()));
    if let Some(when) = milder(rule.id) {
        text.push_str(&format!("Less severe: {when}\n"));
    }
    if !rule.twin.is_empty() {
        text.push_str(&format!("2026-07-28:  has {} instead\n", rule.twin));
    }
    text.push_str("\nWritten in:\n");
    for revision in revisions(rule) {
        text.push_str(&format!(
            "  {revision}  {}, {}\n",
            level_words(rule.level_at(Some(revision)).as_str()),
            rule.severity_at(Some(revision)).as_str()
        ));
        for cite in cite::cites(rule, revision) {
            let words = cite.text.strip_prefix(revision.as_str());
            let words = words.map_or(cite.text.as_str(), str::trim_start);
            text.push_str(&format!("              {words}\n"));
            if let Some(address) = cite.address {
                text.push_str(&format!("              {address}\n"));
            }
        }
    }
    for (title, session) in [("Broken by", breaking), ("Near, but kept", near_miss)] {
        let Some(session) = session else { continue };
        let seen = session.seen();
        let seen = if seen.is_empty() {
            seen
        } else {
            format!(" ({seen})")
        };
        text.push_str(&format!("\n{title}{seen}:\n"));
        text.push_str(&session.text());
        text.push_str(&session.found());
        if !session.example.why.is_empty() {
            text.push_str(&format!("  {}\n", session.example.why));
        }
    }
    text
}
