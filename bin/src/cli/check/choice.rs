//! Which findings are told, and how severe they are: by the command line and by `mcpsim.toml`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::cli::args::{CheckArgs, Least};
use crate::cli::outcome::{Failure, Result, nearest, shown, unknown};
use crate::models::{rule, rules};
use crate::traces::judge::{Finding, Severity};

/// The file that is read where no other is named.
const CONFIG: &str = "mcpsim.toml";

/// Which findings are told, and how severe they are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// Less severe ones are left out.
    least: Severity,
    /// Only these, where there are any.
    only: BTreeSet<String>,
    ignored: BTreeSet<String>,
    severities: BTreeMap<String, Severity>,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice {
            least: Severity::Note,
            only: BTreeSet::new(),
            ignored: BTreeSet::new(),
            severities: BTreeMap::new(),
        }
    }
}

/// `mcpsim.toml`.
#[derive(Deserialize, Default, Debug)]
#[serde(deny_unknown_fields)]
struct Config {
    /// By rule: `error`, `warning`, `note` or `off`.
    #[serde(default)]
    rules: BTreeMap<String, toml::Spanned<String>>,
}

impl Choice {
    /// What the command line and the configuration say; the command line comes last.
    ///
    /// # Errors
    /// A rule or a word that is not known, with its place; or a configuration that cannot be read.
    pub(crate) fn new(args: &CheckArgs) -> Result<Choice> {
        let mut choice = Choice::default();
        let named = args.config.clone();
        let usual = PathBuf::from(CONFIG);
        if let Some(path) = named.or_else(|| usual.is_file().then_some(usual)) {
            choice.configure(&path)?;
        }
        let known = |id: &String| match rule(id) {
            Some(_) => Ok(id.clone()),
            None => Err(unknown("rule", id, ids())),
        };
        choice.only = args.rule.iter().map(known).collect::<Result<_>>()?;
        choice
            .ignored
            .extend(args.ignore.iter().map(known).collect::<Result<Vec<_>>>()?);
        if let Some(both) = args.rule.iter().find(|id| args.ignore.contains(id)) {
            let message = format!("--rule {both} and --ignore {both}: leave one of them out");
            return Err(Failure::new(message));
        }
        for id in &choice.only {
            choice.ignored.remove(id);
        }
        choice.least = match args.level {
            Least::Error => Severity::Error,
            Least::Warning => Severity::Warning,
            Least::Note => Severity::Note,
        };
        Ok(choice)
    }

    fn configure(&mut self, path: &Path) -> Result<()> {
        let text =
            std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
        let at = |byte: usize| {
            let before = &text.as_bytes()[..byte.min(text.len())];
            let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
            let column = before
                .iter()
                .rev()
                .take_while(|byte| **byte != b'\n')
                .count()
                + 1;
            format!("{}:{line}:{column}", shown(path))
        };
        let config: Config = toml::from_str(&text).map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            Failure::new(format!("{}: {}", at(place), error.message()))
        })?;
        for (id, word) in config.rules {
            // Where the name stands is found from its value: the place of a name is not kept.
            let place = || {
                let line_start = text[..word.span().start].rfind('\n').map_or(0, |at| at + 1);
                at(line_start)
            };
            if rule(&id).is_none() {
                let near = nearest(&id, ids());
                let hint = match near.first() {
                    Some(near) => format!("; did you mean {near}?"),
                    None => String::new(),
                };
                return Err(Failure::new(format!(
                    "{}: unknown rule {id:?}{hint} `mcpsim list rules` shows all",
                    place()
                )));
            }
            let severity = match word.as_ref().as_str() {
                "error" => Severity::Error,
                "warning" => Severity::Warning,
                "note" => Severity::Note,
                "off" => {
                    self.ignored.insert(id);
                    continue;
                }
                other => {
                    return Err(Failure::new(format!(
                        "{}: error, warning, note or off was expected, not {other:?}",
                        at(word.span().start)
                    )));
                }
            };
            self.severities.insert(id, severity);
        }
        Ok(())
    }

    /// Whether findings of the rule are told at all.
    pub(crate) fn tells(&self, id: &str) -> bool {
        !self.ignored.contains(id) && (self.only.is_empty() || self.only.contains(id))
    }

    /// The findings that count, as severe as is wished.
    pub(crate) fn weigh(&self, findings: &mut Vec<Finding>) {
        findings.retain_mut(|finding| {
            if let Some(severity) = self.severities.get(finding.rule) {
                finding.severity = *severity;
            }
            self.tells(finding.rule)
        });
    }

    /// Whether it is severe enough to be told.
    pub(crate) fn shows(&self, finding: &Finding) -> bool {
        finding.severity >= self.least
    }
}

fn ids() -> impl Iterator<Item = &'static str> {
    rules().iter().map(|rule| rule.id)
}
