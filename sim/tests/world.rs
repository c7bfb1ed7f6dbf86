//! The world with small actors: what each link kind allows, what each fault does, and that the same answers
//! give the same events.

use mcpsim_sim::actor::{Actor, Habits, Input, Out, Port, Route};
use mcpsim_sim::choose::{Chooser, Dice, LenientScript, Odometer, Options, Plain, Script};
use mcpsim_sim::door::Door;
use mcpsim_sim::setup::{Beyond, Bounds, FaultBudget, LinkSetup, Setup};
use mcpsim_sim::strategy::{Strategy, length};
use mcpsim_sim::world::{RunEnd, World};
use mcpsim_traces::event::{Choices, Event, Label, LinkKind, PartyId, Role, Sink, Site, What};
use mcpsim_traces::judge::{Blocked, EndState, Ending, Finding, Judge, NoJudge, PartEvent, Sight};
use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Kind, Message, Method};

/// A client that sends pings 1..=n at once; a server that answers at once, or in steps of its own.
#[derive(Clone, Debug)]
enum Small {
    Client {
        pings: i64,
        timer_ms: Option<u32>,
        heard: Vec<String>,
    },
    Server {
        later: bool,
        exit_after: u32,
        held: Vec<Key>,
        heard: Vec<String>,
    },
}

impl Small {
    fn heard(&self) -> &[String] {
        match self {
            Small::Client { heard, .. } | Small::Server { heard, .. } => heard,
        }
    }
}

fn client(pings: i64) -> Small {
    Small::Client {
        pings,
        timer_ms: None,
        heard: vec![],
    }
}

fn server(later: bool) -> Small {
    Small::Server {
        later,
        exit_after: 0,
        held: vec![],
        heard: vec![],
    }
}

impl Actor for Small {
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        let note = match input {
            Input::Opened { .. } => None,
            Input::Frame { message, .. } => {
                Some(format!("{} {}", message.kind.as_str(), message.id))
            }
            Input::Timer { tag } => Some(format!("timer {tag}")),
            Input::Own { tag } => Some(format!("own {tag}")),
            Input::ExchangeLost { message, .. } => Some(format!("lost {}", message.id)),
            Input::StreamBroken { stream, .. } => Some(format!("broken {stream}")),
            Input::StreamReopened {
                stream, delivered, ..
            } => Some(format!("reopened {stream} after {delivered}")),
            Input::Stderr { text, .. } => Some(format!("stderr {text}")),
            Input::Closed { .. } => Some("closed".into()),
        };
        match self {
            Small::Client {
                pings,
                timer_ms,
                heard,
            } => {
                heard.extend(note);
                match input {
                    Input::StreamBroken { stream, .. } => out.again(*stream),
                    Input::Own { tag } => out.resume(Port(0), *tag),
                    _ => {}
                }
                if let Input::Opened { port, .. } = input {
                    for id in 1..=*pings {
                        out.caused_by_step(id as u16);
                        out.send(
                            *port,
                            Message::request(Method::Ping, Key::integer(id)),
                            Route::Usual,
                        );
                        if let Some(delay_ms) = timer_ms {
                            out.timer(id as u32, *delay_ms);
                        }
                    }
                }
            }
            Small::Server {
                later,
                exit_after,
                held,
                heard,
            } => {
                heard.extend(note);
                match input {
                    Input::StreamReopened { port, stream, .. } if *exit_after == u32::MAX => {
                        out.forget(*port, *stream);
                    }
                    Input::StreamReopened { port, stream, .. } => out.replay(*port, *stream),
                    Input::Frame {
                        message,
                        port,
                        stream,
                        ..
                    } if message.kind == Kind::Request => {
                        if *exit_after > 0 && heard.len() as u32 == *exit_after {
                            out.exit();
                        } else if *later {
                            held.push(message.id);
                            out.again(message.id.as_integer().unwrap_or(0) as u32);
                        } else {
                            let answer =
                                Message::result(message.id, mcpsim_traces::message::Shape::Empty);
                            out.send(*port, answer, Route::On(*stream));
                        }
                    }
                    Input::Own { tag } => {
                        let id = Key::integer(i64::from(*tag));
                        held.retain(|other| *other != id);
                        let answer = Message::result(id, mcpsim_traces::message::Shape::Empty);
                        out.send(
                            Port(0),
                            answer,
                            Route::On(id.as_integer().unwrap_or(0) as u32),
                        );
                    }
                    _ => {}
                }
            }
        }
    }
}

