//! The protocol versions of a log: what its header line names, and what is said of those that are not known here.

use crate::models::{Foreign, ForeignVersion};
use crate::traces::message::Revision;

/// The versions of one session.
pub(crate) struct Versions {
    /// The names of all of them, as they came.
    pub(crate) names: Vec<String>,
    /// Sentences about those that are not known.
    pub(crate) remarks: Vec<String>,
}

impl Versions {
    /// What is to be said of these.
    pub(crate) fn of(known: &[Revision], foreign: &[ForeignVersion]) -> Versions {
        let known = known.iter().map(|revision| revision.as_str().to_owned());
        let mut names: Vec<String> = known.collect();
        names.extend(foreign.iter().map(|version| version.name.clone()));
        Versions {
            names,
            remarks: foreign.iter().map(remark).collect(),
        }
    }
}

/// A version's name in a line for people: a peer chose it, so only dates of revisions stand there as they are.
pub(crate) fn shown(name: &str) -> String {
    match Revision::parse(name) {
        Some(revision) => revision.as_str().to_owned(),
        None => format!("{name:?}"),
    }
}

fn remark(version: &ForeignVersion) -> String {
    let name = &version.name;
    match version.how {
        Foreign::Agreed => format!(
            "the handshake agreed on the version {name:?}, which is not known here: of that session the form of \
             frames, their ids, answers and transport are judged, and nothing else"
        ),
        Foreign::Named => format!(
            "requests name the version {name:?}, which is not known here: of them and their answers form and ids \
             are judged, and nothing else"
        ),
        Foreign::Older => format!(
            "requests name the version {name:?} as if it needed no handshake: of them and their answers form and \
             ids are judged, and nothing else"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A version's name comes from a peer: it is quoted, and its control characters are escaped.
    #[test]
    fn names_of_peers_are_quoted() {
        let name = "\u{1b}[2J".to_owned();
        let foreign = ForeignVersion {
            name: name.clone(),
            how: Foreign::Named,
        };
        let versions = Versions::of(&[Revision::V2025_11_25], &[foreign]);
        assert_eq!(versions.names, ["2025-11-25".to_owned(), name]);
        assert!(versions.remarks[0].contains("\"\\u{1b}[2J\""));
        let shown: Vec<String> = versions.names.iter().map(|name| shown(name)).collect();
        assert_eq!(shown, ["2025-11-25", "\"\\u{1b}[2J\""]);
    }
}
