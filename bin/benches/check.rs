//! Speed and memory of checking a log, beside the bare parse of its frames: `cargo bench -p mcpsim --bench check [-- MEGABYTES]`.
//!
//! The bare parse (sonic-rs, lazy, validating, top level only) reads the bare frames. mcpsim reads the capture of the same
//! frames, which is longer: both are counted in megabytes of frames, so that the ratio is per frame, not per byte of wrapping.

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/log_generator.rs"]
mod log_generator;
#[path = "support/table.rs"]
mod table;

use log_generator::{Form, Written};
use std::fs::File;
use std::io::{self, BufWriter, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use table::Row;

const MEGABYTES: u64 = 200;
const SEED: u64 = 1;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, reader, log] = &arguments[..]
        && flag == CHILD
    {
        BASELINES
            .iter()
            .find(|(name, _)| name == reader)
            .expect("a baseline")
            .1(Path::new(log));
        return;
    }
    let megabytes = arguments
        .iter()
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(MEGABYTES);

    let log = Log::write(megabytes);
    println!(
        "{} frames, {} bytes bare, {} bytes as a capture",
        log.written.frames, log.written.frame_bytes, log.capture_bytes
    );
    let mut rows: Vec<Row<'_>> = BASELINES
        .iter()
        .map(|&(name, read)| {
            let log = &log;
            Row::new(name, move || {
                assert_eq!(
                    read(&log.bare),
                    log.written.frames,
                    "{name} sees every frame"
                );
                log.written.frame_bytes
            })
        })
        .collect();
    rows.extend(product_speed(&log));
    table::compare("check: speed", "MB", 1e6, &mut rows);

    println!(
        "\ncheck: peak memory of a process of its own\n{:<44} {:>16} {:>16}",
        "", "a quarter", "the whole log"
    );
    let quarter = Log::write(megabytes.div_ceil(4));
    for (name, _) in BASELINES {
        print_memory(name, [&quarter, &log], |log| {
            let mut command =
                Command::new(std::env::current_exe().expect("this program has a path"));
            command.args([CHILD, name]).arg(&log.bare);
            command
        });
    }
    product_memory([&quarter, &log]);
}

/// mcpsim's row of the speed table: the whole command on the capture, which finds nothing.
fn product_speed(log: &Log) -> Vec<Row<'_>> {
    vec![Row::elsewhere(
        "mcpsim check, capture of the same frames",
        move || {
            let usage = cpu::run_child(check(log).stdout(Stdio::null()));
            let usage = usage
                .expect("nothing is found in a lawful log")
                .expect("a system that tells");
            (log.written.frame_bytes, usage.time)
        },
    )]
}

/// mcpsim's row of the memory table.
fn product_memory(logs: [&Log; 2]) {
    print_memory("mcpsim check, capture of the same frames", logs, check);
}

fn check(log: &Log) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
    command.arg("check").arg(&log.capture);
    command
}

/// A baseline: reads the bare frames at a path and gives their number.
type Reader = fn(&Path) -> u64;

/// The first is what the others are compared with; the last is what any reader has to do at least.
const BASELINES: [(&str, Reader); 2] = [
    ("sonic-rs lazy parse, bare frames", lazy_parse),
    ("line ends only, bare frames", line_ends),
];

/// Makes this program read one log and end, so that another one can see what that took: `--child READER LOG`.
const CHILD: &str = "--child";

/// The same frames in both forms, on disk.
struct Log {
    bare: PathBuf,
    capture: PathBuf,
    written: Written,
    capture_bytes: u64,
}

impl Log {
    fn write(megabytes: u64) -> Log {
        let write = |form, name: String| -> io::Result<(PathBuf, Written)> {
            let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
            let out = BufWriter::with_capacity(1 << 20, File::create(&path)?);
            Ok((
                path,
                log_generator::write(megabytes * 1_000_000, SEED, form, out)?,
            ))
        };
        let (bare, written) =
            write(Form::Bare, format!("frames-{megabytes}.jsonl")).expect("the log can be written");
        let (capture, as_capture) = write(Form::Capture, format!("capture-{megabytes}.jsonl"))
            .expect("the log can be written");
        assert_eq!(
            as_capture.frames, written.frames,
            "both forms hold the same frames"
        );
        assert_eq!(
            written.bytes, written.frame_bytes,
            "the bare form is the frames and nothing else"
        );
        Log {
            bare,
            capture,
            written,
            capture_bytes: as_capture.bytes,
        }
    }
}

impl Drop for Log {
    /// Logs of this size are not left behind; one that can't be removed is overwritten next time.
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.bare);
        let _ = std::fs::remove_file(&self.capture);
    }
}

fn print_memory(name: &str, logs: [&Log; 2], command: impl Fn(&Log) -> Command) {
    let peaks = logs.map(
        |log| match cpu::run_child(command(log).stdout(Stdio::null())) {
            Ok(Some(usage)) => format!("{:.1} MiB", usage.peak_memory_kib as f64 / 1024.0),
            Ok(None) => "not known here".to_owned(),
            Err(error) => panic!("{name}: {error}"),
        },
    );
    println!("{name:<44} {:>16} {:>16}", peaks[0], peaks[1]);
}

fn lazy_parse(log: &Path) -> u64 {
    let mut seen = 0;
    let frames = for_each_line(log, |line| {
        for member in sonic_rs::to_object_iter(line) {
            let (name, value) = member.expect("every frame is an object");
            seen += name.len() + value.as_raw_str().len();
        }
    });
    std::hint::black_box(seen);
    frames
}

fn line_ends(log: &Path) -> u64 {
    let mut seen = 0;
    let frames = for_each_line(log, |line| seen += line.len());
    std::hint::black_box(seen);
    frames
}

/// Reads a file through one buffer, which grows only for a line that is longer than it, and gives the number of lines.
fn for_each_line(path: &Path, mut line: impl FnMut(&[u8])) -> u64 {
    let mut file = File::open(path).expect("the log is there");
    let mut buffer = vec![0; 1 << 20];
    let mut filled = 0;
    let mut lines = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let read = file
            .read(&mut buffer[filled..])
            .expect("the log can be read");
        if read == 0 {
            assert_eq!(filled, 0, "the last line has its end");
            return lines;
        }
        // What was left over has no line end, so only the new part is searched.
        let (mut start, end) = (0, filled + read);
        for place in memchr::memchr_iter(b'\n', &buffer[filled..end]) {
            line(&buffer[start..filled + place]);
            lines += 1;
            start = filled + place + 1;
        }
        buffer.copy_within(start..end, 0);
        filled = end - start;
    }
}
