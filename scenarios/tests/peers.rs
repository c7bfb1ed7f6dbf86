//! The reference peers among themselves: every workload is done when the world is quiet, whoever watches.

use mcpsim_scenarios::scenario::{Act, Link, Step, Transport};
use mcpsim_scenarios::{Peer, Scenario, scenarios};
use mcpsim_sim::choose::{Dice, Plain, derive_seed};
use mcpsim_sim::door::Door;
use mcpsim_sim::world::{RunEnd, World};
use mcpsim_traces::event::{Choices, Nothing, PartyId};
use mcpsim_traces::judge::NoJudge;
use mcpsim_traces::message::Tool;

fn world(scenario: &Scenario) -> World<Peer, NoJudge> {
    let setup = scenario.setup(None).expect("no fault is asked for");
    World::new(setup, NoJudge)
}

/// Whatever the world does, no client waits for ever: there is an answer, a loss it is told of, or a timer.
#[test]
fn workloads_end_in_every_schedule() {
    for scenario in scenarios() {
        for index in 0..200 {
            let mut world = world(scenario);
            let mut dice = Dice::new(derive_seed(7, index));
            let ended = world.run(&mut Door::new(&mut dice, &mut Nothing), |_| false);
            assert_eq!(ended.end, RunEnd::Quiet, "{} run {index}", scenario.name);
            for at in 0..scenario.parties.len() {
                let done = match world.actor(PartyId(at as u8)) {
                    Peer::Client(client) => {
                        client.is_done()
                            || client.has_left()
                            || scenario.faults != Default::default()
                    }
                    Peer::Server(server) => {
                        server.is_idle() || scenario.faults != Default::default()
                    }
                    Peer::Gateway(gateway) => {
                        gateway.is_idle() || scenario.faults != Default::default()
                    }
                };
                assert!(
                    done,
                    "{} run {index}: {:?}",
                    scenario.name,
                    world.actor(PartyId(at as u8))
                );
            }
        }
    }
}

/// Where things can be lost, a client is told, or its timer runs: nothing of it stays open.
#[test]
fn nothing_stays_open_where_frames_are_lost() {
    for name in ["lossy-http", "unreliable-parties"] {
        let scenario = mcpsim_scenarios::scenario(name).expect("a named scenario");
        for index in 0..2_000 {
            let mut world = world(scenario);
            let mut dice = Dice::new(derive_seed(11, index));
            world.run(&mut Door::new(&mut dice, &mut Nothing), |_| false);
            for at in 0..scenario.parties.len() {
                let waits = match world.actor(PartyId(at as u8)) {
                    Peer::Client(client) => client.waits(),
                    Peer::Server(server) => server.waits(),
                    Peer::Gateway(gateway) => gateway.waits(),
                };
                // A crashed party keeps its last state; it is no longer there.
                let crashed = name == "unreliable-parties";
                assert!(
                    !waits || crashed,
                    "{name} run {index}: {:?}",
                    world.actor(PartyId(at as u8))
                );
            }
        }
    }
}

/// The same seed gives the same choices, and so does a second world of the same scenario.
#[test]
fn the_same_seed_gives_the_same_choices() {
    for scenario in scenarios() {
        let choices = |seed| {
            let mut choices = Choices::default();
            let mut dice = Dice::new(seed);
            world(scenario).run(&mut Door::new(&mut dice, &mut choices), |_| false);
            choices.0
        };
        assert_eq!(choices(3), choices(3), "{}", scenario.name);
        // Where nothing can come in another order there is only one run.
        let has_choice = choices(3).iter().any(|choice| choice.bound > 1);
        assert!(!has_choice || choices(3) != choices(4), "{}", scenario.name);
    }
}

/// The plainest run of one call, frame by frame: initialize and its answer, initialized, the call
/// and its answer.
#[test]
fn one_call_takes_five_frames() {
    let scenario = mcpsim_scenarios::scenario("one-call").expect("a named scenario");
    let ended = world(scenario).run(&mut Door::new(&mut Plain, &mut Nothing), |_| false);
    assert_eq!((ended.frames, ended.end), (5, RunEnd::Quiet));
}

/// A client with a window of 8 keeps 8 calls open, and progress comes under each one's token.
#[test]
fn a_window_of_eight_calls_is_served() {
    let mut scenario = mcpsim_scenarios::scenario("one-call")
        .expect("a named scenario")
        .clone();
    scenario.parties[0].window = 8;
    let call = Step {
        progress: true,
        ..Step::call(Tool::Count, 2)
    };
    scenario
        .workload
        .insert("client".to_owned(), vec![call; 100]);
    scenario
        .workload
        .get_mut("client")
        .expect("there")
        .push(Step::plain(Act::Ping));
    let ended = world(&scenario).run(&mut Door::new(&mut Plain, &mut Nothing), |_| false);
    // 3 of the handshake, 100 calls with two reports and an answer each, a ping and its answer.
    assert_eq!((ended.frames, ended.end), (3 + 100 * 4 + 2, RunEnd::Quiet));
}

/// Pipes that hold nothing never stop peers that read while they write: every workload is done.
#[test]
fn no_pipe_is_too_small() {
    for named in scenarios() {
        let is_pipe = |link: &Link| link.kind == Transport::Pipe;
        if named.faults != Default::default() || !named.links.iter().all(is_pipe) {
            continue;
        }
        let mut scenario = named.clone();
        for link in &mut scenario.links {
            link.capacity = Some(0);
        }
        assert_eq!(scenario.check(), Ok(()), "{}", named.name);
        for index in 0..100 {
            let mut world = world(&scenario);
            let mut dice = Dice::new(derive_seed(13, index));
            world.run(&mut Door::new(&mut dice, &mut Nothing), |_| false);
            match world.actor(PartyId(0)) {
                Peer::Client(client) => {
                    let done = client.is_done() || client.has_left();
                    assert!(done, "{} run {index}: {client:?}", named.name);
                }
                other => panic!("party 0 is a client: {other:?}"),
            }
        }
    }
}
