//! How sides, streams and recordings end, and what was left open or unsaid then.

use mcpsim_traces::classify::classify;
use mcpsim_traces::event::{FrameNo, LinkKind, Role, Stream};
use mcpsim_traces::judge::{Blame, Ending, Severity, Verdict};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Method};
use mcpsim_traces::scan::Scanner;

use super::start::Start;
use super::{LogEvent, LogWhat, Observer, Seen, Tail, outside};
use crate::era::Light;
use crate::hangs::{self, Report, Silence};
use crate::http::Exchange;
use crate::ledger::bit;
use crate::monitor::counted;
use crate::part::{Own, flag, open};
use crate::rules::When;
use crate::rules::correlation::REQUEST_UNANSWERED;
use crate::rules::lifecycle::{INITIALIZED_MISSING, PEER_DIED};
use crate::rules::transport_stdio::{STDIO_SERVER_EXITS_ON_EOF, STDIO_TRUNCATED_AT_EXIT};

/// A longer line without an end is not kept.
const TAIL_MAX: usize = 1 << 20;

impl Observer {
    /// A line whose end was not seen: it may be the last one.
    #[cold]
    pub(super) fn keep_tail(&mut self, seen: &Seen<'_>) {
        if self.options.transport != LinkKind::Pipe || seen.message.has(Condition::Blank) {
            return;
        }
        let is_whole = seen.message.kind != Kind::Malformed;
        let text = seen.text.filter(|text| is_whole && text.len() <= TAIL_MAX);
        self.tails[seen.from as usize] = Some(Tail {
            frame: seen.frame,
            base: seen.base,
            text: text.map(<[u8]>::to_vec),
            is_last: false,
            status: None,
        });
    }

    /// The side's output has ended. What it wrote last counts, where it is whole.
    pub(super) fn end_tail(&mut self, event: &LogEvent<'_>) {
        let Some(mut tail) = self.tails[event.by as usize].take() else {
            return;
        };
        if let LogWhat::Exit { status } = event.what {
            tail.status = status;
        }
        if !std::mem::replace(&mut tail.is_last, true) {
            match &tail.text {
                Some(text) => self.frame(&Seen {
                    frame: tail.frame,
                    from: event.by,
                    message: &classify(text, &mut Scanner::new()).message,
                    text: Some(text),
                    body: None,
                    base: tail.base,
                    at_ms: None,
                    stream: 0,
                    ended: true,
                    http: None,
                }),
                // It may have been the answer to anything.
                None => self.part_mut(event.by).maybe_answered_all(),
            }
        }
        self.tails[event.by as usize] = Some(tail);
    }

    /// At the end of the log: outputs that ended in the middle of a line.
    pub(super) fn judge_tails(&mut self) {
        for by in [Role::Client, Role::Server] {
            let Some(tail) = self.tails[by as usize].take().filter(|tail| tail.is_last) else {
                continue;
            };
            let text = match (&tail.text, tail.status) {
                (Some(_), _) => {
                    "the last message has no line feed at its end; one ends every message"
                        .to_string()
                }
                (None, Some(status)) => format!(
                    "the output ends in the middle of a line; the program ended with status {status}"
                ),
                (None, None) => "the output ends in the middle of a line".to_string(),
            };
            self.report_on(by, tail.frame, &STDIO_TRUNCATED_AT_EXIT, text);
        }
    }

    /// The client has closed the server's input: the server ends.
    pub(super) fn judge_input_end(&mut self, event: &LogEvent<'_>) {
        match (event.by, event.what) {
            (Role::Client, LogWhat::Eof) => {
                self.ledger.saw(bit(When::INPUT_END));
                self.input_ended = self.now_ms.max(1);
            }
            (Role::Server, LogWhat::Stall)
                if self.closed_first == Some(Role::Client)
                    && self.input_ended != 0
                    && !self.is_hung[Role::Server as usize] =>
            {
                self.report_outlived();
            }
            (Role::Server, LogWhat::Exit { .. }) => self.judge_outlived(),
            _ => {}
        }
    }

