//! Connections that follow each other in a recording under one name: each but the first gets a name of its own, since forms without
//! a word for what parts them would make one session of all.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::capture::{CaptureLine, CaptureWhat};
use crate::classify::classify;
use crate::event::Role;
use crate::scan::Scanner;

#[derive(Default)]
pub(super) struct Restarts {
    /// The sessions that frames were seen of, by their names in the recording; and the names that they have now.
    names: BTreeMap<String, Option<String>>,
    /// How many connections there were under a name.
    counts: BTreeMap<String, u64>,
    /// Those whose connection is over: what begins a session begins another one.
    over: BTreeSet<String>,
    scanner: Scanner,
}

/// More names than these are not told apart.
const NAMES_MAX: usize = 1024;

impl Restarts {
    /// Gives the line the name of its connection.
    pub(super) fn rename(&mut self, line: &mut CaptureLine<'_>) {
        // Most recordings name nothing.
        let name = line.session.as_deref().unwrap_or_default();
        match &line.what {
            CaptureWhat::Frame(frame) => {
                if !self.names.contains_key(name) && self.names.len() < NAMES_MAX {
                    self.names.insert(name.to_owned(), None);
                }
                if frame.from == Role::Client
                    && line.stream.is_none()
                    && self.over.contains(name)
                    && classify(frame.raw, &mut self.scanner)
                        .message
                        .begins_session()
                {
                    let name = name.to_owned();
                    self.over.remove(&name);
                    self.another(name);
                }
            }
            CaptureWhat::Event(event)
                if line.stream.is_none() && event.kind.ends_connection(event.by) =>
            {
                match &line.session {
                    Some(_) if self.names.contains_key(name) => {
                        self.over.insert(name.to_owned());
                    }
                    Some(_) => {}
                    None => self.over.extend(self.names.keys().cloned()),
                }
            }
            CaptureWhat::Event(_) | CaptureWhat::Http(_) => {}
        }
        let name = line.session.as_deref().unwrap_or_default();
        if let Some(Some(now)) = self.names.get(name) {
            line.session = Some(Cow::Owned(now.clone()));
        }
    }

    /// Whether some connection has another name now.
    pub(super) fn has_any(&self) -> bool {
        !self.counts.is_empty()
    }

    /// Another connection begins under that name.
    fn another(&mut self, name: String) {
        let count = self.counts.entry(name.clone()).or_insert(1);
        loop {
            *count += 1;
            let space = if name.is_empty() { "" } else { " " };
            let now = format!("{name}{space}#{count}");
            if !self.names.contains_key(&now) {
                self.names.insert(name, Some(now));
                return;
            }
        }
    }
}
