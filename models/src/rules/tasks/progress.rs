//! Progress of what runs as a task: it goes on after the request was answered.

use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Message, Revision};

use super::TASK_RELATED_META;
use crate::deep::Deep;
use crate::deep::tasks::{Place, RELATED, Run, text_key};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::{Part, Reached};
use crate::rules::progress::{
    PROGRESS_AFTER_TASK_END, PROGRESS_NOT_INCREASING, PROGRESS_TASK_TOKEN,
};
use crate::rules::stateless::tasks_extension::TASK_NO_PROGRESS;

impl Part {
    /// Progress that belongs to a task of the party's, by its token or by its metadata; whether it does.
    pub(crate) fn progress_of_task(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        let Some(mut deep) = self.deep.take() else {
            return false;
        };
        let is_of_task = self.progress_among(&mut deep, cx, message);
        self.deep = Some(deep);
        is_of_task
    }

    fn progress_among(&self, deep: &mut Deep, cx: &mut Cx<'_>, message: &Message) -> bool {
        let token = message.token;
        // The token of a request that is open is that request's, whatever had it before.
        let is_open = self.tokens.as_ref().is_some_and(|tokens| {
            let mut from = tokens.inn.list.iter_from(tokens.inn.first(token));
            from.next().is_some_and(|series| series.token == token)
        });
        let is_session = self.revision == Some(Revision::V2025_11_25);
        let related = cx
            .payload
            .filter(|_| is_session)
            .and_then(|params| params.path(&["_meta", RELATED, "taskId"]));
        let related = text_key(related);
        if related.is_present() && self.other_token(deep, cx, token, related, is_open) {
            return true;
        }
        if is_open {
            return false;
        }
        if is_session {
            let mut runs = deep.tasks.runs.iter_mut().filter(|run| run.token == token);
            if let Some(run) = runs.next() {
                // Of several there is no telling.
                if runs.next().is_none() {
                    self.progress_of_run(cx, message, run, related);
                }
                return true;
            }
        }
        self.progress_of_ext(deep, cx, token)
    }

    /// Progress that names a task, under a token that is not the task's.
    fn other_token(
        &self,
        deep: &Deep,
        cx: &mut Cx<'_>,
        token: Key,
        related: Key,
        is_open: bool,
    ) -> bool {
        let Some(run) = deep.tasks.runs.get(related) else {
            return false;
        };
        let Some(created) = run.created.filter(|_| run.token != token) else {
            return false;
        };
        // A token that nobody gave is another rule's matter where the task has none.
        let is_anothers = is_open || deep.tasks.runs.iter().any(|run| run.token == token);
        if !run.token.is_present() && !is_anothers {
            return false;
        }
        let text = if run.token.is_present() {
            format!(
                "progress of a task under token {token}; the request that created it gave {}",
                run.token
            )
        } else {
            format!(
                "progress of a task under token {token}; the request that created it gave no token"
            )
        };
        self.broken(cx, &PROGRESS_TASK_TOKEN, &[created.frame, cx.frame], text);
        true
    }

    fn progress_of_run(&self, cx: &mut Cx<'_>, message: &Message, run: &mut Run, related: Key) {
        let token = message.token;
        if let Some(over) = run.over() {
            let text = format!("progress under token {token}, whose task was shown to be over");
            let frames = [over.frame, cx.frame];
            if over.is_on_stream(self, cx) {
                self.broken(cx, &PROGRESS_AFTER_TASK_END, &frames, text);
            } else {
                self.unsure(cx, &PROGRESS_AFTER_TASK_END, &frames, text);
            }
            return;
        }
        let Some(created) = run.created.filter(|created| created.is_on_stream(self, cx)) else {
            return;
        };
        self.in_series(cx, message, run);
        if related != run.id {
            let what = if related.is_present() {
                "names another task"
            } else {
                "names no task"
            };
            let text =
                format!("progress under token {token}, which belongs to a task, {what} in `_meta`");
            self.broken(cx, &TASK_RELATED_META, &[created.frame, cx.frame], text);
        }
    }

    /// Before and after the task's creation it is one series.
    fn in_series(&self, cx: &mut Cx<'_>, message: &Message, run: &mut Run) {
        let reached = Reached::of(message);
        let last = run.progress.replace((reached, cx.frame));
        let Some((last, frame)) = last else { return };
        match reached.is_beyond(last) {
            Some(true) => return,
            None => return cx.pass_over(&PROGRESS_NOT_INCREASING),
            Some(false) => {}
        }
        let text = format!(
            "progress for token {} is {reached} after {last}; each value is greater than the one before",
            message.token
        );
        self.broken(cx, &PROGRESS_NOT_INCREASING, &[frame, cx.frame], text);
    }

    /// Progress of a task of 2026-07-28, which has none.
    fn progress_of_ext(&self, deep: &Deep, cx: &mut Cx<'_>, token: Key) -> bool {
        let mut runs = deep.tasks_ext.runs.iter();
        let Some(run) = runs.find(|run| run.token == token) else {
            return false;
        };
        let created: Place = run.created;
        let text = format!(
            "progress under token {token}, whose request was answered with a task: a task has no progress"
        );
        let frames = [created.frame, cx.frame];
        cx.set_era(Era::Stateless);
        if created.is_on_stream(self, cx) {
            self.broken(cx, &TASK_NO_PROGRESS, &frames, text);
        } else {
            self.unsure(cx, &TASK_NO_PROGRESS, &frames, text);
        }
        true
    }
}
