//! Scenarios: parties, links, workloads, a budget of faults, bounds. Plain data, as strict JSON or built in code.

use std::collections::BTreeMap;
use std::sync::Arc;

use mcpsim_sim::setup::{self, Setup};
use mcpsim_traces::event::{LinkKind, PartyId, Role};
use mcpsim_traces::message::{Capabilities, Capability, Tool};
use serde::{Deserialize, Serialize};

use crate::defect::Defect;
use crate::faults::{Fault, fault};
use crate::peer::{Client, Gateway, Peer, Server};
use crate::plan::Plan;
use crate::revisions::Revisions;
use crate::session::End;

/// A world in words: who talks to whom, about what, and what may go wrong on the way.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Where an editor finds the schema of the file.
    #[serde(rename = "$schema", default, skip_serializing)]
    pub schema: Unkept,
    /// A short name, for commands and files.
    pub name: String,
    /// One sentence on what it shows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub about: String,
    /// Who takes part.
    pub parties: Vec<Party>,
    /// Who is connected with whom.
    pub links: Vec<Link>,
    /// What each client does, by its name.
    #[serde(deserialize_with = "unique_keys")]
    pub workload: BTreeMap<String, Vec<Step>>,
    /// How many faults of each kind the world may inject.
    #[serde(default, skip_serializing_if = "is_default")]
    pub faults: Faults,
    /// Where a run ends at the latest.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bounds: Bounds,
}

/// What may stand in a file and is neither looked at nor kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unkept;

impl<'de> Deserialize<'de> for Unkept {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Unkept, D::Error> {
        serde::de::IgnoredAny::deserialize(from).map(|_| Unkept)
    }
}

/// What a party is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PartyRole {
    /// Sends the workload.
    Client,
    /// Has the tools.
    Server,
    /// A server to clients and a client to servers.
    Gateway,
}

/// How a party spells the ids of its requests.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ids {
    /// 1, 2, 3, …
    #[default]
    Numbers,
    /// "1", "2", "3", …
    Text,
    /// 1, "1", 2, "2", …: each number and its text are two ids.
    Mixed,
}

/// By what a gateway picks the server for a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Routing {
    /// By the call's value, modulo the number of servers.
    #[default]
    Value,
    /// By its tool.
    Tool,
}

/// A party.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// Its name.
    pub name: String,
    /// What it is.
    pub role: PartyRole,
    /// The revisions that it speaks. With a handshake a client offers the newest of them, and a server answers with
    /// what was offered, or with its own newest. A client that speaks 2026-07-28 and others asks first
    /// (`server/discover`) and falls back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub revisions: Revisions,
    /// What it declares in the handshake. Left out: a server has tools, a client everything that
    /// servers can ask it for, and so has a gateway toward its servers.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "capability_names"
    )]
    pub capabilities: Option<Capabilities>,
    /// Client: how many steps of the workload are open at once.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub window: u32,
    /// The number of its first request's id.
    #[serde(default = "one_id", skip_serializing_if = "is_one_id")]
    pub first_id: i64,
    /// How its ids are spelled.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ids: Ids,
    /// Whether it lets others move where orders matter in practice: between taking an id and
    /// sending, before `notifications/initialized`, between progress reports, before it answers.
    /// (The tool `slow` always does.)
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub hesitates: bool,
    /// Client: whether it closes its end after its last step.
    #[serde(default, skip_serializing_if = "is_default")]
    pub closes: bool,
    /// Server: whether it pings its client when the session is ready.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pings: bool,
    /// Server: whether it writes a line on its stderr for each request that it serves.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writes_stderr: bool,
    /// Server: whether it asks for samplings and elicitations as tasks, where the client declares `tasks` (2025-11-25).
    #[serde(default, skip_serializing_if = "is_default")]
    pub asks_for_tasks: bool,
    /// The timer of every own request where the link can lose frames.
    #[serde(default = "half_a_minute", skip_serializing_if = "is_half_a_minute")]
    pub timeout_ms: u32,
    /// Gateway: how it picks the server for a call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub routing: Routing,
}

