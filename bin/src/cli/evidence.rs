//! The frames behind a finding, found again in the log: their text, cut to a line, and where it is at fault.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::rc::Rc;

use super::input::Input;
use super::report::{EvidenceReport, FindingReport};
use crate::models::rules;
use crate::traces::capture::CaptureWhat;
use crate::traces::event::Role;
use crate::traces::import::pattern::Pattern;
use crate::traces::lines::{LineReader, ReadError};
use crate::traces::place::{self, HttpPart, Placed};
use crate::traces::recording::Recording;
use crate::traces::show::escape_bytes;
use crate::traces::sniff::Log;

/// Of a finding's frames so many are shown: the first ones, and the last.
const FRAMES_MAX: usize = 4;
/// So wide is an excerpt, in columns of a terminal.
const WIDTH: usize = 100;
/// So much of that is kept for what is underlined.
const SPOT_WIDTH: usize = 50;
/// So much of that stands before it.
const BEFORE_WIDTH: usize = 40;
/// More of standard input than this is not kept to look at again.
const SPOOL_BYTES_MAX: u64 = 256 << 20;

/// Where a log can be read once more.
pub(crate) enum Source<'a> {
    /// Where it came from.
    Input(&'a Input),
    /// In a copy of what came in.
    Spool(&'a File),
    /// In a copy of what came in while it was written, of which so much was there when it was told what it is.
    Followed(&'a File, u64),
    /// In memory.
    Memory(&'a [u8]),
}

impl Source<'_> {
    /// The log from its beginning, of which the limit says how far it is read at first.
    fn reopen_within(&self) -> io::Result<(Within<Box<dyn Read>>, Limit)> {
        let limit = Limit::new(Cell::new(match self {
            Source::Followed(_, told_bytes) => *told_bytes,
            _ => u64::MAX,
        }));
        let input = Within {
            input: self.reopen()?,
            limit: limit.clone(),
            position: 0,
        };
        Ok((input, limit))
    }

    /// The log from its beginning.
    fn reopen(&self) -> io::Result<Box<dyn Read>> {
        Ok(match self {
            Source::Input(input) => {
                let opened = input.open(None);
                opened
                    .map_err(|failure| io::Error::other(failure.to_string()))?
                    .0
            }
            Source::Spool(file) | Source::Followed(file, _) => {
                let mut file = file.try_clone()?;
                file.seek(SeekFrom::Start(0))?;
                Box::new(file)
            }
            Source::Memory(bytes) => Box::new(Cursor::new(bytes.to_vec())),
        })
    }
}

/// So many bytes are read for the time being.
type Limit = Rc<Cell<u64>>;

/// A reader whose end is where the limit is.
struct Within<R> {
    input: R,
    limit: Limit,
    position: u64,
}

impl<R: Read> Read for Within<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let left = self.limit.get().saturating_sub(self.position);
        let length = self.input.by_ref().take(left).read(out)?;
        self.position += length as u64;
        Ok(length)
    }
}

/// A reader that keeps a copy of the beginning of what it hands on.
pub(crate) struct Tee<R> {
    input: R,
    copy: File,
    left: u64,
}

impl<R: Read> Tee<R> {
    /// A reader and the file that will hold the copy.
    ///
    /// # Errors
    /// There is no place for temporary files.
    pub(crate) fn new(input: R) -> io::Result<(Tee<R>, File)> {
        let copy = tempfile::tempfile()?;
        let again = copy.try_clone()?;
        let left = SPOOL_BYTES_MAX;
        Ok((Tee { input, copy, left }, again))
    }
}

impl<R: Read> Read for Tee<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let length = self.input.read(out)?;
        if length as u64 <= self.left && self.copy.write_all(&out[..length]).is_ok() {
            self.left -= length as u64;
        } else {
            // The copy ends here; what comes later is judged all the same.
            self.left = 0;
        }
        Ok(length)
    }
}

/// Fills in what the findings show: the text of their frames, and the column. What cannot be found again is left out.
pub(crate) fn fill(findings: &mut [FindingReport], source: &Source<'_>) {
    let mut wanted: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        for (place, frame) in shown(finding).into_iter().enumerate() {
            if let Some(line) = frame.line {
                wanted.entry(line).or_default().push((at, place));
            }
        }
    }
    if wanted.is_empty() {
        return;
    }
    let mut found: Vec<BTreeMap<usize, EvidenceReport>> = vec![BTreeMap::new(); findings.len()];
    // A file that has gone in the meantime shows nothing.
    let _ = read(findings, source, &wanted, &mut found);
    put(findings, found);
}

