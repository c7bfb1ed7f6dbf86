//! Traces of recordings: frames in their order, each arriving where it was seen, and who closed what. Nothing was drawn, so
//! that there is no seed and no scenario, and what an event has no line for is told in a note.

use std::collections::BTreeMap;
use std::io::{self, SeekFrom, Write};

use super::date::iso;
use super::{
    Beginning, CUT_FRAMES, DATES_BEGIN_MS, EVENTS, End, Export, HEADS, LINE_ENDS, Losses, SIZES,
    STATUSES, Spool, TEXTS, is_of_recording,
};
use crate::capture::{CaptureEvent, CaptureFrame, CaptureLine, CaptureWhat, EventKind};
use crate::classify::classify;
use crate::event::{
    Event, FrameNo, FrameText, LinkId, LinkKind, Origin, PartyId, Role, Stream, What,
};
use crate::file::{BEGINNING, EventText, Header, Link, Party, PartyRole, TraceWriter};
use crate::http::{Head, Http, Start};
use crate::judge::Vantage;
use crate::lost::Lost;
use crate::render::Spellings;
use crate::scan::Scanner;

/// A trace has 256 parties at most, two for each link.
const LINKS_MAX: usize = 128;

/// The events are kept in the spool: the header, which comes first, names links that turn up later.
pub(super) struct Trace<W, S> {
    out: W,
    spool: S,
    beginning: Beginning,
    text: EventText,
    line: Vec<u8>,
    scanner: Scanner,
    links: Vec<LinkOf>,
    /// The link of each session; of what names none, under an empty name.
    of_session: BTreeMap<String, LinkId>,
    frames: FrameNo,
    clock: Clock,
    /// An event without data was left out, whose id counts.
    leaves_ids_out: bool,
    losses: Losses,
}

struct LinkOf {
    session: String,
    kind: LinkKind,
    /// Numbers of streams, in the order in which they turned up. One name an exchange is all that is kept of it.
    streams: BTreeMap<String, Stream>,
}

/// Times as a trace has them: from the beginning on.
#[derive(Default)]
struct Clock {
    start_ms: Option<u64>,
    last_ms: u64,
}

/// Lines of a trace that have no time happened when the line before did.
const TIMES: &str = "lines without a time, now at that of the line before";
const BACKWARDS: &str = "times earlier than the beginning, now at the beginning";
const TOO_MANY: &str = "lines of sessions beyond 128, left out";
const EXCHANGES: &str = "ends of exchanges, now notes";

impl<W: Write, S: Spool> Trace<W, S> {
    pub(super) fn new(out: W, spool: S, beginning: Beginning) -> Trace<W, S> {
        Trace {
            out,
            spool,
            beginning,
            text: EventText::new(),
            line: vec![],
            scanner: Scanner::new(),
            links: vec![],
            of_session: BTreeMap::new(),
            frames: 0,
            clock: Clock::default(),
            leaves_ids_out: false,
            losses: Losses::default(),
        }
    }

    fn put(&mut self, what: What<'_>) -> io::Result<()> {
        let at_ms = self.clock.last_ms;
        self.text.line(&Event { at_ms, what }, &mut self.line);
        self.line.push(b'\n');
        let written = self.spool.write_all(&self.line);
        self.line.clear();
        self.line.shrink_to(crate::lines::KEPT_BYTES_MAX);
        written
    }

    /// The link of the line's session, which comes up with it; `None` where there are too many.
    fn link(&mut self, line: &CaptureLine<'_>) -> io::Result<Option<LinkId>> {
        let session = line.session.as_deref().unwrap_or_default();
        if let Some(link) = self.of_session.get(session) {
            return Ok(Some(*link));
        }
        if self.links.len() == LINKS_MAX {
            self.losses.add(TOO_MANY);
            return Ok(None);
        }
        let link = LinkId(self.links.len() as u8);
        self.of_session.insert(session.to_owned(), link);
        self.links.push(LinkOf {
            session: session.to_owned(),
            kind: self.beginning.opening.transport.unwrap_or(LinkKind::Pipe),
            streams: BTreeMap::new(),
        });
        self.put(What::Open { link })?;
        Ok(Some(link))
    }

