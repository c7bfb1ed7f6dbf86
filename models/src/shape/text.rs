//! Forms of strings: base64, URIs and their templates, media types, points in time, trace context.

use std::borrow::Cow;

use mcpsim_traces::judge::Severity;
use mcpsim_traces::tape::Value;

use super::Ill;
use crate::deep::instant::is_no_day;

/// Something that makes the string another thing.
const fn hard(why: &'static str) -> Ill {
    Ill {
        why: Cow::Borrowed(why),
        severity: Severity::Error,
    }
}

/// Something that some readers take and others do not.
const fn soft(why: &'static str) -> Ill {
    Ill {
        why: Cow::Borrowed(why),
        severity: Severity::Warning,
    }
}

/// Something worth knowing.
const fn note(why: &'static str) -> Ill {
    Ill {
        why: Cow::Borrowed(why),
        severity: Severity::Note,
    }
}

/// What keeps a string from being base64 (RFC 4648, section 4).
pub(crate) fn base64(value: Value<'_>) -> Option<Ill> {
    let raw = value.raw();
    let inner = &raw[1..raw.len() - 1];
    let padded = inner.strip_suffix(b"=").unwrap_or(inner);
    let bare = padded.strip_suffix(b"=").unwrap_or(padded);
    if inner.len().is_multiple_of(4) && is_alphabet(bare) {
        return None;
    }
    odd_base64(inner)
}

/// Whether all are of base64's alphabet. Blobs are long: written so that it runs over many at a time.
fn is_alphabet(bytes: &[u8]) -> bool {
    let is_one = |byte: u8| {
        let letter = (byte | 0x20).wrapping_sub(b'a') < 26;
        let digit = byte.wrapping_sub(b'0') < 10;
        letter | digit | (byte == b'+') | (byte == b'/')
    };
    bytes
        .chunks(256)
        .all(|chunk| chunk.iter().fold(true, |all, &byte| all & is_one(byte)))
}

#[cold]
fn odd_base64(inner: &[u8]) -> Option<Ill> {
    if inner.starts_with(b"data:") {
        return Some(hard(
            "it begins as a data URI does, and only what follows the comma belongs here",
        ));
    }
    let (mut count, mut pads) = (0usize, 0usize);
    let (mut is_url, mut is_broken) = (false, false);
    for byte in plain(inner) {
        match byte {
            b'\r' | b'\n' => is_broken = true,
            b'=' => pads += 1,
            _ if pads > 0 => return Some(hard("something follows its padding")),
            b'-' | b'_' => {
                is_url = true;
                count += 1;
            }
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => count += 1,
            _ => {
                return Some(hard("a character that is not of its alphabet stands in it"));
            }
        }
    }
    match (count % 4, pads) {
        (0, 0) | (2, 2) | (3, 1) => {}
        (2 | 3, 0) => return Some(soft("its padding is missing")),
        _ => return Some(hard("its length is that of no whole bytes")),
    }
    if is_url {
        return Some(soft("it is of the URL-safe alphabet"));
    }
    is_broken.then_some(soft("it is broken into lines"))
}

/// The bytes of a string's text with its escapes resolved, one by one; what is not ASCII is 0xFF.
fn plain(inner: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = inner;
    std::iter::from_fn(move || {
        let (&first, after) = rest.split_first()?;
        rest = after;
        if first != b'\\' {
            return Some(first);
        }
        let (&escape, after) = rest.split_first()?;
        rest = after;
        Some(match escape {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' | b'f' => 0xFF,
            b'u' => {
                let (digits, after) = rest.split_at_checked(4)?;
                rest = after;
                let digits = std::str::from_utf8(digits).ok()?;
                let code = u32::from_str_radix(digits, 16).ok()?;
                u8::try_from(code).ok().filter(u8::is_ascii).unwrap_or(0xFF)
            }
            other => other,
        })
    })
}

