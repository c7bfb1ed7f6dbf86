//! A story as a Mermaid sequence diagram, for pages that render these.

use std::fmt::Write as _;
use std::io;

use crate::event::Role;
use crate::judge::Verdict;
use crate::message::Kind;
use crate::show::escape::escape;
use crate::show::story::{Delivery, ItemWhat, Story, StoryFinding};
use crate::show::text::happening;

/// Writes the story as a `sequenceDiagram`: an arrow for each frame (dotted for a response, with a
/// cross where it is lost), a note for each finding and for what else happens. Payloads, choices and
/// parties' own steps are left out.
///
/// # Errors
/// What `out` reports.
pub fn mermaid(
    story: &Story,
    findings: &[StoryFinding],
    out: &mut impl io::Write,
) -> io::Result<()> {
    writeln!(out, "sequenceDiagram")?;
    for (at, party) in story.parties.iter().enumerate() {
        writeln!(out, "    participant P{at} as {}", quote(&party.name))?;
    }
    let mut shown = vec![false; findings.len()];
    for item in &story.items {
        let ends = match &item.what {
            ItemWhat::Choice(_) | ItemWhat::Own { .. } => continue,
            ItemWhat::Frame(frame) => {
                let link = &story.links[frame.link];
                let (from, to) = (link.end(frame.from), link.end(frame.from.other()));
                let arrow = match (frame.delivery, frame.kind) {
                    (Delivery::Lost | Delivery::OnItsWay, _) => "--x",
                    (Delivery::Later, Kind::Result | Kind::Error) => "--)",
                    (Delivery::Later, _) => "-)",
                    (Delivery::AtOnce, Kind::Result | Kind::Error) => "-->>",
                    (Delivery::AtOnce, _) => "->>",
                };
                let mut words = format!("#{} {}", frame.number, frame.words());
                if !frame.slips.is_empty() {
                    let _ = write!(words, " (on purpose: {})", frame.slips.join(", "));
                }
                writeln!(out, "    P{from}{arrow}P{to}: {}", quote(&words))?;
                for (finding, shown) in findings.iter().zip(&mut shown) {
                    if finding.frame == frame.number && !*shown {
                        *shown = true;
                        note(out, &[link.client, link.server], &words_of(finding))?;
                    }
                }
                continue;
            }
            ItemWhat::Arrival { link, to, .. } => vec![story.links[*link].end(*to)],
            ItemWhat::Lost { link, to, .. } | ItemWhat::Closed { link, to } => {
                vec![story.links[*link].end(*to)]
            }
            ItemWhat::ExchangeLost { link, .. } | ItemWhat::Broken { link, .. } => {
                vec![story.links[*link].end(Role::Client)]
            }
            ItemWhat::Resumed { link, .. } | ItemWhat::Forgotten { link, .. } => {
                vec![story.links[*link].end(Role::Server)]
            }
            ItemWhat::Stderr { link, .. } => vec![story.links[*link].end(Role::Server)],
            ItemWhat::Blocked { link, on } | ItemWhat::Unblocked { link, on } => {
                vec![story.links[*link].end(on.writer())]
            }
            ItemWhat::Fault { party, .. }
            | ItemWhat::Timer { party, .. }
            | ItemWhat::Exit { party } => vec![*party],
            ItemWhat::Open { link } => both(story, *link),
            ItemWhat::Close { link, by } => vec![story.links[*link].end(*by)],
            ItemWhat::Event { link, by, .. } => match (link, by) {
                (Some(link), Some(by)) => vec![story.links[*link].end(*by)],
                (Some(link), None) => both(story, *link),
                (None, _) => all(story),
            },
            ItemWhat::Calm | ItemWhat::Quiet | ItemWhat::Note(_) => all(story),
        };
        note(out, &ends, &happening(story, &item.what))?;
    }
    for (finding, _) in findings.iter().zip(&shown).filter(|(_, shown)| !**shown) {
        note(out, &all(story), &words_of(finding))?;
    }
    for remark in &story.remarks {
        note(out, &all(story), remark)?;
    }
    for error in &story.errors {
        note(out, &all(story), &format!("unusable: {error}"))?;
    }
    Ok(())
}

fn both(story: &Story, link: usize) -> Vec<usize> {
    vec![story.links[link].client, story.links[link].server]
}

/// The first and the last party: a note over them spans all.
fn all(story: &Story) -> Vec<usize> {
    match story.parties.len() {
        0 => vec![],
        1 => vec![0],
        count => vec![0, count - 1],
    }
}

fn note(out: &mut impl io::Write, over: &[usize], words: &str) -> io::Result<()> {
    let over: Vec<String> = over.iter().map(|party| format!("P{party}")).collect();
    if over.is_empty() {
        // A diagram without parties can hold no note.
        return writeln!(out, "    %% {}", quote(words));
    }
    writeln!(out, "    Note over {}: {}", over.join(","), quote(words))
}

fn words_of(finding: &StoryFinding) -> String {
    let sign = match finding.verdict {
        Verdict::Broken => '!',
        Verdict::Unsure => '?',
    };
    format!(
        "{sign} {} ({}): {}",
        finding.rule,
        finding.blame.as_str(),
        finding.message
    )
}

/// Text that Mermaid takes as text and nothing else. What is not a letter, a digit or harmless becomes
/// an entity: `;` ends a statement, `#` begins an entity, `%%` a comment or directive, `:` can begin an
/// option, `<` is HTML, and `$$` mathematics. The word `end` would end a block.
fn quote(text: &str) -> String {
    let text = escape(text);
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let word = rest
            .find(|c: char| !c.is_alphanumeric())
            .unwrap_or(rest.len());
        let is_end = rest[..word].eq_ignore_ascii_case("end");
        let length = if word == 0 { first.len_utf8() } else { word };
        for character in rest[..length].chars() {
            match character {
                'e' | 'E' if is_end => {
                    let _ = write!(out, "#{};", u32::from(character));
                }
                // U+FB02 is what Mermaid itself puts in the place of an entity.
                plain if plain.is_alphanumeric() && plain != '\u{FB02}' => out.push(plain),
                ' ' | '/' | '.' | ',' | '_' | '-' | '(' | ')' | '!' | '?' | '\'' | '=' | '…' => {
                    out.push(character);
                }
                other => {
                    let _ = write!(out, "#{};", u32::from(other));
                }
            }
        }
        rest = &rest[length..];
    }
    out
}
