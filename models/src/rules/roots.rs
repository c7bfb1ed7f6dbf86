//! Roots: the places that a client shows to a server.

use mcpsim_traces::judge::Severity;
use mcpsim_traces::message::{Method, Revision};
use mcpsim_traces::tape::Value;

use crate::rules::{Basis, Category, MUST, Needs, Rule, Side, When};
use crate::shape::{Def, Form, Ill, What, optional, required};

pub(crate) const ROOTS_RESULT_SHAPE: Rule = Rule {
    id: "roots-result-shape",
    category: Category::Roots,
    side: Side::Client,
    source: "2025-11-25 schema.ts (ListRootsResult)",
    says: "A list of roots is an array `roots`; each root has a string `uri` and may have a string `name`.",
    why: "A server that gets something else works without roots, or on the wrong directory.",
    needs: Needs::Causal,
    when: When::result(Method::RootsList),
    twin: "mrtr-response-shape",
    ..MUST
};

pub(crate) const ROOT_URI_FILE: Rule = Rule {
    id: "root-uri-file",
    category: Category::Roots,
    basis: Basis::Text,
    side: Side::Client,
    source: "2025-11-25 client/roots (Root)",
    says: "The uri of a root begins with file://.",
    why: "Servers cut the scheme off to get a path; of a bare path they cut something else.",
    needs: Needs::Causal,
    when: When::result(Method::RootsList),
    twin: "roots-file-uri",
    ..MUST
};

/// The rows of this category.
pub(crate) const ROWS: &[Rule] = &[ROOTS_RESULT_SHAPE, ROOT_URI_FILE];

static FILE_URI: Form = Form {
    name: "a file URI",
    rule: &ROOT_URI_FILE,
    flaw: not_a_file,
};

fn not_a_file(uri: Value<'_>) -> Option<Ill> {
    const SCHEME: &[u8] = b"file://";
    let text = uri.as_bytes()?;
    let head = text.get(..SCHEME.len());
    let is_file = head.is_some_and(|head| head.eq_ignore_ascii_case(SCHEME));
    (!is_file).then_some(Ill {
        why: "it does not begin with file://".into(),
        severity: Severity::Error,
    })
}

static ROOT: Def = Def::new(
    "a root",
    &[
        required("uri", What::Form(&FILE_URI)),
        optional("name", What::Text),
        optional("_meta", What::Object).since(Revision::V2025_06_18),
    ],
);

/// The result of roots/list.
pub(crate) static RESULT: Def = Def::new(
    "a result of roots/list",
    &[required("roots", What::ArrayOf(&What::Def(&ROOT)))],
);
