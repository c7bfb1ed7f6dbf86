//! A story as lines of text: an arrow for each frame, findings below it.

use std::fmt::Write as _;
use std::io;

use crate::event::{Fault, LinkKind, Pipe, Role, Told};
use crate::judge::Verdict;
use crate::show::escape::escape;
use crate::show::story::{Delivery, Item, ItemWhat, Story, StoryFinding, StoryFrame};

/// How a story is written as text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextOptions {
    /// Nothing but ASCII is written.
    pub is_ascii: bool,
    /// Choices and parties' own steps have lines, too.
    pub with_choices: bool,
    /// What is shown of a frame's payload.
    pub payload_chars_max: usize,
}

impl TextOptions {
    /// For a terminal: arrows, no choices, short payloads.
    pub const USUAL: TextOptions = TextOptions {
        is_ascii: false,
        with_choices: false,
        payload_chars_max: 60,
    };
}

/// Writes the story as text, every finding below its frame and those without one at the end.
///
/// # Errors
/// What `out` reports.
pub fn text(
    story: &Story,
    findings: &[StoryFinding],
    options: &TextOptions,
    out: &mut impl io::Write,
) -> io::Result<()> {
    let page = Page::new(story, findings, options);
    let mut line = String::new();
    page.head(&mut line);
    page.put(&line, out)?;
    let mut shown = vec![false; findings.len()];
    for item in &story.items {
        if !options.with_choices && matches!(item.what, ItemWhat::Choice(_) | ItemWhat::Own { .. })
        {
            continue;
        }
        line.clear();
        page.item(item, &mut line);
        page.put(&line, out)?;
        let ItemWhat::Frame(frame) = &item.what else {
            continue;
        };
        for (finding, shown) in findings.iter().zip(&mut shown) {
            if finding.frame == frame.number && !*shown {
                *shown = true;
                page.put(&page.finding(finding), out)?;
            }
        }
    }
    for (finding, _) in findings.iter().zip(&shown).filter(|(_, shown)| !**shown) {
        page.put(&page.finding(finding), out)?;
    }
    for remark in &story.remarks {
        page.put(&format!("note: {}", escape(remark)), out)?;
    }
    for error in &story.errors {
        page.put(&format!("unusable: {error}"), out)?;
    }
    Ok(())
}

/// The widths of the columns and the signs that are used.
struct Page<'a> {
    story: &'a Story,
    options: &'a TextOptions,
    to_server: &'static str,
    to_client: &'static str,
    numbers: usize,
    times: usize,
    clients: usize,
    servers: usize,
}

