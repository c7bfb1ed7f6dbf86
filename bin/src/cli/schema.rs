//! `mcpsim schema`: the JSON Schema of a form of files that people write, for their editors.

use serde::Serialize;
use serde_json::Value;

use super::args::{Format, SchemaArgs};
use super::outcome::{Failure, Outcome, Result, nearest, print};
use super::report::to_json;
use super::store::write_whole;
use crate::scenarios::scenario_schema;

/// Forms of files by their names, each with its schema.
const SCHEMAS: &[(&str, fn() -> String)] = &[("scenario", scenario_schema)];

#[derive(Serialize)]
struct SchemaReport<'a> {
    schema: &'static str,
    of: &'a str,
    document: Value,
}

/// Runs the command.
///
/// # Errors
/// A form that has no schema, or an output that cannot be written.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Outcome> {
    let found = SCHEMAS.iter().find(|(name, _)| *name == args.of);
    let &(name, schema) = found.ok_or_else(|| unknown(&args.of))?;
    let text = schema();
    let report = match args.format {
        Format::Text => text,
        Format::Json => to_json(&SchemaReport {
            schema: "mcpsim-schema/1",
            of: name,
            document: serde_json::from_str(&text).map_err(Failure::new)?,
        })?,
    };
    match &args.output {
        Some(path) => write_whole(path, report.as_bytes())?,
        None => print(&report)?,
    }
    Ok(Outcome::Clean)
}

fn unknown(wanted: &str) -> Failure {
    let names: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
    let hint = match nearest(wanted, names.iter().copied()).first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; known here: {}", names.join(", ")),
    };
    Failure::new(format!("unknown schema {wanted:?}{hint}"))
}
