//! The door through which every frame of a reference peer goes: here defects of what is written act.

use mcpsim_sim::actor::{Out, Route};
use mcpsim_traces::message::Method;
use mcpsim_traces::render::{Spellings, render, render_with};

use crate::defect::Defect;
use crate::plan::Plan;
use crate::session::{Letter, Session};
use crate::tag::What;
use crate::tamper::{Edit, Tamper};

impl Session {
    /// Sends a frame that answers nothing.
    #[inline]
    pub(crate) fn say(
        &mut self,
        plan: &Plan,
        what: impl Into<Letter>,
        route: Route,
        out: &mut Out<'_>,
    ) {
        self.transmit(plan, what.into(), Method::None, route, out);
    }

    /// Sends a frame; `about` is the method that an answer answers.
    #[inline]
    pub(crate) fn transmit(
        &mut self,
        plan: &Plan,
        letter: Letter,
        about: Method,
        route: Route,
        out: &mut Out<'_>,
    ) {
        match plan.defect {
            Defect::Writes(tamper) => self.write(tamper, letter, about, route, out),
            _ => self.hand_over(letter, route, out),
        }
    }

    #[inline]
    fn hand_over(&self, Letter { message, body }: Letter, route: Route, out: &mut Out<'_>) {
        match body {
            None => out.send(self.port, message, route),
            Some(body) => out.send_with(self.port, message, body, route),
        }
    }

    /// Sends a frame of a party that writes wrongly.
    #[cold]
    fn write(
        &mut self,
        tamper: Tamper,
        letter: Letter,
        about: Method,
        route: Route,
        out: &mut Out<'_>,
    ) {
        let is_picked = tamper.on.picks(&letter.message, about);
        let has_one_slot = tamper.edit == Edit::ThroughOneSlot;
        let is_between = self.half.is_some() && !has_one_slot;
        if !is_picked && !is_between {
            return self.hand_over(letter, route, out);
        }
        let mut text = vec![];
        // Ids of reference peers are short: they need no spelling of their own.
        let spellings = Spellings::default();
        match &letter.body {
            None => render(&letter.message, &spellings, &mut text),
            Some(body) => render_with(&letter.message, body, &spellings, &mut text),
        }
        match self.half.take() {
            // What was in the buffer is gone.
            Some(_) if has_one_slot => self.half = Some((text.into(), route)),
            Some((half, _)) => {
                // Another writer's frame comes between the halves of this one.
                let at = half.len() / 2;
                out.send_raw(self.port, &[&half[..at], &text[..]].concat(), route, &[]);
                out.send_raw(self.port, &half[at..], route, &[]);
            }
            None => {
                let written = tamper.edit.apply(&String::from_utf8_lossy(&text));
                if let Some(half) = written.half {
                    self.half = Some((half, route));
                    return out.again(self.tag(What::Flush, out.origin()));
                }
                for line in &written.lines {
                    out.send_raw(self.port, line, route, &[]);
                }
            }
        }
    }

    /// Writes what is still to come of a frame, where no other came between.
    pub(crate) fn flush(&mut self, out: &mut Out<'_>) {
        if let Some((whole, route)) = self.half.take() {
            out.send_raw(self.port, &whole, route, &[]);
        }
    }
}
