//! The wait-for graph behind a hang: which request waits for whom, and who stands at the end of the chain.

use std::collections::BTreeMap;

use mcpsim_traces::event::{FrameNo, LinkId, PartyId, Role};
use mcpsim_traces::judge::{Blame, Blocked, Finding, Severity, Verdict, Wait};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::Method;
use petgraph::Direction;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::EdgeRef;

use crate::full_pipes;
use crate::part::{In, Own, Part, open, waits_for_people};
use crate::rules::correlation::REQUEST_UNANSWERED;

/// A finding names at most so many frames.
pub(crate) const FRAMES_MAX: usize = 64;

/// One end of a link.
pub(crate) struct End<'a> {
    pub(crate) party: PartyId,
    pub(crate) link: LinkId,
    pub(crate) role: Role,
    /// What it waits to write into; only the world knows.
    pub(crate) blocked: Blocked,
    pub(crate) part: &'a Part,
}

/// Why a request at the end of a chain has no answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Reason {
    /// The other side has it, and waits for nothing.
    Owed,
    /// The world took it or its answer, as the link's kind allows or forbids.
    Lost { forbidden: bool },
    /// The server had to keep it or its answer for a stream that broke, and did not.
    Forgotten,
    /// It never arrived, for no reason that was seen.
    NotThere,
    /// One of its ends does nothing at all, since a pipe is full: whoever does not read that is named.
    Stopped,
}

/// A request without an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    /// The end that asked, by its place among the ends.
    pub(crate) asker: usize,
    /// The end that owes the answer.
    pub(crate) debtor: usize,
    pub(crate) own: Own,
    pub(crate) reason: Reason,
    /// A stray answer may have been meant for it.
    pub(crate) is_hazy: bool,
}

impl Open {
    /// Whether it stands outside any session.
    pub(crate) fn is_stateless(&self) -> bool {
        self.own.flags & open::STATELESS != 0
    }
}

/// A request at the end of a chain, with what waits for it.
#[derive(Clone, Debug)]
pub(crate) struct Stuck {
    pub(crate) open: Open,
    /// From the first that waits to the last before this one.
    pub(crate) waiting: Vec<Open>,
}

/// What is open when nothing happens any more.
#[derive(Default)]
pub(crate) struct Waits {
    pub(crate) stuck: Vec<Stuck>,
    /// Requests that wait for each other.
    pub(crate) cycles: Vec<Vec<Open>>,
    /// Requests of which some wait for another one, and nobody can tell which.
    pub(crate) unclear: Vec<Open>,
    /// Requests that nothing comes of, since an end has stopped before a full pipe.
    pub(crate) stopped: Vec<Stuck>,
}

/// Requests whose fault is reported already: they explain what waits for them, and are not reported again.
const EXPLAINED: u16 = open::MISANSWERED | open::BAD | open::REUSED;

/// Whether the request counts at all.
fn is_open(own: &Own) -> bool {
    if own.flags & EXPLAINED != 0 {
        return own.flags & (open::CANCELLED | open::LONG | open::CUT) == 0;
    }
    own.flags & (open::CANCELLED | open::EXCUSED | open::LONG | open::CUT) == 0
        && !own.answer.is_some()
}

/// Whether it has no answer, and nobody gave up on one: reported or not.
pub(crate) fn is_unanswered(own: &Own) -> bool {
    let settled = EXPLAINED | open::CANCELLED | open::LONG;
    own.flags & settled == 0 && !own.answer.is_some()
}

