//! Reading scenario files: strict JSON, and for everything that is wrong its line, column and reason.

use std::fmt;

use mcpsim_traces::event::Fault;
use mcpsim_traces::message::{Capability, Tool};

use crate::scenario::{Act, PartyRole, Scenario, Step, Transport};
use crate::sense::check_revision;
use crate::shape::{
    NAMELESS, NAMELESS_PARTY, NO_REPORTS, NO_STEPS, NO_TARGET, NO_TIME, NO_WINDOW, SCENARIO,
};
use crate::tag::PORTS_MAX;

/// The most parties that a scenario can have.
pub const PARTIES_MAX: usize = 64;
/// The most steps of one workload.
pub const STEPS_MAX: usize = 65_535;
/// How far `count` counts at most.
pub const COUNT_MAX: u32 = 10_000;

/// Why a text is no scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// A step on the way from the top of the file to the place of a mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// The member of that name.
    Key(String),
    /// The element with that index.
    At(usize),
}

/// What is wrong with a scenario, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// The way to it from the top.
    pub path: Vec<Place>,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, place) in self.path.iter().enumerate() {
            match place {
                Place::Key(key) if at == 0 => f.write_str(key)?,
                Place::Key(key) => write!(f, ".{key}")?,
                Place::At(index) => write!(f, "[{index}]")?,
            }
        }
        write!(f, ": {}", self.message)
    }
}

