//! Where the bytes of a log come from: a file, its packed form, standard input, or the parts of a log that was rotated.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use flate2::read::MultiGzDecoder;

use super::outcome::{Failure, Result};
use super::replay::open;

/// How a gzip file begins.
const GZIP: [u8; 2] = [0x1F, 0x8B];
/// What unpacks to less than that is no bomb, however small it was.
const UNPACKED_BYTES_FREE: u64 = 256 << 20;
/// Logs unpack to some ten times their size; beyond this it is no log.
const UNPACKED_RATIO_MAX: u64 = 400;

/// What one report is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Input {
    /// The file; of a rotated log its parts, the oldest first.
    parts: Vec<PathBuf>,
}

/// Counts the bytes that are read of files, for whoever shows how far the work is.
pub(crate) type Meter = Arc<dyn Fn(u64) + Send + Sync>;

impl Input {
    /// One file; `-` is standard input.
    pub(crate) fn one(path: impl Into<PathBuf>) -> Input {
        Input {
            parts: vec![path.into()],
        }
    }

    /// A log that was rotated: its parts, the oldest first.
    pub(crate) fn series(parts: Vec<PathBuf>) -> Input {
        Input { parts }
    }

    /// What reports call it.
    pub(crate) fn name(&self) -> String {
        let names: Vec<String> = self
            .parts
            .iter()
            .map(|part| part.display().to_string())
            .collect();
        names.join(" + ")
    }

    /// Whether it can be read a second time.
    pub(crate) fn is_repeatable(&self) -> bool {
        let is_file = |path: &PathBuf| path.metadata().is_ok_and(|data| data.is_file());
        self.parts.iter().all(is_file)
    }

    /// So many bytes its files have; 0 for what is no file.
    pub(crate) fn size(&self) -> u64 {
        let sizes = self.parts.iter().filter_map(|path| path.metadata().ok());
        sizes
            .filter(|data| data.is_file())
            .map(|data| data.len())
            .sum()
    }

    /// Its bytes, unpacked.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(&self, meter: Option<&Meter>) -> Result<(Box<dyn Read>, Starts)> {
        let starts = Starts::default();
        let part = |path: &PathBuf| open_part(path, meter);
        let mut parts = self.parts.iter().map(part).collect::<Result<Vec<_>>>()?;
        let bytes: Box<dyn Read> = if parts.len() == 1 {
            parts.remove(0)
        } else {
            parts.reverse();
            Box::new(Joined {
                left: parts,
                starts: starts.clone(),
                feeds: 0,
                last: None,
            })
        };
        Ok((bytes, starts))
    }

    /// The part that a line of the whole stands in, and its number there.
    pub(crate) fn place(&self, starts: &Starts, line: u64) -> (&Path, u64) {
        let starts = starts.0.lock().expect("nobody panics with it");
        let nth = starts.partition_point(|&before| before < line);
        let before = nth.checked_sub(1).map_or(0, |at| starts[at]);
        let part = &self.parts[nth.saturating_sub(1).min(self.parts.len() - 1)];
        (part, line - before)
    }

    /// Whether it has several parts.
    pub(crate) fn is_series(&self) -> bool {
        self.parts.len() > 1
    }
}

/// How many lines stand before each part, as far as parts were begun.
#[derive(Clone, Default, Debug)]
pub(crate) struct Starts(Arc<Mutex<Vec<u64>>>);

fn open_part(path: &Path, meter: Option<&Meter>) -> Result<Box<dyn Read>> {
    let file: Box<dyn Read> = match meter {
        _ if path == Path::new("-") => Box::new(io::stdin()),
        Some(meter) => Box::new(Metered(open(path)?, meter.clone())),
        None => Box::new(open(path)?),
    };
    unpacked(file).map_err(|error| Failure::file("read", path, &error))
}

/// Whether a file is packed.
///
/// # Errors
/// It cannot be read.
pub(crate) fn is_packed(path: &Path) -> io::Result<bool> {
    let mut head = vec![];
    let file = std::fs::File::open(path)?;
    file.take(GZIP.len() as u64).read_to_end(&mut head)?;
    Ok(head == GZIP)
}

/// The bytes of a log, unpacked where they are packed.
///
/// # Errors
/// They cannot be read.
fn unpacked(mut file: Box<dyn Read>) -> io::Result<Box<dyn Read>> {
    let mut head = vec![];
    let mut begin = file.by_ref().take(GZIP.len() as u64);
    begin.read_to_end(&mut head)?;
    let is_gzip = head == GZIP;
    let whole = io::Cursor::new(head).chain(file);
    if !is_gzip {
        return Ok(Box::new(whole));
    }
    let packed = Arc::new(AtomicU64::new(0));
    let counter = packed.clone();
    let count: Meter = Arc::new(move |bytes| {
        counter.fetch_add(bytes, Ordering::Relaxed);
    });
    Ok(Box::new(Bounded {
        input: MultiGzDecoder::new(Metered(whole, count)),
        packed,
        unpacked: 0,
    }))
}

/// Tells a meter what is read.
struct Metered<R>(R, Meter);

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(out)?;
        (self.1)(count as u64);
        Ok(count)
    }
}

/// Unpacks until it is clear that nobody packed a log there.
struct Bounded<R> {
    input: MultiGzDecoder<Metered<R>>,
    packed: Arc<AtomicU64>,
    unpacked: u64,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(out)?;
        self.unpacked += count as u64;
        let packed = self.packed.load(Ordering::Relaxed);
        if self.unpacked > UNPACKED_BYTES_FREE && self.unpacked / UNPACKED_RATIO_MAX > packed {
            return Err(io::Error::other(format!(
                "it unpacks to more than {UNPACKED_RATIO_MAX} times its size, as no log does: what follows is left out"
            )));
        }
        Ok(count)
    }
}

/// Parts one after the other, each from the beginning of a line on.
struct Joined {
    /// Those that are left, the next one last.
    left: Vec<Box<dyn Read>>,
    starts: Starts,
    feeds: u64,
    last: Option<u8>,
}

impl Read for Joined {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        while let Some(part) = self.left.last_mut() {
            if self.last.is_none() {
                self.last = Some(b'\n');
                self.starts
                    .0
                    .lock()
                    .expect("nobody panics with it")
                    .push(self.feeds);
            }
            let count = part.read(out)?;
            if count > 0 {
                self.feeds += memchr::memchr_iter(b'\n', &out[..count]).count() as u64;
                self.last = Some(out[count - 1]);
                return Ok(count);
            }
            self.left.pop();
            // A line that was cut by the rotation goes on nowhere.
            if self.last.take() != Some(b'\n') && !self.left.is_empty() {
                out[0] = b'\n';
                self.feeds += 1;
                return Ok(1);
            }
        }
        Ok(0)
    }
}
