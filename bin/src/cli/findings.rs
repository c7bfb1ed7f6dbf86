//! A finding for the reader: with the rule's words, the party's name, its place in the file, and where the rule is written.

use super::evidence;
use super::outcome::counted;
use super::report::FindingReport;
use crate::models::rule;
use crate::models::rules::cite;
use crate::traces::event::FrameNo;
use crate::traces::file::Party;
use crate::traces::judge::{Finding, Wait};
use crate::traces::message::Revision;
use crate::traces::show::escape;

/// A finding as reports have it, judged under that revision; `line_of` knows where in the file a frame stands.
/// Its evidence is filled in by [`evidence::fill`].
pub(crate) fn report_of(
    finding: &Finding,
    parties: &[Party],
    line_of: impl Fn(FrameNo) -> Option<u64>,
    revision: Option<Revision>,
) -> FindingReport {
    let known = rule(finding.rule);
    let cited = known.map(|rule| (rule, cite::revision_for(rule, revision)));
    let name = |party: usize| parties.get(party).map(|party| party.name.clone());
    let named = name(usize::from(finding.party.0));
    let lines: Vec<Option<u64>> = finding.frames.iter().map(|&frame| line_of(frame)).collect();
    FindingReport {
        rule: finding.rule.to_owned(),
        level: known
            .map_or("none", |rule| rule.level_at(revision).as_str())
            .to_owned(),
        basis: known
            .map_or("differential", |rule| rule.basis.as_str())
            .to_owned(),
        verdict: finding.verdict.as_str().to_owned(),
        severity: finding.severity.as_str().to_owned(),
        blame: finding.blame.as_str().to_owned(),
        party: named.unwrap_or_else(|| finding.blame.as_str().to_owned()),
        link: finding.link.0,
        session: None,
        server: None,
        frames: finding.frames.clone(),
        file: None,
        line: lines.last().copied().flatten(),
        column: None,
        message: finding.message.clone(),
        says: known.map_or("", |rule| rule.says).to_owned(),
        knew: finding.knew.clone(),
        waits: finding
            .waits
            .iter()
            .map(|wait| waits_in_words(wait, |party| name(usize::from(party))))
            .collect(),
        evidence: vec![],
        source: cited.map_or(String::new(), |(rule, revision)| cite::line(rule, revision)),
        address: cited.and_then(|(rule, revision)| cite::address(rule, revision)),
        spot: finding.spot,
        lines,
    }
}

fn waits_in_words(wait: &Wait, name: impl Fn(u8) -> Option<String>) -> String {
    let debtor_role = wait.role.as_str();
    let debtor = name(wait.debtor.0).unwrap_or_else(|| debtor_role.to_owned());
    let asker = name(wait.asker.0).unwrap_or_else(|| wait.role.other().as_str().to_owned());
    let frame = match wait.frame {
        0 => String::new(),
        frame => format!(" (#{frame})"),
    };
    format!(
        "{asker} waits for {debtor} to answer {}{frame}",
        wait.request
    )
}

/// How far the lines below a finding's first one are set in.
const INDENT: &str = "         ";

/// Findings for people, each after a blank line. What a rule says and where it is written is told at its first finding.
pub(crate) fn findings_text(findings: &[FindingReport]) -> String {
    let mut text = String::new();
    let mut told: Vec<&str> = vec![];
    for finding in findings {
        text.push('\n');
        text.push_str(&finding_text(finding));
        if !told.contains(&finding.rule.as_str()) {
            told.push(&finding.rule);
            text.push_str(&rule_text(finding));
        }
    }
    text
}

/// What was found, where, in which frames, and what the party knew.
fn finding_text(finding: &FindingReport) -> String {
    let verdict = if finding.verdict == "unsure" {
        "unsure, "
    } else {
        ""
    };
    let mut text = format!(
        "{:<8} {}   {verdict}{}{}{}\n{INDENT}{}\n",
        finding.severity,
        finding.rule,
        blame_words(&finding.blame),
        session_words(finding),
        place(finding),
        escape(&finding.message),
    );
    text.push_str(&details(finding, INDENT));
    text
}

/// The frames, who waits for whom, and what the party knew.
pub(crate) fn details(finding: &FindingReport, indent: &str) -> String {
    let mut text = evidence::lines(&finding.evidence, indent);
    let left = finding.frames.len().saturating_sub(finding.evidence.len());
    if !finding.evidence.is_empty() && left > 0 {
        text.push_str(&format!(
            "{indent}and {}\n",
            counted(left as u64, "more frame")
        ));
    }
    // One wait alone is what the message says.
    for wait in finding.waits.iter().filter(|_| finding.waits.len() > 1) {
        text.push_str(&format!("{indent}{}\n", escape(wait)));
    }
    if !finding.knew.is_empty() {
        let party = match finding.blame.as_str() {
            side @ ("client" | "server") => format!("the {side}"),
            _ => "that side".to_owned(),
        };
        text.push_str(&format!(
            "{indent}as {party} knew it: {}\n",
            escape(&finding.knew)
        ));
    }
    text
}

/// What the rule says, and where it is written.
pub(crate) fn rule_text(finding: &FindingReport) -> String {
    if finding.source.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "{INDENT}{} · {}\n{INDENT}{}\n",
        level_words(&finding.level),
        finding.says,
        finding.source
    );
    if let Some(address) = &finding.address {
        text.push_str(&format!("{INDENT}{address}\n"));
    }
    text
}

/// Which of several sessions it is about.
fn session_words(finding: &FindingReport) -> String {
    let session = finding.session.map(|nth| format!("session {nth}"));
    let name = finding
        .server
        .as_deref()
        .map(|name| escape(name).into_owned());
    let words: Vec<String> = session.into_iter().chain(name).collect();
    match words.is_empty() {
        true => String::new(),
        false => format!("   {}", words.join(", ")),
    }
}

fn place(finding: &FindingReport) -> String {
    let frames: Vec<String> = finding
        .frames
        .iter()
        .map(|frame| format!("#{frame}"))
        .collect();
    let mut place = String::new();
    match &frames[..] {
        [] => {}
        [one] => place.push_str(&format!("   frame {one}")),
        // Many would fill the line.
        [first, .., last] if frames.len() > FRAMES_MAX => {
            place.push_str(&format!("   {} frames, {first} to {last}", frames.len()));
        }
        all => place.push_str(&format!("   frames {}", all.join(", "))),
    }
    let file = match &finding.file {
        Some(file) => format!("{} ", escape(file)),
        None => String::new(),
    };
    match (finding.line, finding.column) {
        (Some(line), Some(column)) => place.push_str(&format!("   {file}line {line}:{column}")),
        (Some(line), None) => place.push_str(&format!("   {file}line {line}")),
        (None, _) => {}
    }
    place
}

/// More frames than this are counted in a finding's first line.
const FRAMES_MAX: usize = 6;

/// A level for people.
pub(crate) fn level_words(level: &str) -> &str {
    match level {
        "MAY-note" => "worth knowing",
        "none" => "in no text",
        level => level,
    }
}

/// Whom a finding blames, for people.
pub(crate) fn blame_words(blame: &str) -> String {
    match blame {
        "none" => "nobody to blame".to_owned(),
        "transport" => "the transport".to_owned(),
        "harness" => "mcpsim itself".to_owned(),
        side => format!("the {side}"),
    }
}
