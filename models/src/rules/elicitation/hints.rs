//! What the words of a form give away: that it asks for a secret, or that it offers a link. Guesses, never
//! more than notes inside sessions.

use std::borrow::Cow;

use mcpsim_traces::tape::Value;

use super::rows::{ELICIT_FORM_LINK, ELICIT_SENSITIVE};
use crate::shape::{Walk, shown};

/// Texts that are longer are not read.
const TEXT_MAX: usize = 4096;

pub(crate) fn judge_form<'a>(walk: &mut Walk<'a>, params: Value<'a>) {
    let message = params.get("message");
    let properties = params
        .get("requestedSchema")
        .and_then(|schema| schema.get("properties"));
    if let Some(text) = message.and_then(text)
        && asks_for_secret(&text)
    {
        let value = message.unwrap_or(params);
        walk.flaw(&ELICIT_SENSITIVE, value, || {
            "the message of a form seems to ask for a secret; those are asked for by url"
                .to_string()
        });
    }
    judge_links(walk, params);
    for (name, property) in properties.into_iter().flat_map(Value::members) {
        if is_secret(name, property) {
            walk.flaw(&ELICIT_SENSITIVE, property, || {
                format!(
                    "the form asks for {}, which seems to be a secret; those are asked for by url",
                    shown(name)
                )
            });
        }
        let is_address = property
            .get("format")
            .is_some_and(|format| format.is("uri"));
        if !is_address {
            judge_links(walk, property);
        }
    }
}

fn text(value: Value<'_>) -> Option<Cow<'_, str>> {
    value.as_text().filter(|text| text.len() <= TEXT_MAX)
}

/// Whether a property is for a secret, by its name or title.
fn is_secret(name: Value<'_>, property: Value<'_>) -> bool {
    // Nobody types a secret into a check box, or finds it in a list.
    let is_typed = property
        .get("type")
        .is_some_and(|kind| kind.is_one_of(&["string", "number", "integer"]));
    let is_choice = property.get("enum").or_else(|| property.get("oneOf"));
    if !is_typed || is_choice.is_some() {
        return false;
    }
    let title = property.get("title");
    [Some(name), title]
        .into_iter()
        .flatten()
        .filter_map(text)
        .any(|text| has_secret(&words(&text)))
}

/// The words of a name or sentence in lower case, with a space around each.
fn words(text: &str) -> String {
    let mut words = String::with_capacity(text.len() + 8);
    words.push(' ');
    let mut was_small = false;
    for one in text.chars() {
        if one.is_uppercase() && was_small {
            words.push(' ');
        }
        was_small = one.is_lowercase();
        if one.is_alphanumeric() {
            words.extend(one.to_lowercase());
        } else if !words.ends_with(' ') {
            words.push(' ');
        }
    }
    words.push(' ');
    words
}

/// Whether one of the words is a secret's.
fn has_secret(words: &str) -> bool {
    [
        " password ",
        " passwd ",
        " passphrase ",
        " secret ",
        " api key ",
        " apikey ",
        " access key ",
        " private key ",
        " access token ",
        " auth token ",
        " api token ",
        " bearer token ",
        " personal access token ",
        " token ",
        " credential ",
        " credentials ",
        " card number ",
        " credit card ",
        " cvv ",
        " cvc ",
    ]
    .iter()
    .any(|name| words.contains(name))
}

/// Whether a sentence asks for a secret: it names one, asks for something, and does not warn of it.
fn asks_for_secret(text: &str) -> bool {
    let words = words(text);
    let has = |names: &[&str]| names.iter().any(|name| words.contains(name));
    has_secret(&words)
        && has(&[
            " enter ",
            " provide ",
            " type ",
            " give ",
            " your ",
            " supply ",
            " paste ",
        ])
        && !has(&[" not ", " never ", " don t ", " without ", " no "])
}

/// Links in what a user reads of that object.
fn judge_links<'a>(walk: &mut Walk<'a>, object: Value<'a>) {
    for name in ["message", "title", "description"] {
        let Some(value) = object.get(name) else {
            continue;
        };
        if text(value).is_some_and(|text| offers_link(&text)) {
            walk.flaw(&ELICIT_FORM_LINK, value, || {
                "a text of the form holds a link; links are for elicitations by url".to_string()
            });
        }
    }
}

/// Whether a text holds an address that is not shown as an example.
fn offers_link(text: &str) -> bool {
    let small = text.to_ascii_lowercase();
    let is_sample = ["example", "e.g.", "such as", "for instance", "format"];
    (small.contains("https://") || small.contains("http://"))
        && !is_sample.iter().any(|word| small.contains(word))
}

#[cfg(test)]
mod tests {
    use super::{asks_for_secret, has_secret, offers_link, words};

    #[test]
    fn names_are_read_as_words() {
        for (name, is_secret) in [
            ("apiKey", true),
            ("API_KEY", true),
            ("accessToken", true),
            ("githubToken", true),
            ("Card number", true),
            ("maxTokens", false),
            ("secretary", false),
            ("passwordless", false),
            ("keyboard", false),
        ] {
            assert_eq!(has_secret(&words(name)), is_secret, "{name}");
        }
    }

    #[test]
    fn sentences_that_warn_do_not_ask() {
        assert!(asks_for_secret("Please enter your API key"));
        assert!(!asks_for_secret("Enter a name. Do not enter your password"));
        assert!(!asks_for_secret("Choose how the password store is named"));
        assert!(!asks_for_secret("Please provide your user name"));
    }

    #[test]
    fn examples_are_no_links() {
        assert!(offers_link("Sign in at https://evil.test/x first"));
        assert!(!offers_link("Your site, e.g. https://me.test"));
        assert!(!offers_link("Your site"));
    }
}
