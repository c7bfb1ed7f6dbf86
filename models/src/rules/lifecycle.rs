//! The handshake: initialize, its answer, notifications/initialized, and what may pass in between.

use mcpsim_traces::event::{FrameNo, LinkKind, Role};
use mcpsim_traces::judge::Verdict;
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Condition, Kind, Message, Method, Revision, Version};

use crate::era::Light;
use crate::ledger::Cx;
use crate::part::{Knows, Mode, Part, flag, open};
use crate::rules::ids::name;
use crate::rules::{Basis, Category, Level, MUST, NOTE, Needs, Rule, SHOULD, Side, When};

pub(crate) const INITIALIZE_FIRST: Rule = Rule {
    id: "initialize-first",
    category: Category::Lifecycle,
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "The client's first message is initialize.",
    why: "Until then the server knows neither revision nor capabilities. Pings may pass, and a \
        probe with server/discover lies outside the session.",
    needs: Needs::SameDirection,
    when: When::CLIENT_CALL,
    ..MUST
};

pub(crate) const CLIENT_REQUEST_BEFORE_INIT_RESPONSE: Rule = Rule {
    id: "client-request-before-init-response",
    category: Category::Lifecycle,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "Before the answer to initialize the client sends no request but ping.",
    why: "The server may not serve them yet, and the client does not know what it declared. After \
        the answer they may come, even before notifications/initialized.",
    needs: Needs::OffenderLog,
    when: When::CLIENT_CALL,
    ..SHOULD
};

pub(crate) const SERVER_REQUEST_BEFORE_INITIALIZED: Rule = Rule {
    id: "server-request-before-initialized",
    category: Category::Lifecycle,
    side: Side::Server,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "Before notifications/initialized the server sends no request but ping.",
    why: "The client may not have its handlers in place: such requests hang or are refused. Log messages may pass.",
    needs: Needs::OffenderLog,
    when: When::SERVER_CALL,
    ..SHOULD
};

pub(crate) const SERVER_SPEAKS_BEFORE_INITIALIZE: Rule = Rule {
    id: "server-speaks-before-initialize",
    category: Category::Lifecycle,
    level: Level::Must,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "The server says nothing before the client's initialize, but for pings and log messages.",
    why: "No reader expects it there, and the client has not said what it can take.",
    needs: Needs::OffenderLog,
    when: When::SERVER_CALL,
    ..SHOULD
};

pub(crate) const INITIALIZED_MISSING: Rule = Rule {
    id: "initialized-missing",
    category: Category::Lifecycle,
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "After the answer to initialize the client sends notifications/initialized.",
    why: "A careful server sends no request of its own until it came. It need not come before the client's first request.",
    needs: Needs::Causal,
    when: When::CLIENT_CALL,
    ..MUST
};

pub(crate) const INITIALIZED_TOO_EARLY: Rule = Rule {
    id: "initialized-too-early",
    category: Category::Lifecycle,
    basis: Basis::Derived,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "notifications/initialized follows a successful answer to initialize.",
    why: "It says that the client has read the answer, which it cannot have.",
    needs: Needs::OffenderLog,
    when: When::INITIALIZED,
    ..MUST
};

pub(crate) const INITIALIZED_TWICE: Rule = Rule {
    id: "initialized-twice",
    category: Category::Lifecycle,
    level: Level::MayNote,
    basis: Basis::Derived,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "One notifications/initialized is enough.",
    why: "No sentence forbids the second, but servers that start work on it start twice.",
    needs: Needs::SameDirection,
    when: When::INITIALIZED,
    ..NOTE
};

pub(crate) const INITIALIZE_TWICE: Rule = Rule {
    id: "initialize-twice",
    category: Category::Lifecycle,
    level: Level::Must,
    basis: Basis::Derived,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "A session is initialized once.",
    why: "Servers replace version and capabilities in the middle of the session, or end.",
    needs: Needs::SameDirection,
    when: When::INITIALIZE,
    ..SHOULD
};

