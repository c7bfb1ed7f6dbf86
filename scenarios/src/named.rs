//! The named scenarios, each a file of its own: what every finding and every clean run of the reference peers is tried on.

use std::sync::OnceLock;

use crate::scenario::Scenario;

/// All named scenarios, the plainest first.
pub fn scenarios() -> &'static [Scenario] {
    static ALL: OnceLock<Vec<Scenario>> = OnceLock::new();
    ALL.get_or_init(|| FILES.iter().map(|(name, text)| read(name, text)).collect())
}

/// The scenario of that name.
pub fn scenario(name: &str) -> Option<&'static Scenario> {
    scenarios().iter().find(|scenario| scenario.name == name)
}

fn read(name: &str, text: &str) -> Scenario {
    // The files are part of the program: a test holds each against the reader.
    Scenario::parse(text).unwrap_or_else(|mistake| panic!("{name}: {mistake}"))
}

macro_rules! files {
    ($($name:literal)+) => {
        const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../named/", $name, ".json"))),)+];
    };
}

files! {
    "one-call"
    "parallel-calls"
    "eager-calls"
    "progress"
    "count-quietly"
    "failing-tool"
    "cancel-on-timeout"
    "mixed-ids"
    "nested"
    "undeclared"
    "zero-id"
    "big-ids"
    "hostile-batch"
    "hostile-garbage"
    "listed-calls"
    "pings"
    "stderr-lines"
    "full-pipes"
    "full-pipes-and-stderr"
    "roots-change"
    "two-clients"
    "clients-apart"
    "resources"
    "touch-undeclared"
    "prompts"
    "log-levels"
    "silent-logs"
    "by-address"
    "tasks"
    "task-unknown"
    "tasks-polled"
    "tasks-asked"
    "batches"
    "older-server"
    "older-client"
    "no-common-revision"
    "features-2024-11-05"
    "features-2025-03-26"
    "features-2025-06-18"
    "features-2025-11-25"
    "features-2026-07-28"
    "discovery"
    "questions"
    "unwanted-logs"
    "subscriptions"
    "subscriptions-ended"
    "tasks-2026-07-28"
    "tasks-unasked"
    "task-watched"
    "probe-new-server"
    "probe-old-server"
    "session-refused"
    "two-eras"
    "gateway"
    "gateway-progress"
    "gateway-from-zero"
    "gateway-two-clients"
    "http-calls"
    "http-nested"
    "http-features"
    "http-2026-07-28"
    "http-resumed"
    "http-resumed-nested"
    "lossy-http"
    "lossy-http-2026-07-28"
    "early-end"
    "unreliable-parties"
    "unreliable-2026-07-28"
    "busy"
    "busy-gateway"
    "everything-at-once"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_scenarios_are_valid_and_survive_json() {
        for scenario in scenarios() {
            scenario
                .check()
                .unwrap_or_else(|mistake| panic!("{}: {mistake}", scenario.name));
            assert_eq!(Scenario::parse(&scenario.to_json()).as_ref(), Ok(scenario));
            assert!(scenario.about.ends_with('.'), "{}", scenario.name);
            let same = |other: &&Scenario| other.name == scenario.name;
            assert_eq!(scenarios().iter().filter(same).count(), 1);
        }
    }

    #[test]
    fn a_file_is_named_as_its_scenario() {
        for ((name, _), scenario) in FILES.iter().zip(scenarios()) {
            assert_eq!(*name, scenario.name);
        }
    }
}
