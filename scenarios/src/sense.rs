//! What contradicts itself in a scenario that a world could be made of: something that it asks for never happens.

use std::collections::BTreeMap;

use mcpsim_traces::event::Role;
use mcpsim_traces::message::{Capabilities, Capability, Revision, Tool};

use crate::errands::{is_in, needed};
use crate::gateway::AS_SERVER;
use crate::parse::{Mistake, Place, key, wrong};
use crate::revisions::Revisions;
use crate::scenario::{Act, Link, Party, PartyRole, Scenario, Step, Transport};

/// Whose a capability is, by the first name of its path; what is not here both sides have.
const OWNERS: &[(&str, Role)] = &[
    ("roots", Role::Client),
    ("sampling", Role::Client),
    ("elicitation", Role::Client),
    ("tools", Role::Server),
    ("resources", Role::Server),
    ("prompts", Role::Server),
    ("logging", Role::Server),
    ("completions", Role::Server),
];

impl Scenario {
    /// Whether all that it asks for can happen.
    ///
    /// # Errors
    /// With the first that cannot.
    pub(crate) fn check_sense(&self) -> Result<(), Mistake> {
        for (at, party) in self.parties.iter().enumerate() {
            if let Some(message) = foreign_capability(party) {
                let place = [key("parties"), Place::At(at), key("capabilities")];
                return wrong(&place, message);
            }
        }
        for (at, party) in self.parties.iter().enumerate() {
            if let Some(message) = self.asks_in_vain(party) {
                let place = [key("parties"), Place::At(at), key("asks_for_tasks")];
                return wrong(&place, message);
            }
        }
        for (at, party) in self.parties.iter().enumerate() {
            let to_pipes = |link: &Link| link.server == party.name && link.kind == Transport::Pipe;
            if party.writes_stderr && !self.links.iter().any(to_pipes) {
                let place = [key("parties"), Place::At(at), key("writes_stderr")];
                let message =
                    "over http no client has the stderr of its server: nothing is written";
                return wrong(&place, message);
            }
        }
        for (at, link) in self.links.iter().enumerate() {
            let here = |member: &str| vec![key("links"), Place::At(at), key(member)];
            if let Some(message) = self.idle_stderr(link) {
                return wrong(&here("stderr_capacity"), message);
            }
            if let Some((members, message)) = idle_member(link) {
                let mut place = here(members[0]);
                place.extend(members[1..].iter().map(|member| key(member)));
                return wrong(&place, message);
            }
            if let Some(message) = self.never_resumed(link) {
                return wrong(&here("resumable"), message);
            }
            let same = |other: &Link| other.client == link.client && other.server == link.server;
            if self.links[..at].iter().any(same) {
                let (client, server) = (&link.client, &link.server);
                let message = format!("`{client}` and `{server}` have a link already");
                return wrong(&here("server"), message);
            }
        }
        for party in &self.parties {
            let steps = self
                .workload
                .get(&party.name)
                .map_or(&[][..], Vec::as_slice);
            // By the step that is cancelled, the one that does it.
            let mut cancels = BTreeMap::new();
            for (at, step) in steps.iter().enumerate() {
                let found = self.silent(party, step).or_else(|| idle(step));
                let found = found.or_else(|| idle_cancel(step, &steps[..at], party, &mut cancels));
                if let Some((member, message)) = found {
                    let place = [
                        key("workload"),
                        key(&party.name),
                        Place::At(at),
                        key(member),
                    ];
                    return wrong(&place, message);
                }
            }
        }
        let bounds = &self.bounds;
        if bounds.hostile_steps > bounds.steps_max {
            let message = format!(
                "a run is given up after {} steps: it would never be calm",
                bounds.steps_max
            );
            return wrong(&[key("bounds"), key("hostile_steps")], message);
        }
        Ok(())
    }