fn link(kind: LinkKind) -> LinkSetup {
    LinkSetup {
        kind,
        client: PartyId(0),
        server: PartyId(1),
        capacity: 64,
        stderr_capacity: 64,
        resumable: false,
        beyond: Beyond::default(),
    }
}

fn setup(kind: LinkKind, client: Small, server: Small) -> Setup<Small> {
    Setup {
        parties: vec![client, server],
        links: vec![link(kind)],
        faults: FaultBudget::default(),
        bounds: Bounds::default(),
    }
}

/// Every event as a line: what a replay must repeat.
#[derive(Default)]
struct Lines(Vec<String>);

impl Sink for Lines {
    fn event(&mut self, event: &Event<'_>) {
        let mut text = format!("{} {:?}", event.at_ms, event.what);
        if let What::Send { text: frame, .. } = event.what {
            let mut bytes = vec![];
            frame.write(&mut bytes);
            text = format!("{} send {}", event.at_ms, String::from_utf8_lossy(&bytes));
        }
        self.0.push(text);
    }
}

fn run<A: Actor>(setup: Setup<A>, chooser: &mut impl Chooser) -> (World<A, NoJudge>, Lines) {
    let mut lines = Lines::default();
    let mut world = World::new(setup, NoJudge);
    let ended = world.run(&mut Door::new(chooser, &mut lines), |_| false);
    assert_eq!(ended.end, RunEnd::Quiet);
    (world, lines)
}

/// How many schedules a small world has, counted by hand below.
fn count(setup: &Setup<Small>) -> usize {
    let mut odometer = Odometer::new();
    let mut runs = 0;
    loop {
        run(setup.clone(), &mut odometer);
        runs += 1;
        if !odometer.advance() {
            return runs;
        }
    }
}

/// One ping on a pipe has one schedule. Two pings: requests q1 q2 in order, answers a1 a2 in order,
/// each answer after its request: q1 q2 a1 a2 and q1 a1 q2 a2. Three: the Catalan number 5.
#[test]
fn a_pipe_keeps_order() {
    for (pings, schedules) in [(1, 1), (2, 2), (3, 5), (4, 14)] {
        assert_eq!(
            count(&setup(LinkKind::Pipe, client(pings), server(false))),
            schedules
        );
    }
}

/// On http each exchange is on its own: (2n)! / 2^n orders of n requests and their answers.
#[test]
fn http_exchanges_overtake_each_other() {
    for (pings, schedules) in [(1, 1), (2, 6), (3, 90)] {
        assert_eq!(
            count(&setup(LinkKind::Http, client(pings), server(false))),
            schedules
        );
    }
}

/// A server that answers in steps of its own adds one more free event to each request: on http
/// (3n)! / 6^n.
#[test]
fn own_steps_are_options() {
    assert_eq!(count(&setup(LinkKind::Http, client(2), server(true))), 20);
}

const ONE_OF_EACH: FaultBudget = FaultBudget {
    delay: 1,
    duplicate: 1,
    drop: 1,
    cut: 1,
    crash: 1,
};

#[test]
fn the_same_seed_gives_the_same_events_and_a_script_repeats_them() {
    for seed in 0..50 {
        let mut set = setup(LinkKind::Http, client(6), server(true));
        set.faults = ONE_OF_EACH;
        let (_, one) = run(set.clone(), &mut Dice::new(seed));
        let (_, other) = run(set.clone(), &mut Dice::new(seed));
        assert_eq!(one.0, other.0);
        let mut choices = Choices::default();
        World::new(set.clone(), NoJudge)
            .run(&mut Door::new(&mut Dice::new(seed), &mut choices), |_| {
                false
            });
        let mut script = Script::new(&choices.0);
        let (_, again) = run(set.clone(), &mut script);
        assert_eq!(script.drift(), None);
        assert_eq!(script.used(), choices.0.len());
        assert_eq!(one.0, again.0);
        let (_, lenient) = run(set, &mut LenientScript::new(&choices.0));
        assert_eq!(
            one.0, lenient.0,
            "a lenient script repeats an unchanged world"
        );
    }
}

