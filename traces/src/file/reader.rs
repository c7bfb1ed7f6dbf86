//! From the lines of a trace to events, one at a time, with the place of everything that cannot be used.

use std::io;

use crate::encode::Encoder;
use crate::event::{
    Choice, Fault, FrameNo, Label, LinkId, Origin, PartyId, Pipe, Role, Site, Stream, Told,
};
use crate::file::header::Header;
use crate::file::json::{Members, Read, Value, Wrong, object_of_line, quoted};
use crate::file::{DIGEST_SALT, End, EndFinding};
use crate::http::Http;
use crate::judge::{Blame, Verdict};
use crate::lines::{InputError, LINE_BYTES_MAX, Line, LineReader, ReadError};
use crate::scan::{FaultKind, Scanner, white};

/// An event as it was read, with its place in the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OwnedEvent {
    /// The line, from 1.
    pub line: u64,
    /// Milliseconds since the start.
    pub at_ms: u64,
    /// What happened.
    pub what: OwnedWhat,
}

/// What happened: [`crate::event::What`] with everything its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OwnedWhat {
    /// A link came up.
    Open {
        /// The link.
        link: LinkId,
    },
    /// A party put a frame on a link.
    Send {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The end that sent it.
        from: Role,
        /// The stream that it travels on.
        stream: Stream,
        /// What caused it.
        origin: Origin,
        /// The bytes of the line on the wire, without its end.
        raw: Vec<u8>,
        /// What HTTP tells beside it.
        http: Option<Box<Http<'static>>>,
        /// Rules that the sender breaks with it on purpose.
        slips: Vec<String>,
    },
    /// A frame arrived at a party.
    Recv {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The end that it arrived at.
        to: Role,
    },
    /// A fault befell a frame, or with `frame` 0 the link or party alone.
    Fault {
        /// Which fault.
        fault: Fault,
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The party that it befell.
        party: PartyId,
        /// Whether the link's kind forbids it.
        forbidden: bool,
    },
    /// A frame is lost on its way.
    Lost {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// The end that it travelled to.
        to: Role,
        /// Who learns of it.
        told: Told,
        /// Whether the link's kind forbids the loss.
        forbidden: bool,
    },
    /// The exchange of this request is lost.
    ExchangeLost {
        /// The request's frame number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
        /// Whether the link's kind forbids the loss.
        forbidden: bool,
    },
    /// The connection of a stream that can be resumed broke.
    Broken {
        /// The stream.
        stream: Stream,
        /// The link.
        link: LinkId,
    },
    /// The client has opened a broken stream again.
    Resumed {
        /// The stream.
        stream: Stream,
        /// The link.
        link: LinkId,
    },
    /// The server does not have that frame of a broken stream any more.
    Forgotten {
        /// The frame's number.
        frame: FrameNo,
        /// The link.
        link: LinkId,
    },
    /// The server of that link wrote a line on its stderr.
    Stderr {
        /// The link.
        link: LinkId,
        /// The line.
        text: String,
    },
    /// The pipe is full, and whoever writes into it does nothing else until there is room.
    Blocked {
        /// The link.
        link: LinkId,
        /// The pipe.
        on: Pipe,
    },
    /// There is room in that pipe again.
    Unblocked {
        /// The link.
        link: LinkId,
        /// The pipe.
        on: Pipe,
    },
    /// A party's timer fired.
    Timer {
        /// The party.
        party: PartyId,
        /// The tag that the party gave it.
        tag: u32,
    },
    /// A party took a step of its own.
    Own {
        /// The party.
        party: PartyId,
        /// The tag that the party gave it.
        tag: u32,
    },
    /// An end closed a link.
    Close {
        /// The link.
        link: LinkId,
        /// The end that closed it.
        by: Role,
    },
    /// An end learns that its link is closed.
    Closed {
        /// The link.
        link: LinkId,
        /// The end that learns of it.
        to: Role,
    },
    /// A party's program ended by itself.
    Exit {
        /// The party.
        party: PartyId,
    },
    /// Faults are over.
    Calm,
    /// Nothing can happen any more.
    Quiet,
    /// A question was answered.
    Choice(Choice),
    /// Something to tell the reader.
    Note(String),
}