impl Scenario {
    /// Reads a scenario and checks it.
    ///
    /// # Errors
    /// With the place and the reason.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let placed = |mistake: Mistake| {
            let (line, column) = locate(text, &mistake.path);
            ScenarioError {
                line,
                column,
                message: mistake.message,
            }
        };
        let value = serde_json::from_str(text).map_err(|error| explain(text, &error))?;
        SCENARIO.check(&value).map_err(placed)?;
        let scenario: Scenario =
            serde_json::from_str(text).map_err(|error| explain(text, &error))?;
        scenario.check().map_err(placed)?;
        Ok(scenario)
    }

    /// The scenario as JSON, members in a fixed order, defaults left out.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a scenario is plain data")
    }

    /// Whether a world can be made of it.
    ///
    /// # Errors
    /// With the first mistake.
    pub fn check(&self) -> Result<(), Mistake> {
        self.check_parties()?;
        self.check_links()?;
        self.check_ends()?;
        self.check_workload()?;
        self.check_limits()?;
        self.check_sense()
    }

    fn check_parties(&self) -> Result<(), Mistake> {
        if self.name.is_empty() {
            return wrong(&[key("name")], NAMELESS);
        }
        if self.parties.is_empty() || self.parties.len() > PARTIES_MAX {
            return wrong(
                &[key("parties")],
                format!("there are 1 to {PARTIES_MAX} parties"),
            );
        }
        for (at, party) in self.parties.iter().enumerate() {
            let here = |member: &str| [key("parties"), Place::At(at), key(member)];
            if party.name.is_empty() {
                return wrong(&here("name"), NAMELESS_PARTY);
            }
            if self.parties[..at]
                .iter()
                .any(|other| other.name == party.name)
            {
                let message = format!("there are two parties named `{}`", party.name);
                return wrong(&here("name"), message);
            }
            let role = party.role;
            let misplaced = [
                (
                    "window",
                    party.window != 1 && role != PartyRole::Client,
                    "a client",
                ),
                (
                    "closes",
                    party.closes && role != PartyRole::Client,
                    "a client",
                ),
                (
                    "pings",
                    party.pings && role != PartyRole::Server,
                    "a server",
                ),
                (
                    "writes_stderr",
                    party.writes_stderr && role != PartyRole::Server,
                    "a server",
                ),
                (
                    "asks_for_tasks",
                    party.asks_for_tasks && role != PartyRole::Server,
                    "a server",
                ),
                (
                    "routing",
                    party.routing != Default::default() && role != PartyRole::Gateway,
                    "a gateway",
                ),
            ];
            if let Some((member, _, owner)) = misplaced.iter().find(|(_, wrong, _)| *wrong) {
                let message = format!(
                    "`{member}` is for {owner}; `{}` is a {}",
                    party.name,
                    role.as_str()
                );
                return wrong(&here(member), message);
            }
            if role == PartyRole::Gateway && party.revisions.is_stateless_too() {
                let message = "a gateway has sessions, and 2026-07-28 has none";
                return wrong(&here("revisions"), message);
            }
            if party.window == 0 {
                return wrong(&here("window"), NO_WINDOW);
            }
            if party.timeout_ms == 0 {
                return wrong(&here("timeout_ms"), NO_TIME);
            }
            if let Some(orphan) = orphan(party.declared()) {
                let message = format!("`{}` needs the capability above it", orphan.as_str());
                return wrong(&here("capabilities"), message);
            }
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), Mistake> {
        if self.links.is_empty() || self.links.len() > PARTIES_MAX {
            return wrong(
                &[key("links")],
                format!("there are 1 to {PARTIES_MAX} links"),
            );
        }
        for (at, link) in self.links.iter().enumerate() {
            let here = |member: &str| [key("links"), Place::At(at), key(member)];
            let ends = [
                ("client", &link.client, PartyRole::Client),
                ("server", &link.server, PartyRole::Server),
            ];
            for (end, name, role) in ends {
                let Some(party) = self.parties.iter().find(|party| party.name == *name) else {
                    let known = self.parties.iter().map(|party| party.name.as_str());
                    let advice = nearest(name, known).unwrap_or_default();
                    return wrong(&here(end), format!("there is no party `{name}`{advice}"));
                };
                if party.role != role && party.role != PartyRole::Gateway {
                    let message =
                        format!("`{name}` is a {} and has no {end} end", party.role.as_str());
                    return wrong(&here(end), message);
                }
            }
            if link.client == link.server {
                return wrong(&here("server"), "a party cannot be linked with itself");
            }
        }
        Ok(())
    }

    /// How many frames a pipe must hold so that it never fills up toward a server: then nothing hangs for full pipes, even
    /// where nobody reads while it writes.
    ///
    /// On the way are at most the handshake and a ping's answer; for each open step its request and
    /// the answer to what its tool asks; and for each step that can end without an answer also its
    /// cancellation, and all of that while the next steps have begun already.
    pub(crate) fn ample_capacity(&self) -> u32 {
        let clients = self
            .parties
            .iter()
            .filter(|party| party.role == PartyRole::Client);
        let timers = self.faults.cut > 0
            || self.faults.crash > 0
            || self.links.iter().any(|link| link.beyond.drop);
        let mut frames = 4u32;
        for party in clients {
            let steps = self
                .workload
                .get(&party.name)
                .map_or(&[][..], Vec::as_slice);
            let leaves = |step: &&Step| {
                let is_cancelled = step.timeout_ms.is_some()
                    || step.cancel_soon
                    || step.cancel_after_progress.is_some();
                // A subscription stays open beside the window.
                timers || is_cancelled || !step.is_request() || step.act == Act::Listen
            };
            let leaving = steps.iter().filter(leaves).count();
            let open = (party.window as usize).min(steps.len());
            let more = u32::try_from(2 * open + 3 * leaving).unwrap_or(u32::MAX);
            frames = frames.saturating_add(more);
        }
        frames
    }

    fn check_ends(&self) -> Result<(), Mistake> {
        for (at, party) in self.parties.iter().enumerate() {
            let here = [key("parties"), Place::At(at), key("name")];
            let as_client = self
                .links
                .iter()
                .filter(|link| link.client == party.name)
                .count();
            let as_server = self
                .links
                .iter()
                .filter(|link| link.server == party.name)
                .count();
            let name = &party.name;
            match party.role {
                PartyRole::Client if as_client > 1 => {
                    let second =
                        |link: &(usize, &crate::scenario::Link)| link.1.client == party.name;
                    let index = self
                        .links
                        .iter()
                        .enumerate()
                        .filter(second)
                        .nth(1)
                        .map_or(0, |(at, _)| at);
                    let place = [key("links"), Place::At(index), key("client")];
                    return wrong(
                        &place,
                        format!("client `{name}` has a link already, and one end only"),
                    );
                }
                PartyRole::Client if as_client == 0 => {
                    return wrong(&here, format!("client `{name}` has no link"));
                }
                PartyRole::Server if as_server == 0 => {
                    return wrong(&here, format!("server `{name}` has no link"));
                }
                PartyRole::Gateway if as_client == 0 || as_server == 0 => {
                    let message =
                        format!("gateway `{name}` needs a link to a client and one to a server");
                    return wrong(&here, message);
                }
                _ => {}
            }
            if as_client + as_server > PORTS_MAX {
                return wrong(&here, format!("`{name}` has more than {PORTS_MAX} links"));
            }
        }
        if let Some(at) = self.gateway_in_a_ring() {
            let place = [key("links"), Place::At(at), key("server")];
            return wrong(
                &place,
                "gateways are linked in a ring: a call would go round for ever",
            );
        }
        Ok(())
    }

    /// A link that closes a ring of gateways.
    fn gateway_in_a_ring(&self) -> Option<usize> {
        // Takes away, again and again, links whose server has no links as a client.
        let mut left: Vec<usize> = (0..self.links.len()).collect();
        loop {
            let before = left.len();
            let asks: Vec<&String> = left.iter().map(|&at| &self.links[at].client).collect();
            left.retain(|&at| asks.contains(&&self.links[at].server));
            if left.len() == before {
                return left.first().copied();
            }
        }
    }

    fn check_workload(&self) -> Result<(), Mistake> {
        for (name, steps) in &self.workload {
            let here = [key("workload"), key(name)];
            let party = self.parties.iter().find(|party| party.name == *name);
            match party {
                None => {
                    let known = self.parties.iter().map(|party| party.name.as_str());
                    let advice = nearest(name, known).unwrap_or_default();
                    return wrong(&here, format!("there is no party `{name}`{advice}"));
                }
                Some(party) if party.role != PartyRole::Client => {
                    let message = format!(
                        "`{name}` is a {}: only clients have a workload",
                        party.role.as_str()
                    );
                    return wrong(&here, message);
                }
                Some(_) => {}
            }
            if steps.len() > STEPS_MAX {
                return wrong(&here, format!("a workload has at most {STEPS_MAX} steps"));
            }
            let speaks = party.map(|party| party.revisions).unwrap_or_default();
            for (at, step) in steps.iter().enumerate() {
                let wrong_here =
                    check_step(step, &steps[..at]).or_else(|| check_revision(step, speaks));
                if let Some((member, message)) = wrong_here {
                    return wrong(
                        &[key("workload"), key(name), Place::At(at), key(member)],
                        message,
                    );
                }
            }
        }
        let idle = |party: &&crate::scenario::Party| {
            party.role == PartyRole::Client
                && self.workload.get(&party.name).is_none_or(Vec::is_empty)
        };
        if let Some(party) = self.parties.iter().find(idle) {
            let message = format!("client `{}` has nothing to do", party.name);
            return wrong(&[key("workload"), key(&party.name)], message);
        }
        Ok(())
    }

    fn check_limits(&self) -> Result<(), Mistake> {
        let bounds = &self.bounds;
        if bounds.steps_max == 0 {
            return wrong(&[key("bounds"), key("steps_max")], NO_STEPS);
        }
        let http = self.links.iter().any(|link| link.kind == Transport::Http);
        let drop = http || self.links.iter().any(|link| link.beyond.drop);
        let duplicate = http || self.links.iter().any(|link| link.beyond.duplicate);
        let budgets = [
            (Fault::Drop, self.faults.drop, drop),
            (Fault::Duplicate, self.faults.duplicate, duplicate),
        ];
        for (fault, budget, possible) in budgets {
            if budget > 0 && !possible {
                let name = fault.as_str();
                let message =
                    format!("no link can {name} a frame: a pipe does it only with `beyond`");
                return wrong(&[key("faults"), key(name)], message);
            }
        }
        if self.faults != Default::default() && bounds.hostile_steps == 0 {
            let message = "with 0 hostile steps none of the faults can happen";
            return wrong(&[key("bounds"), key("hostile_steps")], message);
        }
        for (at, link) in self.links.iter().enumerate() {
            let idle = [
                ("drop", link.beyond.drop && self.faults.drop == 0),
                (
                    "duplicate",
                    link.beyond.duplicate && self.faults.duplicate == 0,
                ),
            ];
            if link.resumable && link.kind == Transport::Http && self.faults.drop == 0 {
                let path = [key("links"), Place::At(at), key("resumable")];
                return wrong(
                    &path,
                    "the budget of `faults.drop` is 0: no connection ever breaks",
                );
            }
            if let Some((name, _)) = idle.iter().find(|(_, idle)| *idle) {
                let path = [key("links"), Place::At(at), key("beyond"), key(name)];
                return wrong(
                    &path,
                    format!("the budget of `faults.{name}` is 0: it never happens"),
                );
            }
        }
        Ok(())
    }
}

