//! What may stand where in a scenario file: the one table from which the reader's checks and the schema for
//! editors come. Checked before anything else is made of a file; names that are not known are left to others.

use mcpsim_traces::message::{Capability, Revision};
use serde_json::Value;

use crate::parse::{Mistake, PARTIES_MAX, Place, STEPS_MAX};

/// What may stand somewhere.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    Text,
    /// A text that is not empty; what is said where it is.
    Name(&'static str),
    /// One of these words, each with a sentence on what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// The path of a capability.
    Path,
    Flag,
    /// A whole number between these two.
    Whole(i64, i64),
    /// A whole number from 1 to that; what is said of 0.
    Counted(i64, &'static str),
    List(Elements),
    /// An object with these members.
    Object(&'static [Member]),
    /// An object with members of any name.
    Named(&'static Shape),
}

/// The elements of a list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Elements {
    /// What one is called, and several.
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
    pub(crate) shape: &'static Shape,
    pub(crate) least: usize,
    pub(crate) most: usize,
    /// Whether each may stand there once only: those are texts.
    pub(crate) are_distinct: bool,
}

/// A member of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) shape: Shape,
    /// What it is for, in one sentence.
    pub(crate) says: &'static str,
}

/// Whether a member has to be there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    Required,
    /// Left out, it is as if this stood there, as JSON.
    Or(&'static str),
    /// What it is where it is left out, its sentence says.
    Free,
}

use Need::{Free, Or, Required};
use Shape::{Counted, Flag, List, Name, Named, Object, Path, Text, Whole, Word};

const SMALL: Shape = Whole(0, u8::MAX as i64);
const COUNT: Shape = Whole(0, U32_MAX);
const U32_MAX: i64 = u32::MAX as i64;

/// What is said of a time-out of 0.
pub(crate) const NO_TIME: &str = "a time-out of 0 gives no answer a chance";
/// … of a window of 0.
pub(crate) const NO_WINDOW: &str = "a window of 0 lets no step begin";
/// … of a run without steps.
pub(crate) const NO_STEPS: &str = "a run of 0 steps shows nothing";
/// … of a cancellation after no reports.
pub(crate) const NO_REPORTS: &str = "0 reports never come";
/// … of a cancel that does not say what it cancels.
pub(crate) const NO_TARGET: &str = "a cancel needs `of`: the number of an earlier step, from 1";
/// … of a scenario without a name.
pub(crate) const NAMELESS: &str = "a scenario needs a name";
/// … of a party without a name.
pub(crate) const NAMELESS_PARTY: &str = "a party needs a name";

const fn row(name: &'static str, need: Need, shape: Shape, says: &'static str) -> Member {
    Member {
        name,
        need,
        shape,
        says,
    }
}

const fn list(one: &'static str, many: &'static str, shape: &'static Shape, most: usize) -> Shape {
    List(Elements {
        one,
        many,
        shape,
        least: 1,
        most,
        are_distinct: false,
    })
}

const ROLE: Shape = Word(&[
    ("client", "Sends the workload."),
    ("server", "Has the tools."),
    (
        "gateway",
        "Is a server to its clients and a client to its servers.",
    ),
]);

const REVISION: Shape = Word(&[
    (
        "2024-11-05",
        "Has sessions, and completion without a word for it.",
    ),
    ("2025-03-26", "Has sessions, and arrays of frames."),
    ("2025-06-18", "Has sessions, and elicitation."),
    (
        "2025-11-25",
        "Has sessions, and tasks that a client asks for.",
    ),
    (
        "2026-07-28",
        "Has no sessions: every request speaks for itself.",
    ),
]);

const IDS: Shape = Word(&[
    ("numbers", "Ids are 1, 2, 3, …"),
    ("text", "Ids are \"1\", \"2\", \"3\", …"),
    (
        "mixed",
        "Ids are 1, \"1\", 2, \"2\", …: each number and its text are two ids.",
    ),
]);

const ROUTING: Shape = Word(&[
    ("value", "By the call's `n`, modulo the number of servers."),
    ("tool", "By the call's tool."),
]);

const PARTY: Shape = Object(&[
    row(
        "name",
        Required,
        Name(NAMELESS_PARTY),
        "Its name, which no other party has.",
    ),
    row("role", Required, ROLE, "What it is."),
    row(
        "revisions",
        Or("[\"2025-11-25\"]"),
        List(Elements {
            one: "a revision",
            many: "revisions",
            shape: &REVISION,
            least: 1,
            most: Revision::ALL.len(),
            are_distinct: true,
        }),
        "The revisions that it speaks; a client of 2026-07-28 and others asks with `server/discover` first.",
    ),
    row(
        "capabilities",
        Free,
        List(Elements {
            one: "a capability",
            many: "capabilities",
            shape: &Path,
            least: 0,
            most: Capability::ALL.len(),
            are_distinct: true,
        }),
        "What it declares in the handshake, a gateway toward its servers; left out, a server declares \
            `tools`, the others `roots`, `roots.listChanged`, `sampling` and `elicitation`.",
    ),
    row(
        "window",
        Or("1"),
        Counted(U32_MAX, NO_WINDOW),
        "Client: how many steps of its workload are open at once.",
    ),
    row(
        "first_id",
        Or("1"),
        Whole(i64::MIN, i64::MAX),
        "The number of its first request's id.",
    ),
    row("ids", Or("\"numbers\""), IDS, "How its ids are spelled."),
    row(
        "hesitates",
        Or("true"),
        Flag,
        "Whether it lets others move between taking an id and sending, before `notifications/initialized`, \
            between reports, and before answers.",
    ),
    row(
        "closes",
        Or("false"),
        Flag,
        "Client: whether it closes its link after its last step.",
    ),
    row(
        "pings",
        Or("false"),
        Flag,
        "Server: whether it pings each client once its session is ready.",
    ),
    row(
        "writes_stderr",
        Or("false"),
        Flag,
        "Server: whether it writes a line on its stderr for each request that it serves.",
    ),
    row(
        "asks_for_tasks",
        Or("false"),
        Flag,
        "Server: whether it asks for samplings and elicitations as tasks, where the client declares `tasks` (2025-11-25).",
    ),
    row(
        "timeout_ms",
        Or("30000"),
        Counted(U32_MAX, NO_TIME),
        "The timer of every own request where the link can lose frames.",
    ),
    row(
        "routing",
        Or("\"value\""),
        ROUTING,
        "Gateway: how it picks the server for a call.",
    ),
]);

const BEYOND: Shape = Object(&[
    row(
        "reorder",
        Or("false"),
        Flag,
        "Frames of one stream overtake each other.",
    ),
    row(
        "drop",
        Or("false"),
        Flag,
        "A pipe loses frames, as far as the budget `faults.drop` goes.",
    ),
    row(
        "duplicate",
        Or("false"),
        Flag,
        "A pipe delivers frames twice, as far as the budget `faults.duplicate` goes.",
    ),
]);

const KIND: Shape = Word(&[
    ("pipe", "Is stdio: one order, no losses."),
    (
        "http",
        "Is Streamable HTTP: a stream for each request, and frames can be lost or come twice.",
    ),
]);

const LINK: Shape = Object(&[
    row("kind", Required, KIND, "What it does to frames."),
    row(
        "client",
        Required,
        Text,
        "The name of the party with the client end: a client, which has one link, or a gateway.",
    ),
    row(
        "server",
        Required,
        Text,
        "The name of the party with the server end: a server or a gateway.",
    ),
    row(
        "capacity",
        Free,
        COUNT,
        "Pipe: how many frames it holds in each direction: while there are more, a party that does not read while it writes \
            does nothing; with 0 every frame is larger than the pipe; left out, as many as the workload needs, and at least 64.",
    ),
    row(
        "stderr_capacity",
        Free,
        COUNT,
        "Pipe: how many lines the server's stderr holds: while there are more, the server does nothing; left out, 64.",
    ),
    row(
        "resumable",
        Or("false"),
        Flag,
        "Http: whether the server keeps what it sends on a stream whose connection breaks, and the client opens it again; \
            then `faults.drop` breaks connections, and nothing is lost with them.",
    ),
    row(
        "beyond",
        Or("{}"),
        BEYOND,
        "What may happen although the kind forbids it: the transport is to blame for what follows.",
    ),
]);

const ACT: Shape = Word(&[
    ("call", "Sends a request `tools/call`."),
    ("list_tools", "Sends a request `tools/list`."),
    ("ping", "Sends a request `ping`."),
    (
        "roots_changed",
        "Sends `notifications/roots/list_changed`, which the client must have declared.",
    ),
    (
        "cancel",
        "Sends `notifications/cancelled` for the request of step `of`, if that is open.",
    ),
    (
        "batch",
        "Sends a top-level array; where the revision forbids that, on purpose, so that it is no finding.",
    ),
    (
        "garbage",
        "Sends a frame that stops in the middle: on purpose, so that it is no finding.",
    ),
    (
        "list_resources",
        "Sends requests `resources/list` for one page after the other.",
    ),
    (
        "list_templates",
        "Sends requests `resources/templates/list` for one page after the other.",
    ),
    (
        "read_resource",
        "Sends a request `resources/read` for resource `n`.",
    ),
    (
        "subscribe",
        "Sends a request `resources/subscribe` for resource `n`.",
    ),
    (
        "unsubscribe",
        "Sends a request `resources/unsubscribe` for resource `n`.",
    ),
    (
        "list_prompts",
        "Sends requests `prompts/list` for one page after the other.",
    ),
    (
        "get_prompt",
        "Sends a request `prompts/get` for prompt `n`.",
    ),
    (
        "complete",
        "Sends a request `completion/complete`: for a template where `n` is even, for a prompt where it is odd.",
    ),
    (
        "set_level",
        "Sends a request `logging/setLevel` for level `n`, from 0 `debug` to 7 `emergency`.",
    ),
    (
        "get_task",
        "Sends a request `tasks/get` for task `n`, whether there is one or not.",
    ),
    ("list_tasks", "Sends a request `tasks/list`."),
    (
        "cancel_task",
        "Sends a request `tasks/cancel` for the task of step `of`, if there is one.",
    ),
    ("discover", "Sends a request `server/discover`."),
    (
        "listen",
        "Sends a request `subscriptions/listen`, which stays open: for all lists, for resource `n`, and for the \
            task of step `of`.",
    ),
]);

const TOOL: Shape = Word(&[
    ("echo", "Answers at once."),
    (
        "slow",
        "Answers in a step of its own: others may move first.",
    ),
    (
        "count",
        "Reports 1, 2, … up to `n` if progress was asked for, then answers.",
    ),
    (
        "ask",
        "Sends `sampling/createMessage` and answers after its answer.",
    ),
    (
        "confirm",
        "Sends `elicitation/create` and answers after its answer.",
    ),
    ("look", "Sends `roots/list` and answers after its answer."),
    ("fail", "Answers with a result that has `isError`."),
    (
        "touch",
        "Changes resource `n` and all lists, tells whoever subscribed, then answers.",
    ),
    (
        "log",
        "Writes log messages of the levels `debug` and `error`, as far as they are wanted, then answers.",
    ),
    (
        "link",
        "Sends `elicitation/create` with an address, and answers after its answer.",
    ),
]);

const STEP: Shape = Object(&[
    row("do", Required, ACT, "What the step does."),
    row(
        "tool",
        Free,
        TOOL,
        "Call: which tool; every call names one.",
    ),
    row(
        "n",
        Or("0"),
        COUNT,
        "Call: the value that the answer gives back, and how far `count` counts: to 10000 at most; otherwise which \
            resource, prompt or level.",
    ),
    row(
        "progress",
        Or("false"),
        Flag,
        "Call: whether progress is asked for.",
    ),
    row(
        "timeout_ms",
        Free,
        Counted(U32_MAX, NO_TIME),
        "Requests: when the client gives up and cancels; left out, never.",
    ),
    row(
        "cancel_after_progress",
        Free,
        Counted(U32_MAX, NO_REPORTS),
        "Call of `count` with `progress`: after how many reports it is cancelled.",
    ),
    row(
        "cancel_soon",
        Or("false"),
        Flag,
        "Requests: whether it is cancelled some time after sending, whatever has happened by then.",
    ),
    row(
        "of",
        Free,
        Counted(u16::MAX as i64, NO_TARGET),
        "Cancel: the step whose request is cancelled, an earlier one, counted from 1; cancel a task, listen: the call \
            whose task it is.",
    ),
    row(
        "task",
        Or("false"),
        Flag,
        "Call: whether it is to be run as a task, which 2025-11-25 has.",
    ),
]);

const FAULTS: Shape = Object(&[
    row(
        "delay",
        Or("0"),
        SMALL,
        "How many streams are held for 20 seconds while others overtake them.",
    ),
    row(
        "duplicate",
        Or("0"),
        SMALL,
        "How many frames are delivered twice: over http, or with `beyond.duplicate`.",
    ),
    row(
        "drop",
        Or("0"),
        SMALL,
        "How many frames are lost: over http, or with `beyond.drop`.",
    ),
    row(
        "cut",
        Or("0"),
        SMALL,
        "How many links are cut: what is on the way is lost, and both ends are told.",
    ),
    row(
        "crash",
        Or("0"),
        SMALL,
        "How many parties are gone at once, and their links with them.",
    ),
]);

const BOUNDS: Shape = Object(&[
    row(
        "steps_max",
        Or("100000"),
        Counted(U32_MAX, NO_STEPS),
        "After so many steps of the world a run is given up as unfinished.",
    ),
    row(
        "hostile_steps",
        Free,
        COUNT,
        "After so many steps no more faults happen, and delivery is fair; left out, 10000, or `steps_max` where that is less.",
    ),
]);

/// A scenario file.
pub(crate) const SCENARIO: Shape = Object(&[
    row(
        "$schema",
        Free,
        Text,
        "Where an editor finds the schema of this file; nothing else looks at it.",
    ),
    row(
        "name",
        Required,
        Name(NAMELESS),
        "A short name, for reports and traces.",
    ),
    row("about", Or("\"\""), Text, "One sentence on what it shows."),
    row(
        "parties",
        Required,
        list("a party", "parties", &PARTY, PARTIES_MAX),
        "Who takes part.",
    ),
    row(
        "links",
        Required,
        list("a link", "links", &LINK, PARTIES_MAX),
        "Who is connected with whom.",
    ),
    row(
        "workload",
        Required,
        Named(&list("a step", "steps", &STEP, STEPS_MAX)),
        "What each client does, by its name: at least one step.",
    ),
    row(
        "faults",
        Or("{}"),
        FAULTS,
        "How many faults of each kind may happen in a run.",
    ),
    row(
        "bounds",
        Or("{}"),
        BOUNDS,
        "Where a run ends at the latest.",
    ),
]);

/// Every word that may stand at the place of a capability.
pub(crate) fn capability_paths() -> impl Iterator<Item = &'static str> {
    Capability::ALL.iter().map(|capability| capability.as_str())
}

