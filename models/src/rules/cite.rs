//! Where a rule is written, for one revision: in words, and the dated address of the page.
//!
//! A row names one place ([`Rule::source`]), mostly in the last revision that has the rule. In other revisions the
//! same words may stand on another page, or under another heading: `cite/pages.txt` knows which there are.

use mcpsim_traces::message::Revision;

use super::Rule;

/// A place where a rule is written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Cite {
    /// The place in words, as in `2025-11-25 server/tools (Tool Names)`.
    pub text: String,
    /// Where to read it; `None` where no text has it.
    pub address: Option<String>,
}

const PAGES: &str = include_str!("cite/pages.txt");
const SITE: &str = "https://modelcontextprotocol.io";
const REPOSITORY: &str = "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main";

/// Where the rule is written in that revision. Places of another revision only where this one has no such page.
pub fn cites(rule: &Rule, revision: Revision) -> Vec<Cite> {
    let mut found: Vec<Cite> = vec![];
    for part in parts(rule.source) {
        for cite in of_part(part, revision) {
            if !found.contains(&cite) {
                found.push(cite);
            }
        }
    }
    found
}

/// The revision by which a finding of that rule is cited: the one that governed, or the last one that has the rule.
pub fn revision_for(rule: &Rule, governing: Option<Revision>) -> Revision {
    governing
        .filter(|&revision| rule.is_in(revision))
        .unwrap_or(rule.until)
}

/// One line for a finding: all places in words.
pub fn line(rule: &Rule, revision: Revision) -> String {
    let mut all = String::new();
    for cite in cites(rule, revision) {
        if !all.is_empty() {
            let is_same = cite.text.starts_with("adopted by ");
            all.push_str(if is_same { ", " } else { "; " });
        }
        all.push_str(&cite.text);
    }
    all
}

/// The most telling address: that of the last place, which is a page of the protocol where there is one.
pub fn address(rule: &Rule, revision: Revision) -> Option<String> {
    cites(rule, revision)
        .into_iter()
        .rev()
        .find_map(|cite| cite.address)
}

/// Parts of a source are parted by semicolons outside parentheses.
fn parts(source: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    source
        .split(move |letter| {
            match letter {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            letter == ';' && depth == 0
        })
        .map(str::trim)
        .filter(|part| !part.is_empty())
}

fn of_part(part: &str, revision: Revision) -> Vec<Cite> {
    if let Some((first, second)) = part.split_once(", adopted by ") {
        let mut found = of_part(first, revision);
        found.extend(of_part(second, revision).into_iter().map(|cite| Cite {
            text: format!("adopted by {}", cite.text),
            ..cite
        }));
        return found;
    }
    let address = |address: &str| {
        vec![Cite {
            text: part.to_string(),
            address: Some(address.to_string()),
        }]
    };
    if part.starts_with("JSON-RPC 2.0") {
        return address("https://www.jsonrpc.org/specification");
    }
    if let Some(rest) = part.strip_prefix("RFC ") {
        let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
        return address(&format!("https://www.rfc-editor.org/rfc/rfc{number}"));
    }
    match Place::parse(part) {
        Some(place) => vec![place.in_revision(revision).cite()],
        None => vec![Cite {
            text: part.to_string(),
            address: None,
        }],
    }
}

/// A page, or the schema, of one revision, and a heading or type in it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Place<'a> {
    /// The date of the revision, or the number of a proposal.
    date: &'a str,
    page: &'a str,
    /// May be empty, and may name several, parted by commas.
    section: &'a str,
}