pub(crate) const VERSION_ANSWER_KNOWN: Rule = Rule {
    id: "version-answer-known",
    category: Category::Lifecycle,
    level: Level::Must,
    basis: Basis::Derived,
    side: Side::Server,
    source: "2025-11-25 basic/lifecycle (Version Negotiation)",
    says: "The answered version is a published revision with a handshake.",
    why: "The two sides would agree on rules that nobody can look up.",
    when: When::INITIALIZE,
    ..SHOULD
};

pub(crate) const VERSION_OFFERED_SUPPORTED: Rule = Rule {
    id: "version-offered-supported",
    category: Category::Lifecycle,
    level: Level::Must,
    basis: Basis::Derived,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Version Negotiation)",
    says: "The offered version is a published revision with a handshake.",
    why: "A revision without initialize cannot be agreed on by initialize; made-up dates are echoed by careless servers.",
    when: When::INITIALIZE,
    ..SHOULD
};

pub(crate) const OPERATION_AFTER_REFUSED_INITIALIZE: Rule = Rule {
    id: "operation-after-refused-initialize",
    category: Category::Lifecycle,
    level: Level::Must,
    basis: Basis::Derived,
    side: Side::Client,
    source: "2025-11-25 basic/lifecycle (Initialization)",
    says: "After an error to initialize the client starts no operation.",
    why: "There is no session to operate in: it may try initialize again or leave.",
    needs: Needs::OffenderLog,
    when: When::CLIENT_CALL,
    ..SHOULD
};

pub(crate) const PEER_DIED: Rule = Rule {
    id: "peer-died",
    category: Category::Lifecycle,
    level: Level::None,
    basis: Basis::Robustness,
    side: Side::Both,
    until: Revision::V2026_07_28,
    source: "no rule of the text",
    says: "A peer does not end by itself while the other side still needs it.",
    why: "No rule of the text, but what people report: one bad line or an unlucky order, and the process is gone with everything in it.",
    needs: Needs::Transport,
    when: When::PEER,
    ..MUST
};

pub(crate) const REQUEST_TIMEOUT_CANCEL: Rule = Rule {
    id: "request-timeout-cancel",
    category: Category::Lifecycle,
    from: Revision::V2025_03_26,
    source: "2025-11-25 basic/lifecycle (Timeouts)",
    says: "Who gives up waiting for an answer says so with a cancel.",
    why: "The other side goes on working for nobody; and a limit that is only looked at when something arrives never \
        runs out on a silent peer.",
    needs: Needs::Time,
    when: When::REQUEST,
    twin: "cancel-client-stdio",
    ..NOTE
};

