//! Files that appear whole or not at all, and the folder of saved failures.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use super::outcome::{Failure, Result, shown};

/// Writes a file whole, as [`Whole`] does.
///
/// # Errors
/// A message that names the file.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let mut whole = Whole::new(path)?;
    whole.put_in(bytes)?;
    whole.keep(Over::Anything)
}

/// What may lie where a file is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Over {
    /// Whatever it is, the new one takes its place.
    Anything,
    /// Nothing: another file stays what it was.
    Nothing,
}

/// Files that are not whole: what ends the program without unwinding has to remove them by itself.
static UNFINISHED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn unfinished() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program from wherever it is, and leaves no file behind that is not whole.
pub(crate) fn exit_without_leftovers(code: i32) -> ! {
    // Held to the end: nothing new is begun meanwhile.
    let all = unfinished();
    for path in all.iter() {
        // One that has its name by now is whole.
        let _ = fs::remove_file(path);
    }
    std::process::exit(code)
}

/// Keeps a temporary file in the list of those that are not whole.
#[derive(Debug)]
struct Unfinished(PathBuf);

impl Unfinished {
    /// … from the moment on at which it is there.
    fn new(
        make: impl FnOnce() -> io::Result<NamedTempFile>,
    ) -> io::Result<(NamedTempFile, Unfinished)> {
        let mut all = unfinished();
        let file = make()?;
        all.insert(file.path().to_owned());
        let listed = Unfinished(file.path().to_owned());
        Ok((file, listed))
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        unfinished().remove(&self.0);
    }
}

/// A file that is written whole or not at all: to a temporary one beside it first, which then takes its name. A full disk
/// leaves what was there before. A link is followed; what is no regular file (a device, a pipe) is written to at the end,
/// and stays what it is.
#[derive(Debug)]
pub(crate) struct Whole {
    file: NamedTempFile,
    /// As it was given.
    name: PathBuf,
    /// Where it leads.
    path: PathBuf,
    is_regular: bool,
    /// Dropped last: by then the temporary file is gone or has its name.
    _listed: Unfinished,
}

