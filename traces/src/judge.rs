//! The words between a world (or a log) and whoever judges it: `Judge`, `Finding`, blame, vantage.

use std::fmt::Debug;

use crate::encode::Encoder;
use crate::event::{FrameNo, LinkId, LinkKind, PartyId, Role, Stream};
use crate::message::Message;
use crate::tape::Value;

/// Where the observer stood; it decides what may be concluded.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Vantage {
    /// The simulator: both ends' own order is known.
    World,
    /// The client's own log.
    Client,
    /// The server's own log.
    Server,
    /// A proxy or wiretap between the two.
    Between,
}

impl Vantage {
    /// All vantages.
    pub const ALL: [Vantage; 4] = [
        Vantage::World,
        Vantage::Client,
        Vantage::Server,
        Vantage::Between,
    ];

    /// The vantage in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Vantage::World => "world",
            Vantage::Client => "client",
            Vantage::Server => "server",
            Vantage::Between => "between",
        }
    }

    /// The vantage of that name.
    pub fn parse(name: &str) -> Option<Vantage> {
        Vantage::ALL
            .into_iter()
            .find(|vantage| vantage.as_str() == name)
    }
}

/// Who is to blame for a finding: the role of that party's end on that link, or nobody.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Blame {
    /// The client end.
    Client,
    /// The server end.
    Server,
    /// The link did what its kind forbids.
    Transport,
    /// Nobody.
    None,
    /// The program itself: a slip of a side that it plays, not announced as one.
    Harness,
}

impl Blame {
    /// The blame in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Blame::Client => "client",
            Blame::Server => "server",
            Blame::Transport => "transport",
            Blame::None => "none",
            Blame::Harness => "harness",
        }
    }

    /// The blame of that name.
    pub fn parse(name: &str) -> Option<Blame> {
        let all = [
            Blame::Client,
            Blame::Server,
            Blame::Transport,
            Blame::None,
            Blame::Harness,
        ];
        all.into_iter().find(|blame| blame.as_str() == name)
    }
}

impl From<Role> for Blame {
    fn from(role: Role) -> Blame {
        match role {
            Role::Client => Blame::Client,
            Role::Server => Blame::Server,
        }
    }
}

/// Whether a finding is certain.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// Broken, with everything that the party may have known.
    Broken,
    /// This vantage cannot tell.
    Unsure,
}

impl Verdict {
    /// The verdict in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Verdict::Broken => "broken",
            Verdict::Unsure => "unsure",
        }
    }
}

/// How bad a finding is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Against a SHOULD, or derived.
    Warning,
    /// Against a MUST.
    Error,
}

impl Severity {
    /// The severity in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// A rule that was broken, or that this vantage cannot tell about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The rule's id.
    pub rule: &'static str,
    /// Whether it is certain.
    pub verdict: Verdict,
    /// How bad it is, under the revision that governs the frame.
    pub severity: Severity,
    /// Who is to blame.
    pub blame: Blame,
    /// The party that is to blame, or that the finding is about.
    pub party: PartyId,
    /// The link on which it was seen.
    pub link: LinkId,
    /// The frames that matter, the offending one last. Without an index these are empty or hold
    /// only what the judge was told; judging the replay with an index fills them in.
    pub frames: Vec<FrameNo>,
    /// What happened and what would have been right, in one sentence.
    pub message: String,
    /// Where the offending member lies in the text of the last frame, in bytes.
    pub spot: Option<(u32, u32)>,
    /// What the party knew at that time, in one sentence; may be empty.
    pub knew: String,
    /// For an answer that never came: who waits for whom, the first that waits first. Empty otherwise.
    pub waits: Vec<Wait>,
}

/// A request that somebody waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wait {
    /// Who asked.
    pub asker: PartyId,
    /// Who owes the answer.
    pub debtor: PartyId,
    /// The role in which the answer is owed.
    pub role: Role,
    /// The link.
    pub link: LinkId,
    /// The frame of the request; 0 where there is no index.
    pub frame: FrameNo,
    /// The request by method and id.
    pub request: String,
}

/// One frame as a judge sees it.
#[derive(Clone, Copy, Debug)]
pub struct Sight<'a> {
    /// The frame as a structured value.
    pub message: &'a Message,
    /// The frame's bytes, where there are any: always in a log, in a simulation for raw frames.
    pub text: Option<&'a [u8]>,
    /// Where the values lie in the text, if whoever asks has scanned it already; else the judge does.
    pub body: Option<Value<'a>>,
    /// The frame's number; 0 where the judge keeps no index (its state is then canonical).
    pub frame: FrameNo,
    /// The party whose part is asked.
    pub party: PartyId,
    /// The link on which the frame travels.
    pub link: LinkId,
    /// The stream on which the frame travels.
    pub stream: Stream,
    /// Rules that the sender breaks with this frame on purpose: findings of these are expected.
    pub slips: &'a [&'a str],
}

