//! The first line of a trace: what it is a trace of.

use crate::event::{LinkKind, PartyId};
use crate::file::json::{Read, Wrong, object_of_line, put_string, put_strings};
use crate::judge::Vantage;
use crate::message::Revision;
use crate::scan::Scanner;

/// The version of the format that this program writes, and the newest that it reads.
pub const FORMAT_VERSION: u32 = 1;

/// Stands in [`Header::lost`] of a trace of a recording that may have begun in the middle of a session.
pub const BEGINNING: &str = "beginning";

/// The first line of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// The program that wrote it, and its version.
    pub program: String,
    /// The generator that drew the choices; `None` where nothing was drawn.
    pub generator: Option<String>,
    /// The seed of the run; `None` where nothing was drawn.
    pub seed: Option<u64>,
    /// By what law the seed became choices, as `mcpsim run --strategy` has it; `None` where nothing was drawn, or the trace is
    /// older than strategies.
    pub strategy: Option<String>,
    /// What was played, as JSON text that only the author of scenarios reads; kept as it is, but
    /// for line ends between its values. `None` for JSON's null.
    pub scenario: Option<String>,
    /// The revisions that were spoken, where they are known.
    pub revisions: Vec<Revision>,
    /// The parties; a [`PartyId`] is a place in this list.
    pub parties: Vec<Party>,
    /// The links; a [`crate::event::LinkId`] is a place in this list.
    pub links: Vec<Link>,
    /// Where the observer stood.
    pub vantage: Vantage,
    /// What the log that this was made from did not tell: `time`, `raw text`, `order across directions`, …
    pub lost: Vec<String>,
    /// What an importer had to guess.
    pub guessed: Vec<String>,
}

/// One party.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Party {
    /// Its name, for the reader.
    pub name: String,
    /// What it is.
    pub role: PartyRole,
}

/// What a party is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum PartyRole {
    /// The client end of every link that it has.
    Client,
    /// The server end of every link that it has.
    Server,
    /// A server to its clients and a client to its servers.
    Gateway,
}

impl PartyRole {
    /// All roles.
    pub const ALL: [PartyRole; 3] = [PartyRole::Client, PartyRole::Server, PartyRole::Gateway];

    /// The role in one lower-case word.
    pub const fn as_str(self) -> &'static str {
        match self {
            PartyRole::Client => "client",
            PartyRole::Server => "server",
            PartyRole::Gateway => "gateway",
        }
    }
}

/// One link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// Its kind.
    pub kind: LinkKind,
    /// The party at its client end.
    pub client: PartyId,
    /// The party at its server end.
    pub server: PartyId,
}

const LINK_KINDS: [LinkKind; 2] = [LinkKind::Pipe, LinkKind::Http];

/// Parties and links are counted in a byte.
const COUNT_MAX: usize = 256;

impl Header {
    /// A header without parties, links, seed and scenario, from the world's vantage.
    pub fn new(program: impl Into<String>) -> Header {
        Header {
            program: program.into(),
            generator: None,
            seed: None,
            strategy: None,
            scenario: None,
            revisions: vec![],
            parties: vec![],
            links: vec![],
            vantage: Vantage::World,
            lost: vec![],
            guessed: vec![],
        }
    }

    /// Whether it is the trace of a recording, which somebody has observed: nothing was played.
    pub fn is_recorded(&self) -> bool {
        let is_played = self.generator.is_some() || self.scenario.is_some();
        !is_played && self.vantage != Vantage::World
    }

