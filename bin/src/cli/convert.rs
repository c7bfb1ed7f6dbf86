//! `mcpsim convert`: a log in another form, whole or not at all, with a word on all that the form cannot hold.

use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::Path;

use super::args::{ConvertArgs, ConvertTo, Format};
use super::check::{open_pair, pattern};
use super::input::Input;
use super::interrupt;
use super::outcome::{Failure, Outcome, Result, counted, print, remark, shown};
use super::replay::read_failure;
use super::report::{ConvertReport, NotHeldReport, to_json};
use super::store::{Over, Whole, already_there, same_file};
use crate::traces::export::{Broken, Converted, Destination, Target, convert as convert_to};
use crate::traces::lines::{LineReader, ReadError};
use crate::traces::recording::Recording;
use crate::traces::show::escape;
use crate::traces::sniff::Log;

/// Errors beyond this many are counted and not listed.
const ERRORS_MAX: u64 = 20;

/// Runs the command.
///
/// # Errors
/// A log that cannot be read or has no frames, or an output that cannot be written or is there already.
pub(crate) fn convert(args: &ConvertArgs) -> Result<Outcome> {
    let inputs = [&args.log, &args.c2s, &args.s2c];
    let inputs: Vec<&Path> = inputs.into_iter().flatten().map(|path| &**path).collect();
    let is_piped = args.output == Path::new("-");
    if is_piped && args.format == Format::Json {
        let message =
            "--format json: the report would stand in what goes to standard output: give -o FILE";
        return Err(Failure::new(message));
    }
    if !is_piped {
        refuse_to_spoil(&inputs, args)?;
    }
    let name: Vec<String> = inputs
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let name = name.join(" + ");
    let mut recording = read(args)?;
    let mut work = Work {
        name: &name,
        args,
        errors: vec![],
    };
    if is_piped {
        // Kept back until it is whole: what reads it is not to take a part for all.
        let kept = tempfile::tempfile().map_err(|error| work.cannot_write(&error))?;
        let (converted, mut kept) = work.convert(&mut *recording, kept)?;
        work.tell(&*recording, &converted);
        let copied = kept
            .seek(SeekFrom::Start(0))
            .and_then(|_| io::copy(&mut kept, &mut io::stdout().lock()))
            .and_then(|_| io::stdout().flush());
        match copied {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                return Err(work.cannot_write(&error));
            }
            _ => return Ok(outcome(&converted)),
        }
    }
    // A read that waits sees no flag; the work is cut off, and takes with it what it had begun to write.
    interrupt::ends_the_program()?;
    let folder = args
        .output
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let made = folder.filter(|folder| !folder.exists());
    let (converted, whole) = work.convert(&mut *recording, Whole::new(&args.output)?)?;
    if let Some(folder) = made {
        remark(&format!("mcpsim: made the folder {}", shown(folder)));
    }
    let report = work.tell(&*recording, &converted);
    whole.keep(match args.force {
        true => Over::Anything,
        false => Over::Nothing,
    })?;
    if args.format == Format::Json {
        print(&to_json(&report)?)?;
    }
    Ok(outcome(&converted))
}

fn outcome(converted: &Converted) -> Outcome {
    match converted.errors {
        0 => Outcome::Clean,
        _ => Outcome::Unusable,
    }
}

/// Nothing is written over the log, and over another file only where that is wanted. What is no regular file is not
/// written over, but to.
fn refuse_to_spoil(inputs: &[&Path], args: &ConvertArgs) -> Result<()> {
    let output = &args.output;
    if inputs.iter().any(|input| same_file(input, output)) {
        let message = "the result would overwrite the log: give another -o";
        return Err(Failure::new(format!("{}: {message}", shown(output))));
    }
    let is_file = output.metadata().is_ok_and(|data| data.is_file());
    if is_file && !args.force {
        return Err(already_there(output));
    }
    Ok(())
}

/// Opens what is to be converted.
fn read(args: &ConvertArgs) -> Result<Box<dyn Recording>> {
    let Some(path) = &args.log else {
        let pair = open_pair([args.c2s.as_deref(), args.s2c.as_deref()])?;
        return Ok(Box::new(pair));
    };
    let (bytes, _) = Input::one(path).open(None)?;
    let log = match args.pattern.as_deref().map(pattern).transpose()? {
        Some(pattern) => pattern.open(LineReader::new(bytes)).map(Log::Import),
        None => Log::open(bytes),
    };
    let log = log.map_err(|error| read_failure(path, &error))?;
    if args.to == ConvertTo::Trace && matches!(log, Log::Trace(_)) {
        let message = "is a trace already: there is nothing to convert";
        return Err(Failure::new(format!("{}: {message}", shown(path))));
    }
    Ok(log.into_recording())
}

/// One conversion.
struct Work<'a> {
    name: &'a str,
    args: &'a ConvertArgs,
    errors: Vec<String>,
}

