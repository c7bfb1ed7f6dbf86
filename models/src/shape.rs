//! Shapes of payloads: tables say which members an object has and of what type each is, and one walk over
//! a frame's values holds them against the tables.
//!
//! A group of rules writes its tables as statics, refers from one to another, and judges a frame with
//! [`judge`]:
//!
//! ```text
//! static ROOT: Def = Def::new("a root", &[
//!     required("uri", What::Text),
//!     optional("name", What::Text),
//!     optional("icons", What::ArrayOf(&What::Def(&ICON))).since(Revision::V2025_11_25).rule(&ICON_SHAPE),
//! ]);
//! static ROOTS_RESULT: Def = Def::new("a result of roots/list", &[
//!     required("roots", What::ArrayOf(&What::Def(&ROOT))),
//! ]);
//!
//! // In the hook `by` of the party whose duty it is:
//! shape::judge(part, cx, frame, &ROOTS_RESULT, &ROOTS_RESULT_SHAPE);
//! ```
//!
//! Which rule a flaw is charged to: that of the nearest [`Def`] with a rule of its own ([`Def::rule`]), else
//! that of the nearest member with one ([`Member::rule`]), else the one that [`judge`] is given. That a member
//! is missing is the object's flaw, unless the member says otherwise ([`Member::absent`]). What tables cannot
//! say, a function says ([`Def::also`], [`What::Check`]): it reports with [`Walk::flaw`] or goes on with
//! [`Walk::value`].
//!
//! A stateful rule on a stateless frame becomes its twin or is dropped, and so is a rule that the revision
//! does not have. Of each rule there is at most one finding a frame: the worst, of these the first. Members
//! that a table does not name are lawful, whatever they hold. An optional member that is `null` is a flaw at
//! warning, unless its table says [`Member::null_is_worse`] or its type has `null`.
//!
//! Revisions: a member counts only where its range holds every revision that may govern the frame: one, or
//! before that is settled all four stateful ones. So of an unsettled frame only what all of them call wrong is
//! reported. Entries of one name have ranges that do not meet.
//!
//! The walk recurses over the tables, which are finite and without cycles, never over what a peer nests.

use std::borrow::Cow;

use mcpsim_traces::event::FrameNo;
use mcpsim_traces::judge::{Severity, Verdict};
use mcpsim_traces::message::{Kind, Revision, ordered};
use mcpsim_traces::tape::{Name, Value, ValueKind};

use crate::deep::Frame;
use crate::ledger::{Cx, Seen, bit};
use crate::part::{BAD, Part};
use crate::rules::{Rule, When};

pub(crate) mod text;

