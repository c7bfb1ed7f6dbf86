//! From events to the lines of a trace, as they happen.

use std::io;

use crate::encode::Encoder;
use crate::event::{Choice, Event, Label, LinkId, PartyId, Sink, What};
use crate::file::header::Header;
use crate::file::json::{put_base64, put_string, put_strings};
use crate::file::{DIGEST_SALT, EndFinding};

/// Renders events as lines, one after the other: what a trace holds below its header.
#[derive(Clone, Debug)]
pub struct EventText {
    /// The time of the line before: a choice at the same time does not repeat it.
    last_ms: u64,
    events: u64,
    digest: Encoder,
    frame: Vec<u8>,
}

impl Default for EventText {
    fn default() -> Self {
        EventText::new()
    }
}

impl EventText {
    /// Before the first event.
    pub fn new() -> EventText {
        EventText {
            last_ms: 0,
            events: 0,
            digest: Encoder::new(DIGEST_SALT),
            frame: vec![],
        }
    }

    /// How many events were rendered.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The digest of their lines.
    pub fn digest(&self) -> u128 {
        self.digest.finish()
    }

    /// Appends the event's line, without its LF.
    pub fn line(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        out.push(b'{');
        let is_choice = matches!(event.what, What::Choice(_));
        if !is_choice || event.at_ms != self.last_ms {
            put(out, "\"t\":");
            put_number(out, event.at_ms);
            out.push(b',');
        }
        self.last_ms = event.at_ms;
        match event.what {
            What::Open { link } => put_link(out, "\"open\":", link),
            What::Send {
                frame,
                link,
                from,
                stream,
                origin,
                text,
                http,
                slips,
            } => {
                put(out, "\"send\":");
                put_number(out, u64::from(frame));
                put_link(out, ",\"link\":", link);
                put_word(out, ",\"from\":\"", from.as_str());
                put(out, ",\"stream\":");
                put_number(out, u64::from(stream));
                put_party(out, ",\"origin\":\"", origin.party);
                out.push(b'.');
                put_number(out, u64::from(origin.step));
                out.push(b'"');
                if !slips.is_empty() {
                    put(out, ",\"slips\":");
                    put_strings(out, slips);
                }
                if let Some(http) = http {
                    http.write(out);
                }
                self.frame.clear();
                text.write(&mut self.frame);
                put_frame(out, &self.frame);
                self.frame.shrink_to(crate::lines::KEPT_BYTES_MAX);
            }
            What::Recv { frame, link, to } => {
                put(out, "\"recv\":");
                put_number(out, u64::from(frame));
                put_link(out, ",\"link\":", link);
                put_word(out, ",\"to\":\"", to.as_str());
            }
            What::Fault {
                fault,
                frame,
                link,
                party,
                forbidden,
            } => {
                put_word(out, "\"fault\":\"", fault.as_str());
                if frame != 0 {
                    put(out, ",\"frame\":");
                    put_number(out, u64::from(frame));
                }
                put_link(out, ",\"link\":", link);
                put_party(out, ",\"party\":", party);
                put_forbidden(out, forbidden);
            }
            What::Lost {
                frame,
                link,
                to,
                told,
                forbidden,
            } => {
                put(out, "\"lost\":");
                put_number(out, u64::from(frame));
                put_link(out, ",\"link\":", link);
                put_word(out, ",\"to\":\"", to.as_str());
                put_word(out, ",\"told\":\"", told.as_str());
                put_forbidden(out, forbidden);
            }
            What::ExchangeLost {
                frame,
                link,
                forbidden,
            } => {
                put(out, "\"exchange_lost\":");
                put_number(out, u64::from(frame));
                put_link(out, ",\"link\":", link);
                put_forbidden(out, forbidden);
            }
            What::Broken { stream, link } => {
                put(out, "\"broken\":");
                put_number(out, u64::from(stream));
                put_link(out, ",\"link\":", link);
            }
            What::Resumed { stream, link } => {
                put(out, "\"resumed\":");
                put_number(out, u64::from(stream));
                put_link(out, ",\"link\":", link);
            }
            What::Forgotten { frame, link } => {
                put(out, "\"forgotten\":");
                put_number(out, u64::from(frame));
                put_link(out, ",\"link\":", link);
            }
            What::Stderr { link, text } => {
                put_link(out, "\"stderr\":", link);
                put(out, ",\"text\":");
                put_string(out, text);
            }
            What::Blocked { link, on } => {
                put_link(out, "\"blocked\":", link);
                put_word(out, ",\"on\":\"", on.as_str());
            }
            What::Unblocked { link, on } => {
                put_link(out, "\"unblocked\":", link);
                put_word(out, ",\"on\":\"", on.as_str());
            }
            What::Timer { party, tag } => put_tag(out, "\"timer\":", tag, party),
            What::Own { party, tag } => put_tag(out, "\"own\":", tag, party),
            What::Close { link, by } => {
                put_link(out, "\"close\":", link);
                put_word(out, ",\"by\":\"", by.as_str());
            }
            What::Closed { link, to } => {
                put_link(out, "\"closed\":", link);
                put_word(out, ",\"to\":\"", to.as_str());
            }
            What::Exit { party } => put_party(out, "\"exit\":", party),
            What::Calm => put(out, "\"calm\":true"),
            What::Quiet => put(out, "\"quiet\":true"),
            What::Choice(choice) => put_choice(out, &choice),
            What::Note(text) => {
                put(out, "\"note\":");
                put_string(out, text);
            }
        }
        out.push(b'}');
        self.events += 1;
        self.digest.bytes(&out[start..]);
    }