impl Shape {
    /// The shape in words.
    fn words(&self) -> String {
        match self {
            Text | Name(_) | Word(_) | Path => "a text".to_owned(),
            Flag => "true or false".to_owned(),
            Whole(least, most) => format!("a whole number from {least} to {most}"),
            Counted(most, _) => format!("a whole number from 1 to {most}"),
            List(_) => "a list".to_owned(),
            Object(_) | Named(_) => "an object".to_owned(),
        }
    }

    /// Whether the value has this shape; names that are not known are left to others.
    ///
    /// # Errors
    /// With the first value that has another shape.
    pub(crate) fn check(&self, value: &Value) -> Result<(), Mistake> {
        self.check_at("a scenario", value, &mut vec![])
    }

    fn check_at(&self, what: &str, value: &Value, path: &mut Vec<Place>) -> Result<(), Mistake> {
        let other = match (self, value) {
            (Name(empty), Value::String(name)) if name.is_empty() => (*empty).to_owned(),
            (Text | Name(_) | Word(_) | Path, Value::String(_)) | (Flag, Value::Bool(_)) => {
                return Ok(());
            }
            (Counted(_, zero), Value::Number(number)) if number.as_i64() == Some(0) => {
                (*zero).to_owned()
            }
            (Whole(..) | Counted(..), Value::Number(number))
                if number.as_i64().is_some_and(|number| self.holds(number)) =>
            {
                return Ok(());
            }
            (List(elements), Value::Array(values)) => {
                return elements.check_at(what, values, path);
            }
            (Object(members), Value::Object(found)) => {
                for member in *members {
                    if let Some(value) = found.get(member.name) {
                        member.shape.check_member(member.name, value, path)?;
                    }
                }
                return Ok(());
            }
            (Named(shape), Value::Object(found)) => {
                for (name, value) in found {
                    shape.check_member(name, value, path)?;
                }
                return Ok(());
            }
            _ => format!("{what} must be {}, not {}", self.words(), found(value)),
        };
        Err(mistake(path, other))
    }