    /// A link whose streams could be resumed, between parties that speak 2026-07-28 there: that revision has no way to.
    fn never_resumed(&self, link: &Link) -> Option<String> {
        let modern = Revision::V2026_07_28;
        let ends = [&link.client, &link.server];
        let speaks = |name: &String| {
            let mut parties = self.parties.iter();
            let party = parties.find(|party| party.name == *name);
            party.map_or(Revisions::default(), |party| party.revisions)
        };
        let only = |name: &&&String| speaks(name).newest_with_handshake().is_none();
        let who = match ends.iter().find(only) {
            Some(name) => format!("`{name}` speaks nothing but {modern}"),
            None if ends.iter().all(|name| speaks(name).has(modern)) => {
                format!(
                    "`{}` and `{}` both speak {modern}",
                    link.client, link.server
                )
            }
            None => return None,
        };
        let message = || format!("{who}, where no stream that broke is opened again");
        link.resumable.then(message)
    }

    /// A server that asks for tasks where no client runs any.
    fn asks_in_vain(&self, server: &Party) -> Option<String> {
        let revision = Revision::V2025_11_25;
        let runs_tasks = |link: &Link| {
            let mut clients = self.parties.iter().filter(|one| one.name == link.client);
            link.server == server.name
                && server.revisions.has(revision)
                && clients.any(|client| {
                    client.revisions.has(revision) && client.declared().has(Capability::Tasks)
                })
        };
        (server.asks_for_tasks && !self.links.iter().any(runs_tasks)).then(|| {
            format!(
                "no client of `{}` declares `tasks` under {revision}",
                server.name
            )
        })
    }

    /// Room for lines that nobody writes.
    fn idle_stderr(&self, link: &Link) -> Option<String> {
        let mut writers = self.parties.iter().filter(|party| party.writes_stderr);
        let is_idle =
            link.kind == Transport::Http || writers.all(|party| party.name != link.server);
        (link.stderr_capacity.is_some() && is_idle).then(|| {
            format!(
                "`{}` writes nothing on the stderr of this link",
                link.server
            )
        })
    }

    /// A step for which the client sends nothing, since a capability is missing.
    fn silent(&self, client: &Party, step: &Step) -> Option<(&'static str, String)> {
        let revisions = client.revisions;
        if step.act == Act::RootsChanged {
            let needed = Capability::RootsListChanged;
            return missing(&client.name, client.declared(), needed).map(|said| ("do", said));
        }
        let link = self.links.iter().find(|link| link.client == client.name)?;
        let server = self.parties.iter().find(|one| one.name == link.server)?;
        let declared = declared_to_clients(server);
        let needs = revisions
            .iter()
            .filter(|&revision| is_in(step.act, revision));
        let lacks = needs
            .map(|revision| missing(&server.name, declared, needed(step.act, revision)?))
            .collect::<Option<Vec<String>>>();
        if let Some(message) = lacks.and_then(|all| all.into_iter().next()) {
            return Some(("do", message));
        }
        if step.task {
            return missing(&server.name, declared, Capability::Tasks).map(|said| ("task", said));
        }
        None
    }
}

/// What is said of a capability that a party does not declare.
fn missing(name: &str, declared: Capabilities, needed: Capability) -> Option<String> {
    (!declared.has(needed)).then(|| {
        let capability = needed.as_str();
        format!("`{name}` does not declare `{capability}`: nothing is sent")
    })
}

/// What a party declares where it has the server end.
fn declared_to_clients(party: &Party) -> Capabilities {
    match party.role {
        PartyRole::Gateway => AS_SERVER,
        PartyRole::Client | PartyRole::Server => party.declared(),
    }
}