    /// Appends the closing line, without its LF.
    pub fn end_line(&self, findings: &[EndFinding], out: &mut Vec<u8>) {
        put(out, "{\"end\":{\"events\":");
        put_number(out, self.events);
        put_word(out, ",\"digest\":\"", &format!("{:032x}", self.digest()));
        put(out, ",\"findings\":[");
        for (at, finding) in findings.iter().enumerate() {
            put(out, if at == 0 { "{\"rule\":" } else { ",{\"rule\":" });
            put_string(out, &finding.rule);
            put_word(out, ",\"blame\":\"", finding.blame.as_str());
            put_word(out, ",\"verdict\":\"", finding.verdict.as_str());
            out.push(b'}');
        }
        put(out, "]}}");
    }
}

#[inline]
fn put(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(text.as_bytes());
}

/// A word of ours after `before`, which ends with the opening quote.
#[inline]
fn put_word(out: &mut Vec<u8>, before: &str, word: &str) {
    put(out, before);
    put(out, word);
    out.push(b'"');
}

#[inline]
fn put_link(out: &mut Vec<u8>, before: &str, link: LinkId) {
    put(out, before);
    put_number(out, u64::from(link.0));
}

#[inline]
fn put_party(out: &mut Vec<u8>, before: &str, party: PartyId) {
    put(out, before);
    put_number(out, u64::from(party.0));
}

fn put_forbidden(out: &mut Vec<u8>, forbidden: bool) {
    if forbidden {
        put(out, ",\"forbidden\":true");
    }
}

fn put_tag(out: &mut Vec<u8>, before: &str, tag: u32, party: PartyId) {
    put(out, before);
    put_number(out, u64::from(tag));
    put_party(out, ",\"party\":", party);
}

fn put_frame(out: &mut Vec<u8>, frame: &[u8]) {
    match simdutf8::basic::from_utf8(frame) {
        Ok(text) => {
            put(out, ",\"raw\":");
            put_string(out, text);
        }
        Err(_) => {
            put(out, ",\"raw_b64\":");
            put_base64(out, frame);
        }
    }
}

fn put_choice(out: &mut Vec<u8>, choice: &Choice) {
    put_word(out, "\"choice\":\"", choice.site.as_str());
    put(out, ",\"of\":");
    put_number(out, u64::from(choice.bound));
    put(out, ",\"took\":");
    put_number(out, u64::from(choice.answer));
    put(out, ",\"label\":\"");
    put_label(out, &choice.label);
    out.push(b'"');
}

/// As the label's `Display`, which is slow for what every step of a run writes.
fn put_label(out: &mut Vec<u8>, label: &Label) {
    match *label {
        Label::Frame {
            link,
            to,
            kind,
            origin,
            nth,
        } => {
            put_link(out, "frame/", link);
            out.push(b'/');
            put(out, to.as_str());
            out.push(b'/');
            put(out, kind.as_str());
            put_party(out, "/", origin.party);
            out.push(b'.');
            put_number(out, u64::from(origin.step));
            out.push(b'/');
            put_number(out, u64::from(nth));
        }
        Label::Own { party, tag } => {
            put_party(out, "own/", party);
            out.push(b'/');
            put_number(out, u64::from(tag));
        }
        Label::Timer { party, tag } => {
            put_party(out, "timer/", party);
            out.push(b'/');
            put_number(out, u64::from(tag));
        }
        Label::Number(number) => {
            put(out, "number/");
            put_number(out, u64::from(number));
        }
        Label::Fault(0) => put(out, "fault/none"),
        Label::Fault(_) => put(out, &label.to_string()),
    }
}

fn put_number(out: &mut Vec<u8>, number: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// A trace that was written whole.
#[derive(Debug)]
pub struct Written<W> {
    /// Where it went, flushed.
    pub out: W,
    /// How many events it has.
    pub events: u64,
    /// The digest of their lines, as its closing line has it.
    pub digest: u128,
}

/// Writes a trace as it happens. Each line is one call of `write_all`, its LF included; when lines
/// reach the disk is up to `W`. The first error is kept and told at the end, and nothing is written
/// after it.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
    line: Vec<u8>,
    text: EventText,
    error: Option<io::Error>,
}