impl<'a> Page<'a> {
    fn new(story: &'a Story, findings: &[StoryFinding], options: &'a TextOptions) -> Page<'a> {
        let frames = findings.iter().map(|finding| finding.frame);
        let numbers = frames.chain(story.items.iter().map(|item| match &item.what {
            ItemWhat::Frame(frame) => frame.number,
            _ => 0,
        }));
        let times = story.items.iter().filter_map(|item| item.at_ms);
        let name = |party: usize| escape(&story.parties[party].name).chars().count();
        Page {
            story,
            options,
            to_server: if options.is_ascii { "->" } else { "→" },
            to_client: if options.is_ascii { "<-" } else { "←" },
            numbers: numbers.max().unwrap_or(0).to_string().len() + 1,
            times: times.max().map_or(0, |time| time.to_string().len() + 3),
            clients: story
                .links
                .iter()
                .map(|link| name(link.client))
                .max()
                .unwrap_or(0),
            servers: story
                .links
                .iter()
                .map(|link| name(link.server))
                .max()
                .unwrap_or(0),
        }
    }

    /// Writes one line, as ASCII where that is asked for.
    fn put(&self, line: &str, out: &mut impl io::Write) -> io::Result<()> {
        let line = line.trim_end();
        if !self.options.is_ascii || line.is_ascii() {
            return writeln!(out, "{line}");
        }
        let mut plain = String::with_capacity(line.len() + 16);
        for character in line.chars() {
            match character {
                '…' => plain.push_str("..."),
                '\0'..='\x7F' => plain.push(character),
                _ => plain.extend(character.escape_unicode()),
            }
        }
        writeln!(out, "{plain}")
    }

    fn head(&self, line: &mut String) {
        let story = self.story;
        let links: Vec<String> = story
            .links
            .iter()
            .map(|link| {
                let (client, server) = (self.name(link.client), self.name(link.server));
                let kind = link.kind.as_str();
                format!("{client} {} {server} ({kind})", self.to_server)
            })
            .collect();
        let _ = write!(line, "{}", escape(&story.title));
        let shown = links.len().min(4);
        if shown > 0 {
            let _ = write!(line, ": {}", links[..shown].join(", "));
        }
        if links.len() > shown {
            let _ = write!(line, " and {} more", links.len() - shown);
        }
    }

    fn name(&self, party: usize) -> String {
        escape(&self.story.parties[party].name).into_owned()
    }

    fn end(&self, link: usize, role: Role) -> String {
        self.name(self.story.links[link].end(role))
    }

    /// Number, time and ends of a link, with an arrow to that end or none.
    fn columns(&self, number: &str, at_ms: Option<u64>, link: usize, to: Option<Role>) -> String {
        let arrow = match to {
            Some(Role::Server) => self.to_server,
            Some(Role::Client) => self.to_client,
            None => "",
        };
        let mut line = self.margin(number, at_ms);
        let (client, server) = (self.end(link, Role::Client), self.end(link, Role::Server));
        let _ = write!(
            line,
            "{client:<clients$} {arrow:<arrows$} {server:<servers$}  ",
            clients = self.clients,
            servers = self.servers,
            arrows = self.to_server.chars().count(),
        );
        line
    }

    fn margin(&self, number: &str, at_ms: Option<u64>) -> String {
        let time = at_ms.map_or(String::new(), |at_ms| format!("{at_ms} ms"));
        format!(
            "{number:>numbers$}  {time:>times$}  ",
            numbers = self.numbers,
            times = self.times
        )
    }

    fn item(&self, item: &Item, line: &mut String) {
        match &item.what {
            ItemWhat::Frame(frame) => self.frame(item, frame, line),
            ItemWhat::Arrival {
                frame,
                link,
                to,
                again,
            } => {
                *line = self.columns("", item.at_ms, *link, Some(*to));
                let again = if *again { " again" } else { "" };
                let _ = write!(line, "#{frame} arrives{again}");
            }
            ItemWhat::Event {
                name,
                detail,
                link,
                by,
            } => {
                *line = self.margin("", item.at_ms);
                let who = by.zip(*link);
                let who = who.map(|(by, link)| format!("{}: ", self.end(link, by)));
                let _ = write!(line, "-- {}{}", who.unwrap_or_default(), escape(name));
                if !detail.is_empty() {
                    let _ = write!(line, " ({})", escape(detail));
                }
            }
            _ => {
                *line = self.margin("", item.at_ms);
                let _ = write!(line, "-- {}", happening(self.story, &item.what));
            }
        }
    }

    fn frame(&self, item: &Item, frame: &StoryFrame, line: &mut String) {
        let number = format!("#{}", frame.number);
        *line = self.columns(&number, item.at_ms, frame.link, Some(frame.from.other()));
        line.push_str(&escape(&frame.words()));
        if !frame.payload.is_empty() && self.options.payload_chars_max > 0 {
            let payload = escape(&frame.payload);
            match payload.char_indices().nth(self.options.payload_chars_max) {
                None => {
                    let _ = write!(line, "  {payload}");
                }
                Some((end, _)) => {
                    let _ = write!(line, "  {}…", &payload[..end]);
                }
            }
        }
        if let Some(stream) = &frame.stream {
            let _ = write!(line, "  [stream {}]", escape(stream));
        }
        if !frame.slips.is_empty() {
            let _ = write!(line, "  [on purpose: {}]", escape(&frame.slips.join(", ")));
        }
        let delivery = match frame.delivery {
            Delivery::AtOnce => "",
            Delivery::Later => "  [arrives later]",
            Delivery::Lost => "  [lost]",
            Delivery::OnItsWay => "  [never arrives]",
        };
        line.push_str(delivery);
    }

    fn finding(&self, finding: &StoryFinding) -> String {
        let sign = match finding.verdict {
            Verdict::Broken => '!',
            Verdict::Unsure => '?',
        };
        format!(
            "{:>numbers$}  {sign} {} ({}, {}): {}",
            "",
            escape(&finding.rule),
            finding.blame.as_str(),
            finding.verdict.as_str(),
            escape(&finding.message),
            numbers = self.numbers,
        )
    }
}

/// A pipe as its writer calls it.
fn pipe(pipe: Pipe) -> &'static str {
    match pipe {
        Pipe::Stdin | Pipe::Stdout => "pipe",
        Pipe::Stderr => "stderr",
    }
}

