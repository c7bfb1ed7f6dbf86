//! Speed and memory of checking a log, beside the bare parse of its frames: `cargo bench -p mcpsim --bench check [-- MEGABYTES]`.
//!
//! The bare parse (sonic-rs, lazy, validating, top level only) reads the bare frames, and then the very file that mcpsim reads:
//! a capture of the same frames, which is longer. All are counted in megabytes of frames, so that each ratio is per frame, not
//! per byte of wrapping. There are two logs: one of a plain mix of calls, and one with listings, schemas and structured content.
//! Then 1 GB of frames, and two hard cases: a million ids that are used once, and a million requests that are open at once.
//! The log of another program, Claude Desktop's, is held against the capture of the same frames, in speed and memory: with
//! `-- imports` that alone, and 1 GB of it.

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/log_generator.rs"]
mod log_generator;
#[path = "support/table.rs"]
mod table;

use log_generator::{Form, Mix, Written};
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
    let is_imports = arguments.iter().any(|argument| argument == "imports");
    imports(megabytes);
    if is_imports {
        return gigabyte();
    }

    for (name, mix) in [("a plain mix", Mix::Plain), ("the whole mix", Mix::Whole)] {
        speed(name, &Log::write(megabytes, mix));
    }

    println!(
        "\ncheck: peak memory of a process of its own\n{:<44} {:>16} {:>16}",
        "", "a quarter", "the whole log"
    );
    let log = Log::write(megabytes, Mix::Whole);
    let quarter = Log::write(megabytes.div_ceil(4), Mix::Whole);
    for (name, _) in BASELINES {
        print_memory(name, [&quarter, &log], |log| {
            let mut command =
                Command::new(std::env::current_exe().expect("this program has a path"));
            command.args([CHILD, name]).arg(&log.bare);
            command
        });
    }
    product_memory([&quarter, &log]);
    drop((quarter, log));
    gigabyte();
    for (name, is_open) in [
        ("a million ids, each used once", false),
        ("a million requests open at once", true),
    ] {
        hard_case(name, is_open);
    }
}

/// The rows of one log, side by side.
fn speed(mix: &str, log: &Log) {
    println!(
        "\n{mix}: {} frames, {} bytes bare, {} bytes as a capture",
        log.written.frames, log.written.frame_bytes, log.capture_bytes
    );
    let baseline = |name, read: Reader, path: PathBuf| {
        Row::new(name, move || {
            assert_eq!(read(&path), log.written.frames, "{name} sees every frame");
            log.written.frame_bytes
        })
    };
    let mut rows: Vec<Row<'_>> = BASELINES
        .iter()
        .map(|&(name, read)| baseline(name, read, log.bare.clone()))
        .collect();
    let name = "sonic-rs lazy parse, the same capture";
    rows.push(baseline(name, lazy_parse, log.capture.clone()));
    rows.extend(product_speed(log));
    rows.extend(validator_speed(log));
    table::compare(&format!("check: speed, {mix}"), "MB", 1e6, &mut rows);
}

/// A log of another program beside the capture of the same frames.
fn imports(megabytes: u64) {
    let write = |megabytes: u64, form, name: &str| {
        write_log(&format!("{name}-{megabytes}.log"), |out| {
            log_generator::write(megabytes * 1_000_000, SEED, Mix::Whole, form, out)
        })
    };
    let quarter = megabytes.div_ceil(4);
    let forms = [
        ("mcpsim check, the capture", Form::Capture, "as-capture"),
        (
            "mcpsim check, Claude Desktop's log",
            Form::Desktop,
            "as-desktop",
        ),
    ];
    let logs = forms.map(|(name, form, file)| {
        let sizes = [quarter, megabytes].map(|size| write(size, form, file));
        (name, sizes)
    });
    let mut rows: Vec<Row<'_>> = vec![];
    for (name, [_, (path, written)]) in &logs {
        rows.push(Row::elsewhere(name, move || {
            let usage = cpu::run_child(check(path).stdout(Stdio::null()));
            let usage = usage
                .expect("nothing is found in a lawful log")
                .expect("a system that tells");
            (written.frame_bytes, usage.time)
        }));
    }
    table::compare("check: a log of another program", "MB", 1e6, &mut rows);
    drop(rows);
    println!(
        "{:<44} {:>16} {:>16}",
        "peak memory", "a quarter", "the whole log"
    );
    for (name, sizes) in logs {
        let peaks = sizes.map(|(path, _)| {
            let usage = cpu::run_child(check(&path).stdout(Stdio::null()));
            remove(&path);
            peak(usage.expect("nothing is found"))
        });
        println!("{name:<44} {:>16} {:>16}", peaks[0], peaks[1]);
    }
}

/// Peak memory over logs that no machine would want to hold: 1 GB of frames.
fn gigabyte() {
    const MEGABYTES: u64 = 1_000;
    println!("\ncheck: 1 GB of frames");
    for (name, form) in [
        ("mcpsim check, the capture", Form::Capture),
        ("mcpsim check, Claude Desktop's log", Form::Desktop),
    ] {
        let (path, written) = write_log("gigabyte.log", |out| {
            log_generator::write(MEGABYTES * 1_000_000, SEED, Mix::Whole, form, out)
        });
        let usage = cpu::run_child(check(&path).stdout(Stdio::null()));
        let usage = usage.expect("nothing is found in a lawful log");
        match usage {
            Some(spent) => println!(
                "{name:<44} {:>9.3} CPU s {:>10.0} MB/CPU s {:>16}",
                spent.time.as_secs_f64(),
                written.frame_bytes as f64 / 1e6 / spent.time.as_secs_f64().max(1e-9),
                peak(usage)
            ),
            None => println!("not known here"),
        }
        remove(&path);
    }
}