impl Whole {
    /// A file that is not there yet.
    ///
    /// # Errors
    /// A message that names the file.
    pub(crate) fn new(path: &Path) -> Result<Whole> {
        // A link to a file that is not there yet leads to where that will be.
        let leads_to = |target: PathBuf| {
            path.parent()
                .map_or(target.clone(), |from| from.join(target))
        };
        let real = fs::canonicalize(path).or_else(|_| fs::read_link(path).map(leads_to));
        let real = real.unwrap_or_else(|_| path.to_owned());
        let is_regular = !fs::metadata(&real).is_ok_and(|data| !data.is_file());
        let folder = match real.parent() {
            _ if !is_regular => std::env::temp_dir(),
            Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let made = fs::create_dir_all(&folder).and_then(|()| {
            let mut builder = tempfile::Builder::new();
            builder.prefix(".mcpsim-");
            // As any other file that a program makes: temporary ones are for their owner alone.
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
            Unfinished::new(|| builder.tempfile_in(&folder))
        });
        let (file, listed) = made.map_err(|error| Failure::file("write", path, &error))?;
        Ok(Whole {
            file,
            name: path.to_owned(),
            path: real,
            is_regular,
            _listed: listed,
        })
    }

    /// Writes to it.
    ///
    /// # Errors
    /// A message that names the file.
    pub(crate) fn put_in(&mut self, bytes: &[u8]) -> Result<()> {
        let written = self.file.write_all(bytes);
        written.map_err(|error| Failure::file("write", &self.name, &error))
    }

    /// Lets it take its name.
    ///
    /// # Errors
    /// A message that names the file.
    pub(crate) fn keep(self, over: Over) -> Result<()> {
        let name = self.name.clone();
        self.put(over).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists if over == Over::Nothing => already_there(&name),
            _ => Failure::file("write", &name, &error),
        })
    }

    fn put(mut self, over: Over) -> io::Result<()> {
        if !self.is_regular {
            self.file.seek(SeekFrom::Start(0))?;
            let mut there = fs::OpenOptions::new().write(true).open(&self.path)?;
            return io::copy(&mut self.file, &mut there).map(|_| ());
        }
        self.file.as_file().sync_all()?;
        let kept = match over {
            Over::Anything => self.file.persist(&self.path),
            Over::Nothing => self.file.persist_noclobber(&self.path),
        };
        kept.map(|_| ()).map_err(|error| error.error)
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The message for a file that is not to be written over.
pub(crate) fn already_there(path: &Path) -> Failure {
    let message = "is there already: give another -o, or --force to write over it";
    Failure::new(format!("{}: {message}", shown(path)))
}

/// Whether both paths lead to one file.
pub(crate) fn same_file(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    one == other || (real(one).is_some() && real(one) == real(other))
}

/// The name of a saved failure: what it breaks, who is to blame, and eight digits of its digest.
pub(crate) fn failure_path(folder: &Path, rule: &str, blame: &str, digest: &str) -> PathBuf {
    let short = &digest[..digest.len().min(8)];
    folder.join(format!("{rule}-{blame}-{short}.jsonl"))
}

/// Where the shrunk trace of that one goes.
pub(crate) fn shrunk_path(trace: &Path) -> PathBuf {
    let name = trace.file_stem().unwrap_or_default().to_string_lossy();
    trace.with_file_name(format!("{name}.min.jsonl"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("deep/er/file.jsonl");
        write_whole(&path, b"one").expect("the folder is made");
        write_whole(&path, b"two").expect("the file is replaced");
        assert_eq!(fs::read(&path).expect("the file is there"), b"two");
        let blocked = path.join("below-a-file");
        let error = write_whole(&blocked, b"x")
            .expect_err("a file is no folder")
            .to_string();
        assert!(error.contains("below-a-file: cannot write"), "{error}");
        assert_eq!(
            fs::read_dir(path.parent().expect("a folder"))
                .expect("readable")
                .count(),
            1,
            "nothing is left over"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_can_be_read_by_whoever_can_read_others() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mode = |name: &str| {
            let data = fs::metadata(folder.path().join(name)).expect("the file is there");
            data.permissions().mode() & 0o777
        };
        write_whole(&folder.path().join("ours"), b"x").expect("written");
        fs::write(folder.path().join("plain"), b"x").expect("written");
        assert_eq!(mode("ours"), mode("plain"));
    }

    /// What is no regular file stays what it is, and a link goes on pointing.
    #[cfg(unix)]
    #[test]
    fn devices_and_links_are_written_through() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (target, link) = (folder.path().join("target"), folder.path().join("link"));
        fs::write(&target, "old").expect("a file");
        std::os::unix::fs::symlink(&target, &link).expect("a link to it");
        write_whole(&link, b"new").expect("the link is followed");
        assert_eq!(fs::read(&target).expect("the file is there"), b"new");
        assert!(
            fs::symlink_metadata(&link)
                .expect("the link is there")
                .is_symlink()
        );
        fs::remove_file(&target).expect("the file is removed");
        write_whole(&link, b"again").expect("the link is followed to nothing");
        assert_eq!(fs::read(&target).expect("the file is there"), b"again");
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).expect("a link to a device");
        write_whole(&null, b"x").expect("the device takes it");
        let kind = fs::metadata("/dev/null")
            .expect("the device is there")
            .file_type();
        assert!(!kind.is_file(), "it is still a device");
    }

    #[test]
    fn names_say_what_is_inside() {
        let path = failure_path(
            Path::new("out"),
            "cancel-twice",
            "client",
            "0123456789abcdef",
        );
        assert_eq!(path, Path::new("out/cancel-twice-client-01234567.jsonl"));
        assert_eq!(
            shrunk_path(&path),
            Path::new("out/cancel-twice-client-01234567.min.jsonl")
        );
    }
}