    /// Appends the header's line, without a line end.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let put = |out: &mut Vec<u8>, text: &str| out.extend_from_slice(text.as_bytes());
        put(
            out,
            &format!("{{\"mcpsim_trace\":{FORMAT_VERSION},\"program\":"),
        );
        put_string(out, &self.program);
        put(out, ",\"generator\":");
        match &self.generator {
            Some(generator) => put_string(out, generator),
            None => put(out, "null"),
        }
        match self.seed {
            Some(seed) => put(out, &format!(",\"seed\":{seed}")),
            None => put(out, ",\"seed\":null"),
        }
        if let Some(strategy) = &self.strategy {
            put(out, ",\"strategy\":");
            put_string(out, strategy);
        }
        put(out, ",\"scenario\":");
        match &self.scenario {
            Some(scenario) => put_opaque(out, scenario),
            None => put(out, "null"),
        }
        let revisions: Vec<&str> = self.revisions.iter().map(|known| known.as_str()).collect();
        put(out, ",\"revisions\":");
        put_strings(out, &revisions);
        put(out, ",\"parties\":[");
        for (at, party) in self.parties.iter().enumerate() {
            put(out, if at == 0 { "{\"name\":" } else { ",{\"name\":" });
            put_string(out, &party.name);
            put(out, &format!(",\"role\":\"{}\"}}", party.role.as_str()));
        }
        put(out, "],\"links\":[");
        for (at, link) in self.links.iter().enumerate() {
            put(out, if at == 0 { "{" } else { ",{" });
            let (kind, client, server) = (link.kind.as_str(), link.client.0, link.server.0);
            put(
                out,
                &format!("\"kind\":\"{kind}\",\"client\":{client},\"server\":{server}}}"),
            );
        }
        put(out, &format!("],\"vantage\":\"{}\"", self.vantage.as_str()));
        for (name, list) in [("lost", &self.lost), ("guessed", &self.guessed)] {
            put(out, &format!(",\"{name}\":"));
            put_strings(out, list);
        }
        out.push(b'}');
    }

    /// The header that a line is.
    pub(crate) fn read(line: &[u8], scanner: &mut Scanner) -> Read<Header> {
        let mut members = object_of_line(line, scanner)?;
        members.noun = "the header";
        let Some(version) = members.take("mcpsim_trace") else {
            return Err(members.wrong("not a trace: its first line has no \"mcpsim_trace\""));
        };
        match version.integer::<u64>()? {
            0 => return Err(version.wrong("there is no format 0 of traces")),
            newer if newer > u64::from(FORMAT_VERSION) => {
                return Err(version.wrong(format!(
                    "the trace is of format {newer} and this program reads up to {FORMAT_VERSION}: use a newer mcpsim"
                )));
            }
            _ => {}
        }
        let mut header = Header::new(members.need("program")?.string()?);
        if let Some(value) = members.take("generator").filter(|value| !value.is_null()) {
            header.generator = Some(value.string()?.into_owned());
        }
        if let Some(value) = members.take("seed").filter(|value| !value.is_null()) {
            header.seed = Some(value.integer()?);
        }
        if let Some(value) = members.take("strategy").filter(|value| !value.is_null()) {
            header.strategy = Some(value.string()?.into_owned());
        }
        if let Some(value) = members.take("scenario").filter(|value| !value.is_null()) {
            header.scenario = Some(value.text().to_owned());
        }
        for value in members.need("revisions")?.items(scanner)? {
            header
                .revisions
                .push(value.word(&Revision::ALL, Revision::as_str)?);
        }
        let parties = members.need("parties")?;
        for value in parties.items(scanner)? {
            let mut party = value.members("a party", scanner)?;
            header.parties.push(Party {
                name: party.need("name")?.string()?.into_owned(),
                role: party
                    .need("role")?
                    .word(&PartyRole::ALL, PartyRole::as_str)?,
            });
            party.finish()?;
        }
        let links = members.need("links")?;
        for value in links.items(scanner)? {
            let mut link = value.members("a link", scanner)?;
            let mut party = |name: &str| {
                let value = link.need(name)?;
                header.party(value.integer()?, |message| value.wrong(message))
            };
            let (client, server) = (party("client")?, party("server")?);
            header.links.push(Link {
                kind: link.need("kind")?.word(&LINK_KINDS, LinkKind::as_str)?,
                client,
                server,
            });
            link.finish()?;
        }
        for (value, count) in [(parties, header.parties.len()), (links, header.links.len())] {
            if count > COUNT_MAX {
                return Err(value.wrong(format!("{count} are more than {COUNT_MAX}")));
            }
        }
        let vantage = members.need("vantage")?;
        header.vantage = vantage.word(&Vantage::ALL, Vantage::as_str)?;
        if let Some(value) = members.take("lost") {
            header.lost = value.strings(scanner)?;
        }
        if let Some(value) = members.take("guessed") {
            header.guessed = value.strings(scanner)?;
        }
        members.finish()?;
        Ok(header)
    }

    /// The party of that number, if there is one.
    pub(crate) fn party(&self, number: u64, wrong: impl Fn(String) -> Wrong) -> Read<PartyId> {
        match u8::try_from(number) {
            Ok(party) if usize::from(party) < self.parties.len() => Ok(PartyId(party)),
            _ => Err(wrong(format!(
                "there is no party {number}: the header has {}",
                self.parties.len()
            ))),
        }
    }
}