/// The graph over all ends: an edge from each owed request to the request that it waits for.
pub(crate) fn waits(ends: &[End<'_>], counts: impl Fn(&Open) -> bool) -> Waits {
    let mut graph: DiGraph<Open, ()> = DiGraph::new();
    let mut places = BTreeMap::new();
    for (asker, end) in ends.iter().enumerate() {
        let Some(debtor) = other_end(ends, asker) else {
            continue;
        };
        for own in end.part.own.iter().filter(|own| is_open(own)) {
            let open = judge_open(ends, asker, debtor, *own);
            if counts(&open) {
                places.insert((asker, own.id), graph.add_node(open));
            }
        }
    }
    let mut is_unclear = vec![false; graph.node_count()];
    let mut count = vec![0usize; ends.len()];
    for (asker, _) in places.keys() {
        count[*asker] += 1;
    }
    // Ends of which some request waits for another one: which of all that it sent cannot be told.
    let mut is_end_unclear = vec![false; ends.len()];
    for node in graph.node_indices().collect::<Vec<_>>() {
        let one = &graph[node];
        if one.own.flags & open::MANY != 0
            && count[one.debtor] > 1
            && ends
                .iter()
                .filter(|end| end.party == ends[one.asker].party)
                .count()
                == 1
        {
            is_end_unclear[one.debtor] = true;
            continue;
        }
        let causes = causes(ends, &graph[node], &places);
        if let [cause] = causes[..] {
            graph.update_edge(cause, node, ());
        } else {
            causes
                .iter()
                .for_each(|cause| is_unclear[cause.index()] = true);
        }
    }
    for node in graph.node_indices() {
        is_unclear[node.index()] |= is_end_unclear[graph[node].asker];
    }
    read(&graph, &is_unclear)
}

fn judge_open(ends: &[End<'_>], asker: usize, debtor: usize, own: Own) -> Open {
    let inbound = ends[debtor].part.find_in(own.id);
    let is_stopped = |at: usize| full_pipes::is_stopped(ends, ends[at].party);
    let reason = match inbound {
        _ if is_stopped(asker) || is_stopped(debtor) => Reason::Stopped,
        Ok(_) => Reason::Owed,
        Err(_) if own.flags & open::LOST != 0 => Reason::Lost {
            forbidden: own.flags & open::FORBIDDEN != 0,
        },
        Err(_) if own.flags & open::FORBIDDEN != 0 => Reason::Forgotten,
        Err(_) => Reason::NotThere,
    };
    let is_hazy =
        inbound.is_ok_and(|at| ends[debtor].part.inn[at].flags & (open::MAYBE | open::BAD) != 0);
    Open {
        asker,
        debtor,
        own,
        reason,
        is_hazy,
    }
}

pub(crate) fn other_end(ends: &[End<'_>], of: usize) -> Option<usize> {
    let (link, role) = (ends[of].link, ends[of].role.other());
    ends.iter()
        .position(|end| end.link == link && end.role == role)
}

/// The owed requests of which one made the asker send this request.
fn causes(
    ends: &[End<'_>],
    node: &Open,
    places: &BTreeMap<(usize, Key), NodeIndex>,
) -> Vec<NodeIndex> {
    let end = &ends[node.asker];
    // A gateway hands on what came in at its other ends.
    let handed_on = across(ends, node, places, |request| {
        request.method == node.own.method && request.value == node.own.value
    });
    if !handed_on.is_empty() {
        return handed_on;
    }
    let same_link: Vec<NodeIndex> = end
        .part
        .inn
        .head()
        .iter()
        .take(32)
        .enumerate()
        .filter(|(at, request)| {
            node.own.mask >> at & 1 == 1 && may_ask_back(end.role, request.method)
        })
        .filter_map(|(_, request)| places.get(&(node.debtor, request.id)).copied())
        .collect();
    if node.own.flags & open::MANY != 0 {
        // Which of very many: all of them are unclear.
        return places
            .iter()
            .filter(|((asker, _), _)| *asker == node.debtor)
            .map(|(_, place)| *place)
            .chain(same_link)
            .collect();
    }
    if !same_link.is_empty() {
        return same_link;
    }
    across(ends, node, places, |_| true)
}

/// Whether serving such a request may take a question to whoever sent it. A server's tool asks the client; a client that is asked
/// something has its other requests for reasons of its own, and so has whoever is only pinged or asked for a list.
fn may_ask_back(debtor: Role, method: Method) -> bool {
    let is_plain = matches!(
        method,
        Method::Ping
            | Method::ToolsList
            | Method::PromptsList
            | Method::ResourcesList
            | Method::ResourcesTemplatesList
            | Method::LoggingSetLevel
            | Method::ResourcesSubscribe
            | Method::ResourcesUnsubscribe
            | Method::SubscriptionsListen
    );
    debtor == Role::Server && !is_plain
}

/// Owed requests at the other ends of the same party, where it stands in the other role.
fn across(
    ends: &[End<'_>],
    node: &Open,
    places: &BTreeMap<(usize, Key), NodeIndex>,
    fits: impl Fn(&In) -> bool,
) -> Vec<NodeIndex> {
    let end = &ends[node.asker];
    let mut found = vec![];
    for (at, other) in ends.iter().enumerate() {
        if other.party != end.party || other.link == end.link || other.role == end.role {
            continue;
        }
        let Some(asker) = other_end(ends, at) else {
            continue;
        };
        let requests = other.part.inn.iter().filter(|request| fits(request));
        found.extend(requests.filter_map(|request| places.get(&(asker, request.id)).copied()));
    }
    found
}

fn read(graph: &DiGraph<Open, ()>, is_unclear: &[bool]) -> Waits {
    let mut waits = Waits::default();
    for mut cycle in tarjan_scc(graph) {
        if cycle.len() > 1 {
            cycle.sort();
            let cycle: Vec<Open> = cycle.iter().map(|&node| graph[node]).collect();
            let stopped = cycle.iter().find(|open| open.reason == Reason::Stopped);
            match stopped {
                Some(&open) => waits.stopped.push(Stuck {
                    open,
                    waiting: vec![],
                }),
                None => waits.cycles.push(cycle),
            }
        }
    }
    for node in graph.node_indices() {
        if graph.edges(node).next().is_some() {
            continue;
        }
        if graph[node].own.flags & EXPLAINED != 0 {
            continue;
        }
        let is_stopped = graph[node].reason == Reason::Stopped;
        if is_unclear[node.index()] && !is_stopped {
            waits.unclear.push(graph[node]);
            continue;
        }
        let mut before = vec![];
        let mut todo = vec![node];
        while let Some(at) = todo.pop() {
            for edge in graph.edges_directed(at, Direction::Incoming) {
                if !before.contains(&edge.source()) && edge.source() != node {
                    before.push(edge.source());
                    todo.push(edge.source());
                }
            }
        }
        let mut waiting: Vec<Open> = before.iter().map(|&node| graph[node]).collect();
        waiting.reverse();
        let list = match is_stopped {
            true => &mut waits.stopped,
            false => &mut waits.stuck,
        };
        list.push(Stuck {
            open: graph[node],
            waiting,
        });
    }
    waits
}

/// What can be said of a missing answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Silence {
    /// The end was seen: there is none.
    Never,
    /// None was seen so far.
    SoFar,
    /// None came within so many milliseconds.
    Within(u64),
    /// None arrived, be it that there is one.
    NoneArrived,
}

/// How a group of stuck requests is reported.
pub(crate) struct Report<'a> {
    pub(crate) verdict: Verdict,
    pub(crate) severity: Severity,
    pub(crate) silence: Silence,
    /// Why it is certain, or why not: the end of the sentence.
    pub(crate) because: &'a str,
    /// Where the blame lies with somebody else than the debtor.
    pub(crate) blame: Option<Blame>,
}

/// One finding for all that one end owes.
pub(crate) fn finding(ends: &[End<'_>], group: &[&Stuck], report: &Report<'_>) -> Option<Finding> {
    let first = group.first()?;
    let debtor = &ends[first.open.debtor];
    let mut frames: Vec<FrameNo> = group
        .iter()
        .flat_map(|stuck| {
            let chain = stuck.waiting.iter().map(|open| open.own.frame);
            chain.chain([stuck.open.own.frame])
        })
        .filter(|&frame| frame != 0)
        .collect();
    frames.sort_unstable();
    frames.dedup();
    frames.truncate(FRAMES_MAX);
    let (who, verb) = match report.silence {
        Silence::Never => (debtor.role, "never answered"),
        Silence::SoFar | Silence::Within(_) => (debtor.role, "had not answered"),
        Silence::NoneArrived => (debtor.role.other(), "never got an answer to"),
    };
    let mut message = format!("{} {verb} {}", who.as_str(), request(&first.open.own));
    match group.len() {
        1 => {}
        2 => message.push_str(" and one more"),
        more => message.push_str(&format!(" and {} more", more - 1)),
    }
    match report.silence {
        Silence::Within(ms) if ms.is_multiple_of(1000) => {
            message.push_str(&format!(" after {} s (patience)", ms / 1000));
        }
        Silence::Within(ms) => message.push_str(&format!(" after {ms} ms (patience)")),
        Silence::Never | Silence::SoFar | Silence::NoneArrived => {}
    }
    for open in first.waiting.iter().rev().take(4) {
        let who = ends[open.debtor].role.as_str();
        message.push_str(&format!(
            "; the {who}'s answer to {} waits for it",
            request(&open.own)
        ));
    }
    if matches!(report.silence, Silence::SoFar) && waits_for_people(first.open.own.method) {
        message.push_str("; a person may have to answer it, so it has no patience");
    }
    if !report.because.is_empty() {
        message.push_str("; ");
        message.push_str(report.because);
    }
    let rule = REQUEST_UNANSWERED.in_era(first.open.is_stateless());
    // Who forgets is a server, also where the client owes the answer to a request that it never saw.
    let culprit = match (first.open.reason, debtor.role) {
        (Reason::Forgotten, Role::Client) => &ends[first.open.asker],
        _ => debtor,
    };
    Some(Finding {
        rule: rule.unwrap_or(&REQUEST_UNANSWERED).id,
        verdict: report.verdict,
        severity: report.severity,
        blame: report.blame.unwrap_or(Blame::from(debtor.role)),
        party: culprit.party,
        link: culprit.link,
        frames,
        message,
        spot: None,
        knew: String::new(),
        waits: first
            .waiting
            .iter()
            .chain([&first.open])
            .map(|open| wait(ends, open))
            .collect(),
    })
}

/// The finding of requests that wait for each other.
pub(crate) fn cycle_finding(ends: &[End<'_>], cycle: &[Open]) -> Option<Finding> {
    let first = cycle.first()?;
    let debtor = &ends[first.debtor];
    let mut frames: Vec<FrameNo> = cycle.iter().map(|open| open.own.frame).collect();
    frames.retain(|&frame| frame != 0);
    frames.sort_unstable();
    let names: Vec<String> = cycle.iter().map(|open| request(&open.own)).collect();
    Some(Finding {
        rule: REQUEST_UNANSWERED.id,
        verdict: Verdict::Broken,
        severity: Severity::Error,
        blame: Blame::None,
        party: debtor.party,
        link: debtor.link,
        frames,
        message: format!("the answers to {} wait for each other", names.join(" and ")),
        spot: None,
        knew: String::new(),
        waits: cycle.iter().map(|open| wait(ends, open)).collect(),
    })
}

fn wait(ends: &[End<'_>], open: &Open) -> Wait {
    let (asker, debtor) = (&ends[open.asker], &ends[open.debtor]);
    Wait {
        asker: asker.party,
        debtor: debtor.party,
        role: debtor.role,
        link: debtor.link,
        frame: open.own.frame,
        request: request(&open.own),
    }
}

/// Groups by the end that owes, in the order of the ends, and by the era of the requests.
pub(crate) fn by_debtor<'a>(
    stuck: impl Iterator<Item = &'a Stuck>,
) -> BTreeMap<(usize, Reason, bool), Vec<&'a Stuck>> {
    let mut groups: BTreeMap<(usize, Reason, bool), Vec<&Stuck>> = BTreeMap::new();
    for one in stuck {
        groups
            .entry((one.open.debtor, one.open.reason, one.open.is_stateless()))
            .or_default()
            .push(one);
    }
    groups
}

/// A request as findings name it.
pub(crate) fn request(own: &Own) -> String {
    format!("{} {}", own.method.words(), own.id)
}