    /// The server is still there: whether it has been for too long.
    #[cold]
    pub(super) fn judge_outlived(&mut self) {
        let patience = self.options.patience_ms;
        let since = self.now_ms.saturating_sub(self.input_ended);
        if self.input_ended != 0 && patience != 0 && since > patience {
            self.report_outlived();
        }
    }

    pub(super) fn report_outlived(&mut self) {
        if std::mem::replace(&mut self.outlived, true) {
            return;
        }
        let text = "the server goes on after its stdin was closed; it ends with it".to_string();
        self.report_on(Role::Server, 0, &STDIO_SERVER_EXITS_ON_EOF, text);
    }

    /// An HTTP error status settles what its exchange carried; the rules of HTTP judge it.
    #[cold]
    pub(super) fn settle_exchange(&mut self, seen: &Seen<'_>) {
        for id in self.asked_on(Some(seen.stream)) {
            if let Ok(at) = self.client.find_own(id) {
                self.client.own[at].flags |= open::EXCUSED;
            }
        }
    }

    pub(super) fn end_runs(&mut self, by: Role) {
        let (part, party) = match by {
            Role::Client => (&mut self.client, self.options.client),
            Role::Server => (&mut self.server, self.options.server),
        };
        part.end_run(&mut outside(&mut self.ledger, party, self.options.link));
    }

    pub(super) fn judge_left_over(&mut self, ending: Ending) {
        let is_quiet = ending == Ending::Quiet;
        let is_over = is_quiet || self.closed_first == Some(Role::Client);
        for (part, party) in [
            (&mut self.client, self.options.client),
            (&mut self.server, self.options.server),
        ] {
            let mut cx = outside(&mut self.ledger, party, self.options.link);
            part.judge_early_cancels(&mut cx);
            part.judge_early_completions(&mut cx);
            part.settle_batch_init(&mut cx);
            part.deep_end(&mut cx, is_over, is_quiet);
            part.settle_era(cx.ledger, Light::End);
        }
    }

    pub(super) fn judge_missing_initialized(&mut self, ending: Ending) {
        if !self.client.initialized_is_missing() {
            return;
        }
        // Whoever is cut off owes no more: the server's end proves nothing where it came first.
        let has_ended = self.ended[Role::Client as usize]
            || (self.ended != [false; 2] && self.closed_first != Some(Role::Server));
        let is_seen = ending == Ending::Quiet || has_ended;
        let mut cx = outside(&mut self.ledger, self.options.client, self.options.link);
        let text =
            "the client uses the session and never sends notifications/initialized".to_string();
        let frames = self.client.operated_frames();
        if is_seen {
            self.client
                .broken(&mut cx, &INITIALIZED_MISSING, &frames, text);
        } else {
            self.client
                .unsure(&mut cx, &INITIALIZED_MISSING, &frames, text);
        }
    }

    /// The side ended, and nobody asked it to: whether frames that crossed were too much for it. That its output is closed does
    /// not say how its process ends, which may still be told.
    pub(super) fn see_race(&mut self, by: Role, what: LogWhat) {
        self.is_race_open[by as usize] = match what {
            LogWhat::Exit { status } => {
                if status != Some(0) {
                    self.judge_race(by, Verdict::Broken);
                }
                false
            }
            _ => true,
        };
    }

    /// Ends of which nobody told how the process ended.
    pub(super) fn judge_open_races(&mut self) {
        for by in [Role::Client, Role::Server] {
            if self.is_race_open[by as usize] {
                self.judge_race(by, Verdict::Unsure);
            }
        }
    }

    fn judge_race(&mut self, by: Role, verdict: Verdict) {
        let (part, party) = match by {
            Role::Client => (&self.client, self.options.client),
            Role::Server => (&self.server, self.options.server),
        };
        let mut cx = outside(&mut self.ledger, party, self.options.link);
        part.judge_race(&mut cx, verdict);
    }