/// Everything that is no frame, in words that are safe to print.
pub(crate) fn happening(story: &Story, what: &ItemWhat) -> String {
    let name = |party: usize| escape(&story.parties[party].name);
    let end = |link: usize, role: Role| name(story.links[link].end(role));
    let against = |link: usize, forbidden: bool| match (forbidden, story.links[link].kind) {
        (false, _) => "",
        (true, LinkKind::Pipe) => " (which a pipe forbids)",
        (true, LinkKind::Http) => " (which http forbids)",
    };
    match what {
        ItemWhat::Lost {
            frame,
            link,
            to,
            told,
            forbidden,
        } => {
            let told = match told {
                Told::Nobody => "nobody is told",
                Told::Client => "the client is told",
                Told::Both => "both ends are told",
            };
            let (to, against) = (end(*link, *to), against(*link, *forbidden));
            format!("#{frame} to {to} is lost, {told}{against}")
        }
        ItemWhat::ExchangeLost {
            frame,
            link,
            forbidden,
        } => {
            let against = against(*link, *forbidden);
            format!("the exchange of #{frame} is lost: no answer can come{against}")
        }
        ItemWhat::Broken { stream, link } => {
            let (client, server) = (end(*link, Role::Client), end(*link, Role::Server));
            format!("stream {stream} to {client} breaks: {server} keeps what comes on it")
        }
        ItemWhat::Resumed { stream, link } => {
            let client = end(*link, Role::Client);
            format!("{client} has opened stream {stream} again")
        }
        ItemWhat::Forgotten { frame, link } => {
            let server = end(*link, Role::Server);
            format!("{server} does not have #{frame} any more")
        }
        ItemWhat::Stderr { link, text } => {
            format!("{} on stderr: {}", end(*link, Role::Server), escape(text))
        }
        ItemWhat::Blocked { link, on } => {
            let (writer, reader) = (on.writer(), on.writer().other());
            format!(
                "{} waits to write: its {} to {} is full",
                end(*link, writer),
                pipe(*on),
                end(*link, reader)
            )
        }
        ItemWhat::Unblocked { link, on } => {
            format!(
                "{} goes on: its {} has room",
                end(*link, on.writer()),
                pipe(*on)
            )
        }
        ItemWhat::Fault {
            fault,
            frame,
            link,
            party,
            forbidden,
        } => {
            let (to, against) = (name(*party), against(*link, *forbidden));
            let befallen = match (fault, frame) {
                (Fault::Cut, _) => format!("link {link} is cut"),
                (Fault::Crash, _) => format!("{to} crashes"),
                (_, 0) => format!("{} towards {to}", fault.as_str()),
                (Fault::Drop, _) => format!("#{frame} to {to} is dropped"),
                (Fault::Duplicate, _) => format!("#{frame} to {to} will arrive twice"),
                (Fault::Delay, _) => format!("#{frame} to {to} is held back"),
            };
            format!("fault: {befallen}{against}")
        }
        ItemWhat::Timer { party, tag } => format!("{}: timer {tag} fires", name(*party)),
        ItemWhat::Own { party, tag } => format!("{}: own step {tag}", name(*party)),
        ItemWhat::Open { link } => {
            let (client, server) = (end(*link, Role::Client), end(*link, Role::Server));
            format!("link {link} opens: {client} and {server}")
        }
        ItemWhat::Close { link, by } => format!("{} closes link {link}", end(*link, *by)),
        ItemWhat::Closed { link, to } => {
            format!("{} learns that link {link} is closed", end(*link, *to))
        }
        ItemWhat::Exit { party } => format!("{} exits", name(*party)),
        ItemWhat::Calm => "calm: no more faults".to_owned(),
        ItemWhat::Quiet => "quiet: nothing can happen any more".to_owned(),
        ItemWhat::Choice(choice) => {
            let (answer, bound) = (choice.answer, choice.bound);
            format!(
                "choice {}: {answer} of {bound}, {}",
                choice.site.as_str(),
                choice.label
            )
        }
        ItemWhat::Note(text) => format!("note: {}", escape(text)),
        ItemWhat::Event { name, detail, .. } if detail.is_empty() => escape(name).into_owned(),
        ItemWhat::Event { name, detail, .. } => format!("{} ({})", escape(name), escape(detail)),
        ItemWhat::Frame(frame) => escape(&frame.words()).into_owned(),
        ItemWhat::Arrival { frame, again, .. } => {
            format!("#{frame} arrives{}", if *again { " again" } else { "" })
        }
    }
}
