//! The door through which every frame of a reference peer goes: here defects of what is written act.

use mcpsim_sim::actor::{Out, Route};
use mcpsim_traces::message::{Message, Method};
use mcpsim_traces::render::{Body, Spellings, render, render_with};

use crate::defect::Defect;
use crate::plan::Plan;
use crate::session::Session;
use crate::tag::What;
use crate::tamper::Edit;

impl Session {
    /// Sends a frame; `about` is the method that an answer answers.
    #[inline]
    pub(crate) fn transmit(
        &mut self,
        plan: &Plan,
        message: Message,
        body: Option<Body>,
        about: Method,
        route: Route,
        out: &mut Out<'_>,
    ) {
        match (plan.defect, body) {
            (Defect::Writes(_), body) => self.write(plan, message, body, about, route, out),
            (_, None) => out.send(self.port, message, route),
            (_, Some(body)) => out.send_with(self.port, message, body, route),
        }
    }

    /// Sends a frame of a party that writes wrongly.
    #[cold]
    fn write(
        &mut self,
        plan: &Plan,
        message: Message,
        body: Option<Body>,
        about: Method,
        route: Route,
        out: &mut Out<'_>,
    ) {
        let Defect::Writes(tamper) = plan.defect else {
            return;
        };
        let mut text = vec![];
        // Ids of reference peers are short: they need no spelling of their own.
        match &body {
            None => render(&message, &Spellings::default(), &mut text),
            Some(body) => render_with(&message, body, &Spellings::default(), &mut text),
        }
        let one_slot = tamper.edit == Edit::ThroughOneSlot;
        if one_slot && self.half.is_some() && tamper.on.picks(&message, about) {
            // What was in the buffer is gone.
            self.half = Some(text.into());
            self.half_route = route;
            return;
        }
        if let (false, Some(half)) = (one_slot, self.half.take()) {
            // Another writer's frame comes between the halves of this one.
            let at = half.len() / 2;
            out.send_raw(self.port, &[&half[..at], &text[..]].concat(), route, &[]);
            out.send_raw(self.port, &half[at..], route, &[]);
            return;
        }
        if !tamper.on.picks(&message, about) {
            match body {
                None => out.send(self.port, message, route),
                Some(body) => out.send_with(self.port, message, body, route),
            }
            return;
        }
        let written = tamper.edit.apply(&String::from_utf8_lossy(&text));
        if written.half.is_some() {
            self.half = written.half;
            self.half_route = route;
            out.again(self.tag(What::Flush, out.origin()));
            return;
        }
        for line in &written.lines {
            out.send_raw(self.port, line, route, &[]);
        }
    }

    /// Writes what is still to come of a frame, where no other came between.
    pub(crate) fn flush(&mut self, out: &mut Out<'_>) {
        if let Some(whole) = self.half.take() {
            out.send_raw(self.port, &whole, self.half_route, &[]);
        }
    }
}
