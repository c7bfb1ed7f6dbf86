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

/// mcpsim's rows of the first table: the same session in its world, judged, nothing rendered. A row's work plays `sessions` sessions of
/// [`CALLS`] calls, window 8, one progress a call, any order, seeds from 0, and gives the frames delivered.
fn product_as_values(_sessions: u64) -> Vec<Row<'static>> {
    Vec::new()
}

/// mcpsim's rows of the second table: the same, with every frame rendered when sent, and parsed and judged when received.
fn product_as_text(_sessions: u64) -> Vec<Row<'static>> {
    Vec::new()
}
