//! What the reference servers have beside tools: resources, prompts, completions, as payloads.

use mcpsim_traces::message::{Revision, Tool};

/// How many resources there are: more than a page holds.
pub(crate) const RESOURCES: usize = 5;
/// How many prompts there are.
pub(crate) const PROMPTS: usize = 3;
/// How many entries a page holds.
const PAGE: usize = 2;

/// The levels of log messages, the least severe first.
pub(crate) const LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// The address of a resource.
pub(crate) fn uri(at: u32) -> String {
    format!("file:///r/{at}")
}

/// The number of the resource at that address; `None` where there is none.
pub(crate) fn resource(uri: &str) -> Option<u32> {
    let number = uri.strip_prefix("file:///r/")?.parse().ok()?;
    ((number as usize) < RESOURCES).then_some(number)
}

/// One page of a list, with the cursor of the next; `None` for a cursor that was never given out.
fn page(
    name: &str,
    total: usize,
    cursor: Option<&str>,
    entry: impl Fn(usize) -> String,
) -> Option<String> {
    let from = match cursor {
        None => 0,
        Some(cursor) => cursor
            .strip_prefix("after-")
            .and_then(|number| number.parse::<usize>().ok())
            .filter(|&from| from > 0 && from < total && from.is_multiple_of(PAGE))?,
    };
    let until = (from + PAGE).min(total);
    let entries: Vec<String> = (from..until).map(entry).collect();
    let mut members = format!("\"{name}\":[{}]", entries.join(","));
    if until < total {
        members += &format!(",\"nextCursor\":\"after-{until}\"");
    }
    Some(members)
}

/// The list of tools, each of which may be run as a task.
pub(crate) fn tools_as_tasks() -> String {
    let tools = Tool::ALL.map(|tool| {
        let name = tool.as_str();
        format!(
            "{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\"}},\
             \"execution\":{{\"taskSupport\":\"optional\"}}}}"
        )
    });
    format!("\"tools\":[{}]", tools.join(","))
}

/// A page of the list of resources.
pub(crate) fn resources(cursor: Option<&str>, revision: Revision) -> Option<String> {
    page("resources", RESOURCES, cursor, |at| {
        let title = match revision >= Revision::V2025_06_18 {
            true => format!(",\"title\":\"Resource {at}\""),
            false => String::new(),
        };
        format!(
            "{{\"uri\":\"file:///r/{at}\",\"name\":\"r{at}\"{title},\"mimeType\":\"text/plain\"}}"
        )
    })
}

/// A page of the list of templates: there is one.
pub(crate) fn templates(cursor: Option<&str>) -> Option<String> {
    page("resourceTemplates", 1, cursor, |_| {
        "{\"uriTemplate\":\"file:///r/{number}\",\"name\":\"r\"}".to_owned()
    })
}

/// A page of the list of prompts; every second one has an argument that is required.
pub(crate) fn prompts(cursor: Option<&str>) -> Option<String> {
    page("prompts", PROMPTS, cursor, |at| {
        let arguments = match at % 2 {
            1 => ",\"arguments\":[{\"name\":\"topic\",\"required\":true}]",
            _ => "",
        };
        format!("{{\"name\":\"p{at}\",\"description\":\"Prompt {at}.\"{arguments}}}")
    })
}

/// What a resource holds: text, or bytes where its number is odd.
pub(crate) fn contents(at: u32) -> String {
    let uri = uri(at);
    match at % 2 {
        0 => format!(
            "\"contents\":[{{\"uri\":\"{uri}\",\"mimeType\":\"text/plain\",\"text\":\"{at}\"}}]"
        ),
        _ => format!("\"contents\":[{{\"uri\":\"{uri}\",\"blob\":\"AAEC\"}}]"),
    }
}

/// The number of the prompt of that name.
pub(crate) fn prompt(name: &str) -> Option<usize> {
    let at = name.strip_prefix('p')?.parse().ok()?;
    (at < PROMPTS).then_some(at)
}

/// What a prompt says.
pub(crate) fn messages(at: usize) -> String {
    format!(
        "\"messages\":[{{\"role\":\"user\",\"content\":{{\"type\":\"text\",\"text\":\"prompt {at}\"}}}}]"
    )
}

/// The completions of a value: numbers that begin with it.
pub(crate) fn completions(value: &str) -> String {
    let found: Vec<String> = (0..RESOURCES)
        .map(|number| number.to_string())
        .filter(|number| number.starts_with(value))
        .map(|number| format!("\"{number}\""))
        .collect();
    format!(
        "\"completion\":{{\"values\":[{}],\"total\":{},\"hasMore\":false}}",
        found.join(","),
        found.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_follow_each_other_to_the_end() {
        let (mut cursor, mut seen) = (None::<String>, 0);
        loop {
            let text = resources(cursor.as_deref(), Revision::V2025_11_25).expect("a page");
            let page: serde_json::Value =
                serde_json::from_str(&format!("{{{text}}}")).expect("JSON");
            seen += page["resources"].as_array().map_or(0, Vec::len);
            match page["nextCursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break,
            }
        }
        assert_eq!(seen, RESOURCES);
    }

    #[test]
    fn only_cursors_that_were_given_out_have_a_page() {
        for cursor in ["", "after-0", "after-1", "after-6", "after--2", "2", "x"] {
            assert_eq!(prompts(Some(cursor)), None, "{cursor}");
        }
        assert!(prompts(Some("after-2")).is_some());
    }

    #[test]
    fn what_is_not_there_has_no_number() {
        assert_eq!(resource("file:///r/4"), Some(4));
        for uri in ["file:///r/5", "file:///r/-1", "file:///r/", "file:///q/1"] {
            assert_eq!(resource(uri), None, "{uri}");
        }
        assert_eq!(prompt("p2"), Some(2));
        assert_eq!(prompt("p3"), None);
    }

    #[test]
    fn a_value_is_completed_by_what_begins_with_it() {
        assert!(completions("").contains("\"total\":5"));
        assert!(completions("3").contains("[\"3\"]"));
        assert!(completions("x").contains("\"values\":[],\"total\":0"));
    }
}
