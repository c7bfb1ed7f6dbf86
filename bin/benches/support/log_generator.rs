//! Writes long logs of lawful sessions: the same bytes for the same size and seed, in four forms of the same frames.
//!
//! One session by the protocol of 2025-11-25: a handshake and listings in pages (tools with schemas, resources, prompts),
//! then calls (at most eight open, one id in five a string, each with a progress token): mostly of a tool whose result has
//! structured content by its schema, some that read a resource or get a prompt. Between them progress, log messages,
//! updates of resources and questions of the server; results with text that is full of escapes, now and then an error, of the
//! protocol or of the tool. The tools are listed again from time to time. Every request is answered. Nothing in it breaks
//! a rule, so that a checker that accuses somebody here is wrong. The plain mix has calls of the tool, progress and log messages
//! alone, and lists nothing: its content is held against no schema.
//! Knows nothing of mcpsim's crates.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use std::fmt::Write as _;
use std::io::{self, Write};

/// How a frame becomes a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// The frame itself, as it was on the wire.
    Bare,
    /// mcpsim's capture: `{"t_ms":…,"dir":"c2s","raw":"<the frame as a JSON string>"}`.
    Capture,
    /// mcp-trace-validator's envelope: the frame as a value, a number, a direction.
    Validator,
    /// A log of Claude Desktop: time, name and direction, the frame itself, and the tail of that logger.
    Desktop,
}

/// What a session is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mix {
    /// Calls of a tool that was never listed.
    Plain,
    /// Everything.
    Whole,
}

/// What a log came to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    pub(crate) frames: u64,
    /// Bytes of the frames with a line end each: what the bare form has, whatever form was written.
    pub(crate) frame_bytes: u64,
    /// Bytes that went out.
    pub(crate) bytes: u64,
}

/// Writes one session whose frames come to at least `frame_bytes_min` bytes; it ends as soon as every call that was open
/// by then is answered.
pub(crate) fn write(
    frame_bytes_min: u64,
    seed: u64,
    mix: Mix,
    form: Form,
    out: impl Write,
) -> io::Result<Written> {
    let mut generator = Generator::new(seed, mix, form, out);
    generator.handshake()?;
    if mix == Mix::Whole {
        generator.listings()?;
    }
    while generator.written.frame_bytes < frame_bytes_min || !generator.open.is_empty() {
        let may_call = generator.written.frame_bytes < frame_bytes_min;
        generator.next_frame(may_call)?;
    }
    generator.out.flush()?;
    Ok(generator.written)
}

