//! The one door through which every choice goes: asked of the chooser, written to the sink.

use mcpsim_traces::event::{Choice, Event, Label, Sink, Site, What};

use crate::actor::Ask;
use crate::choose::{Chooser, Options};

/// Borrows a chooser and a sink, never the parties. [`Door::ask`] alone calls the chooser, and
/// writes the choice down, so that recording is no mode and can't be forgotten.
pub struct Door<'a, C: ?Sized, S: ?Sized> {
    chooser: &'a mut C,
    sink: &'a mut S,
    now_ms: u64,
}

impl<'a, C: Chooser + ?Sized, S: Sink + ?Sized> Door<'a, C, S> {
    /// A door to that chooser and that sink.
    pub fn new(chooser: &'a mut C, sink: &'a mut S) -> Self {
        Door {
            chooser,
            sink,
            now_ms: 0,
        }
    }

    /// Asks and writes down; a forced step (one option) is written down too.
    #[inline]
    pub fn ask(&mut self, site: Site, options: &impl Options) -> u32 {
        let bound = options.bound();
        assert!(bound > 0, "a question needs an option");
        let answer = if bound == 1 {
            self.chooser.forced(site, options);
            0
        } else {
            self.chooser.choose(site, options)
        };
        assert!(answer < bound, "a chooser stays within the options");
        if self.sink.listens() {
            let label = options.label(answer);
            self.event(What::Choice(Choice {
                site,
                bound,
                answer,
                label,
            }));
        }
        answer
    }

    /// Writes an event at the world's present time.
    #[inline]
    pub fn event(&mut self, what: What<'_>) {
        self.sink.event(&Event {
            at_ms: self.now_ms,
            what,
        });
    }

    /// The world moves its clock.
    #[inline]
    pub(crate) fn set_time(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
    }
}

/// A party's own question: plain numbers.
struct Question(u32);

impl Options for Question {
    fn bound(&self) -> u32 {
        self.0
    }

    fn label(&self, answer: u32) -> Label {
        Label::Number(answer)
    }
}

impl<C: Chooser + ?Sized, S: Sink + ?Sized> Ask for Door<'_, C, S> {
    fn ask(&mut self, bound: u32) -> u32 {
        Door::ask(self, Site::Party, &Question(bound))
    }
}