/// The scheme of a URI and what follows its colon (RFC 3986, section 3.1).
pub(crate) fn scheme(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = text.iter().position(|&byte| byte == b':')?;
    let (scheme, rest) = (&text[..colon], &text[colon + 1..]);
    let is_inner = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_scheme = scheme.first()?.is_ascii_alphabetic() && scheme.iter().all(is_inner);
    is_scheme.then_some((scheme, rest))
}

/// What keeps a string from being an absolute URI (RFC 3986, section 3).
pub(crate) fn uri(value: Value<'_>) -> Option<Ill> {
    let text = value.as_bytes()?;
    let Some((_, rest)) = scheme(&text) else {
        return Some(hard("it has no scheme"));
    };
    // Square brackets stand around an IP address only.
    let authority = match rest.strip_prefix(b"//") {
        Some(after) => {
            let is_end = |byte: &u8| matches!(byte, b'/' | b'?' | b'#');
            2 + after.iter().position(is_end).unwrap_or(after.len())
        }
        None => 0,
    };
    let mut odd = None;
    let mut is_fragment = false;
    for (at, &byte) in rest.iter().enumerate() {
        match byte {
            b'%' if is_escape(&rest[at..]) => {}
            b'%' => return Some(hard("a percent sign is not followed by two hex digits")),
            b'[' | b']' if at < authority => {}
            b'[' | b']' => odd = odd.or(Some(soft("a square bracket stands in it unescaped"))),
            b'#' if is_fragment => odd = odd.or(Some(soft("a second # stands in it"))),
            b'#' => is_fragment = true,
            b' ' => odd = odd.or(Some(soft("a space stands in it unescaped"))),
            0x80.. => {
                odd = odd.or(Some(soft(
                    "a character beyond ASCII stands in it unescaped",
                )))
            }
            _ if is_uri(byte) => {}
            _ => return Some(hard("a character stands in it that no URI holds")),
        }
    }
    odd
}