/// What is wrong with a step, by member.
fn check_step(step: &Step, before: &[Step]) -> Option<(&'static str, String)> {
    let call = step.act == Act::Call;
    let misplaced = [
        ("tool", step.tool != Tool::None && !call, "a call"),
        (
            "n",
            step.n != 0 && !step.act.is_numbered(),
            "a step that picks one of several",
        ),
        ("task", step.task && !call, "a call"),
        ("progress", step.progress && !call, "a call"),
        (
            "timeout_ms",
            step.timeout_ms.is_some() && !step.is_request(),
            "a request",
        ),
        (
            "cancel_soon",
            step.cancel_soon && !step.is_request(),
            "a request",
        ),
        (
            "cancel_after_progress",
            step.cancel_after_progress.is_some() && !step.progress,
            "a call with `progress`",
        ),
        (
            "of",
            step.of.is_some() && !matches!(step.act, Act::Cancel | Act::CancelTask | Act::Listen),
            "a step that is about an earlier one",
        ),
    ];
    if let Some((member, _, owner)) = misplaced.iter().find(|(_, wrong, _)| *wrong) {
        return Some((member, format!("`{member}` is for {owner}")));
    }
    if call && step.tool == Tool::None {
        return Some(("do", "a call needs a `tool`".to_owned()));
    }
    if step.tool == Tool::Count && step.n > COUNT_MAX {
        return Some(("n", format!("`count` counts to {COUNT_MAX} at most")));
    }
    if step.timeout_ms == Some(0) {
        return Some(("timeout_ms", NO_TIME.to_owned()));
    }
    if step.cancel_after_progress == Some(0) {
        return Some(("cancel_after_progress", NO_REPORTS.to_owned()));
    }
    if matches!(step.act, Act::CancelTask | Act::Listen) {
        let target = step.of.map(|of| usize::from(of).checked_sub(1));
        match target.map(|at| at.and_then(|at| before.get(at))) {
            Some(Some(target)) if target.act == Act::Call => {}
            None if step.act == Act::Listen => {}
            None => {
                let message = "it needs `of`: the number of the step that begins the task, from 1";
                return Some(("of", message.to_owned()));
            }
            Some(_) => {
                let message = "the step that begins the task must be an earlier call";
                return Some(("of", message.to_owned()));
            }
        }
    }
    if step.act == Act::Cancel {
        let target = step.of.and_then(|of| usize::from(of).checked_sub(1));
        match target.map(|at| before.get(at)) {
            None => {
                return Some(("of", NO_TARGET.to_owned()));
            }
            Some(None) => {
                return Some(("of", "the step to cancel must be an earlier one".to_owned()));
            }
            Some(Some(target)) if !target.is_request() => {
                return Some(("of", "the step to cancel sends no request".to_owned()));
            }
            Some(Some(_)) => {}
        }
    }
    None
}

