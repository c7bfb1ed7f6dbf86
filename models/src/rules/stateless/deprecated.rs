//! Features that 2026-07-28 deprecates and keeps: told once each.

use mcpsim_traces::event::Role;
use mcpsim_traces::message::{Capability, Kind, Method};
use mcpsim_traces::tape::Value;

use crate::deep::discover::once;
use crate::deep::exchanges::Input;
use crate::deep::{Deep, Frame, Topic};
use crate::era::Era;
use crate::ledger::Cx;
use crate::part::Part;
use crate::rules::{Category, Level, Rule, STATELESS_NOTE, Side, When};

pub(crate) const DEPRECATED_FEATURES: Rule = Rule {
    id: "deprecated-features",
    category: Category::Versioning,
    level: Level::MayNote,
    side: Side::Both,
    when: When::STATELESS_FRAME,
    source: "2026-07-28 deprecated (Deprecated)",
    says: "Roots, sampling and logging still work, and new programs do without them.",
    why: "They are to be taken out of a later revision; whoever builds on them has to move by then.",
    ..STATELESS_NOTE
};

pub(crate) const ROWS: &[Rule] = &[DEPRECATED_FEATURES];

/// Every frame outside sessions. What the other side uses first is told of that side, so both take note.
pub(crate) const TOPIC: Topic = Topic { by, toward };

/// A feature that goes away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Feature {
    Roots,
    Sampling,
    Logging,
}

impl Feature {
    const ALL: [Feature; 3] = [Feature::Roots, Feature::Sampling, Feature::Logging];

    const fn name(self) -> &'static str {
        match self {
            Feature::Roots => "roots",
            Feature::Sampling => "sampling",
            Feature::Logging => "logging",
        }
    }

    /// Its place among what is told once.
    const fn place(self) -> u32 {
        once::DEPRECATED + self as u32
    }

    const fn bit(self) -> u32 {
        1 << self.place()
    }
}

fn by(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    let new = note(part.role, deep, cx, frame);
    if new != 0 {
        let told = |feature: &Feature| new & feature.bit() != 0;
        for feature in Feature::ALL.into_iter().filter(told) {
            tell(part, cx, frame, feature);
        }
    }
}

fn toward(part: &mut Part, deep: &mut Deep, cx: &mut Cx<'_>, frame: &Frame<'_>) {
    note(part.role.other(), deep, cx, frame);
}

/// Takes note of what the frame of that side uses; handed back is what nobody used before, as bits.
#[inline]
fn note(from: Role, deep: &mut Deep, cx: &Cx<'_>, frame: &Frame<'_>) -> u32 {
    let known = deep.outside.as_ref().map_or(0, |outside| outside.seen);
    let used = match cx.era {
        Era::Foreign => 0,
        _ => used(from, frame, known),
    };
    let new = used & !known;
    if new != 0 {
        deep.outside().seen |= new;
    }
    new
}

/// What of these the frame uses, as bits.
fn used(from: Role, frame: &Frame<'_>, known: u32) -> u32 {
    let mut bits = 0;
    let mut add = |feature: Feature, is_used: bool| {
        if is_used {
            bits |= feature.bit();
        }
    };
    match (from, frame.message.kind, frame.method) {
        (Role::Client, Kind::Request, _) => {
            let Some(asked) = frame.asked else { return 0 };
            add(
                Feature::Roots,
                asked.meta.capabilities.has(Capability::Roots),
            );
            add(
                Feature::Sampling,
                asked.meta.capabilities.has(Capability::Sampling),
            );
            add(Feature::Logging, asked.meta.logs);
        }
        (Role::Server, Kind::Notification, Method::LogMessage) => add(Feature::Logging, true),
        (Role::Server, Kind::Result, Method::ServerDiscover) => {
            let listed = frame
                .payload
                .and_then(|result| result.path(&["capabilities", "logging"]));
            add(Feature::Logging, listed.is_some());
        }
        (Role::Server, Kind::Result | Kind::Notification, _) => {
            let both = Feature::Roots.bit() | Feature::Sampling.bit();
            if known & both == both {
                return 0;
            }
            for (_, request) in questions(frame) {
                let input = Input::of(request);
                add(Feature::Roots, input == Input::Roots);
                add(Feature::Sampling, input == Input::Sampling);
            }
        }
        _ => {}
    }
    bits
}

/// What a result, or the news of a task, asks for.
fn questions<'a>(frame: &Frame<'a>) -> impl Iterator<Item = (Value<'a>, Value<'a>)> {
    let may_ask = matches!(
        frame.method,
        Method::ToolsCall
            | Method::PromptsGet
            | Method::ResourcesRead
            | Method::TasksGet
            | Method::TasksNotification
    );
    let payload = frame.payload.filter(|_| may_ask);
    let requests = payload.and_then(|payload| payload.get("inputRequests"));
    requests.into_iter().flat_map(Value::members)
}

#[cold]
fn tell(part: &Part, cx: &mut Cx<'_>, frame: &Frame<'_>, feature: Feature) {
    let verb = match (part.role, frame.message.kind, feature) {
        (Role::Client, _, Feature::Logging) => "asks for",
        (Role::Client, ..) | (_, Kind::Result, Feature::Logging) => "declares",
        _ => "uses",
    };
    let text = format!(
        "the {} {verb} {}, which 2026-07-28 deprecates and still has",
        part.role.as_str(),
        feature.name()
    );
    part.broken(cx, &DEPRECATED_FEATURES, &[cx.frame], text);
}
