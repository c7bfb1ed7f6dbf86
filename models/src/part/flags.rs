//! Bits of a part and of its open requests.

macro_rules! flags {
    ($($name:ident = $bit:literal, $doc:literal;)+) => {
        $(#[doc = $doc] pub(crate) const $name: u32 = 1 << $bit;)+
    };
}

/// Bits of a part.
pub(crate) mod flag {
    flags! {
        INIT_SENT = 0, "The client sent initialize.";
        ANSWERED_INIT = 1, "The server answered initialize with a result.";
        INITIALIZED_SENT = 2, "The client sent notifications/initialized.";
        JOINED = 3, "The recording begins in the middle of the session.";
        STATELESS = 4, "Stateless requests were seen in either direction.";
        SPOKE = 5, "The client's first message was seen.";
        LAST_IN_CANCEL = 6, "The last frame toward the party was a cancel.";
        NOTIFIED = 7, "Some notification went to the party.";
        CLOSED = 8, "The link is closed, and the party knows.";
        EXITED = 9, "The party's program ended by itself.";
        CRASHED = 10, "A fault of the world took the party.";
        CRLF = 11, "A CR LF of the party was reported.";
        HEADER = 12, "The party wrote a Content-Length header.";
        FORCED = 13, "The revision was given, not negotiated.";
        OPERATED = 14, "The client sent an operation request after the answer to initialize.";
        GARBLED_IN = 15, "Something that may have been a message went to the party and could not be read.";
        EVICTED = 16, "Something that may still matter had to be forgotten.";
        PEER_CLOSED = 17, "The other end closed the link, or it was cut.";
        INIT_REFUSED = 18, "The server answered initialize with an error.";
        DEPRIVED = 19, "The world took a notification on its way to the party.";
        LAST_IN_RACE = 21, "The last frame toward the party came too late: it crossed another one.";
        NOTIFIED_IN_BATCH = 23, "An array of nothing but notifications went to the party.";
        WHOLE = 24, "The recording is known to begin with the session, or to be of a whole world.";
        STRANGE = 25, "The handshake agreed on a version that is not known here.";
        DEPRIVED_FORBIDDEN = 20, "... although the link's kind forbids that.";
        MODERN = 22, "The server has shown that it knows 2026-07-28.";
        UNTOLD_MINE = 27, "The party's handshake has no capabilities to be read.";
        UNTOLD_THEIRS = 28, "... nor has the other side's.";
        ODD_TOKEN = 29, "A request toward the party has a progress token that can be none.";
        AT_DOOR = 30, "The log was made beside the party's program, which may not have read all that had come.";
        ODD_CURSOR = 31, "A page that the party sent or got has a `nextCursor` that is no string.";
        LATE = 26, "The recording begins with a request of 2026-07-28, and a session may have begun before it.";
    }
}

/// Bits of an open request, in either direction.
pub(crate) mod open {
    /// Its sender withdrew it.
    pub(crate) const CANCELLED: u16 = 1;
    /// Nothing is owed any more, for a reason that was reported or accuses nobody.
    pub(crate) const EXCUSED: u16 = 2;
    /// The request itself breaks a rule of form.
    pub(crate) const BAD: u16 = 4;
    /// It stays open as long as its sender likes.
    pub(crate) const LONG: u16 = 8;
    /// A second request with its id came while it was open.
    pub(crate) const REUSED: u16 = 16;
    /// It speaks for itself: no session.
    pub(crate) const STATELESS: u16 = 32;
    /// The world took it or its answer.
    pub(crate) const LOST: u16 = 64;
    /// … although the link's kind forbids that. Without [`LOST`] and [`EXCUSED`]: the server did not keep it.
    pub(crate) const FORBIDDEN: u16 = 128;
    /// More requests were open toward its sender than the mask holds.
    pub(crate) const MANY: u16 = 256;
    /// A stray answer of the other side may have been meant for it.
    pub(crate) const MAYBE: u16 = 512;
    /// Its answer came under an id that only looks like its own: reported, and its sender still waits.
    pub(crate) const MISANSWERED: u16 = 1024;
    /// Its sender gave up waiting for it.
    pub(crate) const TIMED_OUT: u16 = 2048;
    /// It came before any handshake, and not in the form of 2026-07-28.
    pub(crate) const BARE: u16 = 4096;
    /// It speaks for itself, in a version that is not judged here beyond its form.
    pub(crate) const FOREIGN: u16 = 8192;
    /// It came in a lawful array, of which nothing is answered yet.
    pub(crate) const BATCH: u16 = 16384;
    /// The connection that was to bring its answer broke, and nobody has gone on with it.
    pub(crate) const CUT: u16 = 32768;
}
