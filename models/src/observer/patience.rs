//! Time: requests that stay open for too long, and what is said of them.

use mcpsim_traces::event::Role;
use mcpsim_traces::judge::{Blocked, Verdict};
use mcpsim_traces::message::{Kind, Message, Method};

use super::{Observer, Seen, outside};
use crate::hangs::{self, End, Open, Reason, Report, Silence, Stuck};
use crate::part::{Part, open, waits_for_people};
use crate::rules::correlation::REQUEST_UNANSWERED;

impl Observer {
    pub(super) fn clock(&mut self, at_ms: Option<u64>) {
        let Some(at_ms) = at_ms else { return };
        let began = *self.began_ms.get_or_insert(at_ms);
        let now = at_ms.saturating_sub(began).saturating_add(1);
        // A log's clock may jump back: then no time has passed.
        self.now_ms = self.now_ms.max(now);
        if self.options.patience_ms != 0 && self.now_ms >= self.check_ms {
            self.judge_patience();
        }
    }

    #[cold]
    pub(super) fn judge_patience(&mut self) {
        let patience = self.options.patience_ms;
        let now = self.now_ms;
        let hung = self.is_hung;
        let ended = self.ended;
        // Nobody is asked again who hangs or has ended, and nothing that is excused runs out.
        let youngest = |since: u64| now.saturating_sub(since) < patience || since == 0;
        let mut oldest: Option<u64> = None;
        let mut is_any_over = false;
        for (part, debtor) in [(&self.client, Role::Server), (&self.server, Role::Client)] {
            let is_silent = hung[debtor as usize] || ended[debtor as usize];
            if is_silent && !part.own.is_empty() {
                // It may speak again any time: soon is early enough.
                oldest = Some(0);
                continue;
            }
            let settled = open::EXCUSED | open::CANCELLED | open::LONG | open::CUT;
            let waiting = part.own.iter().filter(|own| own.flags & settled == 0);
            for own in waiting.filter(|own| !own.answer.is_some()) {
                match part.since(own) {
                    0 => {}
                    since if youngest(since) => {
                        oldest = Some(oldest.map_or(since, |oldest| oldest.min(since)));
                    }
                    _ => is_any_over |= !waits_for_people(own.method),
                }
            }
        }
        if is_any_over {
            let heard = [self.client.heard, self.server.heard];
            self.report_open(
                |open, debtor| {
                    let since = open.own.since.max(heard[open.asker]);
                    !youngest(since)
                        && !waits_for_people(open.own.method)
                        && !hung[debtor as usize]
                        && !ended[debtor as usize]
                },
                &Report {
                    verdict: Verdict::Broken,
                    severity: REQUEST_UNANSWERED.severity,
                    silence: Silence::Within(self.options.patience_ms),
                    because: "",
                    blame: None,
                },
            );
        }
        // Whatever is sent from now on is younger. A session that hangs with very many requests open is
        // not looked through at each of them.
        let next = oldest.unwrap_or(now).saturating_add(patience);
        self.check_ms = next.max(now.saturating_add(patience / 8));
    }

    /// The recording is over: requests whose connection broke long ago. Whether an answer was lost with it, or never was, cannot
    /// be told.
    pub(super) fn judge_cut(&mut self) {
        let patience = self.options.patience_ms;
        let is_left = self.closed_first == Some(Role::Client) || self.exchanges.is_deleted();
        if patience == 0 || is_left {
            return;
        }
        const SETTLED: u16 = open::EXCUSED | open::CANCELLED | open::LONG;
        let now = self.now_ms;
        let mut cut = vec![];
        let own = self.client.own.iter_mut();
        for own in own.filter(|own| own.flags & (open::CUT | SETTLED) == open::CUT) {
            let is_old = own.since != 0 && now.saturating_sub(own.since) >= patience;
            if is_old && !own.answer.is_some() {
                own.flags &= !open::CUT;
                cut.push(own.id);
            }
        }
        if cut.is_empty() {
            return;
        }
        let report = Report {
            verdict: Verdict::Unsure,
            severity: REQUEST_UNANSWERED.severity,
            silence: Silence::SoFar,
            because: "its connection ended before the answer, and nobody has come back for it",
            blame: None,
        };
        self.report_open(
            |open, debtor| debtor == Role::Server && cut.contains(&open.own.id),
            &report,
        );
    }

