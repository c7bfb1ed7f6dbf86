//! Ids and tokens as small copyable keys that compare by JSON value; the source text stays in the frame.

use std::fmt;

use siphasher::sip128::{Hasher128, SipHasher13};

/// An id or token by JSON value: 16 bytes, `Copy`, ordered, the same on every machine.
///
/// Two keys are equal when the JSON values are equal: `1`, `1.0` and `1e0` are one key, `"1"` is
/// another, integers beyond 2^53 keep all their digits, and an exponent is compared as a number and
/// never expanded (`1e999999999` is cheap). Integers of 64 bits and strings of up to 14 bytes are
/// held in place; longer values are held as a 120-bit hash (SipHash-1-3 with fixed keys) and so
/// could collide in theory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The tag in the lowest byte, then seven bytes of content. Two words rather than bytes: keys
    /// are compared more often than anything else is done to them.
    head: u64,
    tail: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
enum Tag {
    Absent,
    Null,
    /// A value of a type that is no id: boolean, array or object.
    Illegal,
    /// A 64-bit signed integer in `tail`.
    Integer,
    /// A string of `head[0]` bytes, at most 14.
    ShortText,
    LongText,
    /// An integer outside 64 bits, by normalised digits and exponent.
    BigInteger,
    /// A number with a fraction.
    Fraction,
}

/// The first eight bytes of a text as one number, zeros after a shorter one.
#[inline]
pub(crate) const fn word_of(text: &[u8]) -> u64 {
    let length = text.len();
    if let Some(word) = text.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    // The first and the last bytes overlap, and say the same where they do.
    if let (Some(first), Some(last)) = (text.first_chunk::<4>(), text.last_chunk::<4>()) {
        let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return first as u64 | (last as u64) << (8 * (length - 4));
    }
    match *text {
        [] => 0,
        [one] => one as u64,
        [one, two] => one as u64 | (two as u64) << 8,
        [one, two, three, ..] => one as u64 | (two as u64) << 8 | (three as u64) << 16,
    }
}

/// What kind of JSON value a [`Key`] stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeyType {
    /// The member is not there.
    Absent,
    /// The JSON value `null`.
    Null,
    /// A boolean, array or object.
    Illegal,
    /// A number without a fraction, of any size.
    Integer,
    /// A number with a fraction.
    Fraction,
    /// A string.
    Text,
}

impl Key {
    /// The member is not there.
    pub const ABSENT: Key = Key::plain(Tag::Absent);
    /// The JSON value `null`.
    pub const NULL: Key = Key::plain(Tag::Null);
    /// A boolean, array or object where an id or token belongs.
    pub const ILLEGAL: Key = Key::plain(Tag::Illegal);

    const fn plain(tag: Tag) -> Key {
        Key {
            head: tag as u64,
            tail: 0,
        }
    }

    const ALL_TAGS: [Tag; 8] = [
        Tag::Absent,
        Tag::Null,
        Tag::Illegal,
        Tag::Integer,
        Tag::ShortText,
        Tag::LongText,
        Tag::BigInteger,
        Tag::Fraction,
    ];

    #[inline]
    fn tag(self) -> Tag {
        Key::ALL_TAGS[usize::from(self.head as u8 & 7)]
    }

    /// The key of an integer.
    #[inline]
    pub const fn integer(value: i64) -> Key {
        Key {
            head: Tag::Integer as u64,
            tail: value as u64,
        }
    }

    /// The key of a string, given without quotes and with its escapes resolved.
    pub fn text(bytes: &[u8]) -> Key {
        if bytes.len() <= 14 {
            let (first, rest) = bytes.split_at(bytes.len().min(6));
            return Key {
                head: word_of(first) << 16 | (bytes.len() as u64) << 8 | Tag::ShortText as u64,
                tail: word_of(rest),
            };
        }
        Key::hashed(Tag::LongText, bytes)
    }

    fn hashed(tag: Tag, bytes: &[u8]) -> Key {
        let mut hasher = SipHasher13::new_with_keys(0x6d63_7073_696d_2e6b, tag as u64);
        std::hash::Hasher::write(&mut hasher, bytes);
        let hash = hasher.finish128();
        Key {
            head: hash.h1 << 8 | tag as u64,
            tail: hash.h2,
        }
    }

