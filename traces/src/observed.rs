//! A trace as a recording: what an observer between the two ends of each link would have written down. What only the world
//! knows (choices, faults, arrivals) is counted and left out.

use std::collections::BTreeMap;
use std::io;

use crate::capture::{CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind, Opening};
use crate::event::{LinkId, LinkKind, PartyId, Role, Stream};
use crate::file::{BEGINNING, Header, OwnedEvent, OwnedWhat, TraceReader};
use crate::http::Http;
use crate::judge::Vantage;
use crate::lines::ReadError;
use crate::lost::Lost;
use crate::recording::Recording;

/// Reads a trace as an observer's recording.
#[derive(Debug)]
pub struct ObservedTrace<R> {
    reader: TraceReader<R>,
    /// What the last event gave; all but the last are to be handed on before the next is read.
    at_hand: Vec<Seen>,
    lost: Lost,
    opening: Opening,
    is_recorded: bool,
    last_line: u64,
    passed: BTreeMap<&'static str, u64>,
}

/// Something that an observer sees.
#[derive(Clone, Debug)]
struct Seen {
    line: u64,
    t_ms: Option<u64>,
    session: Option<String>,
    stream: Option<String>,
    what: SeenWhat,
}

#[derive(Clone, Debug)]
enum SeenWhat {
    Frame {
        from: Role,
        raw: Vec<u8>,
        http: Option<Box<Http<'static>>>,
    },
    End {
        by: Role,
        kind: EventKind,
    },
    /// A line on the server's stderr.
    Stderr(String),
}

impl<R: io::Read> ObservedTrace<R> {
    /// From a reader that stands behind the header.
    pub fn new(reader: TraceReader<R>) -> ObservedTrace<R> {
        let header = reader.header();
        let is_recorded = header.is_recorded();
        let lost = header.lost.iter().filter_map(|name| Lost::parse(name));
        let lost = lost.fold(Lost::NOTHING, |all, one| all | one);
        let is_http = |link: &crate::file::Link| link.kind == LinkKind::Http;
        let opening = Opening {
            // What the world knows of both ends, no single observer does.
            vantage: Some(header.vantage).filter(|vantage| *vantage != Vantage::World),
            transport: header.links.first().map(|first| first.kind).filter(|_| {
                let first = header.links.first().is_some_and(is_http);
                header.links.iter().all(|link| is_http(link) == first)
            }),
            // What is played begins at its beginning.
            whole: !header.lost.iter().any(|name| name == BEGINNING),
        };
        ObservedTrace {
            reader,
            at_hand: vec![],
            lost,
            opening,
            is_recorded,
            last_line: 1,
            passed: BTreeMap::new(),
        }
    }

    /// The session of a link: where there are several, each is one.
    fn session(&self, link: LinkId) -> Option<String> {
        let header = self.reader.header();
        if self.is_recorded {
            let client = header.links[usize::from(link.0)].client;
            let name = &header.parties[usize::from(client.0)].name;
            return name.strip_prefix("client ").map(str::to_owned);
        }
        (header.links.len() > 1).then(|| link.0.to_string())
    }

    fn take(&mut self, event: OwnedEvent) {
        self.last_line = event.line;
        let seen = |this: &Self, link, stream: Option<String>, what| Seen {
            line: event.line,
            t_ms: Some(event.at_ms).filter(|_| !this.lost.has(Lost::TIME)),
            session: this.session(link),
            stream,
            what,
        };
        match event.what {
            OwnedWhat::Send {
                link,
                from,
                stream,
                raw,
                http,
                slips,
                ..
            } => {
                self.pass(Some("marks of what is broken on purpose").filter(|_| !slips.is_empty()));
                let what = SeenWhat::Frame { from, raw, http };
                let one = seen(self, link, stream_name(stream), what);
                self.at_hand.push(one);
            }
            OwnedWhat::Stderr { link, text } => {
                let one = seen(self, link, None, SeenWhat::Stderr(text));
                self.at_hand.push(one);
            }
            OwnedWhat::Close { link, by } => {
                let kind = EventKind::Eof;
                let one = seen(self, link, None, SeenWhat::End { by, kind });
                self.at_hand.push(one);
            }
            OwnedWhat::Exit { party } => {
                let kind = EventKind::Exit;
                for (link, by) in ends_of(self.reader.header(), party) {
                    let one = seen(self, link, None, SeenWhat::End { by, kind });
                    self.at_hand.push(one);
                }
                // The first is handed on first.
                self.at_hand.reverse();
            }
            other => self.pass(passed_over(&other, self.is_recorded)),
        }
    }