fn peak(usage: Option<cpu::Usage>) -> String {
    match usage {
        Some(usage) => format!("{:.1} MiB", usage.peak_memory_kib as f64 / 1024.0),
        None => "not known here".to_owned(),
    }
}

/// Pings alone: what is kept of ids, or of open requests, is all that there is.
fn hard_case(name: &'static str, is_open: bool) {
    const PINGS: u64 = 1_000_000;
    let write = |file: &str, form| {
        write_log(file, |out| {
            log_generator::write_pings(PINGS, is_open, form, out)
        })
    };
    let (bare, written) = write("pings.jsonl", Form::Bare);
    let (capture, _) = write("pings-capture.jsonl", Form::Capture);
    let rows: &mut [Row<'_>] = &mut [
        Row::new(BASELINES[0].0, || {
            lazy_parse(&bare);
            written.frame_bytes
        }),
        Row::elsewhere("mcpsim check, capture of the same frames", || {
            let usage = cpu::run_child(check(&capture).stdout(Stdio::null()));
            let usage = usage
                .expect("nothing is found in a lawful log")
                .expect("a system that tells");
            (written.frame_bytes, usage.time)
        }),
    ];
    table::compare(&format!("check: {name}"), "MB", 1e6, rows);
    let usage = cpu::run_child(check(&capture).stdout(Stdio::null())).expect("nothing is found");
    if let Some(usage) = usage {
        println!(
            "peak memory {:.1} MiB",
            usage.peak_memory_kib as f64 / 1024.0
        );
    }
    remove(&bare);
    remove(&capture);
}

/// mcp-trace-validator on the same frames in its own envelope, where it is installed.
fn validator_speed(log: &Log) -> Vec<Row<'_>> {
    let mut command = Command::new(VALIDATOR);
    command.arg("--version");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let is_there = command.status().is_ok_and(|status| status.success());
    if !is_there {
        println!(
            "SKIPPED: {VALIDATOR} is not installed, so there is no row of it; `cargo install {VALIDATOR}` brings it"
        );
        return vec![];
    }
    let (path, written) = write_log("frames-validator.jsonl", |out| {
        log_generator::write(
            log.megabytes * 1_000_000,
            SEED,
            log.mix,
            Form::Validator,
            out,
        )
    });
    vec![Row::elsewhere(
        "mcp-trace-validator, its envelope",
        move || {
            let mut command = Command::new(VALIDATOR);
            command.arg("validate").arg(&path);
            command.args(["--max-events", "9000000"]);
            let usage = cpu::run_child(command.stdout(Stdio::null()));
            let usage = usage
                .expect("it passes a lawful log")
                .expect("a system that tells");
            (written.frame_bytes, usage.time)
        },
    )]
}

const VALIDATOR: &str = "mcp-trace-validator";

fn write_log(
    name: &str,
    write: impl FnOnce(BufWriter<File>) -> io::Result<Written>,
) -> (PathBuf, Written) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = File::create(&path).expect("the log can be written");
    let written = write(BufWriter::with_capacity(1 << 20, file)).expect("the log can be written");
    (path, written)
}

/// Logs of this size are not left behind; one that can't be removed is overwritten next time.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

/// mcpsim's row of the speed table: the whole command on the capture, which finds nothing.
fn product_speed(log: &Log) -> Vec<Row<'_>> {
    vec![Row::elsewhere(
        "mcpsim check, capture of the same frames",
        move || {
            let usage = cpu::run_child(check(&log.capture).stdout(Stdio::null()));
            let usage = usage
                .expect("nothing is found in a lawful log")
                .expect("a system that tells");
            (log.written.frame_bytes, usage.time)
        },
    )]
}

/// mcpsim's row of the memory table.
fn product_memory(logs: [&Log; 2]) {
    print_memory("mcpsim check, capture of the same frames", logs, |log| {
        check(&log.capture)
    });
}

fn check(log: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mcpsim"));
    command.arg("check").arg(log);
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
    megabytes: u64,
    mix: Mix,
    bare: PathBuf,
    capture: PathBuf,
    written: Written,
    capture_bytes: u64,
}

impl Log {
    fn write(megabytes: u64, mix: Mix) -> Log {
        let write = |form, name: String| {
            write_log(&name, |out| {
                log_generator::write(megabytes * 1_000_000, SEED, mix, form, out)
            })
        };
        let (bare, written) = write(Form::Bare, format!("frames-{megabytes}.jsonl"));
        let (capture, as_capture) = write(Form::Capture, format!("capture-{megabytes}.jsonl"));
        assert_eq!(
            as_capture.frames, written.frames,
            "both forms hold the same frames"
        );
        assert_eq!(
            written.bytes, written.frame_bytes,
            "the bare form is the frames and nothing else"
        );
        Log {
            megabytes,
            mix,
            bare,
            capture,
            written,
            capture_bytes: as_capture.bytes,
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        remove(&self.bare);
        remove(&self.capture);
    }
}

fn print_memory(name: &str, logs: [&Log; 2], command: impl Fn(&Log) -> Command) {
    let peaks = logs.map(
        |log| match cpu::run_child(command(log).stdout(Stdio::null())) {
            Ok(usage) => peak(usage),
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
