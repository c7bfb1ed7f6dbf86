//! The toy session that the simulator is measured against, with nothing around it: a client, a server, a vector of
//! frames in flight, one random word a step. No trace, no judge, no choices kept. Knows nothing of mcpsim's crates.
//!
//! The session: a handshake, then N calls of which at most eight are open, each followed by one progress notification and
//! one answer, delivered in random order: 3 + 3 N frames. [`typed`] moves the frames as values; [`json`] renders each
//! into a pooled buffer when it is sent and parses it when it arrives. Both deliver in the same order for the same seed,
//! so that their digests must be equal.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a run comes to: how many frames were delivered, and a number that depends on every one of them in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) frames: u64,
    pub(crate) digest: u64,
}

/// Runs the session with frames as values: the least that any simulator of it can do.
pub(crate) fn typed(calls: u64, seed: u64) -> Outcome {
    run(AsValue, calls, seed)
}

/// Runs the session with every frame written as JSON and read again: the least that a simulator of text can do.
pub(crate) fn json(calls: u64, seed: u64) -> Outcome {
    run(AsText { pool: Vec::new() }, calls, seed)
}

/// Calls that may be open at a time.
const WINDOW: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frame {
    Initialize { id: u64 },
    Welcome { id: u64 },
    Initialized,
    Call { id: u64, argument: u32 },
    Progress { token: u64, progress: u32 },
    Answer { id: u64, value: u32 },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Party {
    Client,
    Server,
}

/// How a frame travels.
trait Carrier {
    type Parcel;
    fn pack(&mut self, frame: Frame) -> Self::Parcel;
    fn unpack(&mut self, parcel: Self::Parcel) -> Frame;
}

struct AsValue;

impl Carrier for AsValue {
    type Parcel = Frame;

    fn pack(&mut self, frame: Frame) -> Frame {
        frame
    }

    fn unpack(&mut self, frame: Frame) -> Frame {
        frame
    }
}

/// Text in buffers that are used again once read, so that a run allocates a handful of times.
struct AsText {
    pool: Vec<Vec<u8>>,
}

impl Carrier for AsText {
    type Parcel = Vec<u8>;

    fn pack(&mut self, frame: Frame) -> Vec<u8> {
        let mut text = self.pool.pop().unwrap_or_default();
        text.clear();
        render(frame, &mut text);
        text
    }

    fn unpack(&mut self, text: Vec<u8>) -> Frame {
        let frame = parse(&text).expect("the loop reads only what it wrote");
        self.pool.push(text);
        frame
    }
}

fn run<C: Carrier>(mut carrier: C, calls: u64, seed: u64) -> Outcome {
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let mut client = Client::new(calls);
    let mut server = Server { ready: false };
    let mut in_flight: Vec<(Party, C::Parcel)> = Vec::with_capacity(4 * WINDOW);
    let mut sent: Vec<Frame> = Vec::with_capacity(2 * WINDOW);
    let mut frames = 0;

    in_flight.push((Party::Server, carrier.pack(Frame::Initialize { id: 0 })));
    while !in_flight.is_empty() {
        let choice = (u64::from(dice.next_u32()) * in_flight.len() as u64) >> 32;
        let (to, parcel) = in_flight.swap_remove(choice as usize);
        let frame = carrier.unpack(parcel);
        frames += 1;
        let answers_go_to = match to {
            Party::Client => {
                client.receive(frame, &mut sent);
                Party::Server
            }
            Party::Server => {
                server.receive(frame, &mut sent);
                Party::Client
            }
        };
        for frame in sent.drain(..) {
            in_flight.push((answers_go_to, carrier.pack(frame)));
        }
    }

    assert_eq!(frames, 3 + 3 * calls, "every frame is delivered");
    assert_eq!(client.answered, calls, "every call is answered");
    assert_eq!(client.progressed, calls, "every call has its progress");
    assert!(server.ready, "the handshake is completed");
    Outcome {
        frames,
        digest: client.digest,
    }
}

struct Client {
    calls: u64,
    last_id: u64,
    open: Vec<u64>,
    answered: u64,
    progressed: u64,
    digest: u64,
}

impl Client {
    fn new(calls: u64) -> Client {
        Client {
            calls,
            last_id: 0,
            open: Vec::with_capacity(WINDOW),
            answered: 0,
            progressed: 0,
            digest: 0,
        }
    }

    fn receive(&mut self, frame: Frame, sent: &mut Vec<Frame>) {
        match frame {
            Frame::Welcome { .. } => {
                sent.push(Frame::Initialized);
                self.call_up_to_the_window(sent);
            }
            Frame::Progress { token, progress } => {
                self.progressed += u64::from(progress);
                self.mix(token);
            }
            Frame::Answer { id, value } => {
                let place = self
                    .open
                    .iter()
                    .position(|&open| open == id)
                    .expect("an answer is to an open call");
                self.open.swap_remove(place);
                self.answered += 1;
                self.mix(id ^ u64::from(value));
                self.call_up_to_the_window(sent);
            }
            Frame::Initialize { .. } | Frame::Initialized | Frame::Call { .. } => {
                unreachable!("{frame:?} goes to the server")
            }
        }
    }

    fn call_up_to_the_window(&mut self, sent: &mut Vec<Frame>) {
        while self.last_id < self.calls && self.open.len() < WINDOW {
            self.last_id += 1;
            self.open.push(self.last_id);
            sent.push(Frame::Call {
                id: self.last_id,
                argument: self.last_id as u32 ^ 0x55,
            });
        }
    }

    fn mix(&mut self, word: u64) {
        self.digest = self.digest.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ word;
    }
}

struct Server {
    ready: bool,
}

impl Server {
    fn receive(&mut self, frame: Frame, sent: &mut Vec<Frame>) {
        match frame {
            Frame::Initialize { id } => sent.push(Frame::Welcome { id }),
            Frame::Initialized => self.ready = true,
            Frame::Call { id, argument } => {
                sent.push(Frame::Progress {
                    token: id,
                    progress: 1,
                });
                sent.push(Frame::Answer {
                    id,
                    value: argument + 1,
                });
            }
            Frame::Welcome { .. } | Frame::Progress { .. } | Frame::Answer { .. } => {
                unreachable!("{frame:?} goes to the client")
            }
        }
    }
}

fn render(frame: Frame, text: &mut Vec<u8>) {
    match frame {
        Frame::Initialize { id } => {
            text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            render_number(id, text);
            text.extend_from_slice(
                br#","method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#,
            );
        }
        Frame::Welcome { id } => {
            text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            render_number(id, text);
            text.extend_from_slice(br#","result":{"protocolVersion":"2025-11-25"}}"#);
        }
        Frame::Initialized => {
            text.extend_from_slice(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        }
        Frame::Call { id, argument } => {
            text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            render_number(id, text);
            text.extend_from_slice(
                br#","method":"tools/call","params":{"name":"echo","arguments":{"n":"#,
            );
            render_number(argument.into(), text);
            text.extend_from_slice(br#"},"_meta":{"progressToken":"#);
            render_number(id, text);
            text.extend_from_slice(b"}}}");
        }
        Frame::Progress { token, progress } => {
            text.extend_from_slice(
                br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"#,
            );
            render_number(token, text);
            text.extend_from_slice(br#","progress":"#);
            render_number(progress.into(), text);
            text.extend_from_slice(b"}}");
        }
        Frame::Answer { id, value } => {
            text.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
            render_number(id, text);
            text.extend_from_slice(br#","result":{"structuredContent":{"n":"#);
            render_number(value.into(), text);
            text.extend_from_slice(br#"},"isError":false}}"#);
        }
    }
}

fn render_number(mut number: u64, text: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    text.extend_from_slice(&digits[first..]);
}

/// Reads a frame whatever the order of its members, stepping over those that it does not know. The structure is
/// checked, escapes and UTF-8 are not: enough for frames that the loop itself wrote, and no more.
fn parse(text: &[u8]) -> Option<Frame> {
    let mut version: &[u8] = b"";
    let mut method: &[u8] = b"";
    let (mut id, mut n, mut token, mut progress) = (None, None, None, None);
    let mut has_result = false;

    let mut scan = Scan { text, at: 0 };
    scan.members(|scan, name| {
        match name {
            b"jsonrpc" => version = scan.string()?,
            b"id" => id = Some(scan.number()?),
            b"method" => method = scan.string()?,
            b"params" => scan.members(|scan, name| {
                match name {
                    b"arguments" => n = scan.member_n()?,
                    b"progressToken" => token = Some(scan.number()?),
                    b"progress" => progress = Some(scan.number()?),
                    _ => scan.skip()?,
                }
                Some(())
            })?,
            b"result" => {
                has_result = true;
                scan.members(|scan, name| {
                    match name {
                        b"structuredContent" => n = scan.member_n()?,
                        _ => scan.skip()?,
                    }
                    Some(())
                })?;
            }
            _ => scan.skip()?,
        }
        Some(())
    })?;
    if scan.at != text.len() || version != b"2.0" {
        return None;
    }
    match (method, id) {
        (b"initialize", Some(id)) => Some(Frame::Initialize { id }),
        (b"notifications/initialized", None) => Some(Frame::Initialized),
        (b"tools/call", Some(id)) => Some(Frame::Call {
            id,
            argument: n? as u32,
        }),
        (b"notifications/progress", None) => Some(Frame::Progress {
            token: token?,
            progress: progress? as u32,
        }),
        (b"", Some(id)) if has_result => Some(match n {
            Some(value) => Frame::Answer {
                id,
                value: value as u32,
            },
            None => Frame::Welcome { id },
        }),
        _ => None,
    }
}

/// A place in a text. Each method steps over what it is named after, or says `None` where the text has something else.
struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Scan<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn blank(&mut self) {
        while self.peek().is_some_and(|byte| byte <= b' ') {
            self.at += 1;
        }
    }

    #[inline]
    fn byte(&mut self, wanted: u8) -> Option<()> {
        (self.peek()? == wanted).then(|| self.at += 1)
    }

    /// A string with its quotes; gives what is between them.
    #[inline]
    fn string(&mut self) -> Option<&'a [u8]> {
        self.byte(b'"')?;
        let start = self.at;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(&self.text[start..self.at - 1])
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let start = self.at;
        let mut number = 0u64;
        while let digit @ b'0'..=b'9' = self.peek()? {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u64::from(digit - b'0'));
            self.at += 1;
        }
        (self.at > start).then_some(number)
    }

    /// An object; `each` is called at the value of each member and steps over it.
    #[inline]
    fn members(&mut self, mut each: impl FnMut(&mut Self, &'a [u8]) -> Option<()>) -> Option<()> {
        self.byte(b'{')?;
        self.blank();
        if self.byte(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.blank();
            self.byte(b':')?;
            self.blank();
            each(self, name)?;
            self.blank();
            if self.byte(b',').is_none() {
                return self.byte(b'}');
            }
            self.blank();
        }
    }

    /// An object of which only the number `n` matters.
    #[inline]
    fn member_n(&mut self) -> Option<Option<u64>> {
        let mut n = None;
        self.members(|scan, name| {
            match name {
                b"n" => n = Some(scan.number()?),
                _ => scan.skip()?,
            }
            Some(())
        })?;
        Some(n)
    }

    /// Any value.
    fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' => self.members(|scan, _| scan.skip()),
            b'[' => self.items(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            b'-' | b'0'..=b'9' => {
                while matches!(self.peek()?, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E') {
                    self.at += 1;
                }
                Some(())
            }
            _ => None,
        }
    }

    fn items(&mut self) -> Option<()> {
        self.byte(b'[')?;
        self.blank();
        if self.byte(b']').is_some() {
            return Some(());
        }
        loop {
            self.skip()?;
            self.blank();
            if self.byte(b',').is_none() {
                return self.byte(b']');
            }
            self.blank();
        }
    }

    fn word(&mut self, wanted: &[u8]) -> Option<()> {
        self.text[self.at..]
            .starts_with(wanted)
            .then(|| self.at += wanted.len())
    }
}
