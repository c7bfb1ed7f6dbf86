//! Arrays of messages, which one revision allows.

use std::collections::BTreeSet;

use mcpsim_traces::event::{FrameNo, Role};
use mcpsim_traces::judge::Severity;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Condition, Kind, Message, Method, Revision};

use crate::ledger::Cx;
use crate::part::{Fact, In, Knows, Own, Part, flag, open};
use crate::rules::{Basis, Category, Level, MUST, Needs, Rule, Side, When};

pub(crate) const BATCH_NOT_IN_REVISION: Rule = Rule {
    id: "batch-not-in-revision",
    category: Category::Batch,
    level_by: &[
        (Revision::V2024_11_05, Level::Should),
        (Revision::V2025_03_26, Level::MayNote),
    ],
    severity_by: &[
        (Revision::V2024_11_05, Severity::Warning),
        (Revision::V2025_03_26, Severity::Note),
    ],
    source: "2025-11-25 schema.ts (JSONRPCMessage)",
    says: "Arrays of messages are sent only under 2025-03-26.",
    why: "Most peers drop an array whole, and everything in it; some end.",
    when: When::BATCH,
    twin: "env-single-message",
    ..MUST
};

/// What rules of 2025-03-26 have in common, which alone has batches.
const BATCH: Rule = Rule {
    category: Category::Batch,
    basis: Basis::Jsonrpc,
    from: Revision::V2025_03_26,
    until: Revision::V2025_03_26,
    source: "JSON-RPC 2.0 specification (Batch), adopted by 2025-03-26 basic/index (Messages)",
    when: When::BATCH,
    ..MUST
};

pub(crate) const BATCH_EMPTY: Rule = Rule {
    id: "batch-empty",
    says: "A batch has at least one member.",
    why: "There is nothing to answer.",
    ..BATCH
};

pub(crate) const BATCH_INITIALIZE: Rule = Rule {
    id: "batch-initialize",
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-03-26 basic/lifecycle (Initialization)",
    says: "initialize is not sent in a batch.",
    why: "Whether batches are allowed is not agreed before its answer.",
    ..BATCH
};

pub(crate) const BATCH_MIXED: Rule = Rule {
    id: "batch-mixed",
    basis: Basis::Schema,
    source: "2025-03-26 schema.ts (JSONRPCBatchRequest)",
    says: "A batch holds requests and notifications, or responses, never both.",
    why: "A receiver chooses by the first member what the array is.",
    ..BATCH
};

pub(crate) const BATCH_NESTED: Rule = Rule {
    id: "batch-nested",
    says: "A batch's members are objects.",
    why: "An array or a scalar inside is no message.",
    ..BATCH
};

pub(crate) const BATCH_ANSWERS: Rule = Rule {
    id: "batch-answers",
    side: Side::Receiver,
    says: "A batch's requests are answered once each.",
    why: "An array with two answers for one id leaves the reader to guess; a missing answer is `request-unanswered`.",
    needs: Needs::Causal,
    ..BATCH
};

pub(crate) const BATCH_RECEIVE_SUPPORT: Rule = Rule {
    id: "batch-receive-support",
    basis: Basis::Text,
    side: Side::Receiver,
    source: "2025-03-26 basic/index (Batching)",
    says: "Every peer accepts batches, whether or not it sends any.",
    why: "A batch that is refused whole leaves each of its requests without an answer.",
    needs: Needs::Causal,
    ..BATCH
};

pub(crate) const BATCH_NO_EMPTY_ANSWER: Rule = Rule {
    id: "batch-no-empty-answer",
    side: Side::Receiver,
    says: "A batch of notifications gets no reply.",
    why: "An empty array is no batch: the other side has to refuse it, and may end.",
    needs: Needs::Causal,
    ..BATCH
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    BATCH_NOT_IN_REVISION,
    BATCH_EMPTY,
    BATCH_INITIALIZE,
    BATCH_MIXED,
    BATCH_NESTED,
    BATCH_ANSWERS,
    BATCH_RECEIVE_SUPPORT,
    BATCH_NO_EMPTY_ANSWER,
];