/// Reads a trace from its beginning, an event at a time. An unusable line is an error with its
/// place, and the lines after it can still be read.
#[derive(Debug)]
pub struct TraceReader<R> {
    lines: LineReader<R>,
    scanner: Scanner,
    header: Header,
    header_text: String,
    last_ms: u64,
    events: u64,
    digest: Encoder,
    end: Option<End>,
    cut: bool,
    over: bool,
}

impl<R: io::Read> TraceReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// A first line that is no header of a trace, or of a newer format.
    pub fn new(input: R) -> Result<TraceReader<R>, ReadError> {
        TraceReader::from_lines(LineReader::new(input))
    }

    /// As [`TraceReader::new`], from a reader of lines that stands before the header.
    ///
    /// # Errors
    /// A first line that is no header of a trace, or of a newer format.
    pub fn from_lines(mut lines: LineReader<R>) -> Result<TraceReader<R>, ReadError> {
        let mut scanner = Scanner::new();
        let Some(line) = lines.next_line()? else {
            return Err(place(1, 0, "an empty file is no trace").into());
        };
        if line.too_long {
            return Err(too_long(&line).into());
        }
        let number = line.number;
        let text = without_cr(line.bytes);
        let start = start(&line);
        let header = Header::read(&text[start..], &mut scanner).map_err(|wrong| Wrong {
            at: wrong.at + start,
            ..wrong
        });
        let header = match header {
            Ok(header) => header,
            Err(_) if !line.has_eol && is_cut(&text[start..], &mut scanner) => {
                return Err(place(number, text.len(), "the file ends inside the header").into());
            }
            Err(wrong) => return Err(wrong.on(number).into()),
        };
        let header_text = String::from_utf8_lossy(&text[start..]).into_owned();
        Ok(TraceReader {
            lines,
            scanner,
            header,
            header_text,
            last_ms: 0,
            events: 0,
            digest: Encoder::new(DIGEST_SALT),
            end: None,
            cut: false,
            over: false,
        })
    }

    /// The header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The header's line as it stands in the file.
    pub fn header_text(&self) -> &str {
        &self.header_text
    }

    /// The closing line, once it was read. `None` at the end of the file: it has none, because the
    /// program that wrote it was interrupted.
    pub fn end(&self) -> Option<&End> {
        self.end.as_ref()
    }

    /// Whether the file stopped in the middle of its last line, which was left out.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Whether the lines before the closing line are not those that it was written for: somebody
    /// has changed the file.
    pub fn is_altered(&self) -> bool {
        let same = |end: &End| end.events == self.events && end.digest == self.digest.finish();
        self.end.as_ref().is_some_and(|end| !same(end))
    }

    /// How many events were read.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The digest of the lines of the events that were read: of the whole trace, once it was read.
    pub fn digest(&self) -> u128 {
        self.digest.finish()
    }

    /// The choices of all events from here to the end: what a replay needs.
    ///
    /// # Errors
    /// The first line that cannot be used.
    pub fn choices(&mut self) -> Result<Vec<Choice>, ReadError> {
        let mut choices = vec![];
        for event in self {
            if let OwnedWhat::Choice(choice) = event?.what {
                choices.push(choice);
            }
        }
        Ok(choices)
    }

    pub(crate) fn lines_mut(&mut self) -> &mut LineReader<R> {
        &mut self.lines
    }

    fn read(&mut self) -> Result<Option<OwnedEvent>, ReadError> {
        let line = match self.lines.next_line() {
            Ok(Some(line)) => line,
            Ok(None) => {
                self.over = true;
                return Ok(None);
            }
            Err(error) => {
                self.over = true;
                return Err(error.into());
            }
        };
        if line.too_long {
            return Err(too_long(&line).into());
        }
        let text = without_cr(line.bytes);
        if self.end.is_some() {
            self.over = true;
            return Err(place(line.number, 0, "something stands after the closing line").into());
        }
        let members = match object_of_line(text, &mut self.scanner) {
            Ok(members) => members,
            Err(_) if !line.has_eol && is_cut(text, &mut self.scanner) => {
                (self.cut, self.over) = (true, true);
                return Ok(None);
            }
            Err(_) if line.is_blank() => {
                return Err(place(line.number, 0, "a blank line is no event").into());
            }
            Err(wrong) => return Err(wrong.on(line.number).into()),
        };
        let context = Context {
            header: &self.header,
            last_ms: self.last_ms,
        };
        match context.entry(members, &mut self.scanner) {
            Ok(Entry::Event(at_ms, what)) => {
                self.last_ms = at_ms;
                self.events += 1;
                self.digest.bytes(text);
                Ok(Some(OwnedEvent {
                    line: line.number,
                    at_ms,
                    what,
                }))
            }
            Ok(Entry::End(end)) => {
                self.end = Some(end);
                self.read()
            }
            Err(wrong) => Err(wrong.on(line.number).into()),
        }
    }
}

