//! What HTTP tells beside frames: the head of a request or an answer, and what a server-sent event has
//! beside its data. Logs carry it as they saw it; what it means is judged elsewhere.

use std::borrow::Cow;

use crate::event::Role;
use crate::file::json::{Members, Read, Value, put_string};
use crate::scan::Scanner;

/// What a line of a log tells of HTTP.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Http<'a> {
    /// The head of the request or the answer, where the line is its beginning.
    pub head: Option<Head<'a>>,
    /// What the server-sent event has beside its data.
    pub sse: Sse<'a>,
}

/// The head of an HTTP request or answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    /// Its first line.
    pub start: Start<'a>,
    /// Its header fields, all of them, in their order; `None` where they were not recorded.
    pub fields: Option<Vec<Field<'a>>>,
}

/// The first line of a head.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Start<'a> {
    /// A client's.
    Request {
        /// `POST`, `GET`, …
        method: Cow<'a, str>,
        /// The path with its query, or a whole URI; `None` where it was not recorded.
        target: Option<Cow<'a, str>>,
    },
    /// A server's.
    Answer {
        /// The status.
        status: u16,
    },
}

/// A header field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field<'a> {
    /// Its name as it was spelled; case does not matter.
    pub name: Cow<'a, str>,
    /// Its value, verbatim. A byte beyond ASCII is the character of that number.
    pub value: Cow<'a, str>,
}

/// What a server-sent event has beside its data.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sse<'a> {
    /// Its id.
    pub id: Option<Cow<'a, str>>,
    /// Its name; without one it is a `message`.
    pub event: Option<Cow<'a, str>>,
    /// How long to wait before connecting again.
    pub retry_ms: Option<u64>,
}

impl<'a> Http<'a> {
    /// The status, on the head of an answer.
    pub fn status(&self) -> Option<u16> {
        self.head.as_ref().and_then(Head::status)
    }

    /// The same, with everything its own.
    pub fn into_owned(self) -> Http<'static> {
        Http {
            head: self.head.map(Head::into_owned),
            sse: self.sse.into_owned(),
        }
    }

    /// Whether there is anything in it.
    pub fn is_empty(&self) -> bool {
        self.head.is_none() && self.sse.is_empty()
    }

    /// Takes it out of the members of an event of a trace; an unknown key is an error.
    pub(crate) fn take(
        members: &mut Members<'a>,
        from: Role,
        scanner: &mut Scanner,
    ) -> Read<Http<'a>> {
        Ok(Http {
            head: match members.take("head") {
                Some(head) => Some(Head::read(head, from, Unknown::Refused, scanner)?),
                None => None,
            },
            sse: Sse {
                id: members.take("sse_id").map(Value::string).transpose()?,
                event: members.take("sse_event").map(Value::string).transpose()?,
                retry_ms: members.take("sse_retry").map(Value::integer).transpose()?,
            },
        })
    }

    /// Appends the members of a line, each with a comma before it.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        if let Some(head) = &self.head {
            out.extend_from_slice(b",\"head\":");
            head.write(out);
        }
        for (name, value) in [("sse_id", &self.sse.id), ("sse_event", &self.sse.event)] {
            if let Some(value) = value {
                out.extend_from_slice(format!(",\"{name}\":").as_bytes());
                put_string(out, value);
            }
        }
        if let Some(retry_ms) = self.sse.retry_ms {
            out.extend_from_slice(format!(",\"sse_retry\":{retry_ms}").as_bytes());
        }
    }
}

impl Sse<'_> {
    /// Whether nothing of it was recorded.
    pub fn is_empty(&self) -> bool {
        self.id.is_none() && self.event.is_none() && self.retry_ms.is_none()
    }

    fn into_owned(self) -> Sse<'static> {
        Sse {
            id: self.id.map(owned),
            event: self.event.map(owned),
            retry_ms: self.retry_ms,
        }
    }
}

/// What becomes of members that have no meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unknown {
    /// They are errors.
    Refused,
    /// They do not matter.
    Passed,
}

