//! Lists of servers that mean no good.

use mcpsim_traces::key::Key;
use mcpsim_traces::message::{Capabilities, Method};
use mcpsim_traces::scan::Scanner;

use super::list::{ENTRIES_MAX, LATEST_MAX};
use super::{Basis, Body, ListKind, Listings, Seen};
use crate::deep::Asked;
use crate::idset::LOOSE_MAX;
use crate::ledger::Ledger;
use crate::part::Fact;

fn asked(cursor: Key) -> Asked {
    Asked {
        id: Key::integer(1),
        method: Method::ToolsList,
        frame: 1,
        fact: Fact::NONE,
        stream: 0,
        is_stateless: false,
        subject: Key::ABSENT,
        cursor,
        token: Key::ABSENT,
        wants_task: false,
        level: crate::deep::log_streams::Level::None,
        meta: crate::deep::Meta::default(),
        related: Key::ABSENT,
        basis: Basis::default(),
        is_misshapen: false,
        earlier: Capabilities::NONE,
        params: None,
    }
}

/// One page; whether a name stood twice, whether it led back, whether the list had changed.
fn page(
    listings: &mut Listings,
    ledger: &mut Ledger,
    kind: ListKind,
    cursor: Option<&str>,
    result: &str,
) -> (bool, bool, bool) {
    let asked = asked(cursor.map_or(Key::ABSENT, |cursor| Key::text(cursor.as_bytes())));
    let mut scanner = Scanner::recording();
    scanner.value(result.as_bytes(), 0).expect("JSON");
    let seen = Seen {
        kind,
        asked: &asked,
        result: scanner.body(result.as_bytes()).expect("a body"),
        frame: 2,
        fact: Fact::NONE,
    };
    let page = listings.page(&seen, ledger);
    (
        page.doubled.is_some(),
        page.looped.is_some(),
        page.difference.is_some(),
    )
}

fn tools(names: impl Iterator<Item = String>, more: &str) -> String {
    let items =
        names.map(|name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#));
    let items: Vec<String> = items.collect();
    format!(r#"{{"tools":[{}]{more}}}"#, items.join(","))
}

/// A list without end, whose cursors have no order: what is kept has an end, and then nothing is said of a
/// loop any more.
#[test]
fn cursors_without_end_are_forgotten() {
    let (mut listings, mut ledger) = (Listings::default(), Ledger::new(1));
    let cursor = |number: u32| format!("a long cursor without any order, number {number}");
    let mut last = None;
    for number in 0..LOOSE_MAX + 1000 {
        let result = format!(r#"{{"tools":[],"nextCursor":"{}"}}"#, cursor(number));
        let kind = ListKind::Tools;
        let found = page(&mut listings, &mut ledger, kind, last.as_deref(), &result);
        assert_eq!(found, (false, false, false));
        last = Some(cursor(number));
    }
    let list = listings.list(ListKind::Tools);
    assert!(list.latest.len() <= LATEST_MAX);
    assert!(list.cursors.entries() <= LOOSE_MAX as usize);
}

/// Very many items, in pages and in one: no more are followed than the limit, none is called missing that
/// may be among the rest, and a name that stands twice is found without comparing all with all.
#[test]
fn huge_lists_are_followed_only_so_far() {
    let (mut listings, mut ledger) = (Listings::default(), Ledger::new(1));
    let kind = ListKind::Tools;
    let mut names: Vec<String> = (0..30_000).map(|number| format!("tool{number}")).collect();
    names.push("tool77".to_string());
    let found = page(
        &mut listings,
        &mut ledger,
        kind,
        None,
        &tools(names.into_iter(), ""),
    );
    assert_eq!(found, (true, false, false));
    let list = listings.list(kind);
    assert_eq!(list.entries.len(), ENTRIES_MAX);
    assert!(!list.lacks(Key::text(b"other")));
    assert!(matches!(
        list.entries[&Key::text(b"tool77")].body,
        Body::Unclear
    ));
    for start in 0..20 {
        let names = (start * 1000..start * 1000 + 1000).map(|number| format!("new{number}"));
        let result = tools(names, "");
        page(&mut listings, &mut ledger, kind, None, &result);
        listings.announced(Some(kind));
    }
    let list = listings.list(kind);
    assert!(list.entries.len() + list.gone.len() <= 2 * ENTRIES_MAX);
}

/// Lists that the limits cut are not compared: a change may be where nobody looked.
#[test]
fn lists_that_were_cut_are_not_compared() {
    let (mut listings, mut ledger) = (Listings::default(), Ledger::new(1));
    let kind = ListKind::Tools;
    let names = |from: usize| (from..from + ENTRIES_MAX + 5).map(|number| format!("t{number}"));
    for from in [0, 1] {
        let result = tools(names(from), "");
        let found = page(&mut listings, &mut ledger, kind, None, &result);
        assert_eq!(found, (false, false, false));
    }
    // Small ones are, and sets whose names could be taken for each other are told apart.
    for (names, is_other) in [
        (["ad", "bc"], false),
        (["ac", "bd"], true),
        (["ac", "bd"], false),
    ] {
        let result = tools(names.into_iter().map(str::to_string), "");
        let found = page(&mut listings, &mut ledger, kind, None, &result);
        assert_eq!(found, (false, false, is_other), "{names:?}");
    }
}

/// One tool a frame with a schema of its own, for ever: schemas are kept up to their limit.
#[test]
fn schemas_of_lists_are_kept_up_to_a_limit() {
    let (mut listings, mut ledger) = (Listings::default(), Ledger::new(1));
    let padding = "x".repeat(2000);
    for number in 0..3000 {
        let result = format!(
            r#"{{"tools":[{{"name":"t{number}","inputSchema":{{"type":"object","title":"{padding}{number}"}}}}]}}"#
        );
        page(&mut listings, &mut ledger, ListKind::Tools, None, &result);
    }
    let entries = listings.list(ListKind::Tools).entries.values();
    let kept = entries.filter(|entry| matches!(&entry.body, Body::Tool { input: Some(_), .. }));
    let kept = kept.count();
    assert!((900..1100).contains(&kept), "{kept}");
}

/// Two listings at once, and a page asked for twice: neither is taken for the other.
#[test]
fn pages_that_come_out_of_turn_accuse_nobody() {
    let (mut listings, mut ledger) = (Listings::default(), Ledger::new(1));
    let kind = ListKind::Tools;
    let first = tools(["a".to_string()].into_iter(), r#","nextCursor":"1""#);
    let second = tools(["b".to_string()].into_iter(), "");
    for (cursor, result) in [
        (None, &first),
        (None, &first),
        (Some("1"), &second),
        (Some("1"), &second),
    ] {
        let found = page(&mut listings, &mut ledger, kind, cursor, result);
        assert_eq!(found, (false, false, false));
    }
}