    /// The key of a JSON number's source text; `None` when the text is no JSON number.
    ///
    /// Compared as digits and exponent: trailing zeros, a fraction of zero and the exponent's
    /// spelling do not matter, and nothing is expanded or rounded.
    pub fn number(text: &[u8]) -> Option<Key> {
        let (negative, digits) = match text.split_first()? {
            (b'-', rest) => (true, rest),
            _ => (false, text),
        };
        if digits.len() <= 18 && !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) {
            if digits[0] == b'0' && digits.len() > 1 {
                return None;
            }
            let value = digits
                .iter()
                .fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
            return Some(Key::integer(if negative { -value } else { value }));
        }
        Key::decimal(negative, digits)
    }

    /// The rare spellings: a fraction, an exponent, or more than 18 digits.
    #[cold]
    fn decimal(negative: bool, text: &[u8]) -> Option<Key> {
        let parts = NumberParts::split(text)?;
        let mut digits: Vec<u8> = parts.whole.iter().chain(parts.fraction).copied().collect();
        let leading = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits.drain(..leading);
        if digits.is_empty() {
            return Some(Key::integer(0));
        }
        let trailing = digits
            .iter()
            .rev()
            .take_while(|&&digit| digit == b'0')
            .count();
        digits.truncate(digits.len() - trailing);
        // value = 0.digits… as an integer times 10^exponent
        let exponent = parts
            .exponent
            .shift(trailing as i64 - parts.fraction.len() as i64);
        if let Some(power) = exponent.small()
            && (0..=18).contains(&power)
            && digits.len() as i64 + power <= 19
        {
            let scaled = digits
                .iter()
                .fold(0i128, |sum, digit| sum * 10 + i128::from(digit - b'0'))
                * 10i128.pow(power as u32);
            if let Ok(value) = i64::try_from(if negative { -scaled } else { scaled }) {
                return Some(Key::integer(value));
            }
        }
        let tag = if exponent.is_negative() {
            Tag::Fraction
        } else {
            Tag::BigInteger
        };
        let mut spelled = vec![u8::from(negative)];
        spelled.extend_from_slice(&digits);
        spelled.push(b'e');
        exponent.spell(&mut spelled);
        Some(Key::hashed(tag, &spelled))
    }

    /// What kind of JSON value this is.
    #[inline]
    pub fn key_type(self) -> KeyType {
        match self.tag() {
            Tag::Absent => KeyType::Absent,
            Tag::Null => KeyType::Null,
            Tag::Illegal => KeyType::Illegal,
            Tag::Integer | Tag::BigInteger => KeyType::Integer,
            Tag::Fraction => KeyType::Fraction,
            Tag::ShortText | Tag::LongText => KeyType::Text,
        }
    }

    /// Whether the member is there at all, whatever its value.
    #[inline]
    pub fn is_present(self) -> bool {
        self.tag() != Tag::Absent
    }

    /// Whether this can be an id or a progress token: a string or an integer.
    #[inline]
    pub fn is_legal(self) -> bool {
        matches!(self.key_type(), KeyType::Integer | KeyType::Text)
    }

    /// The integer, where it fits 64 bits.
    #[inline]
    pub fn as_integer(self) -> Option<i64> {
        (self.tag() == Tag::Integer).then_some(self.tail as i64)
    }

    /// The string, where it is held in place (at most 14 bytes) and is UTF-8.
    pub fn as_short_text(&self) -> Option<String> {
        if self.tag() != Tag::ShortText {
            return None;
        }
        let (head, tail) = (self.head.to_le_bytes(), self.tail.to_le_bytes());
        let length = usize::from(head[1]);
        let split = length.min(6);
        let mut bytes = head[2..2 + split].to_vec();
        bytes.extend_from_slice(&tail[..length - split]);
        String::from_utf8(bytes).ok()
    }

    /// Two machine words that stand for this key, for hashing and canonical encodings.
    #[inline]
    pub fn words(self) -> (u64, u64) {
        (self.head, self.tail)
    }
}

impl Default for Key {
    fn default() -> Self {
        Key::ABSENT
    }
}

/// As JSON would spell it: `7`, `"7"`, `null`; a long value by the start of its hash.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tag() {
            Tag::Absent => f.write_str("(none)"),
            Tag::Null => f.write_str("null"),
            Tag::Illegal => f.write_str("(no id type)"),
            Tag::Integer => write!(f, "{}", self.tail as i64),
            Tag::ShortText => match self.as_short_text() {
                Some(text) => write!(f, "{text:?}"),
                None => f.write_str("(text)"),
            },
            Tag::LongText => write!(f, "(long text {:08x})", self.words().1 as u32),
            Tag::BigInteger => write!(f, "(big integer {:08x})", self.words().1 as u32),
            Tag::Fraction => write!(f, "(fraction {:08x})", self.words().1 as u32),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The pieces of an unsigned JSON number's text (RFC 8259, section 6).
struct NumberParts<'a> {
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: Exponent,
}

impl<'a> NumberParts<'a> {
    fn split(text: &'a [u8]) -> Option<Self> {
        let (mantissa, exponent) = match text.iter().position(|byte| matches!(byte, b'e' | b'E')) {
            Some(at) => (&text[..at], Exponent::parse(&text[at + 1..])?),
            None => (text, Exponent::ZERO),
        };
        let (whole, fraction) = match mantissa.iter().position(|&byte| byte == b'.') {
            Some(at) if at + 1 < mantissa.len() => (&mantissa[..at], &mantissa[at + 1..]),
            Some(_) => return None,
            None => (mantissa, &b""[..]),
        };
        let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
        let leading_zero = whole.len() > 1 && whole[0] == b'0';
        let legal = !whole.is_empty() && !leading_zero && digits(whole) && digits(fraction);
        legal.then_some(NumberParts {
            whole,
            fraction,
            exponent,
        })
    }
}