    /// The side's end, or that nothing more comes from it, is seen.
    pub(super) fn judge_end(&mut self, event: &LogEvent<'_>) {
        let by = event.by;
        let stream = event
            .stream
            .filter(|_| self.options.transport == LinkKind::Http && event.what == LogWhat::Stall);
        let because = match event.what {
            LogWhat::Eof => "it has closed its output",
            LogWhat::Exit { .. } => "its process has ended",
            _ => "nothing more came from it",
        };
        let debtor_inn = match by {
            Role::Client => &self.client.inn,
            Role::Server => &self.server.inn,
        };
        let on_stream: Option<Vec<_>> = stream.map(|stream| {
            let asked = debtor_inn.iter().filter(|request| request.stream == stream);
            asked.map(|request| request.id).collect()
        });
        let had_bad = debtor_inn
            .iter()
            .any(|request| request.flags & open::BAD != 0);
        let is_blocked = self.stderr_full[by as usize];
        let blame = is_blocked.then_some(Blame::from(by.other()));
        let because = if is_blocked {
            "nobody read its stderr until it could write no more"
        } else {
            because
        };
        let report = Report {
            verdict: Verdict::Broken,
            severity: REQUEST_UNANSWERED.severity,
            silence: Silence::Never,
            because,
            blame,
        };
        let is_cut = event.what != LogWhat::Stall && !is_blocked;
        let reported = self.report_open(
            |open, debtor| {
                debtor == by
                    && !(is_cut && open.is_stateless())
                    && on_stream
                        .as_ref()
                        .is_none_or(|ids| ids.binary_search(&open.own.id).is_ok())
            },
            &report,
        );
        let lost = if is_cut { self.lose_open(by) } else { vec![] };
        let status = match event.what {
            LogWhat::Exit { status } => status,
            _ => None,
        };
        let is_exit = matches!(event.what, LogWhat::Exit { .. });
        let is_crash = is_exit && (had_bad || status.is_some_and(|status| status != 0));
        if !reported && (is_crash || !lost.is_empty()) {
            self.report_death(by, &lost);
        } else if !reported && is_cut {
            self.note_probe(by);
        }
    }

    /// A side's end takes the requests outside sessions that it owes with it: which, as frames.
    pub(super) fn lose_open(&mut self, by: Role) -> Vec<FrameNo> {
        let asker = match by {
            Role::Client => &mut self.server,
            Role::Server => &mut self.client,
        };
        const NOT_OWED: u16 = open::CANCELLED
            | open::EXCUSED
            | open::LONG
            | open::BAD
            | open::MISANSWERED
            | open::CUT;
        let open = asker.own.iter_mut().filter(|own| {
            own.flags & NOT_OWED == 0 && own.flags & open::STATELESS != 0 && !own.answer.is_some()
        });
        let mut frames: Vec<FrameNo> = open
            .map(|own| {
                own.flags |= open::EXCUSED;
                own.frame
            })
            .collect();
        frames.sort_unstable();
        frames.truncate(hangs::FRAMES_MAX);
        frames
    }

    pub(super) fn report_death(&mut self, by: Role, lost: &[FrameNo]) {
        if self.start != Start::Whole && !self.has_spoken[by.other() as usize] {
            // The other side may have closed before the recording began.
            return;
        }
        let (part, party) = match by {
            Role::Client => (&self.client, self.options.client),
            Role::Server => (&self.server, self.options.server),
        };
        let mut cx = outside(&mut self.ledger, party, self.options.link);
        let text = match lost.len() {
            0 => format!(
                "the {} ended by itself, without the other side having closed",
                by.as_str()
            ),
            count => format!(
                "the {} ended by itself with {} open that it had to answer",
                by.as_str(),
                counted(count, "request")
            ),
        };
        part.broken(&mut cx, &PEER_DIED, lost, text);
    }