    /// The time of the line. The first one is the beginning; what day that was stands in a note.
    fn tick(&mut self, t_ms: Option<u64>) -> io::Result<()> {
        let Some(t_ms) = t_ms else {
            return Ok(());
        };
        let is_first = self.clock.start_ms.is_none();
        // Small times are counted from a beginning already.
        let from = if t_ms < DATES_BEGIN_MS { 0 } else { t_ms };
        let start_ms = *self.clock.start_ms.get_or_insert(from);
        self.losses.add_if(t_ms < start_ms, BACKWARDS);
        self.clock.last_ms = t_ms.saturating_sub(start_ms);
        if is_first
            && start_ms > 0
            && let Some(date) = iso(start_ms)
        {
            self.put(What::Note(&format!("recorded from {date} on")))?;
        }
        Ok(())
    }

    fn frame(&mut self, frame: &CaptureFrame<'_>, line: &CaptureLine<'_>) -> io::Result<()> {
        if frame.cut_from_bytes.is_some() {
            self.losses.add(CUT_FRAMES);
            let from = frame.from.as_str();
            return self.put(What::Note(&format!(
                "{from}: a frame whose end was cut off is left out"
            )));
        }
        let Some(link) = self.link(line)? else {
            return Ok(());
        };
        self.losses.add_if(!frame.has_eol, LINE_ENDS);
        self.losses.add_if(frame.pad_to.is_some(), SIZES);
        // On a pipe a line feed would end the line: whoever laid the frame out meant a blank.
        let plain: Vec<u8>;
        let mut raw = frame.raw;
        if frame.is_laid_out && line.stream.is_none() && raw.contains(&b'\n') {
            self.losses.add(super::BREAKS);
            let blank = |byte: &u8| if *byte == b'\n' { b' ' } else { *byte };
            plain = raw.iter().map(blank).collect();
            raw = &plain;
        }
        self.frames += 1;
        let message = classify(raw, &mut self.scanner).message;
        let stream = self.stream(link, line);
        let party = party(link, frame.from);
        self.put(What::Send {
            frame: self.frames,
            link,
            from: frame.from,
            stream,
            // Nobody's workload: only who sent it is known.
            origin: Origin { party, step: 0 },
            text: FrameText {
                message: &message,
                raw: Some(raw),
                spellings: &Spellings::default(),
            },
            http: line.http.as_deref(),
            slips: &[],
        })?;
        self.put(What::Recv {
            frame: self.frames,
            link,
            to: frame.from.other(),
        })
    }

    fn stream(&mut self, link: LinkId, line: &CaptureLine<'_>) -> Stream {
        let of_link = &mut self.links[usize::from(link.0)];
        if line.stream.is_some() || line.http.is_some() {
            of_link.kind = LinkKind::Http;
        }
        let Some(name) = line.stream.as_deref() else {
            return 0;
        };
        if let Some(number) = of_link.streams.get(name) {
            return *number;
        }
        // Without a name it is 0.
        let number = of_link.streams.len() as Stream + 1;
        of_link.streams.insert(name.to_owned(), number);
        number
    }

    fn event(&mut self, event: &CaptureEvent<'_>, line: &CaptureLine<'_>) -> io::Result<()> {
        match (event.kind, event.by) {
            // What it says stands in the header.
            (kind, _) if is_of_recording(line, kind) => Ok(()),
            (EventKind::Eof | EventKind::Exit, Some(by)) if line.stream.is_none() => {
                self.losses.add_if(event.status.is_some(), STATUSES);
                self.losses.add_if(!event.raw.is_empty(), TEXTS);
                self.losses.add_if(line.http.is_some(), HEADS);
                for link in self.concerned(line)? {
                    self.put(match event.kind {
                        EventKind::Eof => What::Close { link, by },
                        _ => What::Exit {
                            party: party(link, by),
                        },
                    })?;
                }
                Ok(())
            }
            (kind, by) => {
                let is_end = super::ends_exchange(line, kind);
                self.losses.add(if is_end { EXCHANGES } else { EVENTS });
                let mut note = by.map_or(String::new(), |by| format!("{}: ", by.as_str()));
                note.push_str(&event.name);
                if let Some(stream) = &line.stream {
                    note.push_str(&format!(" on {stream}"));
                }
                if !event.raw.is_empty() {
                    note.push_str(&format!(": {}", String::from_utf8_lossy(event.raw)));
                }
                self.put(What::Note(&note))
            }
        }
    }

