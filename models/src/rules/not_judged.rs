//! Duties of the specification that are not judged here, each with the reason.

/// A duty that is not judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotJudged {
    /// Its id in the catalogue of duties.
    pub id: &'static str,
    /// Why it is not judged.
    pub because: &'static str,
}

const fn row(id: &'static str, because: &'static str) -> NotJudged {
    NotJudged { id, because }
}

/// Every duty that is not judged, by id.
pub const NOT_JUDGED: &[NotJudged] = &[];