    /// An older server that ends on a probe leaves nothing to fall back to, and breaks no rule.
    pub(super) fn note_probe(&mut self, by: Role) {
        let is_probe = |own: &&Own| {
            own.method == Method::ServerDiscover
                && own.flags & open::STATELESS != 0
                && !own.answer.is_some()
        };
        let probe = self.client.own.iter().find(is_probe).map(|own| own.frame);
        if by != Role::Server || self.server.is(flag::MODERN) {
            return;
        }
        if let Some(frame) = probe {
            let mut cx = outside(&mut self.ledger, self.options.server, self.options.link);
            let text = "the server ended on a server/discover, which it may not know".to_string();
            self.server.case(
                &mut cx,
                &PEER_DIED,
                Verdict::Unsure,
                Some(Severity::Note),
                &[frame],
                None,
                text,
            );
        }
    }

    /// A side ends the stream of an exchange. What the server ends without a word, it should have
    /// announced; what the client closes is cancelled.
    pub(super) fn exchange_closed(&mut self, event: &LogEvent) {
        if self.options.transport != LinkKind::Http {
            return;
        }
        if event.by == Role::Server {
            self.server.tear_down(event.stream);
            return self.judge_object(event.stream);
        }
        for id in self.asked_on(event.stream) {
            if let Ok(at) = self.client.find_own(id)
                && self.client.own[at].flags & open::STATELESS != 0
            {
                self.client.own[at].flags |= open::CANCELLED;
                self.server.drop_subscription(id);
            }
        }
    }

    /// The server's answer was a single body, of JSON: what it did not answer stays unanswered.
    fn judge_object(&mut self, stream: Option<Stream>) {
        let exchange = stream.and_then(|stream| self.exchanges.exchange(stream));
        let is_object = exchange.is_some_and(Exchange::is_object);
        let Some(exchange) = exchange.filter(|one| is_object && !one.asked.is_empty()) else {
            return;
        };
        let asked = exchange.asked.clone();
        let report = Report {
            verdict: Verdict::Broken,
            severity: REQUEST_UNANSWERED.severity,
            silence: Silence::Never,
            because: "its exchange ended with a body that does not answer it",
            blame: None,
        };
        let is_hung = self.is_hung;
        self.report_open(
            |open, debtor| debtor == Role::Server && asked.contains(&open.own.id),
            &report,
        );
        // The other exchanges go on.
        self.is_hung = is_hung;
    }

    /// The client means to close an exchange.
    pub(super) fn give_up(&mut self, event: &LogEvent) {
        if event.by != Role::Client {
            return;
        }
        for id in self.asked_on(event.stream) {
            if let Ok(at) = self.client.find_own(id) {
                self.client.own[at].flags |= open::TIMED_OUT;
            }
        }
    }

    /// The open requests of that exchange.
    pub(super) fn asked_on(&self, stream: Option<Stream>) -> Vec<Key> {
        let asked = self.server.inn.iter();
        let asked = asked.filter(|request| Some(request.stream) == stream);
        asked.map(|request| request.id).collect()
    }

    /// The recording is over: what the server should have said of subscriptions.
    pub(super) fn judge_subscriptions(&mut self, ending: Ending) {
        let mut cx = outside(&mut self.ledger, self.options.server, self.options.link);
        cx.now_ms = self.now_ms;
        let is_silent = self.is_stalled || self.ended[Role::Server as usize];
        let is_at_rest = is_silent || self.is_resting || ending == Ending::Quiet;
        self.server.judge_teardown(&mut cx, is_at_rest);
        let patience = self.options.patience_ms;
        let seen = match (ending, self.closed_first) {
            (Ending::Quiet, None) => Some(0),
            // Whoever is left has nobody to acknowledge anything to.
            (_, Some(Role::Client)) => None,
            _ if is_silent => Some(0),
            _ if patience != 0 => Some(patience),
            _ => None,
        };
        if self.closed_first != Some(Role::Client) {
            self.server.judge_acknowledged(&mut cx, seen, |_| true);
        }
    }
}
