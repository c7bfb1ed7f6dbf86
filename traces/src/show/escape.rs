//! A peer's text made safe to print: nothing that moves a cursor, turns the line round or cannot be seen.

use std::borrow::Cow;
use std::fmt::Write;

/// Whether a character could change how the text around it looks, or is not seen at all: control
/// characters (ANSI sequences begin with one), bidirectional marks, zero-width characters, line
/// separators, tags.
pub const fn is_hidden(character: char) -> bool {
    matches!(
        character,
        '\0'..='\x1F'
            | '\x7F'..='\u{9F}'
            | '\u{AD}'
            | '\u{61C}'
            | '\u{115F}'..='\u{1160}'
            | '\u{180E}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{3164}'
            | '\u{FEFF}'
            | '\u{FFA0}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E0FFF}'
    )
}

/// The text with every hidden character spelled out: `\n`, `\r`, `\t`, else `\u{1b}`. Everything
/// else, backslashes too, stays as it is, so that JSON stays readable.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        push(character, &mut out);
    }
    Cow::Owned(out)
}

/// As [`escape`], for bytes that may not be UTF-8: those that are not become `\xff`.
pub fn escape_bytes(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return escape(text);
    }
    let mut out = String::with_capacity(bytes.len() + 16);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            push(character, &mut out);
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    Cow::Owned(out)
}

fn push(character: char, out: &mut String) {
    match character {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        hidden if is_hidden(hidden) => {
            let _ = write!(out, "\\u{{{:x}}}", u32::from(hidden));
        }
        plain => out.push(plain),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_could_deceive_is_spelled_out() {
        for (text, expected) in [
            ("plain \"text\" \\n 日本 🎉", "plain \"text\" \\n 日本 🎉"),
            ("a\nb\r\tc", "a\\nb\\r\\tc"),
            ("\x1b[31mred\x07", "\\u{1b}[31mred\\u{7}"),
            ("\u{9b}2J", "\\u{9b}2J"),
            ("user\u{202E}txt.exe", "user\\u{202e}txt.exe"),
            ("zero\u{200B}width\u{FEFF}", "zero\\u{200b}width\\u{feff}"),
            ("line\u{2028}separator", "line\\u{2028}separator"),
            ("\u{E0041}", "\\u{e0041}"),
        ] {
            assert_eq!(escape(text), expected);
            assert_eq!(escape_bytes(text.as_bytes()), expected);
        }
        assert!(matches!(escape("as it is"), Cow::Borrowed(_)));
        assert_eq!(escape_bytes(b"a\xFF\xC3(\x1b"), "a\\xff\\xc3(\\u{1b}");
    }

    proptest! {
        #[test]
        fn nothing_hidden_is_left(bytes in proptest::collection::vec(any::<u8>(), 0..60), text in any::<String>()) {
            prop_assert!(!escape_bytes(&bytes).contains(is_hidden));
            prop_assert!(!escape(&text).contains(is_hidden));
        }
    }
}
