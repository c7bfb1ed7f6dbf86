//! Whether two traces tell the same, and where they first do not.

use std::io;

use crate::event::{Event, Sink};
use crate::file::EndFinding;
use crate::file::reader::{TraceReader, is_cut, without_cr};
use crate::file::writer::EventText;
use crate::lines::{LineReader, ReadError};
use crate::scan::Scanner;

/// The first line at which two traces differ.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// The line, from 1.
    pub line: u64,
    /// The first byte of it that differs, from 1.
    pub column: u64,
    /// The line of the first trace.
    pub wanted: String,
    /// The line of the second trace.
    pub got: String,
}

impl Difference {
    fn between(line: u64, wanted: &[u8], got: &[u8]) -> Option<Difference> {
        if wanted == got {
            return None;
        }
        let same = wanted.iter().zip(got).take_while(|(a, b)| a == b).count();
        Some(Difference {
            line,
            column: same as u64 + 1,
            wanted: String::from_utf8_lossy(wanted).into_owned(),
            got: String::from_utf8_lossy(got).into_owned(),
        })
    }
}

/// Holds a run, as it happens, against a trace that was recorded before: what a replay does. Only
/// the events and the closing line count; where the recorded trace was cut, nothing is compared.
#[derive(Debug)]
pub struct Comparison<R> {
    wanted: LineReader<R>,
    text: EventText,
    got: Vec<u8>,
    found: Option<Difference>,
    error: Option<ReadError>,
    /// The recorded trace has ended without a closing line: what comes is new.
    ended: bool,
}

impl<R: io::Read> Comparison<R> {
    /// Against a recorded trace, from its beginning; its header is not compared.
    pub fn new(wanted: R) -> Comparison<R> {
        let mut comparison = Comparison {
            wanted: LineReader::new(wanted),
            text: EventText::new(),
            got: vec![],
            found: None,
            error: None,
            ended: false,
        };
        if let Err(error) = comparison.wanted.next_line() {
            comparison.error = Some(error.into());
        }
        comparison
    }

    /// The first difference so far: a replay can stop there.
    pub fn difference(&self) -> Option<&Difference> {
        self.found.as_ref()
    }

    /// How many events the run had.
    pub fn events(&self) -> u64 {
        self.text.events()
    }

    /// The digest of the run's events.
    pub fn digest(&self) -> u128 {
        self.text.digest()
    }

    /// The run has ended with these findings: the first difference, if there is one.
    ///
    /// # Errors
    /// The recorded trace could not be read.
    pub fn finish(mut self, findings: &[EndFinding]) -> Result<Option<Difference>, ReadError> {
        self.text.end_line(findings, &mut self.got);
        self.compare();
        match self.error {
            Some(error) => Err(error),
            None => Ok(self.found),
        }
    }

    fn compare(&mut self) {
        if self.found.is_none() && self.error.is_none() && !self.ended {
            match whole_line(&mut self.wanted) {
                Ok(Some((number, wanted))) => {
                    self.found = Difference::between(number, wanted, &self.got);
                }
                Ok(None) => self.ended = true,
                Err(error) => self.error = Some(error),
            }
        }
        self.got.clear();
    }
}

impl<R: io::Read> Sink for Comparison<R> {
    fn event(&mut self, event: &Event<'_>) {
        self.text.line(event, &mut self.got);
        self.compare();
    }
}

/// The next line that is not cut.
fn whole_line<R: io::Read>(lines: &mut LineReader<R>) -> Result<Option<(u64, &[u8])>, ReadError> {
    let Some(line) = lines.next_line()? else {
        return Ok(None);
    };
    let text = without_cr(line.bytes);
    if !line.has_eol && is_cut(text, &mut Scanner::new()) {
        return Ok(None);
    }
    Ok(Some((line.number, text)))
}

