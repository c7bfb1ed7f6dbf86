//! What a session did, in a sentence or two: who talked to whom, how much, how it ended, and what is still open.

use std::fmt::Write as _;

use super::versions;
use crate::cli::outcome::counted;
use crate::cli::report::{OpenReport, PeerReport, SessionReport};
use crate::models::{LogEvent, LogWhat, Observer, Seen};
use crate::traces::event::{FrameNo, Role};
use crate::traces::key::Key;
use crate::traces::message::{Kind, Method};
use crate::traces::show::escape;
use crate::traces::tape::Value;

/// So many results are looked at for the server's name: without a handshake it may stand in any.
const LOOKED_AT_MAX: u32 = 64;
/// So many open requests are listed of a session.
const OPEN_MAX: usize = 8;
/// Names from a log are repeated up to here.
const NAME_CHARS_MAX: usize = 60;

/// What was seen of a session.
#[derive(Default)]
pub(crate) struct Account {
    peers: [Option<PeerReport>; 2],
    frames: [u64; 2],
    last: [Option<Last>; 2],
    first_ms: Option<u64>,
    last_ms: Option<u64>,
    ended: Option<String>,
    looked_at: u32,
}

/// A session that is judged, with its account.
pub(crate) struct Watched {
    pub(crate) observer: Observer,
    pub(crate) account: Account,
    /// So many of its findings were told while the log was being written.
    pub(crate) told: usize,
}

impl Watched {
    pub(crate) fn new(observer: Observer) -> Watched {
        let account = Account::default();
        let told = 0;
        Watched {
            observer,
            account,
            told,
        }
    }

    #[inline]
    pub(crate) fn frame(&mut self, seen: &Seen<'_>) {
        self.account.frame(seen);
        self.observer.frame(seen);
    }

    pub(crate) fn event(&mut self, event: &LogEvent<'_>) {
        self.account.event(event);
        self.observer.event(event);
    }

    /// The log goes on until then, with what is of no concern here.
    pub(crate) fn goes_on(&mut self, at_ms: u64) {
        self.account.goes_on(at_ms);
        self.observer.wait_until(at_ms);
    }
}

/// What was heard last from a side.
#[derive(Clone, Copy)]
struct Last {
    kind: Kind,
    method: Method,
    id: Key,
    frame: FrameNo,
    at_ms: Option<u64>,
}

impl Account {
    /// A frame of the session.
    #[inline]
    pub(crate) fn frame(&mut self, seen: &Seen<'_>) {
        let side = seen.from as usize;
        self.frames[side] += 1;
        self.pass(seen.at_ms);
        let message = seen.message;
        self.last[side] = Some(Last {
            kind: message.kind,
            method: message.method,
            id: message.id,
            frame: seen.frame,
            at_ms: seen.at_ms,
        });
        if self.peers[side].is_none() && self.looked_at < LOOKED_AT_MAX {
            self.look_for_name(seen);
        }
    }

    /// The last frame of the session, of either side; 0 before the first.
    pub(crate) fn last_frame(&self) -> FrameNo {
        let frames = self.last.iter().flatten().map(|last| last.frame);
        frames.max().unwrap_or(0)
    }

    fn pass(&mut self, at_ms: Option<u64>) {
        self.first_ms = self.first_ms.or(at_ms);
        self.last_ms = at_ms.or(self.last_ms);
    }

    #[cold]
    fn look_for_name(&mut self, seen: &Seen<'_>) {
        let paths: [&[&str]; 2] = match (seen.from, seen.message.kind) {
            (Role::Client, Kind::Request) => [
                &["params", "clientInfo"],
                &["params", "_meta", "io.modelcontextprotocol/clientInfo"],
            ],
            (Role::Server, Kind::Result) => [
                &["result", "serverInfo"],
                &["result", "_meta", "io.modelcontextprotocol/serverInfo"],
            ],
            _ => return,
        };
        self.looked_at += 1;
        let info = paths.iter().find_map(|path| seen.body?.path(path));
        self.peers[seen.from as usize] = info.and_then(peer);
    }