    /// Counts what is left out.
    fn pass(&mut self, noun: Option<&'static str>) {
        if let Some(noun) = noun {
            *self.passed.entry(noun).or_default() += 1;
        }
    }
}

impl<R: io::Read> Recording for ObservedTrace<R> {
    fn format(&self) -> &'static str {
        "trace"
    }

    fn opening(&self) -> Opening {
        self.opening
    }

    fn next_line(&mut self) -> Result<Option<CaptureLine<'_>>, ReadError> {
        self.at_hand.pop();
        while self.at_hand.is_empty() {
            let Some(event) = self.reader.next() else {
                return Ok(None);
            };
            self.take(event?);
        }
        Ok(self.at_hand.last().map(Seen::line))
    }

    fn line_number(&self) -> u64 {
        self.last_line
    }

    fn is_cut(&self) -> bool {
        self.reader.is_cut()
    }

    fn lost(&self) -> Lost {
        self.lost
    }

    fn guessed(&self) -> Vec<String> {
        self.reader.header().guessed.clone()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![];
        if !self.passed.is_empty() {
            let counted = |(noun, count): (&&str, &u64)| format!("{noun}: {count}");
            let list: Vec<String> = self.passed.iter().map(counted).collect();
            remarks.push(format!(
                "what an observer does not see is left out: {}",
                list.join(", ")
            ));
        }
        if self.reader.end().is_none() && !self.reader.is_cut() {
            remarks.push("there is no closing line: the trace ends early".to_owned());
        }
        if self.reader.is_altered() {
            remarks
                .push("the events are not those that were written: the digest differs".to_owned());
        }
        remarks
    }
}

impl Seen {
    fn line(&self) -> CaptureLine<'_> {
        let event = |kind, name, by, raw| {
            CaptureWhat::Event(CaptureEvent {
                kind,
                name,
                by: Some(by),
                raw,
                status: None,
                vantage: None,
                transport: None,
                whole: false,
                lost: Lost::NOTHING,
            })
        };
        let (what, http) = match &self.what {
            SeenWhat::Frame { from, raw, http } => {
                let frame = CaptureFrame {
                    from: *from,
                    raw,
                    is_utf8: false,
                    has_eol: true,
                    is_laid_out: false,
                    pad_to: None,
                    cut_from_bytes: None,
                };
                (CaptureWhat::Frame(frame), http.clone())
            }
            SeenWhat::End { by, kind } => {
                let name = kind.as_str().into();
                (event(*kind, name, *by, &b""[..]), None)
            }
            SeenWhat::Stderr(text) => {
                let name = "stderr".into();
                let raw = text.as_bytes();
                (event(EventKind::Other, name, Role::Server, raw), None)
            }
        };
        CaptureLine {
            line: self.line,
            t_ms: self.t_ms,
            session: self.session.as_deref().map(Into::into),
            stream: self.stream.as_deref().map(Into::into),
            http,
            what,
            origin: None,
        }
    }
}

/// What travels on stream 0 names none.
fn stream_name(stream: Stream) -> Option<String> {
    (stream != 0).then(|| stream.to_string())
}

/// The ends of links at which a party stands.
fn ends_of(header: &Header, party: PartyId) -> Vec<(LinkId, Role)> {
    let mut ends = vec![];
    for (at, link) in header.links.iter().enumerate() {
        for (role, at_end) in [(Role::Client, link.client), (Role::Server, link.server)] {
            if at_end == party {
                ends.push((LinkId(at as u8), role));
            }
        }
    }
    ends
}

/// What is left out of a trace; `None` for what says nothing that a recording lacks. A recording that was made a trace
/// has an arrival for each frame, by form alone.
fn passed_over(what: &OwnedWhat, is_recorded: bool) -> Option<&'static str> {
    Some(match what {
        OwnedWhat::Recv { .. } if !is_recorded => "arrivals",
        OwnedWhat::Fault { .. } => "faults",
        OwnedWhat::Lost { .. } | OwnedWhat::ExchangeLost { .. } => "losses",
        OwnedWhat::Broken { .. } | OwnedWhat::Resumed { .. } => "broken connections",
        OwnedWhat::Forgotten { .. } => "losses",
        OwnedWhat::Blocked { .. } | OwnedWhat::Unblocked { .. } => "full pipes",
        OwnedWhat::Timer { .. } | OwnedWhat::Own { .. } => "steps",
        OwnedWhat::Choice(_) => "choices",
        OwnedWhat::Note(_) => "notes",
        _ => return None,
    })
}