impl<R: io::Read> Iterator for TraceReader<R> {
    type Item = Result<OwnedEvent, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        self.read().transpose()
    }
}

fn place(line: u64, at: usize, message: &str) -> InputError {
    Wrong::new(at, message).on(line)
}

pub(crate) fn too_long(line: &Line<'_>) -> InputError {
    let message = format!("the line is longer than {} MiB", LINE_BYTES_MAX >> 20);
    Wrong::new(line.bytes.len(), message).on(line.number)
}

/// The bytes without the CR that some editor has put before the LF.
pub(crate) fn without_cr(bytes: &[u8]) -> &[u8] {
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Where the text of the line begins: after the byte-order mark that some editors put into a file.
pub(crate) fn start(line: &Line<'_>) -> usize {
    if line.number == 1 && line.bytes.starts_with(b"\xEF\xBB\xBF") {
        3
    } else {
        0
    }
}

/// Whether these bytes are the beginning of a JSON object and nothing else. A crash can leave zeros
/// where the rest was to stand.
pub(crate) fn is_cut(text: &[u8], scanner: &mut Scanner) -> bool {
    let kept = text
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |last| last + 1);
    let text = &text[..kept];
    let at = white(text, 0);
    let begins = matches!(text.get(at), None | Some(b'{'));
    begins && matches!(scanner.value(text, at), Err(fault) if fault.kind == FaultKind::End)
}

enum Entry {
    Event(u64, OwnedWhat),
    End(End),
}

const KINDS: [&str; 22] = [
    "send",
    "recv",
    "choice",
    "open",
    "close",
    "closed",
    "exit",
    "fault",
    "lost",
    "exchange_lost",
    "broken",
    "resumed",
    "forgotten",
    "stderr",
    "blocked",
    "unblocked",
    "timer",
    "own",
    "calm",
    "quiet",
    "note",
    "end",
];

/// What a line's values are held against.
struct Context<'a> {
    header: &'a Header,
    last_ms: u64,
}