    fn check_member(
        &self,
        name: &str,
        value: &Value,
        path: &mut Vec<Place>,
    ) -> Result<(), Mistake> {
        path.push(Place::Key(name.to_owned()));
        self.check_at(&format!("`{name}`"), value, path)?;
        path.pop();
        Ok(())
    }

    fn holds(&self, number: i64) -> bool {
        match *self {
            Whole(least, most) => (least..=most).contains(&number),
            Counted(most, _) => (1..=most).contains(&number),
            _ => false,
        }
    }
}

impl Elements {
    fn check_at(&self, what: &str, values: &[Value], path: &mut Vec<Place>) -> Result<(), Mistake> {
        let (least, most, many) = (self.least, self.most, self.many);
        // More of what stands there once only than there are is seen when it stands there twice.
        if !self.are_distinct && !(least..=most).contains(&values.len()) {
            let said = format!(
                "{what} must be a list of {least} to {most} {many}, not of {}",
                values.len()
            );
            return Err(mistake(path, said));
        }
        for (at, value) in values.iter().enumerate() {
            path.push(Place::At(at));
            self.shape.check_at(self.one, value, path)?;
            // Of more than there are, one of these stands there twice or is unknown.
            if self.are_distinct && at <= most && values[..at].contains(value) {
                let text = value.as_str().unwrap_or_default();
                return Err(mistake(path, format!("`{text}` stands here twice")));
            }
            path.pop();
        }
        Ok(())
    }
}

