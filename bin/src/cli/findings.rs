//! A finding for the reader: with the rule's words, the party's name and the line of the file.

use super::report::FindingReport;
use crate::models::rule;
use crate::traces::file::Party;
use crate::traces::judge::Finding;
use crate::traces::message::Revision;
use crate::traces::show::escape;

/// A finding as reports have it, judged under that revision.
pub(crate) fn report_at(
    finding: &Finding,
    parties: &[Party],
    line: Option<u64>,
    revision: Option<Revision>,
) -> FindingReport {
    let known = rule(finding.rule);
    let named = parties
        .get(usize::from(finding.party.0))
        .map(|party| party.name.clone());
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
        frames: finding.frames.clone(),
        line,
        message: finding.message.clone(),
        source: known.map_or("", |rule| rule.source).to_owned(),
    }
}

/// A finding as reports have it, in general.
pub(crate) fn report_of(finding: &Finding, parties: &[Party], line: Option<u64>) -> FindingReport {
    report_at(finding, parties, line, None)
}

/// A finding for people: what was found, where, why it is a fault, where that is written.
pub(crate) fn finding_text(finding: &FindingReport) -> String {
    let verdict = if finding.verdict == "unsure" {
        "unsure, "
    } else {
        ""
    };
    let frames: Vec<String> = finding
        .frames
        .iter()
        .map(|frame| format!("#{frame}"))
        .collect();
    let mut place = String::new();
    if !frames.is_empty() {
        place = format!("   frame {}", frames.join(", "));
    }
    if let Some(line) = finding.line {
        place.push_str(&format!("   line {line}"));
    }
    let mut text = format!(
        "{:<8} {}   {verdict}{}{place}\n         {}\n",
        finding.severity,
        finding.rule,
        blame_words(&finding.blame),
        escape(&finding.message),
    );
    if !finding.source.is_empty() {
        text.push_str(&format!(
            "         {} · {}\n",
            finding.level, finding.source
        ));
    }
    text
}

fn blame_words(blame: &str) -> String {
    match blame {
        "none" => "nobody to blame".to_owned(),
        "transport" => "the transport".to_owned(),
        "harness" => "mcpsim itself".to_owned(),
        side => format!("the {side}"),
    }
}