/// The code of a text that cannot be parsed.
const PARSE_ERROR: i64 = -32700;

/// What an array holds.
#[derive(Default)]
struct Contents {
    calls: u32,
    requests: u32,
    responses: u32,
    others: u32,
    initialize: bool,
}

impl Contents {
    fn of(text: &[u8]) -> Contents {
        let mut contents = Contents::default();
        Part::members(text, |_, member| {
            contents.requests += u32::from(member.kind == Kind::Request);
            match member.kind {
                Kind::Request | Kind::Notification => contents.calls += 1,
                Kind::Result | Kind::Error => contents.responses += 1,
                // A malformed object is judged by its own rule.
                Kind::Malformed
                    if !member.has(Condition::Scalar) && !member.has(Condition::Noise) => {}
                _ => contents.others += 1,
            }
            contents.initialize |= member.method == Method::Initialize;
        });
        contents
    }
}

/// What the revision makes of an array.
enum Treatment {
    /// Its members are messages.
    Split,
    /// It is one frame, and a fault of that severity.
    Refused(Severity),
    /// The revision is not settled, or not known here.
    Open,
}

impl Part {
    fn treatment(&self, cx: &Cx<'_>) -> Treatment {
        if cx.era.is_stateless() {
            return Treatment::Refused(Severity::Error);
        }
        let agreed = self.revision.filter(|_| cx.is_agreed);
        let certain = self.governing().or(agreed);
        match self.revision {
            Some(Revision::V2025_03_26) => Treatment::Split,
            Some(_) if self.is(flag::FORCED) || certain.is_some() => {
                Treatment::Refused(BATCH_NOT_IN_REVISION.severity_at(certain))
            }
            // Sent before the answer or against it: the milder of the two.
            Some(_) => Treatment::Refused(Severity::Warning),
            None if self.is(flag::JOINED) || self.knows(self.opened) != Knows::No => {
                Treatment::Open
            }
            None => Treatment::Refused(Severity::Warning),
        }
    }