/// A capability whose parent is not declared.
fn orphan(set: mcpsim_traces::message::Capabilities) -> Option<Capability> {
    let declared = |name: &str| {
        Capability::ALL
            .iter()
            .any(|&other| other.as_str() == name && set.has(other))
    };
    Capability::ALL.iter().copied().find(|&capability| {
        let parent = capability
            .as_str()
            .split_once('.')
            .map(|(parent, _)| parent);
        set.has(capability) && parent.is_some_and(|parent| !declared(parent))
    })
}

pub(crate) fn key(name: &str) -> Place {
    Place::Key(name.to_owned())
}

pub(crate) fn wrong(path: &[Place], message: impl Into<String>) -> Result<(), Mistake> {
    Err(Mistake {
        path: path.to_vec(),
        message: message.into(),
    })
}

/// "; did you mean `x`?" with the nearest of the known names, where one is near.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let scored = known.map(|known| (strsim::damerau_levenshtein(name, known), known));
    let (distance, found) = scored.min_by_key(|&(distance, _)| distance)?;
    let near = distance <= 1 + name.chars().count() / 3;
    near.then(|| format!("; did you mean `{found}`?"))
}

/// What is said of an unknown name: the nearest of the known ones, and all of them.
pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let all = known.join(", ");
    match nearest(name, known.iter().copied()) {
        Some(advice) => format!("{what} `{name}`{advice} known here: {all}"),
        None => format!("{what} `{name}`; known here: {all}"),
    }
}