    /// The links that an event is about: what names no session concerns all that there are.
    fn concerned(&mut self, line: &CaptureLine<'_>) -> io::Result<Vec<LinkId>> {
        if line.session.is_none() && !self.links.is_empty() {
            return Ok((0..self.links.len()).map(|at| LinkId(at as u8)).collect());
        }
        Ok(self.link(line)?.into_iter().collect())
    }

    /// A head without a frame has no line in a trace.
    fn head(&mut self, by: Role, line: &CaptureLine<'_>) -> io::Result<()> {
        self.losses.add(HEADS);
        let Some(http) = line.http.as_deref() else {
            return Ok(());
        };
        self.leaves_ids_out |= !http.sse.is_empty();
        let mut note = format!("{}: {}", by.as_str(), words(http));
        if let Some(stream) = &line.stream {
            note.push_str(&format!(" on {stream}"));
        }
        self.put(What::Note(&note))
    }

    fn header(&self, end: &End) -> Header {
        let mut header = Header::new(&self.beginning.program);
        let opening = self.beginning.opening;
        header.vantage = match opening.vantage {
            None | Some(Vantage::World) => Vantage::Between,
            Some(end) => end,
        };
        for (at, of_link) in self.links.iter().enumerate() {
            let link = LinkId(at as u8);
            for (role, of_party) in [
                (Role::Client, PartyRole::Client),
                (Role::Server, PartyRole::Server),
            ] {
                let space = if of_link.session.is_empty() { "" } else { " " };
                header.parties.push(Party {
                    name: format!("{}{space}{}", role.as_str(), of_link.session),
                    role: of_party,
                });
            }
            header.links.push(Link {
                kind: of_link.kind,
                client: party(link, Role::Client),
                server: party(link, Role::Server),
            });
        }
        let mut lost = end.lost;
        if self.clock.start_ms.is_none() {
            lost |= Lost::TIME;
        }
        if self.leaves_ids_out {
            lost |= Lost::EVENT_IDS;
        }
        header.lost = lost.names().map(str::to_owned).collect();
        if !opening.whole {
            header.lost.push(BEGINNING.to_owned());
        }
        header.guessed.clone_from(&end.guessed);
        header
    }
}

impl<W: Write, S: Spool> Export for Trace<W, S> {
    fn line(&mut self, line: &CaptureLine<'_>) -> io::Result<()> {
        self.tick(line.t_ms)?;
        let has_clock = self.clock.start_ms.is_some();
        self.losses.add_if(has_clock && line.t_ms.is_none(), TIMES);
        match &line.what {
            CaptureWhat::Frame(frame) => self.frame(frame, line),
            CaptureWhat::Event(event) => self.event(event, line),
            CaptureWhat::Http(by) => self.head(*by, line),
        }
    }

    fn finish(&mut self, end: &End) -> io::Result<()> {
        let header = self.header(end);
        // The header alone, which is a trace that was given up at once.
        TraceWriter::new(&mut self.out, &header).abandon()?;
        self.spool.seek(SeekFrom::Start(0))?;
        io::copy(&mut self.spool, &mut self.out)?;
        self.text.end_line(&[], &mut self.line);
        self.line.push(b'\n');
        self.out.write_all(&self.line)?;
        self.out.flush()
    }

    fn losses(&mut self) -> &mut Losses {
        &mut self.losses
    }

    fn remarks(&self) -> Vec<String> {
        vec![]
    }
}

/// Who stands at that end of a link: each link has two parties of its own.
fn party(link: LinkId, role: Role) -> PartyId {
    PartyId(2 * link.0 + role as u8)
}

/// A head, or an event without data, in few words.
fn words(http: &Http<'_>) -> String {
    match &http.head {
        Some(Head {
            start: Start::Request { method, target },
            ..
        }) => format!("{method} {}", target.as_deref().unwrap_or_default())
            .trim_end()
            .to_owned(),
        Some(Head {
            start: Start::Answer { status },
            ..
        }) => format!("HTTP {status}"),
        None => "a server-sent event without data".to_owned(),
    }
}