fn mistake(path: &mut Vec<Place>, message: String) -> Mistake {
    Mistake {
        path: std::mem::take(path),
        message,
    }
}

/// What a value is, in words.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;
    use crate::scenario::{Bounds, Party, PartyRole};

    /// A scenario with something unknown in it: what the reader knows there.
    fn known(text: &str) -> Vec<String> {
        let text = text.replace('?', "\"unknown-to-everyone\"");
        let said = Scenario::parse(&text).expect_err("an unknown name").message;
        let known = said.split_once("known here: ");
        let (_, known) = known.unwrap_or_else(|| panic!("{said}"));
        known.split(", ").map(str::to_owned).collect()
    }

    /// The members here are those of the structs, as the reader names them for an unknown one.
    #[test]
    fn the_members_are_those_of_the_structs() {
        for (shape, text) in [
            (SCENARIO, "{?: 1}"),
            (PARTY, "{\"parties\": [{?: 1}]}"),
            (LINK, "{\"links\": [{?: 1}]}"),
            (BEYOND, "{\"links\": [{\"beyond\": {?: 1}}]}"),
            (STEP, "{\"workload\": {\"c\": [{?: 1}]}}"),
            (FAULTS, "{\"faults\": {?: 1}}"),
            (BOUNDS, "{\"bounds\": {?: 1}}"),
        ] {
            let Object(members) = shape else {
                panic!("an object")
            };
            let names: Vec<&str> = members.iter().map(|member| member.name).collect();
            assert_eq!(known(text), names);
        }
    }

    /// … and so are the words.
    #[test]
    fn the_words_are_those_of_the_enums() {
        for (shape, text) in [
            (ROLE, "{\"parties\": [{\"role\": ?}]}"),
            (IDS, "{\"parties\": [{\"ids\": ?}]}"),
            (ROUTING, "{\"parties\": [{\"routing\": ?}]}"),
            (KIND, "{\"links\": [{\"kind\": ?}]}"),
            (ACT, "{\"workload\": {\"c\": [{\"do\": ?}]}}"),
            (TOOL, "{\"workload\": {\"c\": [{\"tool\": ?}]}}"),
        ] {
            let Word(words) = shape else { panic!("words") };
            let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            assert_eq!(known(text), words);
        }
        let paths = known("{\"parties\": [{\"capabilities\": [?]}]}");
        assert!(capability_paths().eq(paths.iter().map(String::as_str)));
    }

    /// Every member and every word has one sentence.
    #[test]
    fn everything_has_its_sentence() {
        let is_sentence = |says: &str| {
            let starts = says.starts_with(char::is_uppercase);
            starts && (says.ends_with('.') || says.ends_with('…')) && !says.contains(". ")
        };
        let mut open = vec![SCENARIO];
        let mut members = 0;
        while let Some(shape) = open.pop() {
            match shape {
                Object(all) => {
                    for member in all {
                        assert!(is_sentence(member.says), "{}: {}", member.name, member.says);
                        open.push(member.shape);
                        members += 1;
                    }
                }
                Word(all) => {
                    for (word, says) in all {
                        assert!(is_sentence(says), "{word}: {says}");
                    }
                }
                List(elements) => open.push(*elements.shape),
                Named(shape) => open.push(*shape),
                Text | Name(_) | Path | Flag | Whole(..) | Counted(..) => {}
            }
        }
        assert!(members > 40, "{members}");
    }

    /// The defaults are those that the reader takes.
    #[test]
    fn the_defaults_are_those_of_the_reader() {
        let text = r#"{"name": "n", "parties": [{"name": "c", "role": "client"}, {"name": "s", "role": "server"}],
            "links": [{"kind": "pipe", "client": "c", "server": "s"}], "workload": {"c": [{"do": "ping"}]}}"#;
        let plain = Scenario::parse(text).expect("valid");
        let mut spelled: Value = serde_json::from_str(text).expect("JSON");
        spell_out(SCENARIO, &mut spelled);
        // What is another role's is refused where it is another value than this.
        assert_eq!(Scenario::parse(&spelled.to_string()), Ok(plain.clone()));
        assert_eq!(plain.parties[0], Party::plain("c", PartyRole::Client));
        assert_eq!(plain.bounds, Bounds::default());
        assert_eq!(spelled["links"][0]["beyond"]["drop"], false);
    }

    /// Writes every default into a value.
    fn spell_out(shape: Shape, value: &mut Value) {
        match (shape, value) {
            (Object(members), Value::Object(found)) => {
                for member in members {
                    if let Or(default) = member.need {
                        let default = serde_json::from_str(default).expect("a default is JSON");
                        found.entry(member.name).or_insert(default);
                    }
                    if let Some(value) = found.get_mut(member.name) {
                        spell_out(member.shape, value);
                    }
                }
            }
            (List(elements), Value::Array(values)) => {
                for value in values {
                    spell_out(*elements.shape, value);
                }
            }
            (Named(shape), Value::Object(found)) => {
                for value in found.values_mut() {
                    spell_out(*shape, value);
                }
            }
            _ => {}
        }
    }
}