/// Writes a session of that many pings, each answered before the next one: every id is used once. With `is_open` all are
/// asked before the first answer, the answers come from the last one to the first, and no line has a time: whoever waits for
/// a million answers would be out of patience. Otherwise they are slow enough for no flood.
pub(crate) fn write_pings(
    count: u64,
    is_open: bool,
    form: Form,
    out: impl Write,
) -> io::Result<Written> {
    let mut generator = Generator::new(0, Mix::Plain, form, out);
    generator.has_times = !is_open;
    generator.handshake()?;
    let ping = r#"{"jsonrpc":"2.0","id":"#;
    for number in 1..=count {
        generator.now_ms += 25;
        generator.push(format_args!(r#"{ping}{number},"method":"ping"}}"#));
        generator.send("c2s")?;
        if !is_open {
            generator.push(format_args!(r#"{ping}{number},"result":{{}}}}"#));
            generator.send("s2c")?;
        }
    }
    for number in (1..=count).rev().filter(|_| is_open) {
        generator.push(format_args!(r#"{ping}{number},"result":{{}}}}"#));
        generator.send("s2c")?;
    }
    generator.out.flush()?;
    Ok(generator.written)
}

/// Calls that may be open at a time.
const WINDOW: usize = 8;

/// The `total` that each call announces; progress never passes it.
const PROGRESS_TOTAL: u64 = 100;

/// What texts are made of, as it stands inside a JSON string: on average one escape in about 25 bytes, as in program text
/// and in JSON within JSON, and some letters outside ASCII.
const WORDS: [&str; 20] = [
    "return",
    "index",
    "na\u{ef}ve",
    "{\\\"key\\\":",
    "fn main()",
    "ends\\n",
    "\\u20ac",
    "[1, 2, 3]",
    "over",
    "https://example.com/p?q=1",
    "\\tdeeper",
    "lookup",
    "2026-03-14",
    "C:\\\\dir",
    "a",
    "reason",
    "12.5",
    "with",
    "of the",
    "message",
];

/// The tools are listed again after so many calls, and the server asks something after half as many.
const CALLS_BETWEEN_LISTINGS: u64 = 1_000;
const LISTING: u64 = CALLS_BETWEEN_LISTINGS - 1;
const QUESTION: u64 = CALLS_BETWEEN_LISTINGS / 2;

/// What the tools that nobody calls take.
const WHERE: &str = concat!(
    r#"{"type":"object","properties":{"path":{"type":"string","description":"Where"},"#,
    r#""deep":{"type":"boolean"}},"required":["path"]}"#,
);

/// The tool that is called, as it is listed.
const GREP: &str = concat!(
    r#"{"name":"grep","description":"Finds lines","inputSchema":{"type":"object","properties":{"#,
    r#""limit":{"type":"integer","minimum":0},"text":{"type":"string"}},"required":["text"]},"#,
    r#""outputSchema":{"type":"object","properties":{"hits":{"type":"array","items":{"type":"object","#,
    r#""properties":{"row":{"type":"integer"},"exact":{"type":"boolean"},"score":{"type":"array"}},"required":["row"]}}},"#,
    r#""required":["hits"]},"annotations":{"readOnlyHint":true}}"#,
);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Tool,
    Resource,
    Prompt,
}

struct OpenCall {
    number: u64,
    progress: u64,
    kind: Kind,
    /// Which resource.
    note: u64,
}

struct Generator<W> {
    dice: ChaCha8Rng,
    mix: Mix,
    form: Form,
    out: W,
    /// The frame being written, and the line that it becomes: kept between frames so that nothing is allocated anew.
    frame: String,
    line: String,
    now_ms: u64,
    /// Lines of a capture say when.
    has_times: bool,
    last_call: u64,
    /// Requests beside the calls.
    lists: u64,
    open: Vec<OpenCall>,
    written: Written,
}

impl<W: Write> Generator<W> {
    fn new(seed: u64, mix: Mix, form: Form, out: W) -> Generator<W> {
        Generator {
            dice: ChaCha8Rng::seed_from_u64(seed),
            mix,
            form,
            out,
            frame: String::new(),
            line: String::new(),
            now_ms: 0,
            has_times: true,
            last_call: 0,
            lists: 0,
            open: Vec::new(),
            written: Written {
                frames: 0,
                frame_bytes: 0,
                bytes: 0,
            },
        }
    }

    fn handshake(&mut self) -> io::Result<()> {
        self.frame.push_str(concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
            r#""capabilities":{"sampling":{},"roots":{"listChanged":true}},"#,
            r#""clientInfo":{"name":"log-client","version":"0.1.0"}}}"#,
        ));
        self.send("c2s")?;
        self.frame.push_str(concat!(
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","#,
            r#""capabilities":{"logging":{},"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}},"#,
            r#""serverInfo":{"name":"log-server","version":"0.1.0"}}}"#,
        ));
        self.send("s2c")?;
        self.frame
            .push_str(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self.send("c2s")
    }

    /// What a client asks first: all lists, in pages, and to be told.
    fn listings(&mut self) -> io::Result<()> {
        self.list_tools()?;
        self.ask(r#""method":"resources/list""#)?;
        let mut items = String::new();
        for number in 0..20 {
            let comma = if number == 0 { "" } else { "," };
            let _ = write!(
                items,
                r#"{comma}{{"uri":"file:///notes/{number}.md","name":"note-{number}","mimeType":"text/markdown","size":{}}}"#,
                number * 321
            );
        }
        self.told(format_args!(r#"{{"resources":[{items}]}}"#))?;
        self.ask(r#""method":"prompts/list""#)?;
        self.told(format_args!(
            r#"{{"prompts":[{{"name":"review","description":"Reviews","arguments":[{{"name":"code","required":true}}]}}]}}"#
        ))?;
        self.ask(r#""method":"logging/setLevel","params":{"level":"info"}"#)?;
        self.told(format_args!("{{}}"))?;
        self.ask(r#""method":"resources/subscribe","params":{"uri":"file:///notes/0.md"}"#)?;
        self.told(format_args!("{{}}"))
    }

    /// Twenty tools on two pages.
    fn list_tools(&mut self) -> io::Result<()> {
        for page in 0..2 {
            if page == 0 {
                self.ask(r#""method":"tools/list""#)?;
            } else {
                // The page before was given under the number of its request.
                let number = self.lists;
                self.ask(&format!(
                    r#""method":"tools/list","params":{{"cursor":"page-{number}"}}"#
                ))?;
            }
            let mut tools = String::new();
            for number in 0..10 {
                let number = page * 10 + number;
                let comma = if number % 10 == 0 { "" } else { "," };
                if number == 19 {
                    let _ = write!(tools, "{comma}{GREP}");
                    continue;
                }
                let _ = write!(
                    tools,
                    r#"{comma}{{"name":"tool-{number}","title":"Tool {number}","#
                );
                let _ = write!(
                    tools,
                    r#""description":"Does \"{number}\" with what it is given","inputSchema":{WHERE}}}"#
                );
            }
            let next = format!("page-{}", self.lists);
            if page == 0 {
                self.told(format_args!(
                    r#"{{"tools":[{tools}],"nextCursor":"{next}"}}"#
                ))?;
            } else {
                self.told(format_args!(r#"{{"tools":[{tools}]}}"#))?;
            }
        }
        Ok(())
    }

    /// A request beside the calls; what is behind its id.
    fn ask(&mut self, rest: &str) -> io::Result<()> {
        self.lists += 1;
        let number = self.lists;
        self.push(format_args!(
            r#"{{"jsonrpc":"2.0","id":"list-{number}",{rest}}}"#
        ));
        self.send("c2s")
    }

    /// The answer to the last of them.
    fn told(&mut self, result: std::fmt::Arguments<'_>) -> io::Result<()> {
        let number = self.lists;
        self.push(format_args!(
            r#"{{"jsonrpc":"2.0","id":"list-{number}","result":{result}}}"#
        ));
        self.send("s2c")
    }

    /// The server asks for the roots, and tells that a resource has changed.
    fn question(&mut self) -> io::Result<()> {
        let number = self.last_call;
        self.push(format_args!(
            r#"{{"jsonrpc":"2.0","id":"roots-{number}","method":"roots/list"}}"#
        ));
        self.send("s2c")?;
        self.push(format_args!(
            r#"{{"jsonrpc":"2.0","id":"roots-{number}","result":{{"roots":[{{"uri":"file:///work","name":"work"}}]}}}}"#
        ));
        self.send("c2s")?;
        self.frame.push_str(
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///notes/0.md"}}"#,
        );
        self.send("s2c")
    }

    /// Of ten frames about three are calls, three progress, one a log message, three answers.
    fn next_frame(&mut self, may_call: bool) -> io::Result<()> {
        let kind = self.below(10);
        if may_call && (self.open.is_empty() || (kind < 3 && self.open.len() < WINDOW)) {
            return self.call();
        }
        match kind {
            0..6 => self.progress(),
            6 => self.log_message(),
            _ => self.answer(),
        }
    }

    fn call(&mut self) -> io::Result<()> {
        if self.mix == Mix::Whole {
            match self.last_call % CALLS_BETWEEN_LISTINGS {
                LISTING => self.list_tools()?,
                QUESTION => self.question()?,
                _ => {}
            }
        }
        self.last_call += 1;
        let number = self.last_call;
        let kind = match (self.mix, self.below(16)) {
            (Mix::Whole, 0) => Kind::Prompt,
            (Mix::Whole, 1 | 2) => Kind::Resource,
            _ => Kind::Tool,
        };
        self.open.push(OpenCall {
            number,
            progress: 0,
            kind,
            note: number % 20,
        });
        let limit = self.below(100);
        let length = 40 + self.below(200) as usize;
        self.frame.push_str(r#"{"jsonrpc":"2.0","id":"#);
        self.push_id(number);
        match kind {
            Kind::Tool => {}
            Kind::Resource => {
                let note = number % 20;
                self.push(format_args!(
                    r#","method":"resources/read","params":{{"_meta":{{"progressToken":{number}}},"uri":"file:///notes/{note}.md"}}}}"#
                ));
                return self.send("c2s");
            }
            Kind::Prompt => {
                self.push(format_args!(
                    r#","method":"prompts/get","params":{{"_meta":{{"progressToken":{number}}},"name":"review","arguments":{{"code":""#
                ));
                self.push_text(length);
                self.frame.push_str(r#""}}}"#);
                return self.send("c2s");
            }
        }
        self.push(format_args!(
            r#","method":"tools/call","params":{{"_meta":{{"progressToken":{number}}},"name":"grep","arguments":{{"limit":{limit},"text":""#
        ));
        self.push_text(length);
        self.frame.push_str(r#""}}}"#);
        self.send("c2s")
    }

    fn progress(&mut self) -> io::Result<()> {
        let place = self.any_open();
        let more = 1 + self.below(3);
        let call = &mut self.open[place];
        if call.progress + more > PROGRESS_TOTAL {
            return self.answer_to(place);
        }
        call.progress += more;
        let OpenCall {
            number, progress, ..
        } = *call;
        self.frame
            .push_str(r#"{"jsonrpc":"2.0","method":"notifications/progress","params":"#);
        self.push(format_args!(
            r#"{{"progressToken":{number},"progress":{progress},"total":{PROGRESS_TOTAL},"message":"searching"}}}}"#
        ));
        self.send("s2c")
    }

    fn log_message(&mut self) -> io::Result<()> {
        self.frame.push_str(
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","logger":"store","data":{"note":""#,
        );
        self.push_text(120);
        self.frame.push_str(r#""}}}"#);
        self.send("s2c")
    }

    fn answer(&mut self) -> io::Result<()> {
        let place = self.any_open();
        self.answer_to(place)
    }

    /// An error once in twenty; otherwise a text, mostly below a kilobyte, one in sixteen up to sixteen.
    fn answer_to(&mut self, place: usize) -> io::Result<()> {
        let OpenCall {
            number, kind, note, ..
        } = self.open.swap_remove(place);
        self.frame.push_str(r#"{"jsonrpc":"2.0","id":"#);
        self.push_id(number);
        if self.below(20) == 0 {
            self.frame
                .push_str(r#","error":{"code":-32603,"message":"the index is being rebuilt"}}"#);
            return self.send("s2c");
        }
        let length = if self.below(16) == 0 {
            1_000 + self.below(15_000)
        } else {
            80 + self.below(900)
        };
        let (first, second) = (self.below(1_000), self.below(1_000));
        match kind {
            Kind::Tool => {}
            Kind::Resource => {
                self.push(format_args!(
                    r#","result":{{"contents":[{{"uri":"file:///notes/{note}.md","mimeType":"text/markdown","text":""#
                ));
                self.push_text(length as usize);
                self.frame.push_str(r#""}]}}"#);
                return self.send("s2c");
            }
            Kind::Prompt => {
                self.frame.push_str(
                    r#","result":{"messages":[{"role":"user","content":{"type":"text","text":""#,
                );
                self.push_text(length as usize);
                self.frame.push_str(r#""}}]}}"#);
                return self.send("s2c");
            }
        }
        if self.below(40) == 0 {
            self.frame.push_str(
                r#","result":{"content":[{"type":"text","text":"no such \"file\""}],"isError":true}}"#,
            );
            return self.send("s2c");
        }
        self.frame
            .push_str(r#","result":{"content":[{"type":"text","text":""#);
        self.push_text(length as usize);
        // Structured content comes with a copy of it as text, as the protocol asks for the sake of older clients.
        let hits = format!(
            r#"{{"hits":[{{"row":{first},"exact":true,"note":null}},{{"row":{second},"score":[1,2.5e3]}}]}}"#
        );
        self.frame.push_str(r#""},{"type":"text","text":""#);
        push_json_escaped(&hits, &mut self.frame);
        self.frame.push_str(r#""}],"structuredContent":"#);
        self.frame.push_str(&hits);
        self.frame.push_str(r#","isError":false}}"#);
        self.send("s2c")
    }

    fn any_open(&mut self) -> usize {
        self.below(self.open.len() as u64) as usize
    }

    fn below(&mut self, bound: u64) -> u64 {
        (u64::from(self.dice.next_u32()) * bound) >> 32
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        self.frame
            .write_fmt(text)
            .expect("writing to a string does not fail");
    }

    /// One id in five is a string.
    fn push_id(&mut self, number: u64) {
        if number.is_multiple_of(5) {
            self.push(format_args!(r#""call-{number}""#));
        } else {
            self.push(format_args!("{number}"));
        }
    }

    fn push_text(&mut self, length_min: usize) {
        let end = self.frame.len() + length_min;
        while self.frame.len() < end {
            let word = WORDS[self.below(WORDS.len() as u64) as usize];
            self.frame.push_str(word);
            self.frame.push(' ');
        }
    }

    /// Writes the frame as a line of the form asked for. Time passes in both forms, so that both draw the same dice.
    fn send(&mut self, direction: &str) -> io::Result<()> {
        self.now_ms += self.below(4);
        self.line.clear();
        match self.form {
            Form::Bare => self.line.push_str(&self.frame),
            Form::Capture => {
                self.line.push('{');
                if self.has_times {
                    let now_ms = self.now_ms;
                    write!(self.line, r#""t_ms":{now_ms},"#)
                        .expect("writing to a string does not fail");
                }
                write!(self.line, r#""dir":"{direction}","raw":""#)
                    .expect("writing to a string does not fail");
                push_json_escaped(&self.frame, &mut self.line);
                self.line.push_str(r#""}"#);
            }
            Form::Validator => {
                let number = self.written.frames;
                let direction = match direction {
                    "c2s" => "client-to-server",
                    _ => "server-to-client",
                };
                write!(
                    self.line,
                    r#"{{"seq":{number},"direction":"{direction}","transport":"stdio","kind":"message","payload":"#
                )
                .expect("writing to a string does not fail");
                self.line.push_str(&self.frame);
                self.line.push('}');
            }
            Form::Desktop => {
                push_time(self.now_ms, &mut self.line);
                let side = match direction {
                    "c2s" => "client",
                    _ => "server",
                };
                write!(self.line, " [log-server] [info] Message from {side}: ")
                    .expect("writing to a string does not fail");
                self.line.push_str(&self.frame);
                self.line.push_str(" { metadata: undefined }");
            }
        }
        self.line.push('\n');
        self.out.write_all(self.line.as_bytes())?;
        self.written.frames += 1;
        self.written.frame_bytes += self.frame.len() as u64 + 1;
        self.written.bytes += self.line.len() as u64;
        self.frame.clear();
        Ok(())
    }
}

/// The point in time that lies so far behind the first of March 2026; the days of the month go on for as long as there are some.
fn push_time(ms: u64, line: &mut String) {
    let (day, hour) = (1 + ms / 86_400_000, ms / 3_600_000 % 24);
    let (minute, second, ms) = (ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    assert!(day <= 31, "a log goes over one month");
    write!(
        line,
        "2026-03-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z"
    )
    .expect("writing to a string does not fail");
}

/// The inside of a JSON string that stands for `text`, which has no control characters: a frame is one line.
fn push_json_escaped(text: &str, line: &mut String) {
    let mut rest = text;
    while let Some(place) = rest.find(['"', '\\']) {
        line.push_str(&rest[..place]);
        line.push('\\');
        line.push_str(&rest[place..=place]);
        rest = &rest[place + 1..];
    }
    line.push_str(rest);
}