    /// The party sends an array.
    #[cold]
    pub(crate) fn batch_by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let Some(text) = cx.text else { return };
        let contents = Contents::of(text);
        let is_opening = contents.initialize
            && self.role == Role::Client
            && !self.is(flag::JOINED)
            && self.governing().is_none();
        if is_opening {
            if !cx.is_expected(&BATCH_INITIALIZE) && !cx.is_expected(&BATCH_NOT_IN_REVISION) {
                let frame = cx.frame;
                self.rare().batch_init = Some(frame);
            }
            return self.members_by(cx, text);
        }
        if self.role == Role::Server && self.answers_initialize(text) {
            return self.opening_answered_by(cx, text);
        }
        match self.treatment(cx) {
            Treatment::Refused(severity) => self.refused_batch_by(cx, text, severity),
            Treatment::Split => {
                self.judge_contents(cx, message, &contents);
                self.members_by(cx, text);
            }
            Treatment::Open => self.members_by(cx, text),
        }
    }

    /// Whether a member of the array answers initialize, which is open.
    fn answers_initialize(&self, text: &[u8]) -> bool {
        let is_open = |id| match self.role {
            Role::Client => {
                let own = self.find_own(id).ok().map(|at| &self.own[at]);
                own.is_some_and(|own| own.method == Method::Initialize && !own.answer.is_some())
            }
            Role::Server => {
                let open = self.find_in(id).ok().map(|at| &self.inn[at]);
                open.is_some_and(|open| open.method == Method::Initialize)
            }
        };
        let mut is_answered = false;
        Part::members(text, |_, member| {
            is_answered |= member.kind.is_response() && is_open(member.id);
        });
        is_answered
    }

    /// The server answers initialize in an array: that a client can read it is not agreed on before it has
    /// read it. Where the client sent an array to begin with, the fault is its own.
    fn opening_answered_by(&mut self, cx: &mut Cx<'_>, text: &[u8]) {
        self.members_by(cx, text);
        let was_asked_so = self.rare.as_ref().is_some_and(|rare| rare.init_in_array);
        if !was_asked_so {
            let severity = self.severity_of_opening();
            let words = "the answer to initialize stands in an array; it comes alone".to_string();
            self.broken_at(cx, &BATCH_NOT_IN_REVISION, severity, &[cx.frame], words);
        }
    }

    fn refused_batch_by(&mut self, cx: &mut Cx<'_>, text: &[u8], severity: Severity) {
        let revision = match self.revision {
            _ if cx.is_stateless => "revision 2026-07-28 has none".to_string(),
            Some(revision) => format!("revision {revision} has none"),
            None => "the revision is not agreed yet".to_string(),
        };
        let words = format!("an array of messages; {revision}, and each message goes by itself");
        self.broken_at(cx, &BATCH_NOT_IN_REVISION, severity, &[cx.frame], words);
        // One frame, one fault: what is inside is neither owed nor judged.
        Part::members(text, |_, member| {
            if member.method != Method::None && member.id.is_legal() {
                self.issued.insert(member.id);
            }
            if member.method == Method::Initialized && self.role == Role::Client {
                self.set(flag::INITIALIZED_SENT);
            }
            if member.kind.is_response()
                && let Ok(at) = self.find_in(member.id)
            {
                self.inn[at].flags |= open::MAYBE;
            }
        });
        self.set(flag::SPOKE);
    }

    fn judge_contents(&mut self, cx: &mut Cx<'_>, message: &Message, contents: &Contents) {
        let frame = [cx.frame];
        if message.has(Condition::EmptyBatch) && self.is(flag::NOTIFIED_IN_BATCH) {
            let text =
                "an array of notifications is answered with an empty array; it gets no reply"
                    .to_string();
            return self.broken(cx, &BATCH_NO_EMPTY_ANSWER, &frame, text);
        }
        if message.has(Condition::EmptyBatch) {
            let text = "an empty array; a batch has at least one member".to_string();
            return self.broken(cx, &BATCH_EMPTY, &frame, text);
        }
        if contents.others > 0 {
            let text = "a member of the array is no object; each member is a message".to_string();
            self.broken(cx, &BATCH_NESTED, &frame, text);
        }
        if contents.initialize {
            let text = "initialize stands in an array; it comes alone".to_string();
            self.broken(cx, &BATCH_INITIALIZE, &frame, text);
        }
        if contents.calls > 0 && contents.responses > 0 {
            let text =
                "the array holds requests or notifications and responses; it holds one of the two"
                    .to_string();
            self.broken(cx, &BATCH_MIXED, &frame, text);
        }
    }

    fn members_by(&mut self, cx: &mut Cx<'_>, text: &[u8]) {
        self.rare().batch_answers = Some(BTreeSet::new());
        Part::members(text, |line, member| {
            if is_message(member) {
                self.by(&mut cx.member(line, member.kind), member);
                if let Ok(at) = self.find_own(member.id) {
                    self.own[at].flags |= self.batch_mark(member);
                }
            }
        });
        self.rare().batch_answers = None;
    }

    /// The mark of a request in an array that the revision allows.
    fn batch_mark(&self, member: &Message) -> u16 {
        let is_lawful =
            self.revision == Some(Revision::V2025_03_26) && member.kind == Kind::Request;
        if is_lawful { open::BATCH } else { 0 }
    }

    /// A request of the array of that frame is answered by itself: the array was accepted.
    #[cold]
    pub(crate) fn batch_answered(&mut self, frame: FrameNo) {
        for request in self.inn.iter_mut() {
            if request.frame == frame {
                request.flags &= !open::BATCH;
            }
        }
    }

    /// Whether the error without an id refuses an array that has to be accepted.
    pub(crate) fn refuses_batch(&mut self, cx: &mut Cx<'_>, message: &Message) -> bool {
        // A text that cannot be parsed is rightly refused whole.
        if message.number == PARSE_ERROR {
            return false;
        }
        let is_of_batch = |request: &&In| request.flags & open::BATCH != 0;
        let Some(frame) = self.inn.iter().find(is_of_batch).map(|one| one.frame) else {
            return false;
        };
        for request in self.inn.iter_mut().filter(|request| request.frame == frame) {
            request.flags = request.flags & !open::BATCH | open::MAYBE;
        }
        let text = format!(
            "an array of requests is refused whole, with {}; each of its requests is answered",
            message.number
        );
        self.broken(cx, &BATCH_RECEIVE_SUPPORT, &[frame, cx.frame], text);
        true
    }

    /// The other side refused an array whole: nothing more comes to its requests.
    #[cold]
    pub(crate) fn batch_refused(&mut self, message: &Message) {
        if message.number == PARSE_ERROR {
            return;
        }
        let is_of_batch = |own: &&Own| own.flags & open::BATCH != 0;
        let Some(frame) = self.own.iter().find(is_of_batch).map(|one| one.frame) else {
            return;
        };
        for own in self.own.iter_mut().filter(|own| own.frame == frame) {
            own.flags |= open::EXCUSED;
        }
    }

    /// Remembers an answer inside an array.
    #[inline]
    pub(crate) fn note_batch_answer(&mut self, id: Key) {
        if let Some(rare) = &mut self.rare
            && let Some(answers) = &mut rare.batch_answers
        {
            answers.insert(id);
        }
    }

    /// An array goes to the party.
    #[cold]
    pub(crate) fn batch_toward(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let Some(text) = cx.text else {
            self.unread();
            return self.set(flag::GARBLED_IN);
        };
        let contents = Contents::of(text);
        let is_split = match self.treatment(cx) {
            Treatment::Split | Treatment::Open => true,
            Treatment::Refused(_) => match self.role {
                Role::Server => contents.initialize && self.revision.is_none(),
                Role::Client => self.answers_initialize(text),
            },
        };
        if is_split && contents.initialize {
            self.rare().init_in_array = true;
        }
        if message.has(Condition::EmptyBatch) || !is_split {
            self.unread();
        }
        if !is_split {
            self.set(flag::GARBLED_IN);
        } else if contents.calls > 0 && contents.requests == 0 && contents.responses == 0 {
            self.set(flag::NOTIFIED_IN_BATCH);
        }
        Part::members(text, |line, member| {
            if !is_split && member.method == Method::Initialized && self.role == Role::Server {
                // Whether it counts is up to the server; the array is the fault.
                self.initialized = Fact(1);
            }
            if is_split && is_message(member) {
                self.toward(&mut cx.member(line, member.kind), member);
                if let Ok(at) = self.find_in(member.id) {
                    self.inn[at].flags |= self.batch_mark(member);
                }
                return;
            }
            self.unread();
            if member.method != Method::None || member.kind == Kind::Malformed {
                self.answerable(member.id);
            } else if let Ok(at) = self.find_own(member.id) {
                self.own[at].flags |= open::EXCUSED;
            }
        });
    }

    /// initialize was sent in an array: the answer decides which rule that breaks.
    pub(crate) fn settle_batch_init(&mut self, cx: &mut Cx<'_>) {
        let Some(frame) = self.rare.as_mut().and_then(|rare| rare.batch_init.take()) else {
            return;
        };
        self.report_batch_init(cx, frame);
    }

    /// How bad an array in the handshake is: as the revision has it, and mild where none was agreed on.
    fn severity_of_opening(&self) -> Severity {
        match self.revision {
            Some(_) => BATCH_NOT_IN_REVISION.severity_at(self.revision),
            None => Severity::Warning,
        }
    }

    fn report_batch_init(&mut self, cx: &mut Cx<'_>, frame: FrameNo) {
        match self.revision {
            Some(Revision::V2025_03_26) => {
                let text = "initialize stands in an array; it comes alone".to_string();
                self.broken(cx, &BATCH_INITIALIZE, &[frame], text);
            }
            revision => {
                let severity = self.severity_of_opening();
                let why = match revision {
                    Some(_) => "which the revision does not have",
                    None => "and no revision is agreed on",
                };
                let text = format!("initialize stands in an array, {why}; it comes alone");
                self.broken_at(cx, &BATCH_NOT_IN_REVISION, severity, &[frame], text);
            }
        }
    }
}

fn is_message(member: &Message) -> bool {
    match member.kind {
        Kind::Batch => false,
        Kind::Malformed => !member.has(Condition::Scalar),
        _ => true,
    }
}