/// What happens to a party on a link, beside frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartEvent {
    /// The party itself closed the link.
    ClosedByIt,
    /// The other end closed the link, or it was cut, and the party was told.
    ClosedByPeer,
    /// The party's program ended by itself (a defect of its own).
    Exited,
    /// A fault of the world took the party.
    Crashed,
    /// A fault of the world took a frame that the party had sent; `told` when the party was told.
    SentLost {
        /// The frame that is gone.
        message: Message,
        /// Whether the party was told that its exchange is lost.
        told: bool,
        /// Whether the link's kind forbids the loss.
        forbidden: bool,
    },
    /// A fault of the world took a frame on its way to the party.
    InboundLost {
        /// The frame that is gone.
        message: Message,
        /// Whether the party was told that its exchange is lost.
        told: bool,
        /// Whether the link's kind forbids the loss.
        forbidden: bool,
    },
    /// The server had kept that frame of its own for a stream that broke, and does not have it any more; both ends'
    /// parts are told.
    Forgotten {
        /// The frame that is gone.
        message: Message,
    },
}

/// The pipes that an end waits to write into when all is settled: they are full, and its party does nothing else meanwhile.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Blocked {
    /// The pipe that carries its frames.
    pub frames: bool,
    /// A server's stderr.
    pub stderr: bool,
}

/// One party's end of a link when all is settled.
#[derive(Debug)]
pub struct EndState<'a, P> {
    /// The party.
    pub party: PartyId,
    /// The link.
    pub link: LinkId,
    /// The party's role on the link.
    pub role: Role,
    /// What it waits to write into.
    pub blocked: Blocked,
    /// The judge's part.
    pub part: &'a mut P,
}

/// How a session was seen to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The world is quiet after its calm part: every open request should have been settled.
    Quiet,
    /// A limit on steps was reached before the world was quiet: nothing can be concluded.
    Unfinished,
}

/// Sees what each party sends and receives, and keeps findings. More than a sink: a part of its
/// state belongs to each end of each link, and is cloned, compared and encoded with that party.
pub trait Judge {
    /// What the judge knows of one party on one link.
    type Part: Clone + Eq + Debug;

    /// The part of a party that has not sent or received anything yet.
    fn part(&self, role: Role, link: LinkKind) -> Self::Part;

    /// The part's own party sent this frame.
    fn by(&mut self, part: &mut Self::Part, sight: &Sight<'_>);

    /// The part's own party received this frame.
    fn toward(&mut self, part: &mut Self::Part, sight: &Sight<'_>);

    /// Something else happened to the part's own party.
    fn event(&mut self, part: &mut Self::Part, party: PartyId, link: LinkId, event: PartEvent);

    /// The run has ended: names hangs, through the wait-for graph over all ends.
    fn settle(&mut self, ends: &mut [EndState<'_, Self::Part>], ending: Ending);

    /// Mixes the part's canonical encoding into the fingerprint.
    fn encode(&self, part: &Self::Part, encoder: &mut Encoder);

    /// Whether it wants the text of frames that were sent as structured values, too: they are rendered for it.
    #[inline]
    fn reads_text(&self) -> bool {
        false
    }

    /// The findings so far, in the order in which they were made.
    fn findings(&self) -> &[Finding];

    /// Takes the findings out.
    fn take_findings(&mut self) -> Vec<Finding>;
}

/// Judges nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoJudge;

impl Judge for NoJudge {
    type Part = ();
    fn part(&self, _: Role, _: LinkKind) {}
    #[inline]
    fn by(&mut self, _: &mut (), _: &Sight<'_>) {}
    #[inline]
    fn toward(&mut self, _: &mut (), _: &Sight<'_>) {}
    fn event(&mut self, _: &mut (), _: PartyId, _: LinkId, _: PartEvent) {}
    fn settle(&mut self, _: &mut [EndState<'_, ()>], _: Ending) {}
    fn encode(&self, _: &(), _: &mut Encoder) {}
    fn findings(&self) -> &[Finding] {
        &[]
    }
    fn take_findings(&mut self) -> Vec<Finding> {
        vec![]
    }
}