pub(crate) const SHUTDOWN_NO_MESSAGE: Rule = Rule {
    id: "shutdown-no-message",
    category: Category::Lifecycle,
    level: Level::MayNote,
    basis: Basis::Lowercase,
    side: Side::Both,
    source: "2025-11-25 basic/lifecycle (Shutdown)",
    says: "A session is ended by closing its transport, not by a message.",
    why: "No peer has a handler for it: whoever waits for its answer before closing may wait in vain.",
    when: When::CALL,
    ..NOTE
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[
    INITIALIZE_FIRST,
    CLIENT_REQUEST_BEFORE_INIT_RESPONSE,
    SERVER_REQUEST_BEFORE_INITIALIZED,
    SERVER_SPEAKS_BEFORE_INITIALIZE,
    INITIALIZED_MISSING,
    INITIALIZED_TOO_EARLY,
    INITIALIZED_TWICE,
    INITIALIZE_TWICE,
    VERSION_ANSWER_KNOWN,
    VERSION_OFFERED_SUPPORTED,
    OPERATION_AFTER_REFUSED_INITIALIZE,
    PEER_DIED,
    REQUEST_TIMEOUT_CANCEL,
    SHUTDOWN_NO_MESSAGE,
];

impl Part {
    /// A method that no revision knows: whether it asks for an end that has no message.
    #[cold]
    pub(crate) fn asks_for_the_end(&self, cx: &mut Cx<'_>) {
        let Some(method) = cx.body.and_then(|body| body.get("method")) else {
            return;
        };
        if method.is_one_of(&["shutdown", "exit", "close"]) {
            let text = "a message asks for the end; a session ends when its transport is closed";
            self.broken_value(cx, &SHUTDOWN_NO_MESSAGE, method, text.to_string());
        }
    }

    /// Nothing more comes from the party, or it gave up waiting: its own open requests.
    pub(crate) fn judge_timeouts(&self, cx: &mut Cx<'_>, verdict: Verdict) {
        for is_stateless in [false, true] {
            self.judge_timeouts_of(cx, verdict, is_stateless);
        }
    }

    fn judge_timeouts_of(&self, cx: &mut Cx<'_>, verdict: Verdict, is_stateless: bool) {
        let is_due = is_stateless
            || self
                .revision
                .is_some_and(|revision| REQUEST_TIMEOUT_CANCEL.is_in(revision));
        // There a client closes a stream, and whether it did is not always seen.
        let is_closed = is_stateless && self.link == LinkKind::Http;
        if is_closed && verdict == Verdict::Broken {
            return;
        }
        let settled = open::CANCELLED | open::LONG | open::LOST;
        let mut left = self.own.iter().filter(|own| {
            let fits = verdict == Verdict::Unsure && !is_closed || own.flags & open::TIMED_OUT != 0;
            fits && own.flags & settled == 0
                && (own.flags & open::STATELESS != 0) == is_stateless
                && !own.answer.is_some()
                && own.method != Method::Initialize
        });
        // Who stops and owes something itself is named for that.
        let is_due = is_due && (verdict == Verdict::Broken || self.inn.is_empty());
        let (Some(first), true) = (left.next(), is_due) else {
            return;
        };
        let others = left.count();
        cx.is_stateless = is_stateless;
        let text = format!(
            "the {} {} {} {} and {}{}",
            self.role.as_str(),
            match verdict {
                Verdict::Broken => "gave up waiting for",
                Verdict::Unsure => "stops while it waits for",
            },
            first.method.words(),
            first.id,
            match is_closed {
                true => "does not close its stream",
                false => "sends no cancel for it",
            },
            if others == 0 {
                String::new()
            } else {
                format!(", nor for {others} more")
            },
        );
        self.case(
            cx,
            &REQUEST_TIMEOUT_CANCEL,
            verdict,
            None,
            &[first.frame],
            None,
            text,
        );
    }

    /// A request of the client, inside a session.
    #[inline]
    pub(crate) fn client_request(&mut self, cx: &mut Cx<'_>, message: &Message) {
        match message.method {
            Method::Initialize => return self.initialize_by(cx, message),
            Method::Ping => return,
            _ => {}
        }
        if !self.is(flag::INIT_SENT) {
            return self.before_initialize(cx, message);
        }
        if self.knows(self.opened) == Knows::No {
            return self.before_answer(cx, message);
        }
        if !self.is(flag::OPERATED) {
            self.set(flag::OPERATED);
            if cx.frame != 0 && !self.is(flag::INITIALIZED_SENT) {
                self.rare().operated_frame = cx.frame;
            }
        }
        self.used_as_declared(cx, message);
    }

    #[cold]
    fn before_initialize(&mut self, cx: &mut Cx<'_>, message: &Message) {
        let is_first = !self.is(flag::SPOKE | flag::JOINED | flag::FORCED | flag::LATE);
        self.set(flag::SPOKE);
        // Metadata that cannot be read may say that the request stands outside any session.
        if message.has(Condition::MetaNotObject) {
            return;
        }
        if is_first {
            let text = format!(
                "the client begins with {}; it begins with initialize",
                name(message)
            );
            self.broken(cx, &INITIALIZE_FIRST, &[cx.frame], text);
        }
    }

    #[cold]
    fn before_answer(&mut self, cx: &mut Cx<'_>, message: &Message) {
        // In one array with initialize: that array is the fault.
        if self.rare.as_ref().and_then(|rare| rare.batch_init) == Some(cx.frame) {
            return;
        }
        let is_trying = || {
            let mut own = self.own.iter();
            own.any(|own| own.method == Method::Initialize && !own.answer.is_some())
        };
        match self.knows(self.refused) {
            // Who went on as if it were no refusal was told so.
            Knows::Must if !is_trying() && self.is(flag::INITIALIZED_SENT) => {}
            Knows::Must if !is_trying() => {
                let text = format!(
                    "{} after initialize was refused; there is no session",
                    name(message)
                );
                self.broken(cx, &OPERATION_AFTER_REFUSED_INITIALIZE, &[cx.frame], text);
            }
            // Either too early or after the refusal: which of the two cannot be told.
            Knows::May => {}
            _ if self.may_have_met_more() => cx.pass_over(&CLIENT_REQUEST_BEFORE_INIT_RESPONSE),
            _ => {
                let text = format!(
                    "{} before the answer to initialize; only pings may pass",
                    name(message)
                );
                self.broken(cx, &CLIENT_REQUEST_BEFORE_INIT_RESPONSE, &[cx.frame], text);
            }
        }
    }

    #[cold]
    fn initialize_by(&mut self, cx: &mut Cx<'_>, message: &Message) {
        self.settle_era(cx.ledger, Light::Handshake);
        if let Some(what) = unusual(message.version) {
            let text = format!(
                "the client offers {what}; it offers a published revision with a handshake"
            );
            self.broken(cx, &VERSION_OFFERED_SUPPORTED, &[cx.frame], text);
        }
        if self.is(flag::INIT_SENT) {
            let was_refused = self.knows(self.refused) != Knows::No && !self.opened.is_some();
            // A copy of the frame is told by its id.
            let is_copy = message.id == self.init_id && self.find_own(message.id).is_ok();
            if !was_refused && is_copy {
                return;
            }
            if !was_refused {
                let first = self.rare.as_ref().map_or(0, |rare| rare.init_frame);
                let text =
                    "the session is initialized a second time; a session is initialized once"
                        .to_string();
                return self.broken(cx, &INITIALIZE_TWICE, &[first, cx.frame], text);
            }
        }
        self.set(flag::INIT_SENT | flag::SPOKE);
        self.init_id = message.id;
        self.tells_of_mine(message);
        if cx.frame != 0 {
            self.rare().init_frame = cx.frame;
        }
    }

    /// A request of the server.
    #[inline]
    pub(crate) fn server_request(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if message.method == Method::Ping || self.is(flag::JOINED) {
            return;
        }
        if self.knows(self.opened) == Knows::No {
            return self.speaks_first(cx, message);
        }
        if self.knows(self.initialized) == Knows::No && self.may_have_met_more() {
            cx.pass_over(&SERVER_REQUEST_BEFORE_INITIALIZED);
        } else if self.knows(self.initialized) == Knows::No {
            let text = format!(
                "{} before notifications/initialized came; only pings may pass",
                name(message)
            );
            self.broken(cx, &SERVER_REQUEST_BEFORE_INITIALIZED, &[cx.frame], text);
        }
        self.asked_as_declared(cx, message);
    }

    #[cold]
    fn speaks_first(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if self.is(flag::JOINED | flag::FORCED) {
            return;
        }
        // A session may lie before a recording that begins with a request outside any.
        if self.is(flag::LATE) || self.may_have_met_more() {
            return cx.pass_over(&SERVER_SPEAKS_BEFORE_INITIALIZE);
        }
        let text = format!("{} before the client's initialize", name(message));
        self.broken(cx, &SERVER_SPEAKS_BEFORE_INITIALIZE, &[cx.frame], text);
    }

    /// Whether something that cannot be read here went to the party: a lenient reader may have found in it what was meant.
    fn may_have_met_more(&self) -> bool {
        self.is(flag::GARBLED_IN) || self.unreadable > 0
    }

    /// A notification, as far as the handshake goes.
    #[inline]
    pub(crate) fn notification_in_order(&mut self, cx: &mut Cx<'_>, message: &Message) {
        match self.role {
            Role::Client => {
                // On http a notification, say the cancel of an early ping, may overtake initialize.
                if !self.is(flag::INIT_SENT) && self.mode != Mode::Loose {
                    self.before_initialize(cx, message);
                }
                if message.method == Method::Initialized {
                    self.initialized_by(cx);
                }
            }
            Role::Server => {
                if message.method != Method::LogMessage && self.knows(self.opened) == Knows::No {
                    self.speaks_first(cx, message);
                }
            }
        }
    }

    fn initialized_by(&mut self, cx: &mut Cx<'_>) {
        let was_sent = self.is(flag::INITIALIZED_SENT);
        self.set(flag::INITIALIZED_SENT);
        if !self.is(flag::INIT_SENT) {
            return;
        }
        if was_sent {
            // An http client may have to repeat its POST.
            if self.mode != Mode::Loose {
                let text =
                    "notifications/initialized comes a second time; once is enough".to_string();
                self.broken(cx, &INITIALIZED_TWICE, &[cx.frame], text);
            }
            return;
        }
        if self.knows(self.opened) == Knows::No && self.may_have_met_more() {
            cx.pass_over(&INITIALIZED_TOO_EARLY);
        } else if self.knows(self.opened) == Knows::No {
            let text =
                "notifications/initialized before a successful answer to initialize".to_string();
            self.broken(cx, &INITIALIZED_TOO_EARLY, &[cx.frame], text);
        } else {
            self.proven(self.opened);
        }
    }

    /// The server answers initialize.
    #[cold]
    pub(crate) fn initialize_answered(&mut self, cx: &mut Cx<'_>, message: &Message) {
        if message.kind == Kind::Error {
            self.set(flag::INIT_REFUSED);
            return;
        }
        if let Some(what) = unusual(message.version) {
            let text = format!(
                "the server answers {what}; it answers with a published revision that has a handshake"
            );
            self.broken(cx, &VERSION_ANSWER_KNOWN, &[cx.frame], text);
        }
        if self.is(flag::ANSWERED_INIT) {
            return;
        }
        self.set(flag::ANSWERED_INIT);
        self.tells_of_mine(message);
        self.agree(message.version);
        self.judge_early_uses(cx);
    }

    /// At the end of the session: whether notifications/initialized is missing.
    pub(crate) fn initialized_is_missing(&self) -> bool {
        self.role == Role::Client
            && self.is(flag::OPERATED)
            && !self.is(flag::INITIALIZED_SENT)
            && !self.is(flag::JOINED)
    }

    /// The first request of a client that should have sent notifications/initialized before.
    pub(crate) fn operated_frames(&self) -> Vec<FrameNo> {
        let frame = self.rare.as_ref().map_or(0, |rare| rare.operated_frame);
        Some(frame)
            .into_iter()
            .filter(|&frame| frame != 0)
            .collect()
    }

    /// Forgets what was concluded from a beginning that was taken for the middle.
    pub(crate) fn begin(&mut self) {
        if self.is(flag::JOINED) {
            // It was of the session before.
            self.flags &= !flag::INITIALIZED_SENT;
        }
        self.flags &= !(flag::JOINED | flag::LATE);
        self.mine = Capabilities::NONE;
        self.init_id = Key::ABSENT;
    }
}

/// A version that nobody can agree on by a handshake, in words.
fn unusual(version: Version) -> Option<String> {
    match version {
        Version::Known(revision) if revision.has_handshake() => None,
        Version::Known(revision) => Some(format!("{revision}, which has no handshake")),
        Version::Unknown => Some("a version that was never published".to_string()),
        // A missing or mistyped version is another rule's matter.
        Version::None | Version::NotString => None,
    }
}