    /// Until then the log goes on, whatever it tells.
    pub(crate) fn goes_on(&mut self, at_ms: u64) {
        if self.first_ms.is_some() {
            self.last_ms = self.last_ms.max(Some(at_ms));
        }
    }

    /// Something else that happened in it.
    pub(crate) fn event(&mut self, event: &LogEvent<'_>) {
        self.pass(event.at_ms);
        let by = event.by.as_str();
        if event.stream.is_some() || self.ended.is_some() {
            return;
        }
        self.ended = match event.what {
            LogWhat::Exit { status } => Some(match status {
                Some(status) => format!("the {by}'s process ended with status {status}"),
                None => format!("the {by}'s process ended"),
            }),
            LogWhat::Eof => Some(format!("the {by} closed its side")),
            LogWhat::Stall => Some(format!("nothing more came from the {by}")),
            LogWhat::Timeout => Some(format!("the {by} gave up waiting")),
            _ => None,
        };
    }

    /// The server, as it calls itself.
    pub(crate) fn server(&self) -> Option<String> {
        let [_, server] = &self.peers;
        server.as_ref().map(|peer| peer.name.clone())
    }

    /// What the report says of the session.
    pub(crate) fn close(
        &self,
        observer: &Observer,
        line_of: impl Fn(FrameNo) -> Option<u64>,
    ) -> SessionReport {
        let mut report = SessionReport::default();
        let [client, server] = &self.peers;
        report.client = client.clone();
        report.server = server.clone();
        let [from_client, from_server] = self.frames;
        report.frames_from_client = from_client;
        report.frames_from_server = from_server;
        report.lasted_ms = self.lasted_ms();
        report.joined = observer.joined();
        report.ended = self.ended.clone();
        let open = observer.open_requests();
        report.open_requests = open.len() as u64;
        let listed = open.into_iter().take(OPEN_MAX);
        report.open = listed
            .map(|open| OpenReport {
                request: open.request,
                frame: open.frame,
                line: line_of(open.frame),
                waited_ms: open.waited_ms,
                owed_by: open.by.other().as_str(),
            })
            .collect();
        let heard = |side: Role| self.last[side as usize].map(|last| self.heard(last));
        report.last_from_client = heard(Role::Client);
        report.last_from_server = heard(Role::Server);
        report
    }

    fn lasted_ms(&self) -> Option<u64> {
        self.last_ms
            .zip(self.first_ms)
            .map(|(last, first)| last.saturating_sub(first))
    }

    fn heard(&self, last: Last) -> String {
        let Last {
            kind,
            method,
            id,
            frame,
            at_ms,
        } = last;
        let method = match method.as_str() {
            "" => "an unknown method",
            name => name,
        };
        let what = match kind {
            Kind::Request => format!("{method} {id}"),
            Kind::Notification => method.to_owned(),
            Kind::Result => format!("the result of {id}"),
            Kind::Error => format!("the error of {id}"),
            Kind::Batch => "an array of messages".to_owned(),
            Kind::Malformed => "a line that is no message".to_owned(),
        };
        let when = self
            .last_ms
            .zip(at_ms)
            .map(|(end, at)| end.saturating_sub(at));
        match when {
            Some(0) | None => format!("{what} (#{frame})"),
            Some(ms) => format!("{what} (#{frame}), {} before the end", span(ms)),
        }
    }
}

/// Name and version of a peer.
fn peer(info: Value<'_>) -> Option<PeerReport> {
    let text = |name: &str| {
        let text = info.get(name)?.as_text()?;
        Some(text.chars().take(NAME_CHARS_MAX).collect::<String>())
    };
    Some(PeerReport {
        name: text("name")?,
        version: text("version"),
    })
}

