//! `mcpsim schema`: the JSON Schema of a form of files that people write, for their editors.

use serde::Serialize;
use serde_json::Value;

use super::args::{Format, SchemaArgs};
use super::outcome::{Failure, Outcome, Result, nearest, print};
use super::report::to_json;
use super::store::write_whole;
use crate::scenarios::scenario_schema;

/// A form of files that has a schema.
struct Form {
    name: &'static str,
    schema: fn() -> String,
}

const FORMS: &[Form] = &[Form {
    name: "scenario",
    schema: scenario_schema,
}];

#[derive(Serialize)]
struct SchemaReport {
    schema: &'static str,
    of: &'static str,
    document: Value,
}

/// Runs the command.
///
/// # Errors
/// A form that has no schema, or an output that cannot be written.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Outcome> {
    let found = FORMS.iter().find(|form| form.name == args.of);
    let form = found.ok_or_else(|| unknown(&args.of))?;
    let text = (form.schema)();
    let report = match args.format {
        Format::Text => text,
        Format::Json => to_json(&SchemaReport {
            schema: "mcpsim-schema/1",
            of: form.name,
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
    let names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
    let hint = match nearest(wanted, names.iter().copied()).first() {
        Some(near) => format!("; did you mean `{near}`?"),
        None => format!("; known here: {}", names.join(", ")),
    };
    Failure::new(format!("unknown schema {wanted:?}{hint}"))
}