/// A power of ten, kept whole even where a peer writes more digits than a machine word holds.
enum Exponent {
    Small(i64),
    /// Beyond ±10^17: sign and digits without leading zeros. Shifting it by a number's own length
    /// is left out, since no line of a log is long enough to matter there.
    Huge(bool, Vec<u8>),
}

impl Exponent {
    const ZERO: Exponent = Exponent::Small(0);

    fn parse(text: &[u8]) -> Option<Exponent> {
        let (negative, digits) = match text.first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        let digits = &digits[zeros..];
        if digits.len() > 17 {
            return Some(Exponent::Huge(negative, digits.to_vec()));
        }
        let value = digits
            .iter()
            .fold(0i64, |sum, digit| sum * 10 + i64::from(digit - b'0'));
        Some(Exponent::Small(if negative { -value } else { value }))
    }

    fn shift(self, by: i64) -> Exponent {
        match self {
            Exponent::Small(value) => Exponent::Small(value.saturating_add(by)),
            huge => huge,
        }
    }

    fn small(&self) -> Option<i64> {
        match self {
            Exponent::Small(value) => Some(*value),
            Exponent::Huge(..) => None,
        }
    }

    fn is_negative(&self) -> bool {
        match self {
            Exponent::Small(value) => *value < 0,
            Exponent::Huge(negative, _) => *negative,
        }
    }

    fn spell(&self, out: &mut Vec<u8>) {
        match self {
            Exponent::Small(value) => out.extend_from_slice(value.to_string().as_bytes()),
            Exponent::Huge(negative, digits) => {
                if *negative {
                    out.push(b'-');
                }
                out.extend_from_slice(digits);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Key {
        Key::number(text.as_bytes()).unwrap_or_else(|| panic!("{text} is a JSON number"))
    }

    /// One JSON value, one key, however it is spelled.
    #[test]
    fn spellings_of_one_value_are_one_key() {
        for (one, other) in [
            ("1", "1.0"),
            ("1", "1e0"),
            ("1", "10e-1"),
            ("100", "1e2"),
            ("0", "-0"),
            ("0", "0e999999999999999999999"),
            ("0", "-0.000"),
            ("9007199254740993", "9007199254740993.0"),
            ("1e400", "10E+399"),
            ("1e999999999", "0.1e1000000000"),
            ("1.5", "15e-1"),
            ("9223372036854775807", "922337203685477580.7e1"),
            ("1e99999999999999999999", "1E+00099999999999999999999"),
        ] {
            assert_eq!(number(one), number(other), "{one} and {other}");
        }
    }

    /// Neighbours that a double would make equal stay apart, and so do types.
    #[test]
    fn different_values_are_different_keys() {
        for (one, other) in [
            ("9007199254740993", "9007199254740992"),
            ("1152921504606846976", "1152921504606846977"),
            ("18446744073709551616", "18446744073709551617"),
            ("1e400", "1e401"),
            ("1e400", "-1e400"),
            ("1.5", "1.25"),
            ("1", "-1"),
        ] {
            assert_ne!(number(one), number(other), "{one} and {other}");
        }
        assert_ne!(number("1"), Key::text(b"1"));
        assert_ne!(Key::text(b"01"), Key::text(b"1"));
        assert_ne!(Key::NULL, Key::text(b"null"));
    }

    #[test]
    fn types_follow_the_value() {
        assert_eq!(number("1.0").key_type(), KeyType::Integer);
        assert_eq!(number("1e400").key_type(), KeyType::Integer);
        assert_eq!(number("1.5").key_type(), KeyType::Fraction);
        assert_eq!(number("1e-400").key_type(), KeyType::Fraction);
        assert_eq!(Key::text(b"").key_type(), KeyType::Text);
        assert!(Key::text(b"").is_legal());
        assert!(!Key::NULL.is_legal());
        assert_eq!(number("1e18").as_integer(), Some(1_000_000_000_000_000_000));
        assert_eq!(number("-9223372036854775808").as_integer(), Some(i64::MIN));
    }

    #[test]
    fn what_is_no_number_has_no_key() {
        for text in [
            "", "-", "01", "1.", ".5", "1e", "1e+", "NaN", "+1", "1e1.5", "0x1", "1.e2",
        ] {
            assert_eq!(Key::number(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn display_shows_the_type() {
        assert_eq!(Key::integer(3).to_string(), "3");
        assert_eq!(Key::text(b"3").to_string(), "\"3\"");
        assert_eq!(
            Key::text(b"exactly14bytes").to_string(),
            "\"exactly14bytes\""
        );
        assert_eq!(
            Key::text("tür\u{7}".as_bytes()).to_string(),
            "\"tür\\u{7}\""
        );
    }
}
