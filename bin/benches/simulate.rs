//! Simulation speed beside the bare loops: `cargo bench -p mcpsim --bench simulate [-- SCALE]`.
//!
//! Two tables, one with frames as values and one with every frame rendered and parsed. Only the ratio column is worth quoting.

#[path = "support/bare_loops.rs"]
mod bare_loops;
#[allow(
    dead_code,
    reason = "only the benchmarks of whole commands run children"
)]
#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/table.rs"]
mod table;

use mcpsim::models::Monitor;
use mcpsim::scenarios::peer::Peer;
use mcpsim::scenarios::scenario;
use mcpsim::scenarios::scenario::Step;
use mcpsim::sim::choose::Dice;
use mcpsim::sim::run::run;
use mcpsim::sim::setup::Setup;
use mcpsim::traces::classify::classify;
use mcpsim::traces::event::{Event, Nothing, Sink, What};
use mcpsim::traces::file::{Header, TraceWriter};
use mcpsim::traces::judge::{Judge, NoJudge};
use mcpsim::traces::message::Tool;
use mcpsim::traces::scan::Scanner;
use table::Row;

/// Calls in one session. Long enough for the handshake not to matter, short enough for a run to keep its choices.
const CALLS: u64 = 10_000;

/// Sessions in one repetition, a new seed each, times the scale: about half a second of the bare loop.
const SESSIONS_AS_VALUES: u64 = 320;
const SESSIONS_AS_TEXT: u64 = 40;

fn main() {
    // Cargo adds `--bench` of its own.
    let scale = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(1);
    assert_eq!(
        bare_loops::typed(CALLS, 7),
        bare_loops::json(CALLS, 7),
        "both loops deliver the same frames in the same order"
    );

    let sessions = SESSIONS_AS_VALUES * scale;
    let mut rows = vec![Row::new("bare loop, frames as values", move || {
        frames_of(sessions, bare_loops::typed)
    })];
    rows.extend(product_as_values(sessions));
    table::compare("simulate, nothing rendered", "frames", 1.0, &mut rows);

    let sessions = SESSIONS_AS_TEXT * scale;
    let mut rows = vec![Row::new("bare loop, frames as JSON both ways", move || {
        frames_of(sessions, bare_loops::json)
    })];
    rows.extend(product_as_text(sessions));
    table::compare(
        "simulate, every frame rendered and parsed",
        "frames",
        1.0,
        &mut rows,
    );
}

fn frames_of(sessions: u64, session: fn(calls: u64, seed: u64) -> bare_loops::Outcome) -> u64 {
    (0..sessions).map(|seed| session(CALLS, seed).frames).sum()
}

/// mcpsim's rows of the first table: the same session in its world, with its reference peers, nothing rendered. A row plays
/// `sessions` sessions of [`CALLS`] calls, window 8, one progress a call, any order, seeds from 0, and gives the frames sent.
fn product_as_values(sessions: u64) -> Vec<Row<'static>> {
    let (judged, unjudged) = (world(), world());
    vec![
        Row::new("mcpsim, judged", move || {
            frames_of_worlds(sessions, &judged, Monitor::new, &mut Nothing)
        }),
        Row::new("mcpsim, no judge", move || {
            frames_of_worlds(sessions, &unjudged, || NoJudge, &mut Nothing)
        }),
    ]
}

/// mcpsim's rows of the second table: the same, with every frame rendered and parsed, and held against what was sent and judged.
fn product_as_text(sessions: u64) -> Vec<Row<'static>> {
    let (parsed, written) = (world(), world());
    vec![
        Row::new("mcpsim, rendered, parsed, judged", move || {
            frames_of_worlds(sessions, &parsed, Monitor::new, &mut Reparse::default())
        }),
        Row::new("mcpsim, judged, trace written to nowhere", move || {
            let header = Header::new("benchmark");
            let mut writer = TraceWriter::new(std::io::sink(), &header);
            frames_of_worlds(sessions, &written, Monitor::new, &mut writer)
        }),
    ]
}

/// The workload of the bare loops as a scenario: the tool `count` reports progress once and answers.
fn world() -> Setup<Peer> {
    let mut scenario = scenario("http-calls").expect("a named scenario").clone();
    scenario.faults = Default::default();
    scenario.bounds.steps_max = u32::MAX;
    let client = &mut scenario.parties[0];
    client.window = 8;
    client.hesitates = false;
    let name = client.name.clone();
    let step = Step {
        progress: true,
        ..Step::call(Tool::Count, 1)
    };
    scenario.parties.truncate(2);
    scenario.parties[1].hesitates = false;
    scenario.workload.clear();
    scenario.workload.insert(name, vec![step; CALLS as usize]);
    scenario.check().expect("a valid scenario");
    scenario.setup(None).expect("no fault is asked for")
}

fn frames_of_worlds<J: Judge>(
    sessions: u64,
    setup: &Setup<Peer>,
    judge: impl Fn() -> J,
    sink: &mut impl Sink,
) -> u64 {
    let mut frames = 0;
    for seed in 0..sessions {
        let outcome = run(setup.clone(), judge(), &mut Dice::new(seed), sink, |_| {
            false
        });
        assert!(outcome.findings.is_empty(), "the reference peers are right");
        frames += u64::from(outcome.ended.frames);
    }
    assert_eq!(
        frames,
        sessions * (3 + 3 * CALLS),
        "the same frames as the bare loops"
    );
    frames
}

/// Renders every frame when it is sent and classifies the text.
#[derive(Default)]
struct Reparse {
    text: Vec<u8>,
    scanner: Scanner,
}

impl Sink for Reparse {
    fn event(&mut self, event: &Event<'_>) {
        if let What::Send { text, .. } = &event.what {
            self.text.clear();
            text.write(&mut self.text);
            let found = classify(&self.text, &mut self.scanner);
            assert!(
                found.message == *text.message,
                "what is parsed is what is judged"
            );
        }
    }
}