/// A link between a client end and a server end.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it does to frames.
    pub kind: Transport,
    /// The party with the client end: a client or a gateway.
    pub client: String,
    /// The party with the server end: a server or a gateway.
    pub server: String,
    /// Pipe: how many frames it holds in each direction: while there are more, a party that does not read while it
    /// writes does nothing. With 0, every frame is larger than the pipe. Left out: as many as the workload needs, and at
    /// least 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Pipe: how many lines the server's stderr holds: while there are more, the server does nothing. Left out: 64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stderr_capacity: Option<u32>,
    /// Http: whether a stream whose connection breaks can be opened again, so that a drop takes nothing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub resumable: bool,
    /// What may happen although the kind forbids it; the transport is to blame for what follows.
    #[serde(default, skip_serializing_if = "is_default")]
    pub beyond: Beyond,
}

/// The kind of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// stdio.
    Pipe,
    /// Streamable HTTP.
    Http,
}

/// What a link may do beyond its kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beyond {
    /// Frames of one stream overtake each other.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reorder: bool,
    /// A pipe loses frames, as far as the budget goes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drop: bool,
    /// A pipe delivers frames twice, as far as the budget goes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplicate: bool,
}

/// How many faults of each kind may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// Streams held back.
    #[serde(default, skip_serializing_if = "is_default")]
    pub delay: u8,
    /// Frames delivered twice.
    #[serde(default, skip_serializing_if = "is_default")]
    pub duplicate: u8,
    /// Frames lost.
    #[serde(default, skip_serializing_if = "is_default")]
    pub drop: u8,
    /// Links cut.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cut: u8,
    /// Parties crashed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub crash: u8,
}

/// Where a run ends at the latest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "WrittenBounds")]
pub struct Bounds {
    /// After so many steps a run is given up as unfinished.
    pub steps_max: u32,
    /// After so many steps no more faults happen.
    pub hostile_steps: u32,
}

/// The bounds as a file has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBounds {
    #[serde(default = "steps_max")]
    steps_max: u32,
    hostile_steps: Option<u32>,
}

impl From<WrittenBounds> for Bounds {
    fn from(written: WrittenBounds) -> Bounds {
        let steps_max = written.steps_max;
        Bounds {
            steps_max,
            hostile_steps: written
                .hostile_steps
                .unwrap_or(hostile_steps().min(steps_max)),
        }
    }
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            steps_max: steps_max(),
            hostile_steps: hostile_steps(),
        }
    }
}

/// What a workload step does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Act {
    /// Calls a tool.
    Call,
    /// Asks for the list of tools.
    ListTools,
    /// Pings the server.
    Ping,
    /// Tells the server that the roots have changed.
    RootsChanged,
    /// Cancels an earlier step's request, if it is open.
    Cancel,
    /// Sends a top-level array. Where the revision forbids that, it does so on purpose, and marked.
    Batch,
    /// Sends a frame that stops in the middle: on purpose, and marked so.
    Garbage,
    /// Reads the list of resources, page by page.
    ListResources,
    /// Reads the list of resource templates.
    ListTemplates,
    /// Reads a resource.
    ReadResource,
    /// Subscribes to a resource.
    Subscribe,
    /// Ends the subscription to a resource.
    Unsubscribe,
    /// Reads the list of prompts, page by page.
    ListPrompts,
    /// Gets a prompt.
    GetPrompt,
    /// Has a value completed: of a template where `n` is even, of a prompt where it is odd.
    Complete,
    /// Sets the least severe level of log messages, from 0 (`debug`) to 7 (`emergency`).
    SetLevel,
    /// Asks how far task `n` has come, whether there is one or not.
    GetTask,
    /// Reads the list of tasks.
    ListTasks,
    /// Cancels the task that an earlier step has begun.
    CancelTask,
    /// Asks the server what it is.
    Discover,
    /// Listens to changes, and to the task of an earlier step where one is named.
    Listen,
}

impl Act {
    /// Whether `n` says something about it.
    pub const fn is_numbered(self) -> bool {
        matches!(
            self,
            Act::Call
                | Act::ReadResource
                | Act::Subscribe
                | Act::Unsubscribe
                | Act::GetPrompt
                | Act::Complete
                | Act::SetLevel
                | Act::GetTask
                | Act::Listen
        )
    }
}