impl Work<'_> {
    /// Writes the recording in the wanted form, and gives back what it was written to.
    fn convert<W: Write>(
        &mut self,
        recording: &mut dyn Recording,
        out: W,
    ) -> Result<(Converted, W)> {
        let name = Path::new(self.name);
        let mut out = BufWriter::new(out);
        let spool = tempfile::tempfile().map_err(|error| self.cannot_write(&error))?;
        let to = Destination {
            out: &mut out,
            spool: Spool::new(spool),
            program: format!("mcpsim {}", env!("CARGO_PKG_VERSION")),
        };
        let mut count = 0;
        let converted = convert_to(recording, target(self.args.to), to, |error| {
            count += 1;
            if count <= ERRORS_MAX {
                let failure = read_failure(name, &ReadError::Input(error.clone()));
                self.errors.push(failure.to_string());
            }
        });
        let converted = match converted {
            Ok(converted) => converted,
            Err(Broken::Read(error)) => return Err(read_failure(name, &ReadError::Io(error))),
            Err(Broken::Write(error)) => return Err(self.cannot_write(&error)),
        };
        if count > ERRORS_MAX {
            let more = counted(count - ERRORS_MAX, "more line");
            self.errors
                .push(format!("{}: {more} could not be used", shown(name)));
        }
        if converted.frames == 0 {
            self.tell_errors();
            let message = "no line is a frame: there is nothing to convert";
            return Err(Failure::new(format!("{}: {message}", shown(name))));
        }
        if !self.args.lossy && converted.errors > 0 {
            self.tell_errors();
            let places = counted(converted.errors, "place");
            let message =
                format!("{places} could not be read: nothing is written; --lossy writes the rest");
            return Err(Failure::new(format!("{}: {message}", shown(name))));
        }
        if !self.args.lossy && !converted.misleads.is_empty() {
            self.tell_errors();
            let why = converted.misleads.join("; ");
            let message = format!(
                "{why}; --to capture keeps what is known, --lossy writes this form all the same"
            );
            return Err(Failure::new(format!("{}: {message}", shown(name))));
        }
        match out.into_inner() {
            Ok(out) => Ok((converted, out)),
            Err(error) => Err(self.cannot_write(error.error())),
        }
    }

    fn tell_errors(&self) {
        for error in &self.errors {
            remark(&format!("mcpsim: {error}"));
        }
    }

    fn cannot_write(&self, error: &io::Error) -> Failure {
        match self.args.output == Path::new("-") {
            true => Failure::new(format!("cannot write to standard output: {error}")),
            false => Failure::file("write", &self.args.output, error),
        }
    }

    /// Says what was converted, and what was not held.
    fn tell(&self, recording: &dyn Recording, converted: &Converted) -> ConvertReport {
        let report = ConvertReport {
            schema: "mcpsim-convert/1",
            file: self.name.to_owned(),
            format: recording.format().to_owned(),
            output: self.args.output.display().to_string(),
            to: target(self.args.to).as_str(),
            frames: converted.frames,
            events: converted.events,
            not_held: converted
                .losses
                .iter()
                .map(|(what, count)| NotHeldReport { what, count })
                .collect(),
            lost: recording.lost().names().map(str::to_owned).collect(),
            guessed: recording.guessed(),
            errors: self.errors.clone(),
            remarks: converted.remarks.clone(),
        };
        self.tell_errors();
        if self.args.format == Format::Text {
            remark(text(&report).trim_end());
        }
        report
    }
}

fn target(to: ConvertTo) -> Target {
    match to {
        ConvertTo::Capture => Target::Capture,
        ConvertTo::Trace => Target::Trace,
        ConvertTo::McpTrace => Target::McpTrace,
        ConvertTo::Mcpsnoop => Target::Mcpsnoop,
        ConvertTo::Har => Target::Har,
    }
}

fn text(report: &ConvertReport) -> String {
    let name = shown(Path::new(&report.file));
    let mut text = format!(
        "{name}: {} as {}, {} and {}\n",
        report.format,
        report.to,
        counted(report.frames, "frame"),
        counted(report.events, "event")
    );
    for NotHeldReport { what, count } in &report.not_held {
        text.push_str(&format!("         not held: {count} × {what}\n"));
    }
    if !report.lost.is_empty() {
        let lost = report.lost.join(", ");
        text.push_str(&format!("         the log had lost before: {lost}\n"));
    }
    for guess in &report.guessed {
        text.push_str(&format!("         guessed: {}\n", escape(guess)));
    }
    for note in &report.remarks {
        text.push_str(&format!("         {}\n", escape(note)));
    }
    text
}

/// A file for what has to wait, written in large parts.
struct Spool(BufWriter<std::fs::File>);

impl Spool {
    fn new(file: std::fs::File) -> Spool {
        Spool(BufWriter::new(file))
    }
}

impl Write for Spool {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for Spool {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl Read for Spool {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.0.flush()?;
        self.0.get_mut().read(out)
    }
}