const STRATEGIES: [&str; 5] = ["uniform", "pct:1", "pct:4", "swarm", "mix"];

/// By every strategy: the same seed is the same run, and what was written down repeats it without a word of the strategy.
#[test]
fn a_script_repeats_a_run_of_any_strategy() {
    let mut set = setup(LinkKind::Http, client(6), server(true));
    set.faults = ONE_OF_EACH;
    let length = length(set.clone());
    assert_eq!(length, mcpsim_sim::strategy::length(set.clone()));
    let mut events = vec![];
    for name in STRATEGIES {
        let strategy = Strategy::parse(name).expect("a name");
        for seed in 0..30 {
            let dice = || Dice::by(strategy, seed, length);
            let (_, one) = run(set.clone(), &mut dice());
            let mut choices = Choices::default();
            World::new(set.clone(), NoJudge)
                .run(&mut Door::new(&mut dice(), &mut choices), |_| false);
            let mut script = Script::new(&choices.0);
            let (_, again) = run(set.clone(), &mut script);
            assert_eq!(script.drift(), None, "{name}");
            assert_eq!(script.used(), choices.0.len(), "{name}");
            assert_eq!(one.0, again.0, "{name}");
            events.push(one.0);
        }
    }
    // The comparison would see a difference: strategies are not the same.
    assert_ne!(events[..30], events[30..60]);
}

/// Twenty requests and their answers on a pipe: that all requests arrive before the first answer is a bug of depth 1.
/// Priorities have it in half of all runs; under equal odds each of nineteen steps has to go that way.
#[test]
fn priorities_hold_a_message_back_for_long() {
    let set = setup(LinkKind::Pipe, client(20), server(false));
    let length = length(set.clone());
    let held_back = |name: &str| {
        let strategy = Strategy::parse(name).expect("a name");
        let is_last = |seed: &u64| {
            let (_, lines) = run(set.clone(), &mut Dice::by(strategy, *seed, length));
            let arrivals = lines.0.iter().filter(|line| line.contains(" Recv {"));
            let to_server = |line: &&String| line.contains("to: Server");
            arrivals.take_while(to_server).count() == 20
        };
        (0..600).filter(is_last).count()
    };
    assert_eq!(held_back("uniform"), 0);
    assert!((250..350).contains(&held_back("pct:1")));
}

/// Lets the youngest move first.
struct Lifo;

impl Chooser for Lifo {
    fn choose(&mut self, _: Site, options: &dyn Options) -> u32 {
        options.bound() - 1
    }
}

/// Lets so many frames arrive, and cuts the link then.
struct CutAfter(u32);

impl Chooser for CutAfter {
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32 {
        if site != Site::Fault || self.0 > 0 {
            self.0 -= u32::from(site == Site::Fault);
            return 0;
        }
        let cut = Label::parse("fault/cut");
        let found = (0..options.bound()).find(|&answer| Some(options.label(answer)) == cut);
        found.unwrap_or(0)
    }
}