impl<W: io::Write> TraceWriter<W> {
    /// Writes the header.
    pub fn new(out: W, header: &Header) -> TraceWriter<W> {
        let mut writer = TraceWriter {
            out,
            line: vec![],
            text: EventText::new(),
            error: None,
        };
        header.write(&mut writer.line);
        writer.put_line();
        writer
    }

    /// The first error, if there was one.
    pub fn error(&self) -> Option<&io::Error> {
        self.error.as_ref()
    }

    /// How many events were taken.
    pub fn events(&self) -> u64 {
        self.text.events()
    }

    /// The digest of the events' lines so far.
    pub fn digest(&self) -> u128 {
        self.text.digest()
    }

    /// Writes the closing line and flushes.
    ///
    /// # Errors
    /// The first error of the whole trace.
    pub fn finish(mut self, findings: &[EndFinding]) -> io::Result<Written<W>> {
        self.text.end_line(findings, &mut self.line);
        self.put_line();
        match self.error {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(Written {
                    out: self.out,
                    events: self.text.events(),
                    digest: self.text.digest(),
                })
            }
        }
    }

    /// Gives up the trace where it stands, without a closing line: a run that was interrupted.
    ///
    /// # Errors
    /// The first error of the whole trace.
    pub fn abandon(mut self) -> io::Result<W> {
        match self.error {
            Some(error) => Err(error),
            None => {
                self.out.flush()?;
                Ok(self.out)
            }
        }
    }

    fn put_line(&mut self) {
        self.line.push(b'\n');
        if self.error.is_none() {
            self.error = self.out.write_all(&self.line).err();
        }
        self.line.clear();
        self.line.shrink_to(crate::lines::KEPT_BYTES_MAX);
    }
}

impl<W: io::Write> Sink for TraceWriter<W> {
    fn event(&mut self, event: &Event<'_>) {
        self.text.line(event, &mut self.line);
        self.put_line();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Fault, FrameText, Origin, Pipe, Role, Site, Told};
    use crate::judge::{Blame, Verdict};
    use crate::key::Key;
    use crate::message::{Kind, Message, Method};
    use crate::render::Spellings;

    #[test]
    fn labels_are_as_their_display() {
        let origin = Origin {
            party: PartyId(2),
            step: 14,
        };
        for label in [
            Label::Frame {
                link: LinkId(1),
                to: Role::Client,
                kind: Kind::Result,
                origin,
                nth: 3,
            },
            Label::Own {
                party: PartyId(0),
                tag: u32::MAX,
            },
            Label::Timer {
                party: PartyId(255),
                tag: 0,
            },
            Label::Fault(0),
            Label::Fault(2),
            Label::Number(5),
        ] {
            let mut out = vec![];
            put_label(&mut out, &label);
            assert_eq!(out, label.to_string().as_bytes());
        }
    }