/// One step of a workload.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What it does.
    #[serde(rename = "do")]
    pub act: Act,
    /// Call: which tool.
    #[serde(default, skip_serializing_if = "is_default", with = "tool_name")]
    pub tool: Tool,
    /// Call: the value that the answer gives back; how far `count` counts. Otherwise: which resource, prompt or level.
    #[serde(default, skip_serializing_if = "is_default")]
    pub n: u32,
    /// Call: whether progress is asked for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub progress: bool,
    /// Requests: when the client gives up and cancels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u32>,
    /// Call with progress: cancel after so many reports.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancel_after_progress: Option<u32>,
    /// Requests: cancel in an own step some time after sending.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cancel_soon: bool,
    /// Cancel: the step whose request is cancelled, counted from 1. Cancel a task, listen: the step that begins the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u16>,
    /// Call: whether it is to be run as a task.
    #[serde(default, skip_serializing_if = "is_default")]
    pub task: bool,
}

impl Step {
    /// A step that does that, with nothing special about it.
    pub const fn plain(act: Act) -> Step {
        Step {
            act,
            tool: Tool::None,
            n: 0,
            progress: false,
            timeout_ms: None,
            cancel_after_progress: None,
            cancel_soon: false,
            of: None,
            task: false,
        }
    }

    /// A plain call of a tool.
    pub const fn call(tool: Tool, n: u32) -> Step {
        Step {
            tool,
            n,
            ..Step::plain(Act::Call)
        }
    }

    /// Whether the step sends a request.
    pub const fn is_request(&self) -> bool {
        !matches!(
            self.act,
            Act::RootsChanged | Act::Cancel | Act::Batch | Act::Garbage
        )
    }
}

/// Leaves steps out, with those that are about them, and lets the others mean the same steps as before. Says of each step
/// whether it is still there.
pub(crate) fn leave_out(
    steps: &mut Vec<Step>,
    is_gone: impl Fn(usize, &Step) -> bool,
) -> Vec<bool> {
    let mut kept: Vec<bool> = vec![];
    for (at, step) in steps.iter_mut().enumerate() {
        // A step is about an earlier one: what that is has been decided.
        let target = step.of.map(usize::from);
        let target_kept = target.is_none_or(|of| kept[of - 1]);
        kept.push(target_kept && !is_gone(at, step));
        step.of = target.map(|of| kept[..of].iter().filter(|&&kept| kept).count() as u16);
    }
    keep(steps, &kept);
    kept
}

/// Keeps those entries of a list that are to be kept.
pub(crate) fn keep<T>(list: &mut Vec<T>, kept: &[bool]) {
    let mut at = 0;
    list.retain(|_| {
        at += 1;
        kept[at - 1]
    });
}

impl Scenario {
    /// The world of this scenario. With a fault, the first party of the fault's role has its defect, or all have it.
    ///
    /// # Errors
    /// When the scenario has no party that could have the fault; says so in one sentence.
    ///
    /// # Panics
    /// When the scenario is not valid: [`Scenario::parse`] and [`Scenario::check`] tell.
    pub fn setup(&self, with: Option<&str>) -> Result<Setup<Peer>, String> {
        let faulty = match with {
            None => None,
            Some(name) => {
                let row = fault(name).ok_or_else(|| format!("there is no fault `{name}`"))?;
                Some((self.party_with(row)?, row.defect, row.is_shared))
            }
        };
        let defect_of = |at: usize| match faulty {
            Some((party, defect, is_shared)) if is_shared || party == at => defect,
            _ => Defect::None,
        };
        let parties = self.parties.iter().enumerate();
        Ok(Setup {
            parties: parties
                .map(|(at, party)| self.peer(party, defect_of(at)))
                .collect(),
            links: self
                .links
                .iter()
                .map(|link| self.link_setup(link))
                .collect(),
            faults: setup::FaultBudget {
                delay: self.faults.delay,
                duplicate: self.faults.duplicate,
                drop: self.faults.drop,
                cut: self.faults.cut,
                crash: self.faults.crash,
            },
            bounds: setup::Bounds {
                steps_max: self.bounds.steps_max,
                hostile_steps: self.bounds.hostile_steps,
            },
        })
    }