/// A span of time for people: `40 ms`, `1.2 s`, `3 min 20 s`.
fn span(ms: u64) -> String {
    let seconds = ms / 1000;
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{seconds}.{} s", ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A session in sentences, each a line. A log that has lost what messages hold does not tell what was agreed on.
/// Where there are several, each has its place among them and its name.
pub(crate) fn text(
    session: &SessionReport,
    nth: Option<u32>,
    has_payload: bool,
    indent: &str,
) -> String {
    let peer = |peer: &Option<PeerReport>, role: &str| match peer {
        None => format!("the {role}"),
        Some(PeerReport { name, .. }) if name.is_empty() => format!("the {role}"),
        Some(PeerReport { name, version }) => match version.as_deref() {
            None | Some("") => format!("the {role} {}", escape(name)),
            Some(version) => format!("the {role} {} {}", escape(name), escape(version)),
        },
    };
    let versions: Vec<String> = session
        .versions
        .iter()
        .map(|name| versions::shown(name))
        .collect();
    let by = match versions.as_slice() {
        [] if has_payload => "without an agreed revision".to_owned(),
        [] => "by a revision that is not told".to_owned(),
        names => format!("by {}", names.join(" and ")),
    };
    let sent = |side: &str, peer: String, frames: String| match session.not_recorded {
        Some(missing) if missing == side => format!("what {peer} sent was not recorded"),
        _ => format!("{peer} sent {frames}"),
    };
    let from_server = match (session.frames_from_server, session.not_recorded) {
        (count, Some(_)) => counted(count, "frame"),
        (0, None) => "none".to_owned(),
        (count, None) => count.to_string(),
    };
    let which = match (nth, &session.name) {
        (None, _) => String::new(),
        (Some(nth), None) => format!("session {nth}: "),
        (Some(nth), Some(name)) => format!("session {nth}, {}: ", escape(name)),
    };
    let from_client = counted(session.frames_from_client, "frame");
    let mut text = format!(
        "{indent}{which}{by} {} and {}",
        sent("client", peer(&session.client, "client"), from_client),
        sent("server", peer(&session.server, "server"), from_server),
    );
    if let Some(ms) = session.lasted_ms {
        let _ = write!(text, ", in {}", span(ms));
    }
    if session.joined {
        text.push_str("; its beginning is not in the recording");
    }
    let _ = match &session.ended {
        Some(ended) => writeln!(text, "; {ended}"),
        None => writeln!(text, "; the recording stops"),
    };
    for open in &session.open {
        let waited = match open.waited_ms {
            Some(ms) => format!(" for {}", span(ms)),
            None => String::new(),
        };
        let line = match open.line {
            Some(line) => format!(", line {line}"),
            None => String::new(),
        };
        let _ = writeln!(
            text,
            "{indent}open{waited}: {} (#{}{line}), the {} owes the answer",
            escape(&open.request),
            open.frame,
            open.owed_by
        );
    }
    let more = session.open_requests - session.open.len() as u64;
    if more > 0 {
        let _ = writeln!(
            text,
            "{indent}and {} without an answer",
            counted(more, "more request")
        );
    }
    // What was heard last matters to whoever waits.
    for side in ["client", "server"] {
        let last = match side {
            "client" => &session.last_from_client,
            _ => &session.last_from_server,
        };
        if let Some(last) = last
            .as_ref()
            .filter(|_| session.open.iter().any(|open| open.owed_by == side))
        {
            let _ = writeln!(text, "{indent}heard last from the {side}: {}", escape(last));
        } else if session.open.iter().any(|open| open.owed_by == side) {
            let _ = writeln!(text, "{indent}nothing was heard from the {side}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_short() {
        for (ms, expected) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1_250, "1.2 s"),
            (60_006, "1 min 0 s"),
            (7_320_000, "2 h 2 min"),
        ] {
            assert_eq!(span(ms), expected);
        }
    }
}