impl<'a> Head<'a> {
    /// The head of an answer of which only the status was recorded.
    pub fn of_status(status: u16) -> Head<'a> {
        Head {
            start: Start::Answer { status },
            fields: None,
        }
    }

    /// The method of a request.
    pub fn method(&self) -> Option<&str> {
        match &self.start {
            Start::Request { method, .. } => Some(method),
            Start::Answer { .. } => None,
        }
    }

    /// The target of a request.
    pub fn target(&self) -> Option<&str> {
        match &self.start {
            Start::Request { target, .. } => target.as_deref(),
            Start::Answer { .. } => None,
        }
    }

    /// The status of an answer.
    pub fn status(&self) -> Option<u16> {
        match self.start {
            Start::Request { .. } => None,
            Start::Answer { status } => Some(status),
        }
    }

    /// The values of a header field, in their order; nothing where it is not there, or where the fields
    /// were not recorded.
    pub fn values<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s str> {
        let fields = self.fields.iter().flatten();
        let named = fields.filter(move |field| field.name.eq_ignore_ascii_case(name));
        named.map(|field| &*field.value)
    }

    /// The first value of a header field, without the white space around it.
    pub fn value(&self, name: &str) -> Option<&str> {
        let fields = self.fields.as_ref()?;
        let mut named = fields
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case(name));
        named.next().map(|field| trimmed(&field.value))
    }

    /// The same, with everything its own.
    pub fn into_owned(self) -> Head<'static> {
        let field = |field: Field<'_>| Field {
            name: owned(field.name),
            value: owned(field.value),
        };
        Head {
            start: match self.start {
                Start::Request { method, target } => Start::Request {
                    method: owned(method),
                    target: target.map(owned),
                },
                Start::Answer { status } => Start::Answer { status },
            },
            fields: self
                .fields
                .map(|fields| fields.into_iter().map(field).collect()),
        }
    }

    /// Reads the member `head` of a line that comes from that side.
    pub(crate) fn read(
        value: Value<'a>,
        from: Role,
        unknown: Unknown,
        scanner: &mut Scanner,
    ) -> Read<Head<'a>> {
        let mut members = value.members("a head", scanner)?;
        let start = match from {
            Role::Client => Start::Request {
                method: members.need("method")?.string()?,
                target: members.take("target").map(Value::string).transpose()?,
            },
            Role::Server => {
                let status = members.need("status")?;
                Start::Answer {
                    status: status.integer()?,
                }
            }
        };
        let fields = match members.take("headers") {
            Some(headers) => Some(read_fields(headers, scanner)?),
            None => None,
        };
        if unknown == Unknown::Refused {
            members.finish()?;
        }
        Ok(Head { start, fields })
    }

    /// Appends it as a JSON object.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.start {
            Start::Request { method, target } => {
                out.extend_from_slice(b"{\"method\":");
                put_string(out, method);
                if let Some(target) = target {
                    out.extend_from_slice(b",\"target\":");
                    put_string(out, target);
                }
            }
            Start::Answer { status } => {
                out.extend_from_slice(format!("{{\"status\":{status}").as_bytes());
            }
        }
        if let Some(fields) = &self.fields {
            out.extend_from_slice(b",\"headers\":{");
            write_fields(fields, out);
            out.push(b'}');
        }
        out.push(b'}');
    }
}

/// The white space around a header's value is no part of it.
pub fn trimmed(value: &str) -> &str {
    value.trim_matches([' ', '\t'])
}

fn owned(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

/// An object of names and values; a name that is there more than once has a list.
fn read_fields<'a>(headers: Value<'a>, scanner: &mut Scanner) -> Read<Vec<Field<'a>>> {
    let mut fields = vec![];
    for pair in headers.members("the headers", scanner)?.into_pairs() {
        let (name, value) = pair?;
        if !value.text().starts_with('[') {
            let value = value.string()?;
            fields.push(Field { name, value });
            continue;
        }
        for item in value.items(scanner)? {
            fields.push(Field {
                name: name.clone(),
                value: item.string()?,
            });
        }
    }
    Ok(fields)
}

fn write_fields(fields: &[Field<'_>], out: &mut Vec<u8>) {
    let is_same = |a: &Field<'_>, b: &Field<'_>| a.name.eq_ignore_ascii_case(&b.name);
    let mut is_first = true;
    for (at, field) in fields.iter().enumerate() {
        if fields[..at].iter().any(|before| is_same(before, field)) {
            continue;
        }
        if !std::mem::take(&mut is_first) {
            out.push(b',');
        }
        put_string(out, &field.name);
        out.push(b':');
        let all = fields[at..].iter().filter(|other| is_same(other, field));
        let count = all.clone().count();
        if count == 1 {
            put_string(out, &field.value);
            continue;
        }
        for (nth, one) in all.enumerate() {
            out.push(if nth == 0 { b'[' } else { b',' });
            put_string(out, &one.value);
        }
        out.push(b']');
    }
}