fn is_escape(text: &[u8]) -> bool {
    matches!(text, [b'%', high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// Whether a byte stands for itself somewhere in a URI: unreserved, or reserved but for `#[]%`.
fn is_uri(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~:/?@!$&'()*+,;=".contains(&byte)
}

/// What keeps a string from being a URI template (RFC 6570): braces and expressions, not the literals.
pub(crate) fn uri_template(value: Value<'_>) -> Option<Ill> {
    let text = value.as_bytes()?;
    let mut rest = &text[..];
    while let Some(at) = rest.iter().position(|byte| matches!(byte, b'{' | b'}')) {
        if rest[at] == b'}' {
            return Some(hard("a closing brace has no opening one"));
        }
        let inner = &rest[at + 1..];
        let Some(end) = inner.iter().position(|byte| matches!(byte, b'{' | b'}')) else {
            return Some(hard("a brace is not closed"));
        };
        if inner[end] == b'{' {
            return Some(hard("a brace stands inside an expression"));
        }
        if !is_expression(&inner[..end]) {
            return Some(hard("an expression in it is none"));
        }
        rest = &inner[end + 1..];
    }
    None
}

/// What stands between the braces (RFC 6570, sections 2.2 to 2.4).
fn is_expression(inner: &[u8]) -> bool {
    let variables = match inner.first() {
        Some(operator) if b"+#./;?&=,!@|".contains(operator) => &inner[1..],
        _ => inner,
    };
    variables.split(|&byte| byte == b',').all(is_variable)
}

fn is_variable(spec: &[u8]) -> bool {
    let name = match spec.iter().position(|&byte| byte == b':') {
        Some(at) => {
            let digits = &spec[at + 1..];
            let is_length = matches!(digits, [b'1'..=b'9', rest @ ..]
                if rest.len() < 4 && rest.iter().all(u8::is_ascii_digit));
            if !is_length {
                return false;
            }
            &spec[..at]
        }
        None => spec.strip_suffix(b"*").unwrap_or(spec),
    };
    name.split(|&byte| byte == b'.').all(|part| {
        let is_one = |(at, &byte): (usize, &u8)| {
            byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'%' && is_escape(&part[at..])
        };
        !part.is_empty() && part.iter().enumerate().all(is_one)
    })
}

/// What keeps a string from being a media type: a type and a subtype, parameters after them.
pub(crate) fn media_type(value: Value<'_>) -> Option<Ill> {
    let text = value.as_bytes()?;
    let essence = text.split(|&byte| byte == b';').next().unwrap_or(&text);
    let mut parts = essence.trim_ascii_end().splitn(2, |&byte| byte == b'/');
    let is_token = |part: &[u8]| {
        let is_one = |byte: &u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(byte);
        !part.is_empty() && part.iter().all(is_one)
    };
    let is_whole = matches!((parts.next(), parts.next()),
        (Some(kind), Some(subtype)) if is_token(kind) && is_token(subtype));
    (!is_whole).then_some(hard("it is not of the form type/subtype"))
}

/// What keeps a string from looking like a point in time as ISO 8601 writes it.
pub(crate) fn timestamp(value: Value<'_>) -> Option<Ill> {
    let text = value.as_bytes()?;
    let is_one = |byte: &u8| byte.is_ascii_digit() || b"-:.,+TtZzW ".contains(byte);
    let is_time =
        text.len() >= 4 && text[..4].iter().all(u8::is_ascii_digit) && text.iter().all(is_one);
    match () {
        () if !is_time => Some(note("it is not written as ISO 8601 has it")),
        () if is_no_day(&text) => Some(note("there is no such day")),
        () => None,
    }
}

/// What keeps a string from being a `traceparent` of W3C Trace Context.
pub(crate) fn traceparent(value: Value<'_>) -> Option<Ill> {
    let text = value.as_bytes()?;
    let mut parts = text.split(|&byte| byte == b'-');
    let mut hex = |digits: usize| {
        let is_hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let part = parts.next()?;
        (part.len() == digits && part.iter().all(is_hex)).then_some(part)
    };
    let is_zero = |part: &[u8]| part.iter().all(|&byte| byte == b'0');
    let (Some(version), Some(trace), Some(parent), Some(_)) = (hex(2), hex(32), hex(16), hex(2))
    else {
        return Some(hard(
            "it is not of the form 00-<32 hex digits>-<16 hex digits>-<2 hex digits>, in lower case",
        ));
    };
    if is_zero(trace) || is_zero(parent) {
        return Some(hard("an id in it is all zero"));
    }
    // Later versions may go on after the flags.
    let is_longer = parts.next().is_some();
    (version == b"ff" || version == b"00" && is_longer)
        .then_some(hard("its version has no such form"))
}

/// What keeps a string from being a `tracestate` or a `baggage`: a list of `key=value`.
pub(crate) fn key_values(value: Value<'_>) -> Option<Ill> {
    let text = value.as_bytes()?;
    let is_member = |member: &[u8]| {
        let member = member.trim_ascii();
        member.is_empty()
            || member
                .iter()
                .position(|&byte| byte == b'=')
                .is_some_and(|at| at > 0)
    };
    let is_list = text.split(|&byte| byte == b',').all(is_member);
    (!is_list).then_some(hard("it is no list of key=value"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpsim_traces::scan::Scanner;

    /// What the form says of that JSON string.
    fn severity(form: fn(Value<'_>) -> Option<Ill>, json: &str) -> Option<Severity> {
        let mut scanner = Scanner::recording();
        scanner.value(json.as_bytes(), 0).expect("JSON");
        let value = scanner.body(json.as_bytes()).expect("a value");
        form(value).map(|ill| ill.severity)
    }

    const RIGHT: Option<Severity> = None;
    const SOFT: Option<Severity> = Some(Severity::Warning);
    const HARD: Option<Severity> = Some(Severity::Error);

    fn check(form: fn(Value<'_>) -> Option<Ill>, expected: Option<Severity>, texts: &[&str]) {
        for text in texts {
            assert_eq!(severity(form, &format!("\"{text}\"")), expected, "{text}");
        }
    }

    #[test]
    fn base64_is_told_from_what_only_looks_like_it() {
        check(
            base64,
            RIGHT,
            &["", "QQ==", "QUI=", "QUJD", "a+b/", r"a+b\/", r"\u0051Q=="],
        );
        check(
            base64,
            SOFT,
            &["QQ", "QUI", "a-b_", r"QUJD\nQUJD", r"QUJD\r\n"],
        );
        let wrong = [
            "Q",
            "QQ=",
            "QQ=Q",
            "QUJD=",
            "====",
            "Q QQ",
            "é",
            "data:image/png;base64,QQ==",
        ];
        check(base64, HARD, &wrong);
    }

    /// The quick look over many bytes and the slow one over each agree on every byte.
    #[test]
    fn the_alphabet_is_the_same_in_both_looks() {
        for byte in 0..=u8::MAX {
            let is_slow = byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
            assert_eq!(is_alphabet(&[byte; 300]), is_slow, "{byte}");
        }
    }

    #[test]
    fn uris_have_a_scheme_and_no_odd_characters() {
        let right = [
            "file:///a/b",
            "ui://x/y?z=1#f",
            "urn:isbn:0",
            "a:",
            "http://[::1]:80/",
            "x-y+z.1:%20",
            "data:text/plain,a",
            "custom://a@b:1/;p=(1)!*'",
        ];
        check(uri, RIGHT, &right);
        check(
            uri,
            SOFT,
            &["file:///a b", "file:///ä", "file:///a[1]", "a:#b#c"],
        );
        check(
            uri,
            HARD,
            &[
                "", "/a/b", "a/b:c", "1a:b", "a:%2", "a:%zz", "a:{b}", r"C:\\a", "a:<b>", "a:|",
            ],
        );
    }

    #[test]
    fn templates_have_whole_expressions() {
        let right = [
            "",
            "file:///a",
            "file:///{path}",
            "a{+x}{#y}{?q,r*}{&s:3}",
            "{a.b}",
            "{%41}",
            "a b",
            "{/x*}",
        ];
        check(uri_template, RIGHT, &right);
        let wrong = [
            "{",
            "a}",
            "{}",
            "{a",
            "{{a}}",
            "{a-b}",
            "{a:0}",
            "{a:12345}",
            "{a,}",
            "{?}",
            "{a b}",
            "{.a..b}",
        ];
        check(uri_template, HARD, &wrong);
    }

    #[test]
    fn small_forms() {
        check(
            media_type,
            RIGHT,
            &[
                "image/png",
                "text/plain; charset=utf-8",
                "a/b+c",
                "image/svg+xml;a=b/c",
            ],
        );
        check(
            media_type,
            HARD,
            &["", "png", "image/", "/png", "image /png", "a/b/c"],
        );
        check(
            timestamp,
            RIGHT,
            &["2025-01-12T15:00:58Z", "2025-01-12", "20250112T150058+0100"],
        );
        check(
            timestamp,
            Some(Severity::Note),
            &["", "Mon, 12 Jan 2025", "now", "12.1.2025 Uhr"],
        );
        let trace = "0af7651916cd43dd8448eb211c80319c";
        let right = format!("00-{trace}-00f067aa0ba902b7-01");
        check(
            traceparent,
            RIGHT,
            &[&right, &format!("cc-{trace}-00f067aa0ba902b7-01-what")],
        );
        let zero = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        let wrong = [
            right.to_uppercase(),
            zero,
            format!("{right}-x"),
            "00-1-2-3".to_string(),
        ];
        check(traceparent, HARD, &wrong.each_ref().map(String::as_str));
        check(
            key_values,
            RIGHT,
            &["", "a=1", "a=1,b=2", "a=1 , , b=x;p=q"],
        );
        check(key_values, HARD, &["a", "=1", "a=1,b"]);
    }
}
