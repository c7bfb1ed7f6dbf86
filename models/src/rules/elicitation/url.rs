//! URLs of elicitations: whether they are URLs, and what should not stand in them.

/// Whether it is an absolute URL. What browsers repair is let through.
pub(crate) fn is_url(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let is_scheme =
        scheme.starts_with(|one: char| one.is_ascii_alphabetic()) && scheme.bytes().all(is_word);
    let is_odd = |one: char| one.is_control() || one.is_whitespace();
    if !is_scheme || rest.is_empty() || text.contains(is_odd) {
        return false;
    }
    let is_web = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    !is_web || !host(rest).is_empty()
}

/// What stands between the slashes: with a login, if there is one.
fn authority(rest: &str) -> &str {
    let rest = rest.strip_prefix("//").unwrap_or("");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    &rest[..end]
}

fn host(rest: &str) -> &str {
    let authority = authority(rest);
    let host = authority
        .rsplit_once('@')
        .map_or(authority, |(_, host)| host);
    if host.starts_with('[') {
        return host.split_inclusive(']').next().unwrap_or(host);
    }
    host.split(':').next().unwrap_or(host)
}

/// Whether it goes unencrypted to another machine.
pub(crate) fn is_plain_http(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    scheme.eq_ignore_ascii_case("http") && !is_for_development(host(rest))
}

/// This machine, a private network, or a name that no public server has.
fn is_for_development(host: &str) -> bool {
    let host = host.to_ascii_lowercase();
    let is_under = |end: &str| host == end[1..] || host.ends_with(end);
    let mut numbers = host.split('.').map(|number| number.parse::<u8>().ok());
    let head = [numbers.next().flatten(), numbers.next().flatten()];
    if let [Some(first), Some(second)] = head {
        return matches!(
            (first, second),
            (127 | 10, _) | (0, 0) | (192, 168) | (172, 16..=31)
        );
    }
    host == "[::1]"
        || !host.contains(['.', ':'])
        || is_under(".localhost")
        || is_under(".local")
        || is_under(".test")
        || is_under(".internal")
}

/// What should not stand in the URL of an elicitation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Secret {
    /// A user and a password before the host.
    Login,
    /// A credential in the query.
    Token,
    /// A signature: whoever has the link is let in.
    Signature,
    /// An address of a person.
    Mail,
}

impl Secret {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Secret::Login => "a login before its host",
            Secret::Token => "a credential",
            Secret::Signature => "a signature that lets its bearer in",
            Secret::Mail => "somebody's mail address",
        }
    }
}

/// The first thing in it that looks like a secret.
pub(crate) fn secret_in(text: &str) -> Option<Secret> {
    let (_, rest) = text.split_once(':')?;
    if authority(rest).contains('@') {
        return Some(Secret::Login);
    }
    let query = rest.split_once(['?', '#']).map_or("", |(_, query)| query);
    query.split(['&', '?', '#']).find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let name = name.to_ascii_lowercase();
        let is = |names: &[&str]| names.contains(&name.as_str()) && !value.is_empty();
        if is(&[
            "token",
            "access_token",
            "id_token",
            "refresh_token",
            "auth_token",
        ]) || is(&[
            "api_key",
            "apikey",
            "password",
            "passwd",
            "secret",
            "client_secret",
        ]) || is(&["jwt", "session_token", "bearer"])
        {
            return Some(Secret::Token);
        }
        if is(&["sig", "signature", "x-amz-signature", "x-goog-signature"]) {
            return Some(Secret::Signature);
        }
        is_mail(value).then_some(Secret::Mail)
    })
}

fn is_mail(value: &str) -> bool {
    let pair = value.split_once('@').or_else(|| value.split_once("%40"));
    pair.is_some_and(|(name, host)| {
        let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._+-%".contains(&byte);
        !name.is_empty()
            && name.bytes().all(is_word)
            && host.contains('.')
            && host.bytes().all(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::{Secret, is_plain_http, is_url, secret_in};

    #[test]
    fn urls_are_told_from_other_text() {
        for good in [
            "https://a.example/b?elicitationId=5#f",
            "http://localhost:3000/",
            "HTTPS://[::1]:8/",
            "urn:x",
            "https://user@host.example",
            "https://ä.example/ü",
        ] {
            assert!(is_url(good), "{good}");
        }
        for bad in [
            "",
            "a.example/b",
            "/b",
            "//a.example",
            "https://",
            "https:///x",
            "https://a b",
            "1a:x",
            "https:",
            "http://:80/",
            "https://a.example/\n",
        ] {
            assert!(!is_url(bad), "{bad}");
        }
    }

    #[test]
    fn plain_http_is_excused_where_it_stays_at_home() {
        for (url, is_plain) in [
            ("http://a.example/", true),
            ("https://a.example/", false),
            ("http://localhost:3/", false),
            ("http://127.0.0.1", false),
            ("http://[::1]:3/x", false),
            ("http://10.0.0.5/", false),
            ("http://devbox/", false),
            ("http://8.8.8.8/", true),
            ("HTTP://user@a.example:80", true),
        ] {
            assert_eq!(is_plain_http(url), is_plain, "{url}");
        }
    }

    #[test]
    fn secrets_are_seen() {
        for (url, secret) in [
            ("https://a.example/?elicitationId=1&state=2", None),
            ("https://me:pw@a.example/", Some(Secret::Login)),
            ("https://a.example/?x=1&access_token=2", Some(Secret::Token)),
            ("https://a.example/#token=2", Some(Secret::Token)),
            ("https://a.example/?token=", None),
            (
                "https://a.example/?X-Amz-Signature=2",
                Some(Secret::Signature),
            ),
            ("https://a.example/?for=joe%40b.example", Some(Secret::Mail)),
            ("https://a.example/@joe", None),
        ] {
            assert_eq!(secret_in(url), secret, "{url}");
        }
    }
}