/// A capability that is for the other side to declare. A gateway declares as a client.
fn foreign_capability(party: &Party) -> Option<String> {
    let own = match party.role {
        PartyRole::Server => Role::Server,
        PartyRole::Client | PartyRole::Gateway => Role::Client,
    };
    let owner = |capability: Capability| {
        let path = capability.as_str();
        let head = path.split_once('.').map_or(path, |(head, _)| head);
        let row = OWNERS.iter().find(|(name, _)| *name == head);
        row.map(|&(_, role)| role)
    };
    let declared = party.declared();
    let foreign = |&&capability: &&Capability| {
        declared.has(capability) && owner(capability).is_some_and(|role| role != own)
    };
    let (name, role) = (&party.name, party.role.as_str());
    if party.role == PartyRole::Gateway && declared.has(Capability::Tasks) {
        return Some(format!(
            "`tasks` is not for gateways to declare: `{name}` runs nothing as a task"
        ));
    }
    let capability = Capability::ALL.iter().find(foreign)?;
    Some(match party.role {
        PartyRole::Gateway => format!(
            "`{}` is for servers to declare; `{name}` declares as a client, toward its servers",
            capability.as_str()
        ),
        _ => format!(
            "`{}` is for {}s to declare; `{name}` is a {role}",
            capability.as_str(),
            owner(*capability)?.as_str()
        ),
    })
}

/// What a link of that kind never looks at.
fn idle_member(link: &Link) -> Option<(&'static [&'static str], &'static str)> {
    if link.kind != Transport::Http {
        let message = "`resumable` is for http: a pipe has no streams that break";
        return link.resumable.then_some((&["resumable"], message));
    }
    let idle: [(&[&str], bool, &str); 3] = [
        (
            &["capacity"],
            link.capacity.is_some(),
            "`capacity` is for a pipe: http holds as much as is sent",
        ),
        (
            &["beyond", "drop"],
            link.beyond.drop,
            "`drop` is for a pipe: http loses frames as it is",
        ),
        (
            &["beyond", "duplicate"],
            link.beyond.duplicate,
            "`duplicate` is for a pipe: http delivers frames twice as it is",
        ),
    ];
    let found = idle.into_iter().find(|(_, is_there, _)| *is_there);
    found.map(|(members, _, message)| (members, message))
}

/// A step that waits for reports that never come.
fn idle(step: &Step) -> Option<(&'static str, String)> {
    let enough = step.cancel_after_progress?;
    let message = match step.tool {
        Tool::Count if step.n < enough => {
            format!("`count` reports {} times only, as `n` says", step.n)
        }
        Tool::Count => return None,
        other => format!("`{}` reports no progress: `count` does", other.as_str()),
    };
    Some(("cancel_after_progress", message))
}

/// A cancel that always finds its target settled: the step after those before it.
fn idle_cancel(
    step: &Step,
    before: &[Step],
    party: &Party,
    cancels: &mut BTreeMap<u16, usize>,
) -> Option<(&'static str, String)> {
    let of = step.of.filter(|_| step.act == Act::Cancel)?;
    let target = before.get(usize::from(of).checked_sub(1)?);
    let stays_open = target.is_some_and(|target| target.act == Act::Listen);
    if party.window == 1 && !stays_open {
        let message = "with a window of 1 every step is settled when the next one begins";
        return Some(("do", message.to_owned()));
    }
    let first = cancels.insert(of, before.len())?;
    let message = format!("step {} cancels that already", first + 1);
    Some(("of", message))
}

/// What no revision of the client has, by member.
pub(crate) fn check_revision(step: &Step, speaks: Revisions) -> Option<(&'static str, String)> {
    let spoken = || {
        let dates: Vec<&str> = speaks.iter().map(Revision::as_str).collect();
        dates.join(", ")
    };
    if !speaks.iter().any(|revision| is_in(step.act, revision)) {
        let message = format!(
            "there is no such thing in {}, which the client speaks",
            spoken()
        );
        return Some(("do", message));
    }
    if step.task && !speaks.has(Revision::V2025_11_25) {
        let message = format!(
            "2025-11-25 alone has tasks that a client asks for; this one speaks {}",
            spoken()
        );
        return Some(("task", message));
    }
    None
}