/// The first difference between two trace files. Their headers may name different programs. A file
/// that was cut, or has no closing line, is compared as far as it goes.
///
/// # Errors
/// A file that cannot be read, or has no header.
pub fn first_difference(
    wanted: impl io::Read,
    got: impl io::Read,
) -> Result<Option<Difference>, ReadError> {
    let (mut wanted, mut got) = (TraceReader::new(wanted)?, TraceReader::new(got)?);
    let mut header = got.header().clone();
    header.program.clone_from(&wanted.header().program);
    if header != *wanted.header() {
        let (one, other) = (wanted.header_text(), got.header_text());
        return Ok(Difference::between(1, one.as_bytes(), other.as_bytes()));
    }
    loop {
        let (one, other) = (
            whole_line(wanted.lines_mut())?,
            whole_line(got.lines_mut())?,
        );
        let (Some((number, one)), Some((_, other))) = (one, other) else {
            return Ok(None);
        };
        if let Some(difference) = Difference::between(number, one, other) {
            return Ok(Some(difference));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{PartyId, What};
    use crate::file::{Header, TraceWriter};
    use crate::judge::{Blame, Verdict};

    fn events(tags: &[u32]) -> impl Iterator<Item = Event<'static>> {
        tags.iter().map(|&tag| Event {
            at_ms: 5,
            what: What::Own {
                party: PartyId(0),
                tag,
            },
        })
    }

    fn findings(rules: &[&str]) -> Vec<EndFinding> {
        let finding = |rule: &&str| EndFinding {
            rule: (*rule).to_owned(),
            blame: Blame::Client,
            verdict: Verdict::Broken,
        };
        rules.iter().map(finding).collect()
    }

    fn trace(program: &str, tags: &[u32], rules: &[&str]) -> Vec<u8> {
        let mut writer = TraceWriter::new(vec![], &Header::new(program));
        events(tags).for_each(|event| writer.event(&event));
        writer
            .finish(&findings(rules))
            .expect("memory takes all")
            .out
    }

    /// Both ways to compare must say the same.
    fn check(wanted: &[u8], tags: &[u32], rules: &[&str]) -> Option<(u64, u64)> {
        let mut comparison = Comparison::new(wanted);
        events(tags).for_each(|event| comparison.event(&event));
        let replayed = comparison.finish(&findings(rules)).expect("memory is read");
        let read =
            first_difference(wanted, &trace("later", tags, rules)[..]).expect("both are traces");
        assert_eq!(replayed, read);
        read.map(|difference| (difference.line, difference.column))
    }

    #[test]
    fn the_first_difference_is_found() {
        let wanted = trace("earlier", &[1, 2, 3], &["a"]);
        assert_eq!(check(&wanted, &[1, 2, 3], &["a"]), None);
        assert_eq!(check(&wanted, &[1, 4, 3], &["a"]), Some((3, 14)));
        assert_eq!(check(&wanted, &[1, 2], &["a"]), Some((4, 3)));
        assert_eq!(check(&wanted, &[1, 2, 3, 4], &["a"]), Some((5, 3)));
        assert_eq!(check(&wanted, &[1, 2, 3], &["b"]), Some((5, 85)));
    }

    #[test]
    fn a_cut_trace_is_compared_as_far_as_it_goes() {
        let whole = trace("earlier", &[1, 2, 3], &["a"]);
        let header = whole
            .iter()
            .position(|&byte| byte == b'\n')
            .expect("a line")
            + 1;
        for cut in header..whole.len() {
            assert_eq!(
                check(&whole[..cut], &[1, 2, 3], &["a"]),
                None,
                "cut at {cut}"
            );
        }
        let cut = &whole[..header + 60];
        assert_eq!(check(cut, &[1, 4], &[]), Some((3, 14)));
    }

    #[test]
    fn headers_count_but_for_the_program() {
        let write = |header: &Header| {
            let writer = TraceWriter::new(vec![], header);
            writer.finish(&[]).expect("memory takes all").out
        };
        let one = write(&Header::new("p"));
        let other = write(&Header {
            seed: Some(3),
            ..Header::new("p")
        });
        let found = first_difference(&one[..], &other[..]).expect("both are traces");
        let found = found.expect("the seed differs");
        assert_eq!(
            (found.line, &found.wanted[found.column as usize - 1..][..4]),
            (1, "null")
        );
        assert!(first_difference(&b"x"[..], &other[..]).is_err());
    }
}