impl Context<'_> {
    fn entry(&self, mut members: Members<'_>, scanner: &mut Scanner) -> Read<Entry> {
        let Some(kind) = members.first_of(&KINDS) else {
            let known = KINDS.join(", ");
            return Err(members.wrong(format!("the line has none of {known}")));
        };
        members.noun = noun(kind);
        if kind == "end" {
            let end = members.need("end")?;
            members.finish()?;
            return Ok(Entry::End(read_end(end, scanner)?));
        }
        // A line without a time happened when the line before it did.
        let at_ms = match members.take("t") {
            Some(value) => value.integer()?,
            None => self.last_ms,
        };
        let what = self.what(kind, &mut members, scanner)?;
        members.finish()?;
        Ok(Entry::Event(at_ms, what))
    }

    fn what(
        &self,
        kind: &'static str,
        members: &mut Members<'_>,
        scanner: &mut Scanner,
    ) -> Read<OwnedWhat> {
        let value = members.need(kind)?;
        Ok(match kind {
            "open" => OwnedWhat::Open {
                link: self.link(value)?,
            },
            "send" => self.send(frame(value)?, members, scanner)?,
            "recv" => OwnedWhat::Recv {
                frame: frame(value)?,
                link: self.link(members.need("link")?)?,
                to: role(members.need("to")?)?,
            },
            "fault" => OwnedWhat::Fault {
                fault: value.word(&Fault::ALL, Fault::as_str)?,
                frame: members.take("frame").map_or(Ok(0), frame)?,
                link: self.link(members.need("link")?)?,
                party: self.party(members.need("party")?)?,
                forbidden: forbidden(members)?,
            },
            "lost" => OwnedWhat::Lost {
                frame: frame(value)?,
                link: self.link(members.need("link")?)?,
                to: role(members.need("to")?)?,
                told: members.need("told")?.word(&Told::ALL, Told::as_str)?,
                forbidden: forbidden(members)?,
            },
            "exchange_lost" => OwnedWhat::ExchangeLost {
                frame: frame(value)?,
                link: self.link(members.need("link")?)?,
                forbidden: forbidden(members)?,
            },
            "broken" => OwnedWhat::Broken {
                stream: value.integer()?,
                link: self.link(members.need("link")?)?,
            },
            "resumed" => OwnedWhat::Resumed {
                stream: value.integer()?,
                link: self.link(members.need("link")?)?,
            },
            "forgotten" => OwnedWhat::Forgotten {
                frame: frame(value)?,
                link: self.link(members.need("link")?)?,
            },
            "stderr" => OwnedWhat::Stderr {
                link: self.link(value)?,
                text: members.need("text")?.string()?.into_owned(),
            },
            "blocked" => OwnedWhat::Blocked {
                link: self.link(value)?,
                on: pipe(members.need("on")?)?,
            },
            "unblocked" => OwnedWhat::Unblocked {
                link: self.link(value)?,
                on: pipe(members.need("on")?)?,
            },
            "timer" => OwnedWhat::Timer {
                tag: value.integer()?,
                party: self.party(members.need("party")?)?,
            },
            "own" => OwnedWhat::Own {
                tag: value.integer()?,
                party: self.party(members.need("party")?)?,
            },
            "close" => OwnedWhat::Close {
                link: self.link(value)?,
                by: role(members.need("by")?)?,
            },
            "closed" => OwnedWhat::Closed {
                link: self.link(value)?,
                to: role(members.need("to")?)?,
            },
            "exit" => OwnedWhat::Exit {
                party: self.party(value)?,
            },
            "choice" => OwnedWhat::Choice(choice(value, members)?),
            "note" => OwnedWhat::Note(value.string()?.into_owned()),
            _ if !value.boolean()? => return Err(value.wrong("true was expected")),
            "calm" => OwnedWhat::Calm,
            _ => OwnedWhat::Quiet,
        })
    }

    fn send(
        &self,
        frame: FrameNo,
        members: &mut Members<'_>,
        scanner: &mut Scanner,
    ) -> Read<OwnedWhat> {
        let from = role(members.need("from")?)?;
        let http = Http::take(members, from, scanner)?;
        Ok(OwnedWhat::Send {
            frame,
            link: self.link(members.need("link")?)?,
            from,
            stream: members.need("stream")?.integer()?,
            origin: origin(members.need("origin")?)?,
            raw: raw(members)?,
            http: (!http.is_empty()).then(|| Box::new(http.into_owned())),
            slips: match members.take("slips") {
                Some(slips) => slips.strings(scanner)?,
                None => vec![],
            },
        })
    }

    fn link(&self, value: Value<'_>) -> Read<LinkId> {
        let number: u64 = value.integer()?;
        match u8::try_from(number) {
            Ok(link) if usize::from(link) < self.header.links.len() => Ok(LinkId(link)),
            _ => Err(value.wrong(format!(
                "there is no link {number}: the header has {}",
                self.header.links.len()
            ))),
        }
    }

    fn party(&self, value: Value<'_>) -> Read<PartyId> {
        self.header
            .party(value.integer()?, |message| value.wrong(message))
    }
}