impl<'a> Place<'a> {
    /// `DATE PAGE (SECTION)`
    fn parse(part: &'a str) -> Option<Place<'a>> {
        let (date, rest) = part.split_once(' ')?;
        let is_dated = Revision::parse(date).is_some() || date.starts_with("SEP-");
        let (page, section) = match rest.split_once(" (") {
            Some((page, section)) => (page, section.strip_suffix(')')?),
            None => (rest, ""),
        };
        // A heading in code type is named without its marks.
        let section = section.trim_matches('`');
        is_dated.then_some(Place {
            date,
            page,
            section,
        })
    }

    /// The same duty in that revision: there or on the page that it moved to, else as it is.
    fn in_revision(self, revision: Revision) -> Place<'a> {
        let date = revision.as_str();
        let is_there = self.date == date && headings(date, self.page).is_some();
        if self.date.starts_with("SEP-") || is_there {
            return self;
        }
        let candidates = std::iter::once(self.page).chain(moved(self.page).iter().copied());
        let mut fitting = candidates.filter(|page| headings(date, page).is_some());
        let first = fitting.clone().next();
        let best = fitting.find(|page| section_in(date, page, self.section).is_some());
        let Some(page) = best.or(first) else {
            return self;
        };
        Place {
            date,
            page,
            section: section_in(date, page, self.section).unwrap_or(""),
        }
    }

    fn cite(&self) -> Cite {
        let mut text = format!("{} {}", self.date, self.page);
        if !self.section.is_empty() {
            text.push_str(&format!(" ({})", self.section));
        }
        Cite {
            text,
            address: Some(self.address()),
        }
    }

    fn address(&self) -> String {
        let Place { date, page, .. } = *self;
        if date.starts_with("SEP-") {
            let path = PAGES
                .lines()
                .find_map(|line| line.strip_prefix(date)?.trim_start().split('|').next());
            return format!("{SITE}/{}{}", path.unwrap_or("seps"), self.anchor());
        }
        if page == "schema.ts" {
            let Some(mut types) = headings(date, "schema") else {
                return format!("{REPOSITORY}/schema/{date}/schema.ts");
            };
            let first = self.section.split(", ").next();
            let has_anchor = types.any(|known| Some(known) == first);
            let anchor = if has_anchor {
                self.anchor()
            } else {
                String::new()
            };
            return format!("{SITE}/specification/{date}/schema{anchor}");
        }
        let path = page.strip_suffix("/index").unwrap_or(page);
        format!("{SITE}/specification/{date}/{path}{}", self.anchor())
    }

    /// `#section`, as the site spells it; empty for the title, and where the heading holds odd signs.
    fn anchor(&self) -> String {
        let first = self.section.split(", ").next().unwrap_or("");
        let is_title = headings(self.date, self.page).and_then(|mut all| all.next()) == Some(first);
        let is_plain = |letter: char| {
            letter.is_ascii_alphanumeric() || matches!(letter, ' ' | '-' | '_' | '$' | '(' | ')')
        };
        if first.is_empty() || is_title && self.page != "schema.ts" || !first.chars().all(is_plain)
        {
            return String::new();
        }
        let mut anchor = String::from("#");
        for letter in first.chars() {
            match letter {
                ' ' => anchor.push('-'),
                '_' | '$' | '(' | ')' => {}
                plain => anchor.push(plain.to_ascii_lowercase()),
            }
        }
        anchor
    }
}

/// The title and the headings of a page; `None` where the revision has no such page.
fn headings(date: &str, page: &str) -> Option<impl Iterator<Item = &'static str> + Clone> {
    let line = PAGES.lines().find(|line| {
        line.strip_prefix(date)
            .and_then(|rest| rest.strip_prefix(' '))
            .and_then(|rest| rest.strip_prefix(page))
            .is_some_and(|rest| rest.starts_with('|'))
    })?;
    Some(line.split('|').skip(1))
}

/// The section as that page names it: the heading itself, or the name that the type had.
fn section_in<'a>(date: &str, page: &str, section: &'a str) -> Option<&'a str> {
    if section.is_empty() {
        return None;
    }
    let has = |name: &str| headings(date, page).is_some_and(|mut all| all.any(|one| one == name));
    if section.split(", ").all(&has) {
        return Some(section);
    }
    if page != "schema.ts" {
        return None;
    }
    // The params of a request stood inside it before they had a type of their own.
    let older = [
        section
            .strip_suffix("RequestParams")
            .map(|_| &section[..section.len() - "Params".len()]),
        section
            .strip_suffix("NotificationParams")
            .map(|_| &section[..section.len() - "Params".len()]),
        (section == "JSONRPCErrorResponse").then_some("JSONRPCError"),
        (section == "JSONRPCResultResponse").then_some("JSONRPCResponse"),
    ];
    older.into_iter().flatten().find(|name| has(name))
}