/// Appends JSON text as it is. A line end can only stand between its values: a space takes its place.
fn put_opaque(out: &mut Vec<u8>, text: &str) {
    let text = text.trim_ascii();
    let end = Scanner::new().value(text.as_bytes(), 0);
    assert_eq!(end, Ok(text.len()), "a scenario is one JSON value");
    let flat = |byte| match byte {
        b'\n' | b'\r' => b' ',
        other => other,
    };
    out.extend(text.bytes().map(flat));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn sample() -> Header {
        Header {
            generator: Some("chacha8".into()),
            seed: Some(7),
            scenario: Some(r#"{"name":"basic", "n":1.50}"#.into()),
            revisions: vec![Revision::V2025_11_25],
            parties: vec![
                Party {
                    name: "client".into(),
                    role: PartyRole::Client,
                },
                Party {
                    name: "server".into(),
                    role: PartyRole::Server,
                },
            ],
            links: vec![Link {
                kind: LinkKind::Pipe,
                client: PartyId(0),
                server: PartyId(1),
            }],
            lost: vec!["time".into()],
            ..Header::new("mcpsim 0.1.0")
        }
    }

    fn text(header: &Header) -> String {
        let mut out = vec![];
        header.write(&mut out);
        String::from_utf8(out).expect("a header is text")
    }

    #[test]
    fn the_line_is_what_a_person_would_write() {
        assert_eq!(
            text(&sample()),
            concat!(
                r#"{"mcpsim_trace":1,"program":"mcpsim 0.1.0","generator":"chacha8","seed":7,"scenario":{"name":"basic", "n":1.50},"#,
                r#""revisions":["2025-11-25"],"parties":[{"name":"client","role":"client"},{"name":"server","role":"server"}],"#,
                r#""links":[{"kind":"pipe","client":0,"server":1}],"vantage":"world","lost":["time"],"guessed":[]}"#
            )
        );
    }

    #[test]
    fn what_is_optional_may_be_missing_or_null() {
        let line = br#"{"mcpsim_trace":1,"program":"p","seed":null,"revisions":[],"parties":[],"links":[],"vantage":"between"}"#;
        let read = Header::read(line, &mut Scanner::new());
        let expected = Header {
            vantage: Vantage::Between,
            ..Header::new("p")
        };
        assert_eq!(read, Ok(expected));
    }

    #[test]
    fn a_scenario_of_several_lines_becomes_one_line() {
        let header = Header {
            scenario: Some("{\r\n \"a\": \"x\\n\"\n}\n".into()),
            ..sample()
        };
        let line = text(&header);
        assert!(!line.contains(['\n', '\r']));
        assert!(
            line.contains(r#""scenario":{   "a": "x\n" },"revisions""#),
            "{line}"
        );
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        let good = text(&sample());
        // What is replaced, by what, the text at which the error must stand, and the message.
        for (old, new, place, message) in [
            (
                "\"mcpsim_trace\":1",
                "\"mcpsim_trace\":2",
                "2,\"program",
                "the trace is of format 2 and this program reads up to 1: use a newer mcpsim",
            ),
            (
                "\"mcpsim_trace\":1",
                "\"mcpsim_trace\":0",
                "0,\"program",
                "there is no format 0 of traces",
            ),
            (
                "\"mcpsim_trace\":1",
                "\"mcpsim_trace\":1.5",
                "1.5,\"program",
                "a whole number was expected, not 1.5",
            ),
            (
                "\"mcpsim_trace\":1,",
                "",
                "{\"program",
                "not a trace: its first line has no \"mcpsim_trace\"",
            ),
            (
                "\"program\":\"mcpsim 0.1.0\",",
                "",
                "{\"mcp",
                "the header has no \"program\"",
            ),
            (
                "\"program\":\"mcpsim 0.1.0\"",
                "\"program\":[7]",
                "[7]",
                "a string was expected, not [7]",
            ),
            (
                "\"seed\":7",
                "\"seed\":-7",
                "-7",
                "a whole number was expected, not -7",
            ),
            (
                "\"seed\":7",
                "\"seed\":99999999999999999999",
                "99999999999999999999",
                "the number 99999999999999999999 is too large here",
            ),
            (
                "\"seed\":7",
                "\"sede\":7",
                "\"sede\"",
                "unknown key \"sede\" in the header",
            ),
            (
                "\"seed\":7",
                "\"seed\":7,\"seed\":8",
                "\"seed\":8",
                "\"seed\" stands there twice",
            ),
            (
                "\"seed\":7",
                "\"seed\":07",
                "07",
                "not JSON: not a JSON number",
            ),
            (
                "2025-11-25",
                "2025-11-26",
                "\"2025-11-26",
                "unknown word \"2025-11-26\"; known: 2024-11-05, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28",
            ),
            (
                "\"role\":\"server\"",
                "\"role\":\"waiter\"",
                "\"waiter\"",
                "unknown word \"waiter\"; known: client, server, gateway",
            ),
            (
                "\"role\":\"server\"",
                "\"role\":\"server\",\"x\":1",
                "\"x\"",
                "unknown key \"x\" in a party",
            ),
            (
                "\"server\":1",
                "\"server\":2",
                "2}",
                "there is no party 2: the header has 2",
            ),
            (
                "\"server\":1",
                "\"server\":1,\"y\u{202e}\":1",
                "\"y",
                "unknown key \"y\\u{202e}\" in a link",
            ),
            (
                "[{\"kind\":\"pipe\"",
                "[5,{\"kind\":\"pipe\"",
                "5,{",
                "an object was expected, not 5",
            ),
            (
                "\"links\":[{\"kind\":\"pipe\",\"client\":0,\"server\":1}]",
                "\"links\":{}",
                "{},\"v",
                "an array was expected, not {}",
            ),
            (
                "\"vantage\":\"world\"",
                "\"vantage\":\"moon\"",
                "\"moon\"",
                "unknown word \"moon\"; known: world, client, server, between",
            ),
            (
                "\"guessed\":[]}",
                "\"guessed\":[]} {}",
                "{}",
                "something stands after the JSON object",
            ),
            (
                "\"guessed\":[]}",
                "\"guessed\":[",
                "",
                "not JSON: ends in the middle of a value",
            ),
        ] {
            let line = good.replacen(old, new, 1);
            assert_ne!(line, good, "{old} stands in the sample");
            let wrong = Header::read(line.as_bytes(), &mut Scanner::new()).expect_err(new);
            assert_eq!(wrong.message, message);
            let at = if place.is_empty() {
                line.len()
            } else {
                line.rfind(place).expect("stands there")
            };
            assert_eq!(wrong.at, at, "{message}: {}", &line[wrong.at..]);
        }
    }

    proptest! {
        #[test]
        fn a_header_reads_as_it_was_written(
            (program, generator, seed, strategy) in
                (any::<String>(), any::<Option<String>>(), any::<Option<u64>>(), any::<Option<String>>()),
            names in proptest::collection::vec((any::<String>(), proptest::sample::select(&PartyRole::ALL[..])), 1..5),
            ends in proptest::collection::vec((proptest::sample::select(&LINK_KINDS[..]), any::<u8>(), any::<u8>()), 0..4),
            vantage in proptest::sample::select(&Vantage::ALL[..]),
            revisions in proptest::collection::vec(proptest::sample::select(&Revision::ALL[..]), 0..3),
            (lost, guessed) in (any::<Vec<String>>(), any::<Vec<String>>()),
            scenario in any::<Option<String>>(),
        ) {
            let count = names.len() as u8;
            let header = Header {
                program, generator, seed, strategy, revisions, vantage, lost, guessed,
                scenario: scenario.map(|text| serde_json::json!({ text.clone(): [text, null] }).to_string()),
                parties: names.into_iter().map(|(name, role)| Party { name, role }).collect(),
                links: ends.into_iter().map(|(kind, client, server)| {
                    Link { kind, client: PartyId(client % count), server: PartyId(server % count) }
                }).collect(),
            };
            prop_assert_eq!(Header::read(text(&header).as_bytes(), &mut Scanner::new()), Ok(header));
        }
    }
}
