//! `mcpsim show`: a trace or capture as text or as a Mermaid sequence diagram.

use serde::Serialize;

use super::args::{Format, ShowArgs, ShowAs};
use super::outcome::{Failure, Outcome, Result, print, remark, shown};
use super::report::to_json;
use super::store::{same_file, write_whole};
use super::story;
use crate::traces::show::{TextOptions, mermaid, text};

#[derive(Serialize)]
struct ShowReport {
    schema: &'static str,
    trace: String,
    #[serde(rename = "as")]
    shown_as: &'static str,
    text: String,
}

/// Runs the command.
///
/// # Errors
/// A file that is no log, or an output that cannot be written.
pub(crate) fn show(args: &ShowArgs) -> Result<Outcome> {
    if let Some(output) = &args.output
        && same_file(&args.trace, output)
    {
        let message = "the rendering would overwrite the trace: give another -o";
        return Err(Failure::new(format!("{}: {message}", shown(output))));
    }
    let story = story::of_file(&args.trace)?;
    let mut out = vec![];
    let shown_as = match args.show_as {
        ShowAs::Text => {
            let options = TextOptions {
                is_ascii: args.ascii,
                ..TextOptions::USUAL
            };
            text(&story, &[], &options, &mut out).map(|()| "text")
        }
        ShowAs::Mermaid => mermaid(&story, &[], &mut out).map(|()| "mermaid"),
    }
    .map_err(Failure::new)?;
    let rendered = String::from_utf8_lossy(&out).into_owned();
    let report = match args.format {
        Format::Text => rendered,
        Format::Json => to_json(&ShowReport {
            schema: "mcpsim-show/1",
            trace: args.trace.display().to_string(),
            shown_as,
            text: rendered,
        })?,
    };
    match &args.output {
        Some(path) => write_whole(path, report.as_bytes())?,
        None => print(&report)?,
    }
    for error in &story.errors {
        let place = shown(&args.trace);
        remark(&format!(
            "mcpsim: {place}:{}:{}: {}",
            error.line, error.column, error.message
        ));
    }
    Ok(if story.errors.is_empty() {
        Outcome::Clean
    } else {
        Outcome::Unusable
    })
}
