//! Traces of our own: judged again from the world, or as one end's log, or from between.

use std::io::Read;
use std::path::Path;

use super::versions::Versions;
use super::{Checked, Context, FINDINGS_MAX, Lines, Wanted};
use crate::cli::replay::read_failure;
use crate::cli::report::SessionReport;
use crate::models::retold::{Again, EndLog};
use crate::traces::file::{OwnedWhat, TraceReader};
use crate::traces::judge::{Ending, Judge, Vantage};
use crate::traces::lines::ReadError;
use crate::traces::scan::Scanner;

/// Judges a trace.
pub(crate) fn judge(path: &Path, mut reader: TraceReader<impl Read>, wanted: &Wanted) -> Checked {
    let header = reader.header().clone();
    let vantage = wanted.vantage.unwrap_or(header.vantage);
    let mut checked = Checked::default();
    let mut lines = Lines::default();
    let mut frames = 0;
    let mut judging = match vantage {
        Vantage::World => Judging::World(Box::new(Again::new(&header))),
        _ => Judging::End(EndLog::new(&header, vantage, wanted.revision, FINDINGS_MAX)),
    };
    let mut scanner = Scanner::new();
    for event in &mut reader {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                checked
                    .report
                    .errors
                    .push(read_failure(path, &error).to_string());
                if matches!(error, ReadError::Io(_)) {
                    break;
                }
                continue;
            }
        };
        if let OwnedWhat::Send { frame, .. } = event.what {
            frames += 1;
            if event.line >= u64::from(frame) {
                lines.put(frame, event.line);
            }
        }
        match &mut judging {
            Judging::World(again) => again.event(event, &mut scanner),
            Judging::End(log) => log.event(event, &mut scanner),
        }
    }
    let report = &mut checked.report;
    report.format = "trace".to_owned();
    report.vantage = vantage.as_str().to_owned();
    report.lost.clone_from(&header.lost);
    report.guessed.clone_from(&header.guessed);
    report.frames = frames;
    if reader.is_cut() {
        report
            .remarks
            .push("the last line is cut and was left out".to_owned());
    }
    let whole = reader.end().is_some();
    if !whole && !reader.is_cut() {
        let remark = "there is no closing line: the trace ends early";
        report.remarks.push(remark.to_owned());
    }
    if reader.is_altered() {
        report
            .remarks
            .push("the events are not those that were written: the digest differs".to_owned());
    }
    match judging {
        Judging::World(mut again) => {
            if !whole {
                again.settle(Ending::Unfinished);
            }
            let revision = wanted.revision.or(header.revisions.first().copied());
            let given = wanted.revision.map(|revision| vec![revision]);
            let all = given.unwrap_or_else(|| header.revisions.clone());
            let monitor = again.monitor();
            let context = Context {
                parties: &header.parties,
                revision,
                versions: &Versions::of(&all, &[]),
                lines: &lines,
                unread: monitor.unread(),
                choice: &wanted.choice,
                session: SessionReport::default(),
            };
            checked.add(
                monitor.findings(),
                monitor.counted(),
                |rule| monitor.outcome(rule),
                &context,
            );
        }
        Judging::End(log) => {
            for told in log.finish() {
                let context = Context {
                    parties: &header.parties,
                    revision: told.revision(),
                    versions: &Versions::of(&told.revisions(), told.foreign_versions()),
                    lines: &lines,
                    unread: told.unread(),
                    choice: &wanted.choice,
                    session: SessionReport::default(),
                };
                checked.add(
                    told.findings(),
                    told.counted(),
                    |rule| told.outcome(rule),
                    &context,
                );
            }
        }
    }
    checked
}

enum Judging {
    World(Box<Again>),
    End(EndLog),
}