    /// The form of every line, as the format's page has it.
    #[test]
    fn every_kind_of_line_has_its_form() {
        let message = Message::request(Method::Ping, Key::integer(3));
        let text = FrameText {
            message: &message,
            raw: None,
            spellings: &Spellings::default(),
        };
        let (link, origin) = (
            LinkId(0),
            Origin {
                party: PartyId(0),
                step: 2,
            },
        );
        let send = |raw, slips| What::Send {
            frame: 3,
            link,
            from: Role::Client,
            stream: 1,
            origin,
            text: FrameText { raw, ..text },
            http: None,
            slips,
        };
        let fault = |frame, forbidden| What::Fault {
            fault: Fault::Drop,
            frame,
            link,
            party: PartyId(1),
            forbidden,
        };
        let choice = What::Choice(Choice {
            site: Site::Next,
            bound: 4,
            answer: 1,
            label: Label::Number(1),
        });
        let mut writer = TraceWriter::new(vec![], &Header::new("test"));
        for (at_ms, what) in [
            (0, choice),
            (0, What::Open { link }),
            (12, send(None, &[])),
            (12, send(Some(b"\xFF\n"), &["batch", "utf-8"])),
            (12, choice),
            (13, choice),
            (
                13,
                What::Recv {
                    frame: 3,
                    link,
                    to: Role::Server,
                },
            ),
            (13, fault(3, true)),
            (13, fault(0, false)),
            (
                13,
                What::Lost {
                    frame: 3,
                    link,
                    to: Role::Server,
                    told: Told::Client,
                    forbidden: true,
                },
            ),
            (
                13,
                What::ExchangeLost {
                    frame: 3,
                    link,
                    forbidden: false,
                },
            ),
            (13, What::Broken { stream: 2, link }),
            (13, What::Resumed { stream: 2, link }),
            (13, What::Forgotten { frame: 4, link }),
            (
                13,
                What::Stderr {
                    link,
                    text: "a \"line\"",
                },
            ),
            (
                13,
                What::Blocked {
                    link,
                    on: Pipe::Stderr,
                },
            ),
            (
                13,
                What::Unblocked {
                    link,
                    on: Pipe::Stdin,
                },
            ),
            (
                14,
                What::Timer {
                    party: PartyId(0),
                    tag: 5,
                },
            ),
            (
                14,
                What::Own {
                    party: PartyId(0),
                    tag: 6,
                },
            ),
            (
                14,
                What::Close {
                    link,
                    by: Role::Client,
                },
            ),
            (
                14,
                What::Closed {
                    link,
                    to: Role::Server,
                },
            ),
            (14, What::Exit { party: PartyId(1) }),
            (15, What::Calm),
            (15, What::Quiet),
            (15, What::Note("a \"word\"")),
        ] {
            writer.event(&Event { at_ms, what });
        }
        let digest = writer.digest();
        let finding = EndFinding {
            rule: "unanswered-request".into(),
            blame: Blame::Server,
            verdict: Verdict::Broken,
        };
        let written = writer
            .finish(&[finding.clone(), finding])
            .expect("memory takes all");
        assert_eq!((written.events, written.digest), (25, digest));
        let text = String::from_utf8(written.out).expect("a trace is text");
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines[..25],
            [
                r#"{"choice":"next","of":4,"took":1,"label":"number/1"}"#,
                r#"{"t":0,"open":0}"#,
                r#"{"t":12,"send":3,"link":0,"from":"client","stream":1,"origin":"0.2","raw":"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"ping\"}"}"#,
                r#"{"t":12,"send":3,"link":0,"from":"client","stream":1,"origin":"0.2","slips":["batch","utf-8"],"raw_b64":"/wo="}"#,
                r#"{"choice":"next","of":4,"took":1,"label":"number/1"}"#,
                r#"{"t":13,"choice":"next","of":4,"took":1,"label":"number/1"}"#,
                r#"{"t":13,"recv":3,"link":0,"to":"server"}"#,
                r#"{"t":13,"fault":"drop","frame":3,"link":0,"party":1,"forbidden":true}"#,
                r#"{"t":13,"fault":"drop","link":0,"party":1}"#,
                r#"{"t":13,"lost":3,"link":0,"to":"server","told":"client","forbidden":true}"#,
                r#"{"t":13,"exchange_lost":3,"link":0}"#,
                r#"{"t":13,"broken":2,"link":0}"#,
                r#"{"t":13,"resumed":2,"link":0}"#,
                r#"{"t":13,"forgotten":4,"link":0}"#,
                r#"{"t":13,"stderr":0,"text":"a \"line\""}"#,
                r#"{"t":13,"blocked":0,"on":"stderr"}"#,
                r#"{"t":13,"unblocked":0,"on":"stdin"}"#,
                r#"{"t":14,"timer":5,"party":0}"#,
                r#"{"t":14,"own":6,"party":0}"#,
                r#"{"t":14,"close":0,"by":"client"}"#,
                r#"{"t":14,"closed":0,"to":"server"}"#,
                r#"{"t":14,"exit":1}"#,
                r#"{"t":15,"calm":true}"#,
                r#"{"t":15,"quiet":true}"#,
                r#"{"t":15,"note":"a \"word\""}"#,
            ]
        );
        let end = format!(
            "{{\"end\":{{\"events\":25,\"digest\":\"{digest:032x}\",\"findings\":[{0},{0}]}}}}",
            r#"{"rule":"unanswered-request","blame":"server","verdict":"broken"}"#
        );
        assert_eq!(lines[25..], [end]);
    }

    /// Takes so many lines, then fails; each write must be a whole line.
    #[derive(Debug)]
    struct Full {
        lines_left: u32,
        failed: u32,
    }

    impl io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            assert!(bytes.starts_with(b"{") && bytes.ends_with(b"}\n"));
            if self.lines_left == 0 {
                self.failed += 1;
                assert_eq!(self.failed, 1, "nothing is written after an error");
                return Err(io::Error::other("disk full"));
            }
            self.lines_left -= 1;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_first_error_is_kept_and_told_at_the_end() {
        for lines_left in 0..3 {
            let full = Full {
                lines_left,
                failed: 0,
            };
            let mut writer = TraceWriter::new(full, &Header::new("test"));
            for _ in 0..4 {
                writer.event(&Event {
                    at_ms: 0,
                    what: What::Calm,
                });
            }
            assert_eq!(writer.error().expect("kept").to_string(), "disk full");
            let error = writer.finish(&[]).expect_err("kept");
            assert_eq!(error.to_string(), "disk full");
        }
    }
}