/// Where the words of a page stand in revisions that have no such page, the likeliest first.
fn moved(page: &str) -> &'static [&'static str] {
    match page {
        "basic/index" => &["basic/messages"],
        "basic/messages" => &["basic/index"],
        "basic/lifecycle" => &["basic/versioning"],
        "basic/versioning" => &["basic/lifecycle"],
        "basic/utilities/cancellation" => &["basic/patterns/cancellation"],
        "basic/utilities/progress" => &["basic/patterns/progress"],
        "basic/patterns/cancellation" => &["basic/utilities/cancellation"],
        "basic/patterns/progress" => &["basic/utilities/progress"],
        "basic/patterns/subscriptions" => &["server/resources"],
        "basic/transports" => &[
            "basic/transports/stdio",
            "basic/transports/streamable-http",
            "basic/transports/index",
        ],
        "basic/transports/stdio"
        | "basic/transports/streamable-http"
        | "basic/transports/index" => &["basic/transports"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{MUST, rules};

    fn of(source: &'static str, date: &str) -> Vec<(String, String)> {
        let rule = Rule { source, ..MUST };
        let revision = Revision::parse(date).expect("a revision");
        cites(&rule, revision)
            .into_iter()
            .map(|cite| (cite.text, cite.address.unwrap_or_default()))
            .collect()
    }

    fn one(source: &'static str, date: &str) -> (String, String) {
        let mut found = of(source, date);
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    #[track_caller]
    fn check(source: &'static str, date: &str, text: &str, address: &str) {
        assert_eq!(one(source, date), (text.to_string(), address.to_string()));
    }

    #[test]
    fn a_page_is_cited_with_its_heading() {
        check(
            "2025-11-25 server/tools (Tool Names)",
            "2025-11-25",
            "2025-11-25 server/tools (Tool Names)",
            "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names",
        );
        // The heading came later: the page alone.
        check(
            "2025-11-25 server/tools (Tool Names)",
            "2025-03-26",
            "2025-03-26 server/tools",
            "https://modelcontextprotocol.io/specification/2025-03-26/server/tools",
        );
        // A page's title has no anchor, an index page no name.
        check(
            "2025-11-25 basic/index (_meta)",
            "2025-11-25",
            "2025-11-25 basic/index (_meta)",
            "https://modelcontextprotocol.io/specification/2025-11-25/basic#meta",
        );
        check(
            "2025-11-25 basic/transports (Transports)",
            "2025-11-25",
            "2025-11-25 basic/transports (Transports)",
            "https://modelcontextprotocol.io/specification/2025-11-25/basic/transports",
        );
    }

    #[test]
    fn pages_move_between_revisions() {
        let site = "https://modelcontextprotocol.io/specification";
        check(
            "2025-11-25 basic/index (Requests)",
            "2024-11-05",
            "2024-11-05 basic/messages (Requests)",
            &format!("{site}/2024-11-05/basic/messages#requests"),
        );
        check(
            "2025-11-25 basic/utilities/progress (Progress Flow)",
            "2026-07-28",
            "2026-07-28 basic/patterns/progress (Progress Flow)",
            &format!("{site}/2026-07-28/basic/patterns/progress#progress-flow"),
        );
        check(
            "2025-11-25 basic/transports (stdio)",
            "2026-07-28",
            "2026-07-28 basic/transports/stdio (stdio)",
            &format!("{site}/2026-07-28/basic/transports/stdio"),
        );
        // There is no such page: the place that was named stays.
        check(
            "2025-11-25 client/elicitation (Capabilities)",
            "2024-11-05",
            "2025-11-25 client/elicitation (Capabilities)",
            &format!("{site}/2025-11-25/client/elicitation#capabilities"),
        );
    }

    /// The schema has a page of its own from 2025-06-18 on, with most of its types.
    #[test]
    fn types_are_cited_where_they_can_be_read() {
        check(
            "2025-11-25 schema.ts (Tool)",
            "2025-11-25",
            "2025-11-25 schema.ts (Tool)",
            "https://modelcontextprotocol.io/specification/2025-11-25/schema#tool",
        );
        check(
            "2025-11-25 schema.ts (Tool)",
            "2024-11-05",
            "2024-11-05 schema.ts (Tool)",
            "https://github.com/modelcontextprotocol/modelcontextprotocol/blob/main/schema/2024-11-05/schema.ts",
        );
        check(
            "2025-11-25 schema.ts (CallToolRequestParams)",
            "2025-06-18",
            "2025-06-18 schema.ts (CallToolRequest)",
            "https://modelcontextprotocol.io/specification/2025-06-18/schema#calltoolrequest",
        );
        check(
            "2025-11-25 schema.ts (JSONRPCErrorResponse)",
            "2025-06-18",
            "2025-06-18 schema.ts (JSONRPCError)",
            "https://modelcontextprotocol.io/specification/2025-06-18/schema#jsonrpcerror",
        );
    }

    #[test]
    fn other_texts_and_none() {
        assert_eq!(
            of(
                "JSON-RPC 2.0 specification (Batch), adopted by 2025-03-26 basic/index (Messages)",
                "2025-03-26"
            ),
            [
                (
                    "JSON-RPC 2.0 specification (Batch)".to_string(),
                    "https://www.jsonrpc.org/specification".to_string()
                ),
                (
                    "adopted by 2025-03-26 basic/index (Messages)".to_string(),
                    "https://modelcontextprotocol.io/specification/2025-03-26/basic#messages"
                        .to_string()
                ),
            ]
        );
        check(
            "RFC 8259 section 4 (names within an object)",
            "2025-03-26",
            "RFC 8259 section 4 (names within an object)",
            "https://www.rfc-editor.org/rfc/rfc8259",
        );
        check(
            "SEP-2663 tasks-extension (Task Polling)",
            "2026-07-28",
            "SEP-2663 tasks-extension (Task Polling)",
            "https://modelcontextprotocol.io/seps/2663-tasks-extension#task-polling",
        );
        check(
            "no rule of the text",
            "2025-11-25",
            "no rule of the text",
            "",
        );
        assert_eq!(
            of(
                "2025-11-25 server/tools (Tool); 2025-11-25 schema.ts (Tool)",
                "2025-11-25"
            )
            .len(),
            2
        );
    }

    /// Every row is written where it says: the page exists in the revision that it names, and so does the heading.
    #[test]
    fn every_row_names_a_place_that_exists() {
        let mut wrong = vec![];
        for rule in rules() {
            let sources = parts(rule.source).flat_map(|part| part.split(", adopted by "));
            for part in sources {
                let Some(place) = Place::parse(part) else {
                    let is_known = ["JSON-RPC 2.0", "RFC ", "no rule of the text", "reported by"];
                    if !is_known.iter().any(|known| part.starts_with(known)) {
                        wrong.push(format!("{}: no place: {part}", rule.id));
                    }
                    continue;
                };
                if place.date.starts_with("SEP-") {
                    continue;
                }
                // A page that is a folder now is named by its index.
                let is_there = headings(place.date, place.page).is_some()
                    || headings(place.date, &format!("{}/index", place.page)).is_some();
                if !is_there {
                    wrong.push(format!("{}: no page: {part}", rule.id));
                    continue;
                }
                let revision = Revision::parse(place.date).expect("a revision");
                let place = place.in_revision(revision);
                if part.contains('(') && place.section.is_empty()
                    || !place.section.is_empty()
                        && section_in(place.date, place.page, place.section).is_none()
                {
                    wrong.push(format!("{}: no such heading: {part}", rule.id));
                }
            }
        }
        assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    }

    /// In every revision that has the rule there is something to read, but for what no text has.
    #[test]
    fn every_rule_has_an_address_in_every_revision_of_its() {
        for rule in rules() {
            for revision in Revision::ALL.into_iter().filter(|one| rule.is_in(*one)) {
                let found = cites(rule, revision);
                assert!(!found.is_empty(), "{} in {revision}", rule.id);
                let is_unwritten = rule.source.starts_with("no rule of the text")
                    || rule.source.starts_with("reported by");
                assert_eq!(
                    address(rule, revision).is_none(),
                    is_unwritten,
                    "{} in {revision}",
                    rule.id
                );
            }
        }
    }
}
