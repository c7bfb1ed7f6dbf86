//! Writes long logs of lawful sessions: the same bytes for the same size and seed, in two forms of the same frames.
//!
//! One session by the protocol of 2025-11-25: a handshake, then tool calls (at most eight open, one id in five a string,
//! each with a progress token), progress, log messages, results with text that is full of escapes, now and then an error.
//! Every call is answered. Nothing in it breaks a rule, so that a checker that accuses somebody here is wrong.
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
    form: Form,
    out: impl Write,
) -> io::Result<Written> {
    let mut generator = Generator {
        dice: ChaCha8Rng::seed_from_u64(seed),
        form,
        out,
        frame: String::new(),
        line: String::new(),
        now_ms: 0,
        last_call: 0,
        open: Vec::new(),
        written: Written {
            frames: 0,
            frame_bytes: 0,
            bytes: 0,
        },
    };
    generator.handshake()?;
    while generator.written.frame_bytes < frame_bytes_min || !generator.open.is_empty() {
        let may_call = generator.written.frame_bytes < frame_bytes_min;
        generator.next_frame(may_call)?;
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

struct OpenCall {
    number: u64,
    progress: u64,
}

struct Generator<W> {
    dice: ChaCha8Rng,
    form: Form,
    out: W,
    /// The frame being written, and the line that it becomes: kept between frames so that nothing is allocated anew.
    frame: String,
    line: String,
    now_ms: u64,
    last_call: u64,
    open: Vec<OpenCall>,
    written: Written,
}

impl<W: Write> Generator<W> {
    fn handshake(&mut self) -> io::Result<()> {
        self.frame.push_str(concat!(
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
            r#""capabilities":{"sampling":{},"roots":{"listChanged":true}},"#,
            r#""clientInfo":{"name":"log-client","version":"0.1.0"}}}"#,
        ));
        self.send("c2s")?;
        self.frame.push_str(concat!(
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","#,
            r#""capabilities":{"logging":{},"tools":{"listChanged":true},"resources":{"subscribe":true}},"#,
            r#""serverInfo":{"name":"log-server","version":"0.1.0"}}}"#,
        ));
        self.send("s2c")?;
        self.frame
            .push_str(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        self.send("c2s")
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
        self.last_call += 1;
        let number = self.last_call;
        self.open.push(OpenCall {
            number,
            progress: 0,
        });
        let limit = self.below(100);
        let length = 40 + self.below(200) as usize;
        self.frame.push_str(r#"{"jsonrpc":"2.0","id":"#);
        self.push_id(number);
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
        let OpenCall { number, progress } = *call;
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
        let number = self.open.swap_remove(place).number;
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
                let now_ms = self.now_ms;
                write!(
                    self.line,
                    r#"{{"t_ms":{now_ms},"dir":"{direction}","raw":""#
                )
                .expect("writing to a string does not fail");
                push_json_escaped(&self.frame, &mut self.line);
                self.line.push_str(r#""}"#);
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