/// Takes the fault of that label whenever it is on offer, else the plainest answer.
struct Wanting(&'static str);

impl Chooser for Wanting {
    fn choose(&mut self, site: Site, options: &dyn Options) -> u32 {
        let wanted = Label::parse(self.0);
        let found = (0..options.bound()).find(|&answer| Some(options.label(answer)) == wanted);
        if site == Site::Fault {
            found.unwrap_or(0)
        } else {
            0
        }
    }
}

fn budget(name: &str) -> FaultBudget {
    let one = |fault| u8::from(name == fault);
    FaultBudget {
        delay: one("delay"),
        duplicate: one("duplicate"),
        drop: one("drop"),
        cut: one("cut"),
        crash: one("crash"),
    }
}

fn with_fault(
    kind: LinkKind,
    name: &'static str,
    label: &'static str,
) -> (Vec<String>, Vec<String>, Vec<String>) {
    let mut set = setup(kind, client(2), server(false));
    set.faults = budget(name);
    let (world, lines) = run(set, &mut Wanting(label));
    let heard = |party| world.actor(PartyId(party)).heard().to_vec();
    (heard(0), heard(1), lines.0)
}

#[test]
fn a_dropped_exchange_is_told_to_its_client() {
    let (client, server, _) = with_fault(LinkKind::Http, "drop", "fault/drop");
    assert_eq!(server, ["request 2"]);
    assert_eq!(client, ["lost 1", "result 2"]);
}

#[test]
fn a_pipe_drops_only_beyond_its_kind() {
    let (heard, there, _) = with_fault(LinkKind::Pipe, "drop", "fault/drop");
    assert_eq!((heard.len(), there.len()), (2, 2), "not on offer");
    let mut set = setup(LinkKind::Pipe, client(2), server(false));
    set.faults = budget("drop");
    set.links[0].beyond.drop = true;
    let (world, lines) = run(set, &mut Wanting("fault/drop"));
    assert_eq!(world.actor(PartyId(1)).heard(), ["request 2"]);
    assert!(
        lines.0.iter().any(|line| line.contains("forbidden: true")),
        "the trace says so"
    );
}

#[test]
fn a_duplicate_arrives_twice() {
    let (client, server, _) = with_fault(LinkKind::Http, "duplicate", "fault/duplicate");
    assert_eq!(server, ["request 1", "request 2", "request 1"]);
    assert_eq!(client, ["result 1", "result 2", "result 1"]);
}

#[test]
fn a_delayed_stream_waits_and_the_clock_moves() {
    let (_, server, lines) = with_fault(LinkKind::Http, "delay", "fault/delay");
    assert_eq!(server, ["request 2", "request 1"]);
    assert!(
        lines.iter().any(|line| line.starts_with("20000 ")),
        "{lines:?}"
    );
    let (_, server, _) = with_fault(LinkKind::Pipe, "delay", "fault/delay");
    assert_eq!(
        server,
        ["request 1", "request 2"],
        "a held pipe keeps its order"
    );
}

#[test]
fn a_cut_closes_both_ends() {
    let (client, server, _) = with_fault(LinkKind::Pipe, "cut", "fault/cut");
    assert_eq!(client, ["closed"]);
    assert_eq!(server, ["closed"]);
}

#[test]
fn a_crashed_party_hears_nothing_more() {
    let (client, server, _) = with_fault(LinkKind::Pipe, "crash", "fault/crash");
    assert_eq!(server, [] as [&str; 0]);
    assert_eq!(client, ["closed"]);
}

/// What a program wrote before it ended still arrives, then the end of the link.
#[test]
fn an_exit_closes_links_after_what_was_sent() {
    let dying = Small::Server {
        later: false,
        exit_after: 2,
        held: vec![],
        heard: vec![],
    };
    let (world, _) = run(setup(LinkKind::Pipe, client(3), dying), &mut Plain);
    assert_eq!(world.actor(PartyId(0)).heard(), ["result 1", "closed"]);
    assert_eq!(world.actor(PartyId(1)).heard(), ["request 1", "request 2"]);
}

fn resumable(server: Small, drops: u8) -> Setup<Small> {
    let mut set = setup(LinkKind::Http, client(2), server);
    set.links[0].resumable = true;
    set.faults.drop = drops;
    set
}

/// Nothing is lost with a connection that breaks, however often: the client opens the stream again and has all of it.
#[test]
fn a_broken_stream_goes_on_where_it_can_be_resumed() {
    let (world, lines) = run(resumable(server(false), 3), &mut Wanting("fault/drop"));
    assert_eq!(
        world.actor(PartyId(1)).heard(),
        [
            "request 1",
            "request 2",
            "reopened 1 after 0",
            "reopened 2 after 0",
            "reopened 1 after 0"
        ]
    );
    let client = world.actor(PartyId(0)).heard();
    let results: Vec<&String> = client.iter().filter(|one| one.contains("result")).collect();
    assert_eq!(results, ["result 2", "result 1"]);
    let of = |word: &str| lines.0.iter().filter(|line| line.contains(word)).count();
    assert_eq!((of("Broken {"), of("Resumed {"), of("Lost {")), (3, 3, 0));
}

#[test]
fn a_server_that_forgets_a_stream_says_so_in_the_trace() {
    let forgetful = Small::Server {
        later: false,
        exit_after: u32::MAX,
        held: vec![],
        heard: vec![],
    };
    let (world, lines) = run(resumable(forgetful, 1), &mut Wanting("fault/drop"));
    let client = world.actor(PartyId(0)).heard();
    assert_eq!(client, ["result 2", "broken 1", "own 1"]);
    assert!(
        lines.0.iter().any(|line| line.contains("Forgotten {")),
        "{:?}",
        lines.0
    );
}

/// What is sent on a stream while it is broken comes after what waited there, and a world with all of that is a
/// function of its answers.
#[test]
fn a_resumed_stream_keeps_its_order_under_every_seed() {
    for seed in 0..400 {
        let mut set = resumable(server(seed % 2 == 0), 4);
        set.faults.delay = 1;
        set.faults.duplicate = 1;
        set.faults.cut = u8::from(seed % 5 == 0);
        let mut choices = Choices::default();
        World::new(set.clone(), NoJudge)
            .run(&mut Door::new(&mut Dice::new(seed), &mut choices), |_| {
                false
            });
        let (_, one) = run(set.clone(), &mut Dice::new(seed));
        let mut script = Script::new(&choices.0);
        let (world, again) = run(set, &mut script);
        assert_eq!(script.drift(), None);
        assert_eq!(one.0, again.0);
        let client = world.actor(PartyId(0)).heard();
        let has = |word: &str| client.iter().any(|one| one == word);
        assert!(
            has("closed") || has("result 1") && has("result 2"),
            "seed {seed}: {client:?}"
        );
    }
}

/// A small actor with habits of its own, which writes a line on its stderr for each frame that it takes.
#[derive(Clone, Debug)]
struct Habitual {
    small: Small,
    habits: Habits,
}

impl Actor for Habitual {
    fn on(&mut self, input: &Input<'_>, out: &mut Out<'_>) {
        self.small.on(input, out);
        if let (Small::Server { .. }, Input::Frame { port, .. }) = (&self.small, input) {
            out.stderr(*port, "took one");
        }
    }

    fn habits(&self) -> Habits {
        self.habits
    }
}

/// A client that sends so many pings and a server with such habits, on pipes of that many frames and lines.
fn habitual(pings: i64, client_is: Habits, server_is: Habits, capacity: u32) -> Setup<Habitual> {
    let with = |small, habits| Habitual { small, habits };
    let mut link = link(LinkKind::Pipe);
    link.capacity = capacity;
    link.stderr_capacity = capacity;
    Setup {
        parties: vec![
            with(client(pings), client_is),
            with(server(false), server_is),
        ],
        links: vec![link],
        faults: FaultBudget::default(),
        bounds: Bounds::default(),
    }
}

const WRITES_ONLY: Habits = Habits {
    reads_while_writing: false,
    reads_stderr: true,
};

/// What happened to full pipes, a word each.
fn full_pipes(lines: &Lines) -> Vec<String> {
    let about = lines.0.iter().filter(|line| line.contains("locked {"));
    about
        .map(|line| line.replace("0 ", "").replace(" link: LinkId(0), on:", ""))
        .collect()
}

/// Pipes of one frame, a client that writes three frames: without a queue it is blocked until the server has read enough,
/// and takes no event meanwhile; with one it takes the first answer before the server has read on.
#[test]
fn a_full_pipe_blocks_a_writer_without_a_queue() {
    for (habits, order) in [
        (WRITES_ONLY, ["Server", "Server", "Client"]),
        (Habits::default(), ["Server", "Client", "Server"]),
    ] {
        let set = habitual(3, habits, Habits::default(), 1);
        let (world, lines) = run(set, &mut Lifo);
        assert_eq!(
            world.actor(PartyId(0)).small.heard().len(),
            3 + 3,
            "three answers and three lines"
        );
        let arrivals = lines.0.iter().filter(|line| line.contains("Recv {"));
        let to: Vec<bool> = arrivals
            .zip(order)
            .map(|(line, to)| line.contains(to))
            .collect();
        assert_eq!(to, [true; 3], "{:?}", lines.0);
        let full = full_pipes(&lines);
        let is_blocked = habits == WRITES_ONLY;
        assert_eq!(full.contains(&"Blocked { Stdin }".to_owned()), is_blocked);
        assert_eq!(full.contains(&"Unblocked { Stdin }".to_owned()), is_blocked);
    }
}

/// Two parties that do not read while they write stop each other for good; it takes both.
#[test]
fn two_writers_without_a_queue_stop_each_other() {
    let mut stopped = 0;
    for seed in 0..100 {
        for client_is in [WRITES_ONLY, Habits::default()] {
            for server_is in [WRITES_ONLY, Habits::default()] {
                let mut set = habitual(4, client_is, server_is, 0);
                set.links[0].stderr_capacity = 64;
                let (world, lines) = run(set, &mut Dice::new(seed));
                let heard = world.actor(PartyId(0)).small.heard();
                let answers = heard.iter().filter(|line| line.starts_with("result"));
                let is_done = answers.count() == 4;
                let are_both = client_is == WRITES_ONLY && server_is == WRITES_ONLY;
                assert!(is_done || are_both, "seed {seed}: {:?}", lines.0);
                stopped += u32::from(!is_done);
            }
        }
    }
    assert!(stopped > 50, "{stopped}");
}

/// A server writes lines that its client reads, in their order; one whose client does not read them stops at the line
/// that is too many, and goes on when that client is gone.
#[test]
fn stderr_that_nobody_reads_stops_its_writer() {
    let deaf = Habits {
        reads_stderr: false,
        ..Habits::default()
    };
    let (world, lines) = run(
        habitual(4, Habits::default(), Habits::default(), 1),
        &mut Dice::new(3),
    );
    let of = |lines: &Lines, word: &str| lines.0.iter().filter(|line| line.contains(word)).count();
    let heard = world.actor(PartyId(0)).small.heard();
    let read = heard.iter().filter(|line| *line == "stderr took one");
    assert_eq!((read.count(), of(&lines, "Stderr { link")), (4, 4));
    assert_eq!(of(&lines, " Blocked {"), of(&lines, " Unblocked {"));

    let (world, lines) = run(habitual(4, deaf, Habits::default(), 1), &mut Dice::new(3));
    assert_eq!(world.actor(PartyId(1)).small.heard().len(), 2);
    assert_eq!(
        world.actor(PartyId(0)).small.heard(),
        ["result 1", "result 2"]
    );
    assert_eq!(full_pipes(&lines), ["Blocked { Stderr }"]);

    let mut set = habitual(4, deaf, Habits::default(), 1);
    set.faults.cut = 1;
    let (world, lines) = run(set, &mut CutAfter(2));
    assert_eq!(
        full_pipes(&lines),
        ["Blocked { Stderr }", "Unblocked { Stderr }"]
    );
    let server = world.actor(PartyId(1)).small.heard();
    assert_eq!(server.last().map(String::as_str), Some("closed"));
}

/// Who stands still when all is over, the judge is told.
#[test]
fn the_judge_is_told_who_stands_still() {
    let deaf = Habits {
        reads_stderr: false,
        ..Habits::default()
    };
    let told = |client_is, server_is| {
        let mut world = World::new(habitual(4, client_is, server_is, 0), Standing::default());
        let ended = world.run(&mut Door::new(&mut Plain, &mut Lines::default()), |_| false);
        assert_eq!(ended.end, RunEnd::Quiet);
        world.judge().0.clone()
    };
    let at = |frames, stderr| Blocked { frames, stderr };
    let nothing = at(false, false);
    assert_eq!(
        told(Habits::default(), Habits::default()),
        [nothing, nothing]
    );
    assert_eq!(told(deaf, Habits::default()), [nothing, at(false, true)]);
    assert_eq!(
        told(WRITES_ONLY, WRITES_ONLY),
        [at(true, false), at(true, true)]
    );
}

/// Keeps what each end waits to write into at the end.
#[derive(Clone, Default)]
struct Standing(Vec<Blocked>);

impl Judge for Standing {
    type Part = ();
    fn part(&self, _: Role, _: LinkKind) {}
    fn by(&mut self, _: &mut (), _: &Sight<'_>) {}
    fn toward(&mut self, _: &mut (), _: &Sight<'_>) {}
    fn event(&mut self, _: &mut (), _: PartyId, _: mcpsim_traces::event::LinkId, _: PartEvent) {}
    fn settle(&mut self, ends: &mut [EndState<'_, ()>], _: Ending) {
        self.0 = ends.iter().map(|end| end.blocked).collect();
    }
    fn encode(&self, _: &(), _: &mut mcpsim_traces::encode::Encoder) {}
    fn findings(&self) -> &[Finding] {
        &[]
    }
    fn take_findings(&mut self) -> Vec<Finding> {
        vec![]
    }
}

/// Equal delays fire in the order of setting: one option at a time. Different delays are a choice.
#[test]
fn timers_of_equal_delay_fire_in_order() {
    let timed = |pings, timer_ms| Small::Client {
        pings,
        timer_ms: Some(timer_ms),
        heard: vec![],
    };
    let silent = Small::Server {
        later: false,
        exit_after: 0,
        held: vec![],
        heard: vec![],
    };
    let (world, _) = run(setup(LinkKind::Pipe, timed(3, 1000), silent), &mut Plain);
    let timers: Vec<_> = world
        .actor(PartyId(0))
        .heard()
        .iter()
        .filter(|line| line.starts_with("timer"))
        .collect();
    assert_eq!(timers, ["timer 1", "timer 2", "timer 3"]);
    assert_eq!(world.now_ms(), 1000);
}

/// Records what a judge is told.
#[derive(Clone, Default)]
struct Diary(Vec<String>);

impl Judge for Diary {
    type Part = ();
    fn part(&self, _: mcpsim_traces::event::Role, _: LinkKind) {}
    fn by(&mut self, _: &mut (), sight: &Sight<'_>) {
        self.0
            .push(format!("{} sent {}", sight.party.0, sight.frame));
    }
    fn toward(&mut self, _: &mut (), sight: &Sight<'_>) {
        self.0
            .push(format!("{} got {}", sight.party.0, sight.frame));
    }
    fn event(
        &mut self,
        _: &mut (),
        party: PartyId,
        _: mcpsim_traces::event::LinkId,
        event: PartEvent,
    ) {
        let text = match event {
            PartEvent::SentLost {
                message,
                told,
                forbidden,
            } => format!("sent lost {} {told} {forbidden}", message.id),
            PartEvent::InboundLost {
                message,
                told,
                forbidden,
            } => format!("inbound lost {} {told} {forbidden}", message.id),
            other => format!("{other:?}"),
        };
        self.0.push(format!("{} {text}", party.0));
    }
    fn settle(&mut self, ends: &mut [EndState<'_, ()>], ending: Ending) {
        self.0.push(format!("{} ends {ending:?}", ends.len()));
    }
    fn encode(&self, (): &(), _: &mut mcpsim_traces::encode::Encoder) {}
    fn findings(&self) -> &[Finding] {
        &[]
    }
    fn take_findings(&mut self) -> Vec<Finding> {
        vec![]
    }
}

/// A judge hears of sends, receipts and losses in the order of the world.
#[test]
fn a_judge_is_told_of_losses() {
    let mut set = setup(LinkKind::Http, client(2), server(false));
    set.faults = budget("drop");
    let mut world = World::new(set, Diary::default());
    world.run(
        &mut Door::new(
            &mut Wanting("fault/drop"),
            &mut mcpsim_traces::event::Nothing,
        ),
        |_| false,
    );
    assert_eq!(
        world.judge().0,
        [
            "0 sent 1",
            "0 sent 2",
            "0 sent lost 1 true false",
            "1 inbound lost 1 false false",
            "1 got 2",
            "1 sent 3",
            "0 got 3",
            "2 ends Quiet",
        ]
    );
}

/// Beyond its kind a pipe delivers any frame next, and the trace names who was overtaken.
#[test]
fn reordering_beyond_the_kind_is_written_down() {
    let mut set = setup(LinkKind::Pipe, client(2), server(false));
    set.links[0].beyond.reorder = true;
    struct Last;
    impl Chooser for Last {
        fn choose(&mut self, _: Site, options: &dyn Options) -> u32 {
            options.bound() - 1
        }
    }
    let (world, lines) = run(set, &mut Last);
    assert_eq!(world.actor(PartyId(1)).heard(), ["request 2", "request 1"]);
    assert!(
        lines
            .0
            .iter()
            .any(|line| line.contains("Delay") && line.contains("forbidden: true"))
    );
}