    fn party_with(&self, row: &Fault) -> Result<usize, String> {
        let found = self.parties.iter().position(|party| party.role == row.at);
        found.ok_or_else(|| {
            let role = row.at.as_str();
            format!(
                "fault `{}` is a {role}'s, and scenario `{}` has no {role}",
                row.name, self.name
            )
        })
    }

    /// The party of that name.
    pub fn party_id(&self, name: &str) -> Option<PartyId> {
        let at = self.parties.iter().position(|party| party.name == name)?;
        u8::try_from(at).ok().map(PartyId)
    }

    fn link_setup(&self, link: &Link) -> setup::LinkSetup {
        let id = |name| self.party_id(name).expect("a checked link names parties");
        setup::LinkSetup {
            kind: link.kind.into(),
            client: id(&link.client),
            server: id(&link.server),
            capacity: link.capacity.unwrap_or(self.ample_capacity().max(64)),
            stderr_capacity: link.stderr_capacity.unwrap_or(64),
            resumable: link.resumable,
            beyond: setup::Beyond {
                reorder: link.beyond.reorder,
                drop: link.beyond.drop,
                duplicate: link.beyond.duplicate,
            },
        }
    }

    /// The ends of a party in the order of its ports.
    fn ends(&self, name: &str) -> Vec<End> {
        let mut ends = vec![];
        for link in &self.links {
            let repeats = self.faults.duplicate > 0
                && (link.kind == Transport::Http || link.beyond.duplicate);
            for (role, party) in [(Role::Client, &link.client), (Role::Server, &link.server)] {
                if party == name {
                    ends.push(End {
                        role,
                        repeats,
                        http: link.kind == Transport::Http,
                    });
                }
            }
        }
        ends
    }

    fn peer(&self, party: &Party, defect: Defect) -> Peer {
        let steps = self.workload.get(&party.name).cloned().unwrap_or_default();
        let plan = Arc::new(Plan {
            defect,
            revisions: party.revisions,
            capabilities: party.declared(),
            ids: party.ids,
            first_id: party.first_id,
            window: party.window as usize,
            hesitates: party.hesitates,
            closes: party.closes,
            pings: party.pings,
            writes_stderr: party.writes_stderr,
            asks_for_tasks: party.asks_for_tasks,
            timeout_ms: party.timeout_ms,
            routing: party.routing,
            steps,
        });
        let ends = self.ends(&party.name);
        match party.role {
            PartyRole::Client => {
                let end = ends.first().expect("a checked client has a link");
                Peer::Client(Client::new(plan, *end))
            }
            PartyRole::Server => Peer::Server(Server::new(plan, &ends)),
            PartyRole::Gateway => Peer::Gateway(Gateway::new(plan, &ends)),
        }
    }
}

impl Party {
    /// A party with nothing special about it.
    pub fn plain(name: &str, role: PartyRole) -> Party {
        Party {
            name: name.to_owned(),
            role,
            revisions: Revisions::default(),
            capabilities: None,
            window: 1,
            first_id: 1,
            ids: Ids::Numbers,
            hesitates: true,
            closes: false,
            pings: false,
            writes_stderr: false,
            asks_for_tasks: false,
            timeout_ms: half_a_minute(),
            routing: Routing::Value,
        }
    }

    /// What the party declares.
    pub fn declared(&self) -> Capabilities {
        self.capabilities.unwrap_or(match self.role {
            PartyRole::Server => Capabilities::of(&[Capability::Tools]),
            PartyRole::Client | PartyRole::Gateway => Capabilities::of(&[
                Capability::Sampling,
                Capability::Elicitation,
                Capability::Roots,
                Capability::RootsListChanged,
            ]),
        })
    }
}

impl PartyRole {
    /// The role in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            PartyRole::Client => "client",
            PartyRole::Server => "server",
            PartyRole::Gateway => "gateway",
        }
    }
}

