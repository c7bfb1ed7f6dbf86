//! What stands before every line of a log and is none of its own: the line numbers of `grep -n`, a `> `, an indent, colours.

/// What is to be passed over at the beginning of each line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Quoting {
    /// So long is the name of a service that all have: `web-1  | `.
    service: usize,
    is_numbered: bool,
    is_quoted: bool,
    /// So many blanks.
    indent: usize,
}

impl Quoting {
    /// What all lines of a log have that begins so.
    pub(crate) fn of(beginning: &[u8]) -> Quoting {
        let text = beginning.strip_prefix(BOM).unwrap_or(beginning);
        let lines: Vec<&[u8]> = text
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.trim_ascii().is_empty())
            .collect();
        let mut quoting = Quoting {
            service: service(&lines),
            ..Quoting::default()
        };
        let behind: Vec<&[u8]> = lines
            .iter()
            .map(|line| &line[quoting.skip(line)..])
            .collect();
        quoting.is_numbered = are_numbered(&behind);
        let behind = |quoting: Quoting| lines.iter().map(move |line| &line[quoting.skip(line)..]);
        quoting.is_quoted = !lines.is_empty() && behind(quoting).all(is_quote);
        let blanks = |line: &[u8]| line.len() - line.trim_ascii_start().len();
        quoting.indent = behind(quoting).map(blanks).min().unwrap_or(0);
        quoting
    }

    /// Where the line itself begins.
    pub(crate) fn skip(self, line: &[u8]) -> usize {
        let mut at = match line.strip_prefix(BOM) {
            Some(_) => BOM.len(),
            None => 0,
        };
        if self.service > 0 && line.len() >= at + self.service {
            at += self.service;
        }
        if self.is_numbered {
            at += number(&line[at..]).map_or(0, |(_, length)| length);
        }
        if self.is_quoted && is_quote(&line[at..]) {
            at += 1 + usize::from(line.get(at + 1) == Some(&b' '));
        }
        let mut left = self.indent;
        while left > 0 && matches!(line.get(at), Some(b' ' | b'\t')) {
            (at, left) = (at + 1, left - 1);
        }
        while let Some(length) = colour(&line[at..]) {
            at += length;
        }
        at
    }
}

/// The line without the colours at its end.
pub(crate) fn without_colour(mut line: &[u8]) -> &[u8] {
    while line.ends_with(b"m") {
        let Some(at) = memchr::memrchr(0x1B, line) else {
            break;
        };
        if colour(&line[at..]) != Some(line.len() - at) {
            break;
        }
        line = line[..at].trim_ascii_end();
    }
    line
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

fn is_quote(line: &[u8]) -> bool {
    line.strip_prefix(b">")
        .is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\r')))
}

/// How long the name of a service is that all lines begin with, as `docker compose logs` writes it.
fn service(lines: &[&[u8]]) -> usize {
    let Some(first) = lines.first() else { return 0 };
    let Some(bar) = memchr::memmem::find(first, b" | ") else {
        return 0;
    };
    let name = first[..bar].trim_ascii_end();
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    let prefix = &first[..bar + 3];
    let is_of_all = || {
        let (last, all) = lines.split_last().unwrap_or((first, &[]));
        all.iter().all(|line| line.starts_with(prefix))
            && (last.starts_with(prefix) || prefix.starts_with(last))
    };
    match !name.is_empty() && name.iter().all(is_name) && lines.len() > 1 && is_of_all() {
        true => prefix.len(),
        false => 0,
    }
}

/// The number of a line, as grep or `cat -n` write it, and how long it is with what ends it.
fn number(line: &[u8]) -> Option<(u32, usize)> {
    let blanks = line.iter().take_while(|byte| **byte == b' ').count();
    let digits = &line[blanks..];
    let length = digits
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let is_ended = match digits.get(length) {
        Some(b':' | b'-') => blanks == 0,
        Some(b'\t') => true,
        _ => false,
    };
    let is_number = (1..=9).contains(&length) && digits[0] != b'0' && is_ended;
    let digits = std::str::from_utf8(&digits[..length]).ok()?;
    is_number.then_some((digits.parse().ok()?, blanks + length + 1))
}

/// Numbers that grow, line by line. What is left of a single line may be a time.
fn are_numbered(lines: &[&[u8]]) -> bool {
    let mut last = 0;
    for line in lines {
        match number(line) {
            Some((number, _)) if number > last => last = number,
            // The last line at hand may be cut.
            None if std::ptr::eq(*line, lines[lines.len() - 1]) && lines.len() > 2 => {}
            _ => return false,
        }
    }
    lines.len() > 1
}

/// How long a colour is that the text begins with, in the codes of terminals (ECMA-48, SGR).
pub(super) fn colour(text: &[u8]) -> Option<usize> {
    let codes = text.strip_prefix(b"\x1B[")?;
    let length = codes
        .iter()
        .take_while(|byte| byte.is_ascii_digit() || **byte == b';')
        .count();
    (codes.get(length) == Some(&b'm')).then_some(length + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(log: &str, expected: &[&str]) {
        let quoting = Quoting::of(log.as_bytes());
        let lines: Vec<&str> = log
            .lines()
            .map(|line| &line[quoting.skip(line.as_bytes())..])
            .collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_every_line_begins_with_is_none_of_the_log() {
        check("3:one\n4-two\n17:three", &["one", "two", "three"]);
        check("     9\tone\n    10\ttwo\n", &["one", "two"]);
        check("gw-1  | one\ngw-1  | 2:two", &["one", "2:two"]);
        check("a | one\nb | two", &["a | one", "b | two"]);
        check("> one\n> two\n>\n> three\n", &["one", "two", "", "three"]);
        check("  one\n    two\n\n  three", &["one", "  two", "", "three"]);
        check("\u{FEFF}> 1\n> 2", &["1", "2"]);
        check("7:  one\n8:  two", &["one", "two"]);
        check("\x1B[32mone\x1B[0m\ntwo", &["one\x1B[0m", "two"]);
    }

    #[test]
    fn what_some_lines_begin_with_is_the_logs_own() {
        for log in [
            "9:15:00 --> {}\n9:15:01 <-- {}",
            "2026-03-04 --> {}\n2026-03-05 <-- {}\nother",
            "> out\n< in",
            ">> out\n>> out",
            "one\n  two",
            "12:only",
        ] {
            check(log, &log.lines().collect::<Vec<_>>());
        }
    }
}