/// What a line is, in messages.
const fn noun(kind: &'static str) -> &'static str {
    match kind.as_bytes() {
        b"send" => "a send",
        b"recv" => "a recv",
        b"choice" => "a choice",
        b"open" => "an open",
        b"close" => "a close",
        b"closed" => "a closed",
        b"lost" => "a lost",
        b"exchange_lost" => "an exchange_lost",
        b"broken" => "a broken",
        b"resumed" => "a resumed",
        b"forgotten" => "a forgotten",
        b"stderr" => "a stderr",
        b"blocked" => "a blocked",
        b"unblocked" => "an unblocked",
        b"exit" => "an exit",
        b"fault" => "a fault",
        b"timer" => "a timer",
        b"own" => "an own step",
        b"note" => "a note",
        b"end" => "the closing line",
        _ => "the line",
    }
}

fn frame(value: Value<'_>) -> Read<FrameNo> {
    match value.integer()? {
        0 => Err(value.wrong("frames are numbered from 1")),
        number => Ok(number),
    }
}

fn forbidden(members: &mut Members<'_>) -> Read<bool> {
    members.take("forbidden").map_or(Ok(false), Value::boolean)
}

fn role(value: Value<'_>) -> Read<Role> {
    value.word(&[Role::Client, Role::Server], Role::as_str)
}

fn pipe(value: Value<'_>) -> Read<Pipe> {
    value.word(&Pipe::ALL, Pipe::as_str)
}

fn origin(value: Value<'_>) -> Read<Origin> {
    let text = value.string()?;
    let parts = text.split_once('.').and_then(|(party, step)| {
        Some(Origin {
            party: PartyId(party.parse().ok()?),
            step: step.parse().ok()?,
        })
    });
    parts.ok_or_else(|| {
        value.wrong(format!(
            "an origin is a party and a step such as \"0.2\", not {}",
            quoted(text.as_bytes())
        ))
    })
}

fn raw(members: &mut Members<'_>) -> Read<Vec<u8>> {
    match (members.take("raw"), members.take("raw_b64")) {
        (Some(text), None) => Ok(text.string()?.into_owned().into_bytes()),
        (None, Some(base64)) => base64.base64(),
        (Some(_), Some(second)) => Err(second.wrong("\"raw\" stands there already")),
        (None, None) => Err(members.wrong("a send has no \"raw\" and no \"raw_b64\"")),
    }
}

fn choice(site: Value<'_>, members: &mut Members<'_>) -> Read<Choice> {
    let site = site.word(&Site::ALL, Site::as_str)?;
    let bound = members.need("of")?.integer()?;
    let took = members.need("took")?;
    let answer = took.integer()?;
    if answer >= bound {
        return Err(took.wrong(format!("option {answer} of {bound}, counted from 0")));
    }
    let label = members.need("label")?;
    let text = label.string()?;
    match Label::parse(&text) {
        Some(label) => Ok(Choice {
            site,
            bound,
            answer,
            label,
        }),
        None => Err(label.wrong(format!("unknown label {}", quoted(text.as_bytes())))),
    }
}

fn read_end(end: Value<'_>, scanner: &mut Scanner) -> Read<End> {
    let mut members = end.members("the closing line", scanner)?;
    let events = members.need("events")?.integer()?;
    let digest = members.need("digest")?;
    let text = digest.string()?;
    let hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let Some(Ok(number)) = hex.then(|| u128::from_str_radix(&text, 16)) else {
        return Err(digest.wrong("a digest has 32 hexadecimal digits"));
    };
    let mut findings = vec![];
    for item in members.need("findings")?.items(scanner)? {
        let mut finding = item.members("a finding", scanner)?;
        findings.push(EndFinding {
            rule: finding.need("rule")?.string()?.into_owned(),
            blame: finding.need("blame")?.word(&BLAMES, Blame::as_str)?,
            verdict: finding.need("verdict")?.word(&VERDICTS, Verdict::as_str)?,
        });
        finding.finish()?;
    }
    members.finish()?;
    Ok(End {
        events,
        digest: number,
        findings,
    })
}

const BLAMES: [Blame; 5] = [
    Blame::Client,
    Blame::Server,
    Blame::Transport,
    Blame::None,
    Blame::Harness,
];

const VERDICTS: [Verdict; 2] = [Verdict::Broken, Verdict::Unsure];