/// As [`fill`], of a log of another program: it is imported once more.
pub(crate) fn fill_from_import(
    findings: &mut [FindingReport],
    source: &Source<'_>,
    pattern: Option<&Pattern>,
) {
    // A file that has gone in the meantime shows nothing.
    let Ok((input, limit)) = source.reopen_within() else {
        return;
    };
    let opened = match pattern {
        Some(pattern) => pattern.open(LineReader::new(input)).map(Log::Import),
        None => Log::open(input),
    };
    if let Ok(Log::Import(recording)) = opened {
        limit.set(u64::MAX);
        fill_from(findings, recording);
    }
}

/// … of a recording that is read from its beginning.
pub(crate) fn fill_from(findings: &mut [FindingReport], mut recording: Box<dyn Recording>) {
    let mut wanted: BTreeMap<u32, Vec<(usize, usize)>> = BTreeMap::new();
    for (at, finding) in findings.iter().enumerate() {
        for (place, frame) in shown(finding).into_iter().enumerate() {
            wanted.entry(frame.number).or_default().push((at, place));
        }
    }
    let Some(last) = wanted.keys().next_back().copied() else {
        return;
    };
    let mut found: Vec<BTreeMap<usize, EvidenceReport>> = vec![BTreeMap::new(); findings.len()];
    let mut number = 0;
    while number < last {
        let line = match recording.next_line() {
            Ok(Some(line)) => line,
            Ok(None) | Err(ReadError::Io(_)) => break,
            Err(ReadError::Input(_)) => continue,
        };
        number += u32::from(!matches!(line.what, CaptureWhat::Event(_)));
        let (CaptureWhat::Frame(frame), Some(uses)) = (&line.what, wanted.get(&number)) else {
            continue;
        };
        let placed = Shown {
            from: Some(frame.from),
            text: frame.raw,
            place: &|byte| match &line.origin {
                Some(origin) => origin.place(frame.raw, byte),
                None => (0, 1),
            },
        };
        for &(at, place) in uses {
            let frame = &shown(&findings[at])[place];
            found[at].insert(place, excerpt_of(&placed, frame));
        }
    }
    put(findings, found);
}

fn put(findings: &mut [FindingReport], found: Vec<BTreeMap<usize, EvidenceReport>>) {
    for (finding, found) in findings.iter_mut().zip(found) {
        let spot = found.values().find(|shown| shown.underline.is_some());
        if let Some(spot) = spot {
            finding.column = spot.column;
            finding.line = spot.line;
        }
        finding.evidence = found.into_values().collect();
    }
}

/// A frame that is shown.
struct Shown<'a> {
    from: Option<Role>,
    text: &'a [u8],
    /// So many lines below its first one, and in which column, a byte of it stands.
    place: &'a dyn Fn(usize) -> (u64, u64),
}

fn read(
    findings: &[FindingReport],
    source: &Source<'_>,
    wanted: &BTreeMap<u64, Vec<(usize, usize)>>,
    found: &mut [BTreeMap<usize, EvidenceReport>],
) -> io::Result<()> {
    let mut lines = LineReader::new(source.reopen()?);
    let mut wanted = wanted.iter().peekable();
    while let Some(&(&number, uses)) = wanted.peek() {
        let Some(line) = lines.next_line()? else {
            return Ok(());
        };
        if line.number < number {
            continue;
        }
        wanted.next();
        let placed = Placed::find(line.bytes);
        for &(at, place) in uses {
            let frame = &shown(&findings[at])[place];
            let of_http = frame.http.and_then(|part| of_http(line.bytes, part, frame));
            let of_frame = || {
                let placed = placed.as_ref()?;
                let shown = Shown {
                    from: placed.from,
                    text: &placed.text,
                    place: &|byte| (0, placed.column(byte)),
                };
                Some(excerpt_of(&shown, frame))
            };
            if let Some(evidence) = of_http.or_else(of_frame) {
                found[at].insert(place, evidence);
            }
        }
    }
    Ok(())
}

/// The part of HTTP that a finding is about, where the line has it.
fn of_http(line: &[u8], part: HttpPart, frame: &Wanted) -> Option<EvidenceReport> {
    let (name, value) = place::http(line, part)?;
    let spot = (value.start - name.start, value.end - name.start);
    let cut = excerpt(&line[name.start..value.end], Some(spot));
    Some(EvidenceReport {
        frame: frame.number,
        line: frame.line,
        column: Some(value.start as u64 + 1),
        from: place::sender(line).map(|from| from.as_str().to_owned()),
        text: cut.text,
        underline: cut.underline,
    })
}