/// What a value is.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// Any JSON value, `null` included.
    Any,
    /// A string.
    Text,
    /// A string of a certain form; the form has its own rule.
    Form(&'static Form),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A number without a fraction.
    Integer,
    /// A number.
    Number,
    /// A number within these bounds, both included.
    Between(i32, i32),
    /// A boolean.
    Bool,
    /// An object of whatever members.
    Object,
    /// An array of these.
    ArrayOf(&'static What),
    /// An object of whatever names, each with one of these.
    MapOf(&'static What),
    /// An object of known members.
    Def(&'static Def),
    /// An object whose tag says which.
    Union(&'static Union),
    /// A string or a number without a fraction.
    TextOrInteger,
    /// `null`, or this.
    OrNull(&'static What),
    /// What a function says; the words say what would be right.
    Check(&'static str, Check),
}

/// Reports what is wrong with a value; the rule is the one that its flaws are charged to.
pub(crate) type Check = for<'a> fn(&mut Walk<'a>, Value<'a>, &'static Rule);

/// A string of a certain form.
pub(crate) struct Form {
    /// What it is, with its article: `an absolute URI`.
    pub(crate) name: &'static str,
    pub(crate) rule: &'static Rule,
    /// What is wrong with a string.
    pub(crate) flaw: fn(Value<'_>) -> Option<Ill>,
}

/// Why a string has not the form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ill {
    /// A clause: `a line break stands in it`.
    pub(crate) why: Cow<'static, str>,
    /// Less than the rule's own.
    pub(crate) severity: Severity,
}

/// An object of known members.
pub(crate) struct Def {
    /// What it is, with its article: `a tool`.
    pub(crate) name: &'static str,
    members: &'static [Member],
    also: Option<Check>,
    rule: Option<&'static Rule>,
}

impl Def {
    /// One object; at most 64 members.
    pub(crate) const fn new(name: &'static str, members: &'static [Member]) -> Def {
        assert!(members.len() <= 64);
        Def {
            name,
            members,
            also: None,
            rule: None,
        }
    }

    /// What the rule of its flaws is, wherever it stands.
    pub(crate) const fn rule(self, rule: &'static Rule) -> Def {
        Def {
            rule: Some(rule),
            ..self
        }
    }

    /// What the members alone do not say. Called for objects whose members were looked at.
    pub(crate) const fn also(self, also: Check) -> Def {
        Def {
            also: Some(also),
            ..self
        }
    }
}

/// A member of an object.
#[derive(Clone, Copy)]
pub(crate) struct Member {
    name: Name,
    what: What,
    is_required: bool,
    from: Revision,
    until: Revision,
    rule: Option<&'static Rule>,
    absent: Option<&'static Rule>,
    severity: Severity,
    null: Severity,
}

/// A member that has to be there.
pub(crate) const fn required(name: &'static str, what: What) -> Member {
    Member {
        is_required: true,
        null: Severity::Error,
        ..optional(name, what)
    }
}

/// A member that may be there.
pub(crate) const fn optional(name: &'static str, what: What) -> Member {
    Member {
        name: Name::new(name),
        what,
        is_required: false,
        from: Revision::V2024_11_05,
        until: Revision::V2026_07_28,
        rule: None,
        absent: None,
        severity: Severity::Error,
        null: Severity::Warning,
    }
}

impl Member {
    /// The first revision that has it.
    pub(crate) const fn since(self, from: Revision) -> Member {
        Member { from, ..self }
    }

    /// The last revision that has it.
    pub(crate) const fn until(self, until: Revision) -> Member {
        Member { until, ..self }
    }

    /// What a wrong value is charged to.
    pub(crate) const fn rule(self, rule: &'static Rule) -> Member {
        Member {
            rule: Some(rule),
            ..self
        }
    }

    /// What its absence is charged to, where not to the object's rule.
    pub(crate) const fn absent(self, rule: &'static Rule) -> Member {
        Member {
            absent: Some(rule),
            ..self
        }
    }

    /// That a wrong value, or its absence, is no worse than this, whatever the rule says.
    pub(crate) const fn at_most(self, severity: Severity) -> Member {
        Member { severity, ..self }
    }

    /// `null` is as bad as any other wrong value.
    pub(crate) const fn null_is_worse(self) -> Member {
        Member {
            null: Severity::Error,
            ..self
        }
    }
}

/// An object whose tag says which of several it is.
pub(crate) struct Union {
    /// What it is, with its article: `a content block`.
    pub(crate) name: &'static str,
    /// The member that says which.
    pub(crate) tag: &'static str,
    pub(crate) arms: &'static [Arm],
    /// What is charged with no tag, and with the flaws of arms without a rule; `None`: whoever refers.
    pub(crate) rule: Option<&'static Rule>,
    /// What an unknown tag is charged to, where that is another rule.
    pub(crate) unknown: Option<&'static Rule>,
}

/// One kind of a union.
pub(crate) struct Arm {
    pub(crate) tag: &'static str,
    pub(crate) def: &'static Def,
    /// The first revision that has it: no kind was ever taken away.
    pub(crate) from: Revision,
}

impl Arm {
    /// A kind of every revision.
    pub(crate) const fn new(tag: &'static str, def: &'static Def) -> Arm {
        Arm {
            tag,
            def,
            from: Revision::V2024_11_05,
        }
    }

    /// The first revision that has it.
    pub(crate) const fn since(self, from: Revision) -> Arm {
        Arm { from, ..self }
    }
}

/// Something that is wrong with a frame's values.
struct Flaw<'a> {
    rule: &'static Rule,
    severity: Severity,
    /// Where it lies; `None` for the frame as a whole.
    value: Option<Value<'a>>,
    text: String,
}

/// One walk over the values of a frame.
pub(crate) struct Walk<'a> {
    root: Value<'a>,
    /// What the root is called in paths: `params`.
    name: &'static str,
    /// The revisions that may govern the frame.
    from: Revision,
    until: Revision,
    revision: Option<Revision>,
    is_stateless: bool,
    /// The worst that members on the way down allow.
    severity: Severity,
    /// What was met.
    saw: Seen,
    /// Rules that have a flaw, before their twins are looked up, and the severity asked for.
    /// Invariant: here and in `flaws`, whatever comes later under the same rule is worse; nothing is replaced.
    known: Vec<(&'static str, Severity)>,
    flaws: Vec<Flaw<'a>>,
    /// Values that are not looked at.
    forgiven: Vec<Value<'a>>,
}

/// Judges the payload of a frame that the party sends. Where the envelope is at fault, nothing is looked at.
pub(crate) fn judge(
    part: &Part,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    def: &'static Def,
    rule: &'static Rule,
) {
    let Some(mut walk) = Walk::begin(frame) else {
        return without_params(part, cx, frame, def, rule);
    };
    walk.whole(def, rule);
    walk.report(part, cx);
}

/// A call without params, where its method asks for some.
#[cold]
pub(crate) fn without_params(
    part: &Part,
    cx: &mut Cx<'_>,
    frame: &Frame<'_>,
    def: &'static Def,
    rule: &'static Rule,
) {
    let Some((mut walk, member)) = missed(cx, frame, def) else {
        return;
    };
    cx.is_misshapen = Some(true);
    let rule = member.absent.or(def.rule).unwrap_or(rule);
    walk.flaw_in(rule, Severity::Error, None, || {
        let (method, right) = (frame.method.as_str(), member.what.name());
        format!(
            "{method} comes without params; it needs `{}`, {right}",
            member.name.as_str()
        )
    });
    walk.report(part, cx);
}

/// Whether a call has no params, and its method asks for some.
#[cold]
pub(crate) fn lacks_params(cx: &Cx<'_>, frame: &Frame<'_>, def: &'static Def) -> bool {
    missed(cx, frame, def).is_some()
}

/// The first member that a call without params should have, with a walk that can say so.
fn missed<'a>(
    cx: &Cx<'a>,
    frame: &Frame<'_>,
    def: &'static Def,
) -> Option<(Walk<'a>, &'static Member)> {
    let is_call = matches!(frame.message.kind, Kind::Request | Kind::Notification);
    let (true, None, Some(body)) = (is_call, frame.payload, cx.body) else {
        return None;
    };
    if frame.message.conditions.intersects(BAD) {
        return None;
    }
    let walk = Walk::over(frame, body);
    let mut members = def.members.iter();
    let member =
        members.find(|member| member.is_required && walk.every(member.from, member.until))?;
    Some((walk, member))
}

impl<'a> Walk<'a> {
    /// A walk over a frame's payload; `None` where it has none, or where its envelope is at fault.
    #[inline]
    pub(crate) fn begin(frame: &Frame<'a>) -> Option<Walk<'a>> {
        let root = frame.payload?;
        let is_whole = root.is_object() && !frame.message.conditions.intersects(BAD);
        is_whole.then(|| Walk::over(frame, root))
    }

    #[inline]
    fn over(frame: &Frame<'_>, root: Value<'a>) -> Walk<'a> {
        Walk {
            name: match frame.message.kind {
                Kind::Result => "result",
                Kind::Error => "error",
                _ => "params",
            },
            is_stateless: frame.is_stateless,
            ..Walk::of_params(root, frame.revision)
        }
    }

    /// A walk over params of a session, under that revision or before one is settled.
    #[inline]
    pub(crate) fn of_params(root: Value<'a>, revision: Option<Revision>) -> Walk<'a> {
        let (from, until) = match revision {
            Some(revision) => (revision, revision),
            None => (Revision::V2024_11_05, Revision::V2025_11_25),
        };
        Walk {
            root,
            name: "params",
            from,
            until,
            revision,
            is_stateless: false,
            severity: Severity::Error,
            saw: Seen::default(),
            known: vec![],
            flaws: vec![],
            forgiven: vec![],
        }
    }

    /// The member of that name is not looked at: what is wrong with it was told, or is another's fault.
    #[cold]
    pub(crate) fn forgive(&mut self, name: &str) {
        let value = self.root.get(name);
        self.forgiven.extend(value);
    }

    /// As before, of a value somewhere in it.
    #[cold]
    pub(crate) fn forgive_value(&mut self, value: Value<'a>) {
        self.forgiven.push(value);
    }

    /// Whether something is wrong.
    pub(crate) fn has_flaws(&self) -> bool {
        !self.flaws.is_empty()
    }

    /// Whether something is wrong with that very value.
    #[cold]
    pub(crate) fn is_wrong(&self, value: Value<'_>) -> bool {
        let at = |flaw: &Flaw<'_>| flaw.value.map(|value| value.span());
        self.flaws.iter().any(|flaw| at(flaw) == Some(value.span()))
    }

    /// Holds the payload as a whole against a table.
    pub(crate) fn whole(&mut self, def: &'static Def, rule: &'static Rule) {
        self.object(self.root, def, def.rule.unwrap_or(rule));
    }

    /// Whether it is a result that is looked at.
    pub(crate) fn is_result(&self) -> bool {
        self.name == "result"
    }

    /// The payload.
    pub(crate) fn root(&self) -> Value<'a> {
        self.root
    }

    /// Whether every revision that may govern the frame lies within.
    #[inline]
    pub(crate) fn every(&self, from: Revision, until: Revision) -> bool {
        from <= self.from && self.until <= until
    }

    /// Whether some revision that may govern the frame lies within.
    #[inline]
    pub(crate) fn some(&self, from: Revision, until: Revision) -> bool {
        from <= self.until && self.from <= until
    }

    /// Whether the frame stands outside any session.
    pub(crate) fn is_stateless(&self) -> bool {
        self.is_stateless
    }

    /// Notes that a rule's trigger was met.
    #[inline]
    pub(crate) fn saw(&mut self, when: When) {
        self.saw |= bit(when);
    }

    /// Looks on, and nothing that is wrong is worse than that.
    pub(crate) fn at_most(&mut self, severity: Severity, look: impl FnOnce(&mut Self)) {
        let before = self.severity;
        self.severity = before.min(severity);
        look(self);
        self.severity = before;
    }

    /// Holds a value against a type; what is wrong is charged to the rule.
    pub(crate) fn value(&mut self, value: Value<'a>, what: &'static What, rule: &'static Rule) {
        let is_right = match *what {
            What::Any => true,
            What::Text => value.is_text(),
            What::OneOf(texts) => value.is_one_of(texts),
            What::Integer => value.is_integer(),
            What::Number => value.is_number(),
            What::Between(least, most) => is_between(value, least, most),
            What::Bool => value.as_bool().is_some(),
            What::Object => value.is_object(),
            What::TextOrInteger => value.is_text() || value.is_integer(),
            What::Form(form) if value.is_text() => return self.form(value, form),
            What::ArrayOf(item) if value.is_array() => {
                return value.items().for_each(|one| self.value(one, item, rule));
            }
            What::MapOf(item) if value.is_object() => {
                return value
                    .members()
                    .for_each(|(_, one)| self.value(one, item, rule));
            }
            What::Def(def) if value.is_object() => {
                return self.object(value, def, def.rule.unwrap_or(rule));
            }
            What::Union(union) if value.is_object() => {
                return self.union(value, union, union.rule.unwrap_or(rule));
            }
            What::OrNull(_) if value.is_null() => true,
            What::OrNull(inner) => return self.value(value, inner, rule),
            What::Check(_, check) => return check(self, value, rule),
            What::Form(_) | What::ArrayOf(_) | What::MapOf(_) | What::Def(_) | What::Union(_) => {
                false
            }
        };
        if !is_right {
            self.wrong(value, what, rule);
        }
    }

    /// A value that is not what it has to be.
    #[cold]
    pub(crate) fn wrong(&mut self, value: Value<'a>, what: &'static What, rule: &'static Rule) {
        let rule = match *what {
            What::Def(def) => def.rule.unwrap_or(rule),
            What::Union(union) => union.rule.unwrap_or(rule),
            _ => rule,
        };
        let place = self.place();
        self.flaw(rule, value, || {
            let path = place.path(value);
            format!("`{path}` is {}; it is {}", found(value), what.name())
        });
    }

    #[inline]
    fn form(&mut self, value: Value<'a>, form: &'static Form) {
        self.saw(form.rule.when);
        if let Some(ill) = (form.flaw)(value) {
            let place = self.place();
            self.flaw_at(form.rule, ill.severity, value, || {
                let path = place.path(value);
                format!("`{path}` is not {}: {}", form.name, ill.why)
            });
        }
    }

    /// The members of an object, in one pass over them.
    pub(crate) fn object(&mut self, object: Value<'a>, def: &'static Def, rule: &'static Rule) {
        let (flaws, known) = (self.flaws.len(), self.known.len());
        let mut seen = 0u64;
        for (name, value) in object.members() {
            let Some(at) = self.find(def, name) else {
                continue;
            };
            if seen >> at & 1 == 1 {
                // A name stands there twice: only the last one of each counts, as for most readers.
                self.flaws.truncate(flaws);
                self.known.truncate(known);
                seen = self.last_members(object, def, rule);
                break;
            }
            seen |= 1 << at;
            self.member(value, &def.members[at], rule);
        }
        for (at, member) in def.members.iter().enumerate() {
            if member.is_required && seen >> at & 1 == 0 && self.every(member.from, member.until) {
                self.absent(object, def, member, rule);
            }
        }
        if let Some(also) = def.also {
            also(self, object, rule);
        }
    }

    #[cold]
    fn last_members(&mut self, object: Value<'a>, def: &'static Def, rule: &'static Rule) -> u64 {
        let mut seen = 0;
        for (at, member) in def.members.iter().enumerate() {
            if !self.every(member.from, member.until) {
                continue;
            }
            if let Some(value) = object.get(member.name.as_str()) {
                seen |= 1 << at;
                self.member(value, member, rule);
            }
        }
        seen
    }

    /// The entry for a member of that name.
    #[inline]
    fn find(&self, def: &'static Def, name: Value<'a>) -> Option<usize> {
        def.members
            .iter()
            .position(|member| name.is_name(&member.name) && self.every(member.from, member.until))
    }

    #[inline]
    fn member(&mut self, value: Value<'a>, member: &'static Member, rule: &'static Rule) {
        if let Some(own) = member.rule {
            self.saw(own.when);
        }
        let allowed = if value.is_null() {
            member.null.min(member.severity)
        } else {
            member.severity
        };
        let before = self.severity;
        self.severity = before.min(allowed);
        self.value(value, &member.what, member.rule.unwrap_or(rule));
        self.severity = before;
    }

    #[cold]
    fn absent(
        &mut self,
        object: Value<'a>,
        def: &'static Def,
        member: &'static Member,
        rule: &'static Rule,
    ) {
        let place = self.place();
        let severity = member.severity;
        self.flaw_at(member.absent.unwrap_or(rule), severity, object, || {
            let path = place.path(object);
            let right = member.what.name();
            format!(
                "`{path}` has no `{}`; {} has it, {right}",
                member.name.as_str(),
                def.name
            )
        });
    }

    fn union(&mut self, value: Value<'a>, union: &'static Union, rule: &'static Rule) {
        for own in [union.rule, union.unknown].into_iter().flatten() {
            self.saw(own.when);
        }
        let Some(tag) = value.get(union.tag) else {
            let place = self.place();
            return self.flaw(rule, value, || {
                let path = place.path(value);
                format!("`{path}` has no `{}`; {} has it", union.tag, union.name)
            });
        };
        if !tag.is_text() {
            return self.wrong(tag, &What::Text, rule);
        }
        let arm = union.arms.iter().find(|arm| tag.is(arm.tag));
        match arm {
            Some(arm) if self.some(arm.from, Revision::V2026_07_28) => {
                self.object(value, arm.def, arm.def.rule.unwrap_or(rule));
            }
            _ => self.unknown_tag(tag, union, rule),
        }
    }

    #[cold]
    fn unknown_tag(&mut self, tag: Value<'a>, union: &'static Union, rule: &'static Rule) {
        let arms = union.arms.iter();
        let names: Vec<&str> = arms
            .filter(|arm| self.some(arm.from, Revision::V2026_07_28))
            .map(|arm| arm.tag)
            .collect();
        let revision = match self.revision {
            Some(revision) => format!(" in {revision}"),
            None => String::new(),
        };
        let place = self.place();
        self.flaw(union.unknown.unwrap_or(rule), tag, || {
            format!(
                "`{}` is {}; {}{revision} is one of {}",
                place.path(tag),
                shown(tag),
                union.name,
                names.join(", ")
            )
        });
    }

    /// Something is wrong with a value, as badly as the rule says.
    #[cold]
    pub(crate) fn flaw(
        &mut self,
        rule: &'static Rule,
        value: Value<'a>,
        text: impl FnOnce() -> String,
    ) {
        self.flaw_at(rule, Severity::Error, value, text);
    }

    /// … no worse than that.
    #[cold]
    pub(crate) fn flaw_at(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        value: Value<'a>,
        text: impl FnOnce() -> String,
    ) {
        self.flaw_in(rule, severity, Some(value), text);
    }

    #[cold]
    fn flaw_in(
        &mut self,
        rule: &'static Rule,
        severity: Severity,
        value: Option<Value<'a>>,
        text: impl FnOnce() -> String,
    ) {
        let is_at = |one: &Value<'_>| value.is_some_and(|value| value.span() == one.span());
        if self.forgiven.iter().any(is_at) {
            return;
        }
        let severity = severity.min(self.severity);
        let mut known = self.known.iter();
        if known.any(|&(id, worst)| id == rule.id && worst >= severity) {
            return;
        }
        self.known.push((rule.id, severity));
        let Some(rule) = rule.in_era(self.is_stateless) else {
            return;
        };
        if !self.every(rule.from, rule.until) {
            return;
        }
        let severity = severity.min(rule.severity_at(self.revision));
        let mut flaws = self.flaws.iter();
        if flaws.any(|flaw| flaw.rule.id == rule.id && flaw.severity >= severity) {
            return;
        }
        self.flaws.push(Flaw {
            rule,
            severity,
            value,
            text: text(),
        });
    }

    /// Whether some flaw is charged to that rule, or to its twin.
    pub(crate) fn has(&self, rule: &Rule) -> bool {
        self.known.iter().any(|(id, _)| *id == rule.id)
    }

    /// Whether something is wrong by one of these rules.
    pub(crate) fn breaks(&self, rules: &[&str]) -> bool {
        let mut flaws = self.flaws.iter();
        flaws.any(|flaw| rules.contains(&flaw.rule.id))
    }

    /// Says where values lie. Finding a place takes time: ask within the closure that makes the message.
    pub(crate) fn place(&self) -> Place<'a> {
        Place {
            root: self.root,
            name: self.name,
        }
    }

    /// Where a value lies: `result.tools[2].name`.
    pub(crate) fn path(&self, value: Value<'a>) -> String {
        self.place().path(value)
    }

    /// Reports what was found.
    #[inline]
    pub(crate) fn report(self, part: &Part, cx: &mut Cx<'_>) {
        self.report_as(part, cx, Verdict::Broken);
    }

    /// As [`Walk::report`], where it is known what the flaws are, or not for sure.
    #[inline]
    pub(crate) fn report_as(self, part: &Part, cx: &mut Cx<'_>, verdict: Verdict) {
        cx.ledger.saw(self.saw);
        if !self.flaws.is_empty() {
            self.report_flaws(part, cx, verdict);
        }
    }

    #[cold]
    fn report_flaws(self, part: &Part, cx: &mut Cx<'_>, verdict: Verdict) {
        let frames = [cx.frame];
        for flaw in self.worst() {
            part.case(
                cx,
                flaw.rule,
                verdict,
                Some(flaw.severity),
                &frames,
                flaw.value,
                flaw.text,
            );
        }
    }

    /// Reports what was found in an earlier frame and was not yet when it came.
    pub(crate) fn report_later(
        self,
        part: &Part,
        cx: &mut Cx<'_>,
        frame: FrameNo,
        before: &Walk<'_>,
    ) {
        for flaw in self.worst() {
            // A milder one elsewhere does not stand for it.
            let place = |flaw: &Flaw<'_>| flaw.value.map(|value| value.span());
            let was_found = before.flaws.iter().any(|old| {
                old.rule.id == flaw.rule.id
                    && (old.severity >= flaw.severity || place(old) == place(&flaw))
            });
            if !was_found {
                let severity = Some(flaw.severity);
                part.case(
                    cx,
                    flaw.rule,
                    Verdict::Broken,
                    severity,
                    &[frame],
                    None,
                    flaw.text,
                );
            }
        }
    }

    /// Of each rule the worst flaw.
    #[cold]
    fn worst(mut self) -> impl Iterator<Item = Flaw<'a>> {
        self.flaws.reverse();
        let mut kept: Vec<Flaw<'a>> = vec![];
        for flaw in self.flaws {
            // What came later under the same rule is worse.
            if kept.iter().all(|later| later.rule.id != flaw.rule.id) {
                kept.push(flaw);
            }
        }
        kept.into_iter().rev()
    }
}

impl What {
    /// What it is, in words, with its article.
    fn name(&self) -> String {
        match *self {
            What::Any => "any value".to_string(),
            What::Text => "a string".to_string(),
            What::Form(form) => form.name.to_string(),
            What::OneOf([one]) => format!("\"{one}\""),
            What::OneOf(texts) => format!("one of {}", texts.join(", ")),
            What::Integer => "an integer".to_string(),
            What::Number => "a number".to_string(),
            What::Between(least, most) => format!("a number from {least} to {most}"),
            What::Bool => "true or false".to_string(),
            What::Object | What::MapOf(_) => "an object".to_string(),
            What::ArrayOf(_) => "an array".to_string(),
            What::Def(def) => format!("{}, an object", def.name),
            What::Union(union) => format!("{}, an object", union.name),
            What::TextOrInteger => "a string or an integer".to_string(),
            What::OrNull(inner) => format!("{} or null", inner.name()),
            What::Check(name, _) => name.to_string(),
        }
    }
}

fn is_between(value: Value<'_>, least: i32, most: i32) -> bool {
    value
        .as_ordered()
        .is_some_and(|number| (ordered(least.into())..=ordered(most.into())).contains(&number))
}

/// What a value is, with the value where it is short: `the string "x"`, `null`, `an array`.
pub(crate) fn found(value: Value<'_>) -> String {
    match value.kind() {
        ValueKind::Text => format!("the string {}", shown(value)),
        ValueKind::Number => format!("the number {}", shown(value)),
        ValueKind::True => "true".to_string(),
        ValueKind::False => "false".to_string(),
        kind => kind.as_str().to_string(),
    }
}

/// A string or number as a message may show it: escaped, and cut to a sane length.
pub(crate) fn shown(value: Value<'_>) -> String {
    const SHOWN_MAX: usize = 40;
    let (text, is_text) = match value.as_text() {
        Some(text) => (text, true),
        None => (String::from_utf8_lossy(value.raw()), false),
    };
    let mut short: String = text.chars().take(SHOWN_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    if is_text { format!("{short:?}") } else { short }
}

/// Says where the values of a frame lie.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    root: Value<'a>,
    name: &'static str,
}

impl Place<'_> {
    /// Where a value lies under the root: `result.tools[2].name`.
    #[cold]
    pub(crate) fn path(self, value: Value<'_>) -> String {
        let mut path = self.name.to_string();
        let span = value.span();
        let is_within = |outer: Value<'_>| {
            let outer = outer.span();
            outer.start <= span.start && span.end <= outer.end
        };
        let mut at = self.root;
        while at.span() != span {
            let item = at.items().enumerate().find(|(_, item)| is_within(*item));
            if let Some((number, item)) = item {
                path.push_str(&format!("[{number}]"));
                at = item;
                continue;
            }
            let Some((name, inner)) = at.members().find(|(_, inner)| is_within(*inner)) else {
                break;
            };
            match name.as_text() {
                Some(plain) if is_plain(&plain) => path.push_str(&format!(".{plain}")),
                _ => path.push_str(&format!("[{}]", shown(name))),
            }
            at = inner;
        }
        path
    }
}

/// Whether a member's name needs no quotes.
fn is_plain(name: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$');
    !name.is_empty() && name.len() <= 40 && name.bytes().all(is_word)
}