impl From<Transport> for LinkKind {
    fn from(transport: Transport) -> LinkKind {
        match transport {
            Transport::Pipe => LinkKind::Pipe,
            Transport::Http => LinkKind::Http,
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn one() -> u32 {
    1
}

fn is_one(value: &u32) -> bool {
    *value == 1
}

fn one_id() -> i64 {
    1
}

fn is_one_id(value: &i64) -> bool {
    *value == 1
}

fn yes() -> bool {
    true
}

fn is_yes(value: &bool) -> bool {
    *value
}

fn half_a_minute() -> u32 {
    30_000
}

fn is_half_a_minute(value: &u32) -> bool {
    *value == half_a_minute()
}

fn steps_max() -> u32 {
    100_000
}

fn hostile_steps() -> u32 {
    10_000
}

/// A map in which no name may stand twice.
fn unique_keys<'de, D: serde::Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, Vec<Step>>, D::Error> {
    struct Unique;

    impl<'de> serde::de::Visitor<'de> for Unique {
        type Value = BTreeMap<String, Vec<Step>>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an object with a list of steps for each client")
        }

        fn visit_map<A: serde::de::MapAccess<'de>>(
            self,
            mut map: A,
        ) -> Result<Self::Value, A::Error> {
            let mut all = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                if all.contains_key(&name) {
                    return Err(serde::de::Error::custom(format!(
                        "duplicate field `{name}`"
                    )));
                }
                let steps = map.next_value()?;
                all.insert(name, steps);
            }
            Ok(all)
        }
    }

    from.deserialize_map(Unique)
}

/// Tools by their names on the wire.
mod tool_name {
    use mcpsim_traces::message::Tool;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(tool: &Tool, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(tool.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Tool, D::Error> {
        let name = String::deserialize(from)?;
        match Tool::parse(name.as_bytes()) {
            Tool::None => {
                let known = Tool::ALL.map(Tool::as_str);
                Err(super::unknown_name::<D>("tool", &name, &known))
            }
            tool => Ok(tool),
        }
    }
}

/// Capabilities as a list of their paths.
mod capability_names {
    use mcpsim_traces::message::{Capabilities, Capability};
    use serde::ser::SerializeSeq;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        set: &Option<Capabilities>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let mut list = to.serialize_seq(None)?;
        for &capability in Capability::ALL {
            if set.is_some_and(|set| set.has(capability)) {
                list.serialize_element(capability.as_str())?;
            }
        }
        list.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Capabilities>, D::Error> {
        let mut set = Capabilities::NONE;
        for name in Vec::<String>::deserialize(from)? {
            let found = Capability::ALL
                .iter()
                .find(|capability| capability.as_str() == name);
            match found {
                Some(&capability) => set.insert(capability),
                None => {
                    let known: Vec<&str> =
                        Capability::ALL.iter().map(|known| known.as_str()).collect();
                    return Err(super::unknown_name::<D>("capability", &name, &known));
                }
            }
        }
        Ok(Some(set))
    }
}

fn unknown_name<'de, D: serde::Deserializer<'de>>(
    what: &str,
    name: &str,
    known: &[&str],
) -> D::Error {
    let what = format!("unknown {what}");
    serde::de::Error::custom(crate::parse::unknown(&what, name, known))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What goes takes with it what is about it, also about that; what stays means the same steps as before.
    #[test]
    fn steps_that_are_left_out_take_others_with_them() {
        let of = |act, of| Step {
            of: Some(of),
            ..Step::plain(act)
        };
        let whole = [
            Step::call(Tool::Echo, 1),
            Step::call(Tool::Echo, 2),
            of(Act::Listen, 1),
            of(Act::Listen, 2),
            of(Act::Cancel, 3),
            of(Act::Cancel, 4),
        ];
        let mut steps = whole.to_vec();
        let kept = leave_out(&mut steps, |at, _| at == 0);
        assert_eq!(kept, [false, true, false, true, false, true]);
        assert_eq!(steps, [whole[1], of(Act::Listen, 1), of(Act::Cancel, 2)]);
        let mut steps = whole.to_vec();
        leave_out(&mut steps, |_, step| step.act == Act::Cancel);
        assert_eq!(steps, whole[..4]);
    }
}
