//! What the short form of the cases has for HTTP: heads, marks of server-sent events, a handshake with all heads.

use std::borrow::Cow;

use mcpsim_traces::http::{Field, Head, Http, Start};
use mcpsim_traces::scan::Scanner;
use mcpsim_traces::tape::Value;

use super::session::{Line, handshake, spell_out_line};
use crate::examples::expand;

/// What a line tells of HTTP before its frame: `POST /mcp {…}`, `200 {…}`, or the marks of an event; and the rest.
pub(super) fn http(text: &str) -> Result<(Option<Http<'static>>, &str), String> {
    let mut http = Http::default();
    let mut rest = text;
    while let Some((word, after)) = rest
        .split_once(' ')
        .or((!rest.is_empty()).then_some((rest, "")))
    {
        let owned = |text: &str| Some(Cow::Owned(text.to_string()));
        if let Some(id) = word.strip_prefix('#') {
            http.sse.id = owned(id);
        } else if let Some(name) = word.strip_prefix("event=") {
            http.sse.event = owned(name);
        } else if let Some(retry_ms) = word.strip_prefix("retry=") {
            let retry_ms = retry_ms.parse();
            http.sse.retry_ms = Some(retry_ms.map_err(|_| format!("no milliseconds: {word}"))?);
        } else {
            break;
        }
        rest = after;
    }
    let (word, after) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_method = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_status = word.len() == 3 && word.bytes().all(|byte| byte.is_ascii_digit());
    let (start, headers) = if is_status {
        let status = word.parse().map_err(|_| format!("no status: {word}"))?;
        (Start::Answer { status }, after)
    } else if is_method && after.starts_with(['/', 'h']) {
        let (target, after) = after.split_once(' ').unwrap_or((after, ""));
        let start = Start::Request {
            method: Cow::Owned(word.to_string()),
            target: Some(Cow::Owned(target.to_string())),
        };
        (start, after)
    } else {
        return Ok(((!http.is_empty()).then_some(http), rest));
    };
    http.head = Some(Head {
        start,
        fields: match headers {
            "" => None,
            headers => Some(fields(headers)?),
        },
    });
    Ok((Some(http), ""))
}

/// Header fields from an object of names and values, or lists of them.
fn fields(headers: &str) -> Result<Vec<Field<'static>>, String> {
    let wrong = || format!("no headers: {headers}");
    let mut scanner = Scanner::recording();
    let text = headers.as_bytes();
    scanner.value(text, 0).map_err(|_| wrong())?;
    let object = scanner.body(text).filter(|body| body.is_object());
    let mut all = vec![];
    for (name, value) in object.ok_or_else(wrong)?.members() {
        let name = name.as_text().ok_or_else(wrong)?.into_owned();
        let mut one = |value: Value<'_>| {
            all.push(Field {
                name: Cow::Owned(name.clone()),
                value: Cow::Owned(value.as_text().ok_or_else(wrong)?.into_owned()),
            });
            Ok::<(), String>(())
        };
        if value.is_array() {
            value.items().try_for_each(&mut one)?;
        } else {
            one(value)?;
        }
    }
    Ok(all)
}

/// `http-handshake [REVISION [SESSION]]`: the exchanges that open a session on `/mcp`.
pub(super) fn http_handshake(options: &str, out: &mut Vec<Line>) -> Result<(), String> {
    let mut options = options.split_whitespace();
    let revision = options.next().unwrap_or("2025-06-18");
    let session = options.next();
    let id = session.map_or(String::new(), |id| format!(",\"mcp-session-id\":\"{id}\""));
    let mut frames = vec![];
    handshake(revision, None, &mut frames);
    let mut frames = frames.into_iter();
    let from = out.len();
    let version = match revision {
        "2024-11-05" | "2025-03-26" => String::new(),
        revision => format!(",\"mcp-protocol-version\":\"{revision}\""),
    };
    let heads = [
        ("i", "c2s/i POST /mcp {$H}".to_string()),
        (
            "i",
            format!("s2c/i 200 {{\"content-type\":\"application/json\"{id}}}"),
        ),
        ("n", format!("c2s/n POST /mcp {{$H{id}{version}}}")),
    ];
    for ((stream, head), mut frame) in heads.into_iter().zip(&mut frames) {
        spell_out_line(&expand(&head), out)?;
        frame.stream = Some(stream.to_string());
        out.push(frame);
    }
    spell_out_line("s2c/n 202 {}", out)?;
    out[from..]
        .iter_mut()
        .for_each(|line| line.is_handshake = true);
    Ok(())
}