/// One frame of a finding.
#[derive(Clone, Copy)]
struct Wanted {
    number: u32,
    line: Option<u64>,
    spot: Option<(u32, u32)>,
    /// The part of HTTP that the finding is about, where that is what is at fault.
    http: Option<HttpPart>,
}

/// The frames of a finding that are shown: all, or the first ones and the last.
fn shown(finding: &FindingReport) -> Vec<Wanted> {
    let last = finding.frames.len().saturating_sub(1);
    let all = finding.frames.iter().zip(&finding.lines).enumerate();
    all.filter(|(at, _)| *at < FRAMES_MAX - 1 || *at == last)
        .map(|(at, (&number, &line))| Wanted {
            number,
            line,
            spot: finding.spot.filter(|_| at == last),
            http: rules::http_part(&finding.rule).filter(|_| at == last && finding.spot.is_none()),
        })
        .collect()
}

fn excerpt_of(placed: &Shown<'_>, frame: &Wanted) -> EvidenceReport {
    let length = placed.text.len();
    let spot = frame
        .spot
        .map(|(start, end)| (start as usize, end as usize))
        .filter(|&(start, end)| start <= end && end <= length);
    let cut = excerpt(placed.text, spot);
    let place = spot.map(|(start, _)| (placed.place)(start));
    let below = place.map_or(0, |(below, _)| below);
    EvidenceReport {
        frame: frame.number,
        line: frame.line.map(|line| line + below),
        column: place.map(|(_, column)| column),
        from: placed.from.map(|from| from.as_str().to_owned()),
        text: cut.text,
        underline: cut.underline,
    }
}

/// A part of a frame on one line, safe to print.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Excerpt {
    text: String,
    /// From which column to which the spot lies in it, from 0.
    underline: Option<[usize; 2]>,
}

/// Cuts a frame to a line around its spot, or to its beginning.
fn excerpt(text: &[u8], spot: Option<(usize, usize)>) -> Excerpt {
    let Some((start, end)) = spot else {
        return Excerpt {
            text: beginning(text, WIDTH),
            underline: None,
        };
    };
    let before = ending(&text[..start], BEFORE_WIDTH);
    let middle = beginning(&text[start..end], SPOT_WIDTH);
    let (at, wide) = (width(&before), width(&middle));
    let after = beginning(&text[end..], WIDTH.saturating_sub(at + wide).max(1));
    Excerpt {
        underline: Some([at, at + wide.max(1)]),
        text: format!("{before}{middle}{after}"),
    }
}

/// Bytes that one column can stand for at most, for what is looked at of a long text.
const BYTES_PER_COLUMN: usize = 8;

/// The beginning of a text, so many columns at most.
fn beginning(text: &[u8], columns: usize) -> String {
    let looked_at = boundary(text, text.len().min(columns * BYTES_PER_COLUMN));
    let safe = escape_bytes(&text[..looked_at]);
    let is_whole = looked_at == text.len();
    if is_whole && width(&safe) <= columns {
        return safe.into_owned();
    }
    let mut cut = String::new();
    let mut used = 0;
    for letter in safe.chars() {
        used += width_of(letter);
        if used + 1 > columns {
            break;
        }
        cut.push(letter);
    }
    cut.push('…');
    cut
}

/// The end of a text, so many columns at most.
fn ending(text: &[u8], columns: usize) -> String {
    let from = boundary(text, text.len().saturating_sub(columns * BYTES_PER_COLUMN));
    let safe = escape_bytes(&text[from..]);
    if from == 0 && width(&safe) <= columns {
        return safe.into_owned();
    }
    let mut used = 1;
    let mut begin = safe.len();
    for (at, letter) in safe.char_indices().rev() {
        used += width_of(letter);
        if used > columns {
            break;
        }
        begin = at;
    }
    format!("…{}", &safe[begin..])
}

/// The beginning of the letter that the byte belongs to, in UTF-8.
fn boundary(text: &[u8], mut at: usize) -> usize {
    while at > 0 && text.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
        at -= 1;
    }
    at
}

/// How many columns of a terminal a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(width_of).sum()
}

fn width_of(letter: char) -> usize {
    match letter {
        '\u{300}'..='\u{36F}' | '\u{FE00}'..='\u{FE0F}' | '\u{20D0}'..='\u{20FF}' => 0,
        '\u{1100}'..='\u{115F}'
        | '\u{2E80}'..='\u{A4CF}'
        | '\u{AC00}'..='\u{D7A3}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FE30}'..='\u{FE6F}'
        | '\u{FF01}'..='\u{FF60}'
        | '\u{FFE0}'..='\u{FFE6}'
        | '\u{1F300}'..='\u{1FAFF}'
        | '\u{20000}'..='\u{3FFFD}' => 2,
        _ => 1,
    }
}