/// Turns the deserializer's message into ours, with the place of the name that it complains of.
fn explain(text: &str, error: &serde_json::Error) -> ScenarioError {
    let said = error.to_string();
    let said = said
        .rfind(" at line ")
        .map_or(said.as_str(), |end| &said[..end]);
    let (mut line, mut column) = (error.line().max(1), error.column().max(1));
    let mut message = said.to_owned();
    let quoted: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    for (start, what) in [
        ("unknown field", "unknown key"),
        ("unknown variant", "unknown value"),
    ] {
        if let (true, Some((name, known))) = (said.starts_with(start), quoted.split_first()) {
            message = match nearest(name, known.iter().copied()) {
                Some(advice) if what == "unknown key" => format!("{what} `{name}`{advice}"),
                _ => unknown(what, name, known),
            };
        }
    }
    if said.starts_with("duplicate field") {
        message = format!("`{}` stands here twice", quoted.first().unwrap_or(&""));
    } else if said.starts_with("missing field") {
        message = format!("`{}` is missing", quoted.first().unwrap_or(&""));
    }
    if let (true, Some(name)) = (
        said.starts_with("unknown") || said.starts_with("duplicate"),
        quoted.first(),
    ) {
        let end = offset(text, line, column);
        let spelled = serde_json::to_string(name).unwrap_or_default();
        if let Some(at) = text.get(..end).and_then(|before| before.rfind(&spelled)) {
            (line, column) = position(text, at);
        }
    }
    ScenarioError {
        line,
        column,
        message,
    }
}

/// The byte offset just after that line and column, both from 1.
fn offset(text: &str, line: usize, column: usize) -> usize {
    let start: usize = text
        .split_inclusive('\n')
        .take(line - 1)
        .map(str::len)
        .sum();
    let mut end = (start + column).min(text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

/// Line and column of a byte offset, both from 1.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let start = before
        .iter()
        .rposition(|&byte| byte == b'\n')
        .map_or(0, |at| at + 1);
    (line, at - start + 1)
}

/// Line and column of what lies at the end of the path, or of the last thing on the way that is there.
/// The text is known to be JSON.
fn locate(text: &str, path: &[Place]) -> (usize, usize) {
    let mut walker = Walker {
        bytes: text.as_bytes(),
        at: 0,
    };
    walker.space();
    let mut found = walker.at;
    for place in path {
        let there = match place {
            Place::Key(name) => walker.enter_member(name),
            Place::At(index) => walker.enter_element(*index),
        };
        if !there {
            break;
        }
        found = walker.at;
    }
    position(text, found)
}

/// Walks over JSON text that is known to be well-formed.
struct Walker<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Walker<'_> {
    fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b' ')
    }

    fn space(&mut self) {
        while self.at < self.bytes.len() && self.peek().is_ascii_whitespace() {
            self.at += 1;
        }
    }

    fn string(&mut self) {
        self.at += 1;
        while self.at < self.bytes.len() && self.peek() != b'"' {
            self.at += if self.peek() == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
    }

    /// Moves behind the value that begins here.
    fn value(&mut self) {
        let mut depth = 0usize;
        while self.at < self.bytes.len() {
            match self.peek() {
                b'"' => {
                    self.string();
                    if depth == 0 {
                        return;
                    }
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' if depth == 0 => return,
                b'}' | b']' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return;
                    }
                }
                b',' if depth == 0 => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Moves to the next member or element; false at the end of the object or array.
    fn next(&mut self) -> bool {
        self.space();
        if self.peek() != b',' {
            return false;
        }
        self.at += 1;
        self.space();
        true
    }

    fn enter_member(&mut self, name: &str) -> bool {
        let start = self.at;
        if self.peek() == b'{' {
            self.at += 1;
            self.space();
            while self.peek() == b'"' {
                let from = self.at;
                self.string();
                let spelled = self.bytes.get(from..self.at).unwrap_or_default();
                let this = serde_json::from_slice::<String>(spelled).is_ok_and(|key| key == name);
                self.space();
                self.at += 1;
                self.space();
                if this {
                    return true;
                }
                self.value();
                if !self.next() {
                    break;
                }
            }
        }
        self.at = start;
        false
    }

    fn enter_element(&mut self, index: usize) -> bool {
        let start = self.at;
        if self.peek() == b'[' {
            self.at += 1;
            self.space();
            for _ in 0..index {
                self.value();
                if !self.next() {
                    self.at = start;
                    return false;
                }
            }
            return true;
        }
        false
    }
}