    /// What was reported as missing may come after all.
    #[cold]
    pub(super) fn answered_late(&mut self, seen: &Seen<'_>) {
        let (ledger, now_ms) = (&mut self.ledger, self.now_ms);
        let mut answer = |message: &Message| {
            if message.kind.is_response() {
                let which = (seen.from, message.id);
                self.overdue.answered(ledger, which, seen.frame, now_ms);
            } else if message.method == Method::Cancelled {
                let which = (seen.from, message.token);
                self.overdue.cancelled(ledger, which, now_ms);
            }
        };
        match (seen.message.kind, seen.text) {
            (Kind::Batch, Some(text)) => Part::members(text, |_, member| answer(member)),
            _ => answer(seen.message),
        }
    }

    /// Requests that a side gave up, or seems to have given up, without a word.
    pub(super) fn judge_timeouts(&mut self, by: Role, verdict: Verdict) {
        let (part, party) = match by {
            Role::Client => (&self.client, self.options.client),
            Role::Server => (&self.server, self.options.server),
        };
        part.judge_timeouts(
            &mut outside(&mut self.ledger, party, self.options.link),
            verdict,
        );
    }

    pub(super) fn judge_timeout(&mut self, by: Role) {
        let part = match by {
            Role::Client => &mut self.client,
            Role::Server => &mut self.server,
        };
        for own in part.own.iter_mut() {
            own.flags |= open::TIMED_OUT;
        }
        let report = Report {
            verdict: Verdict::Unsure,
            severity: REQUEST_UNANSWERED.severity,
            silence: Silence::SoFar,
            because: "the other side gave up waiting",
            blame: None,
        };
        self.report_open(|_, debtor| debtor == by.other(), &report);
    }

    /// Reports what is open and fits, one finding for each side that owes, and excuses it from then on.
    pub(super) fn report_open(
        &mut self,
        fits: impl Fn(&Open, Role) -> bool,
        report: &Report<'_>,
    ) -> bool {
        let ends = [
            End {
                party: self.options.client,
                link: self.options.link,
                role: Role::Client,
                blocked: Blocked::default(),
                part: &self.client,
            },
            End {
                party: self.options.server,
                link: self.options.link,
                role: Role::Server,
                blocked: Blocked::default(),
                part: &self.server,
            },
        ];
        let waits = hangs::waits(&ends, |_| true);
        let is_sure = report.verdict == Verdict::Broken;
        let fitting = |stuck: &&Stuck| {
            stuck.open.reason == Reason::Owed
                && !(is_sure && stuck.open.is_hazy)
                && fits(&stuck.open, ends[stuck.open.debtor].role)
        };
        let groups = hangs::by_debtor(waits.stuck.iter().filter(fitting));
        let mut excused = vec![];
        let mut findings = vec![];
        for ((debtor, ..), group) in groups {
            let role = ends[debtor].role;
            if let Some(finding) = hangs::finding(&ends, &group, report) {
                let own = group.iter().map(|stuck| stuck.open.own);
                let requests: Vec<_> = own.map(|own| (own.id, own.since)).collect();
                findings.push((finding, role, requests));
            }
            self.is_hung[role as usize] |= is_sure;
            excused.extend(
                group
                    .iter()
                    .map(|stuck| (stuck.open.asker, stuck.open.own.id)),
            );
            // What waits for it is explained by it.
            let waiting = group.iter().flat_map(|stuck| &stuck.waiting);
            excused.extend(waiting.map(|open| (open.asker, open.own.id)));
        }
        let reported = !findings.is_empty();
        for (finding, debtor, requests) in findings {
            let rule = finding.rule;
            let nth = self.ledger.filed(finding);
            if matches!(report.silence, Silence::Within(_)) {
                self.overdue
                    .put(&self.ledger, (rule, nth), debtor, requests.into_iter());
            }
        }
        for (asker, id) in excused {
            let part = if asker == 0 {
                &mut self.client
            } else {
                &mut self.server
            };
            if let Ok(at) = part.find_own(id) {
                part.own[at].flags |= open::EXCUSED;
            }
        }
        reported
    }
}