/// A whole frame behind a head, and below it a line of carets where it is at fault.
pub(crate) fn excerpt_lines(head: &str, text: &[u8], spot: Option<(u32, u32)>) -> String {
    let mut lines = format!("{head}{}\n", escape_bytes(text));
    let spot = spot.map(|(start, end)| (start as usize, end as usize));
    if let Some((start, end)) = spot.filter(|&(start, end)| start <= end && end <= text.len()) {
        let before = width(head) + width(&escape_bytes(&text[..start]));
        let carets = width(&escape_bytes(&text[start..end])).max(1);
        lines.push_str(&format!("{}{}\n", " ".repeat(before), "^".repeat(carets)));
    }
    lines
}

/// Lines for people: who sent what, and a line of carets below the spot.
pub(crate) fn lines(evidence: &[EvidenceReport], indent: &str) -> String {
    let mut text = String::new();
    let number = |shown: &EvidenceReport| format!("#{}", shown.frame);
    let widest = evidence.iter().map(|shown| number(shown).len()).max();
    for shown in evidence {
        let from = shown.from.as_deref().and_then(|from| match from {
            "client" => Some(Role::Client),
            "server" => Some(Role::Server),
            _ => None,
        });
        let arrow = match from {
            Some(Role::Client) => "client → server",
            Some(Role::Server) => "client ← server",
            None => "",
        };
        let head = format!(
            "{indent}{:<widest$}  {arrow}  ",
            number(shown),
            widest = widest.unwrap_or(0)
        );
        text.push_str(&format!("{head}{}\n", shown.text));
        if let Some([from, to]) = shown.underline {
            let blank = " ".repeat(width(&head) + from);
            text.push_str(&format!("{blank}{}\n", "^".repeat(to - from)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &[u8], spot: Option<(usize, usize)>, expected: &str, underlined: &str) {
        let cut = excerpt(text, spot);
        assert_eq!(cut.text, expected);
        let [from, to] = cut.underline.unwrap_or_default();
        let carets: String = cut.text.chars().skip(from).take(to - from).collect();
        assert_eq!(carets, underlined);
        assert!(width(&cut.text) <= WIDTH, "{}", width(&cut.text));
    }

    #[test]
    fn a_short_frame_is_whole() {
        check(b"{\"id\":1}", Some((6, 7)), "{\"id\":1}", "1");
        check(b"{\"id\":1}", None, "{\"id\":1}", "");
        check(b"", None, "", "");
    }

    #[test]
    fn a_long_frame_is_cut_around_its_spot() {
        let text = format!("{}SPOT{}", "a".repeat(5000), "b".repeat(5000));
        let expected = format!("…{}SPOT{}…", "a".repeat(39), "b".repeat(55));
        check(text.as_bytes(), Some((5000, 5004)), &expected, "SPOT");
        let expected = format!("{}…", "a".repeat(99));
        check(text.as_bytes(), None, &expected, "");
    }

    #[test]
    fn a_long_spot_is_cut_itself() {
        let text = "x".repeat(3000);
        let spot = format!("{}…", "x".repeat(49));
        let expected = format!("{spot}{}…", "x".repeat(49));
        check(text.as_bytes(), Some((0, 1500)), &expected, &spot);
    }

    #[test]
    fn what_could_deceive_is_escaped_and_counted() {
        check(b"\x1B[2J\xFF7", Some((5, 6)), "\\u{1b}[2J\\xff7", "7");
        let wide = excerpt("日本7".as_bytes(), Some((6, 7)));
        assert_eq!(wide.underline, Some([4, 5]));
    }

    /// What stands nowhere in the text (a missing line end, say) still has a place.
    #[test]
    fn an_empty_spot_is_one_column() {
        assert_eq!(excerpt(b"ab", Some((2, 2))).underline, Some([2, 3]));
    }

    /// Cutting in the middle of a letter of several bytes shows no broken one.
    #[test]
    fn letters_are_not_split() {
        let text = "é".repeat(4000);
        let cut = excerpt(text.as_bytes(), Some((4000, 4002)));
        assert!(!cut.text.contains('\\'), "{}", cut.text);
    }

    #[test]
    fn the_copy_of_an_input_is_what_was_read() {
        let (mut tee, copy) = Tee::new(&b"one\ntwo\n"[..]).expect("a temporary file");
        let mut all = vec![];
        tee.read_to_end(&mut all).expect("memory");
        let mut again = String::new();
        let source = Source::Spool(&copy);
        let mut reader = source.reopen().expect("opened");
        reader.read_to_string(&mut again).expect("read");
        assert_eq!(again.as_bytes(), all);
    }
}
