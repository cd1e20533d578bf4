//! Paths, operations, parameters, bodies and responses: what callers of the base can no
//! longer do.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    analyzers::json::{Id, Tree, Value},
    domain::review::finding::{Priority, Side},
};

use super::document::{Target, resolve};

/// One broken promise.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Hit {
    /// The rule without `api_contract/`.
    pub(super) rule: &'static str,
    pub(super) priority: Priority,
    /// `POST /users`.
    pub(super) place: String,
    /// What changed, as a sentence without its end.
    pub(super) what: String,
    /// Where it may be shown, the best place first.
    pub(super) lines: Vec<(Side, u32)>,
}

/// Pairs of values that are compared in one document; a larger one is told as not
/// wholly seen.
pub(super) const STEPS: usize = 200_000;

const METHODS: &[&str] = &[
    "get", "put", "post", "delete", "options", "head", "patch", "trace",
];

/// Which way data goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// From the caller: what was accepted must still be.
    In,
    /// To the caller: nothing may come that was not promised.
    Out,
}

pub(super) struct Comparison<'t> {
    pub(super) base: &'t Tree,
    pub(super) head: &'t Tree,
    pub(super) hits: Vec<Hit>,
    /// Pairs of schemas that were compared already.
    pub(super) seen: BTreeSet<(Id, Id, Way)>,
    pub(super) steps: usize,
    /// References into other documents, which are not fetched.
    pub(super) elsewhere: usize,
    /// References that lead nowhere on the head.
    pub(super) broken: usize,
    pub(super) place: String,
}

/// Compares two documents.
pub(super) fn compare<'t>(base: &'t Tree, head: &'t Tree) -> Comparison<'t> {
    let mut comparison = Comparison {
        base,
        head,
        hits: Vec::new(),
        seen: BTreeSet::new(),
        steps: 0,
        elsewhere: 0,
        broken: 0,
        place: String::new(),
    };
    comparison.paths();
    comparison
}

/// `/users/{id}` and `/users/{user}` are one path.
fn template(path: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in path.chars() {
        match c {
            '{' => {
                inside = true;
                out.push_str("{}");
            }
            '}' => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    out
}

fn is_true(tree: &Tree, id: Id, key: &str) -> bool {
    tree.get(id, key)
        .is_some_and(|v| tree.value(v) == &Value::Bool(true))
}

impl<'t> Comparison<'t> {
    pub(super) fn hit(
        &mut self,
        rule: &'static str,
        priority: Priority,
        what: impl Into<String>,
        lines: impl IntoIterator<Item = (Side, u32)>,
    ) {
        self.hits.push(Hit {
            rule,
            priority,
            place: self.place.clone(),
            what: what.into(),
            lines: lines.into_iter().collect(),
        });
    }

    /// Both values without references; `None` when one of them is not at hand.
    pub(super) fn both(&mut self, base: Id, head: Id) -> Option<(Id, Id)> {
        let (base, head) = (resolve(self.base, base), resolve(self.head, head));
        match (base, head) {
            (Target::Here(base), Target::Here(head)) => Some((base, head)),
            (_, Target::Broken) => {
                self.broken += 1;
                None
            }
            _ => {
                self.elsewhere += 1;
                None
            }
        }
    }

    fn paths(&mut self) {
        let (base, head) = (self.base, self.head);
        let Some(old) = base.get(base.root(), "paths") else {
            return;
        };
        let new = head.get(head.root(), "paths");
        let new: BTreeMap<String, (u32, Id)> = new
            .into_iter()
            .flat_map(|id| head.entries(id))
            .map(|(path, line, id)| (template(path), (line, id)))
            .collect();
        for (path, line, old) in base.entries(old).filter(|(p, ..)| p.starts_with('/')) {
            self.place = path.to_owned();
            match new.get(&template(path)) {
                Some((new_line, new)) => self.path(path, (line, old), (*new_line, *new)),
                None => {
                    self.hit(
                        "path-removed",
                        Priority::P1,
                        "the path is gone",
                        [(Side::Left, line)],
                    );
                }
            }
        }
    }

    fn path(&mut self, path: &str, (old_line, old): (u32, Id), (new_line, new): (u32, Id)) {
        let Some((old, new)) = self.both(old, new) else {
            return;
        };
        for method in METHODS {
            self.place = format!("{} {path}", method.to_uppercase());
            let Some((line, before)) = self.base.entry(old, method) else {
                continue;
            };
            match self.head.get(new, method) {
                Some(after) => self.operation((old, before), (new, after)),
                None => {
                    // Whoever was told for a release that it goes may see it go.
                    let priority = if is_true(self.base, before, "deprecated") {
                        Priority::P2
                    } else {
                        Priority::P1
                    };
                    let lines = [
                        (Side::Left, line),
                        (Side::Left, old_line),
                        (Side::Right, new_line),
                    ];
                    self.hit("operation-removed", priority, "the operation is gone", lines);
                }
            }
        }
    }

    fn operation(&mut self, (old_path, old): (Id, Id), (new_path, new): (Id, Id)) {
        self.parameters((old_path, old), (new_path, new));
        self.body(old, new);
        self.responses(old, new);
        self.security(old, new);
    }

    /// The parameters of an operation with those of its path, by place and name.
    fn parameters_of(&mut self, tree: &Tree, path: Id, operation: Id) -> BTreeMap<(String, String), Id> {
        let mut found = BTreeMap::new();
        for owner in [path, operation] {
            let Some(list) = tree.get(owner, "parameters") else {
                continue;
            };
            for id in tree.items(list) {
                let id = match resolve(tree, *id) {
                    Target::Here(id) => id,
                    Target::Elsewhere => {
                        self.elsewhere += 1;
                        continue;
                    }
                    Target::Broken => {
                        self.broken += 1;
                        continue;
                    }
                };
                let place = tree.text_of(id, "in").unwrap_or_default().to_owned();
                let mut name = tree.text_of(id, "name").unwrap_or_default().to_owned();
                match place.as_str() {
                    "header" => name.make_ascii_lowercase(),
                    // There is one body, and its name says nothing.
                    "body" => name.clear(),
                    _ => {}
                }
                found.insert((place, name), id);
            }
        }
        found
    }

    fn parameters(&mut self, (old_path, old): (Id, Id), (new_path, new): (Id, Id)) {
        let (base, head) = (self.base, self.head);
        let before = self.parameters_of(base, old_path, old);
        let after = self.parameters_of(head, new_path, new);
        for ((place, name), id) in &after {
            self.steps += 1;
            let required = is_true(head, *id, "required");
            let lines = [
                (
                    Side::Right,
                    head.entry(*id, "required").map_or(1, |(line, _)| line),
                ),
                (Side::Right, head.entry(*id, "name").map_or(1, |(line, _)| line)),
                (Side::Right, head.line(*id)),
            ];
            match before.get(&(place.clone(), name.clone())) {
                // What a path's template names is matched by its place in it.
                _ if place == "path" => {}
                None if required => {
                    let what = format!("the new {place} parameter `{name}` is required");
                    self.hit("parameter-required", Priority::P1, what, lines);
                }
                Some(old) if required && !is_true(base, *old, "required") => {
                    let what = format!("the {place} parameter `{name}` is required now");
                    self.hit("parameter-required", Priority::P1, what, lines);
                }
                _ => {}
            }
        }
        for ((place, name), old) in &before {
            match after.get(&(place.clone(), name.clone())) {
                None if place != "path" => {
                    let lines = [
                        (Side::Left, base.entry(*old, "name").map_or(1, |(line, _)| line)),
                        (Side::Left, base.line(*old)),
                    ];
                    let what = format!("the {place} parameter `{name}` is gone");
                    self.hit("parameter-removed", Priority::P1, what, lines);
                }
                None => {}
                Some(new) => {
                    // Swagger 2 writes the type into the parameter itself.
                    let schema = |tree: &Tree, id: Id| tree.get(id, "schema").unwrap_or(id);
                    let (old, new) = (schema(base, *old), schema(head, *new));
                    self.schema(old, new, Way::In, &format!("{place} parameter `{name}`"));
                }
            }
        }
    }

    fn body(&mut self, old: Id, new: Id) {
        let (base, head) = (self.base, self.head);
        let before = base.entry(old, "requestBody");
        let after = head.entry(new, "requestBody");
        match (before, after) {
            (None, Some((line, id))) => {
                if let Target::Here(id) = resolve(head, id)
                    && is_true(head, id, "required")
                {
                    let own = head.entry(id, "required").map_or(line, |(line, _)| line);
                    let lines = [(Side::Right, own), (Side::Right, line)];
                    self.hit(
                        "body-required",
                        Priority::P1,
                        "a request body is required now",
                        lines,
                    );
                }
            }
            (Some((line, _)), None) => {
                self.hit(
                    "body-removed",
                    Priority::P1,
                    "the request body is gone",
                    [(Side::Left, line)],
                );
            }
            (Some((_, before)), Some((line, after))) => {
                let Some((before, after)) = self.both(before, after) else {
                    return;
                };
                if is_true(head, after, "required") && !is_true(base, before, "required") {
                    let own = head.entry(after, "required").map_or(line, |(line, _)| line);
                    let lines = [(Side::Right, own), (Side::Right, line)];
                    self.hit(
                        "body-required",
                        Priority::P1,
                        "the request body is required now",
                        lines,
                    );
                }
                self.content(before, after, Way::In, "request body");
            }
            (None, None) => {}
        }
    }

    fn content(&mut self, old: Id, new: Id, way: Way, what: &str) {
        let (base, head) = (self.base, self.head);
        // Swagger 2 has one schema for all media types.
        if let (Some(old), Some(new)) = (base.get(old, "schema"), head.get(new, "schema")) {
            self.schema(old, new, way, what);
        }
        let Some((old_line, old)) = base.entry(old, "content") else {
            return;
        };
        let new = head.get(new, "content");
        for (media, line, before) in base.entries(old) {
            match new.and_then(|new| head.get(new, media)) {
                Some(after) => {
                    if let (Some(before), Some(after)) =
                        (base.get(before, "schema"), head.get(after, "schema"))
                    {
                        self.schema(before, after, way, what);
                    }
                }
                None => {
                    let lines = [(Side::Left, line), (Side::Left, old_line)];
                    let what = format!("the {what} has no `{media}` any more");
                    self.hit("media-type-removed", Priority::P1, what, lines);
                }
            }
        }
    }

    fn responses(&mut self, old: Id, new: Id) {
        let (base, head) = (self.base, self.head);
        let Some(old) = base.get(old, "responses") else {
            return;
        };
        let new = head.get(new, "responses");
        for (status, line, before) in base.entries(old) {
            let after = new.and_then(|new| head.get(new, status));
            let Some(after) = after else {
                // Errors come and go; what a call is made for does not.
                if status.starts_with('2') {
                    let what = format!("the response `{status}` is gone");
                    self.hit("response-removed", Priority::P1, what, [(Side::Left, line)]);
                }
                continue;
            };
            let Some((before, after)) = self.both(before, after) else {
                continue;
            };
            self.content(before, after, Way::Out, &format!("response `{status}`"));
            let Some(headers) = base.get(before, "headers") else {
                continue;
            };
            let kept: BTreeSet<String> = head
                .get(after, "headers")
                .into_iter()
                .flat_map(|h| head.entries(h))
                .map(|(name, ..)| name.to_ascii_lowercase())
                .collect();
            for (name, line, _) in base.entries(headers) {
                if !kept.contains(&name.to_ascii_lowercase()) {
                    let what = format!("the header `{name}` of the response `{status}` is gone");
                    self.hit("header-removed", Priority::P2, what, [(Side::Left, line)]);
                }
            }
        }
    }

    /// Every way in that the base had must still be enough.
    fn security(&mut self, old: Id, new: Id) {
        let ways = |tree: &Tree, id: Id| -> Option<(u32, Vec<BTreeSet<String>>)> {
            let (line, list) = tree
                .entry(id, "security")
                .or_else(|| tree.entry(tree.root(), "security"))?;
            let ways = tree.items(list).iter().map(|way| {
                tree.entries(*way)
                    .flat_map(|(scheme, _, scopes)| {
                        let scopes = tree.items(scopes).iter().filter_map(|s| tree.text(*s));
                        std::iter::once(scheme.to_owned()).chain(scopes.map(move |s| format!("{scheme} {s}")))
                    })
                    .collect()
            });
            Some((line, ways.take(64).collect()))
        };
        let before = ways(self.base, old).map(|(_, w)| w).unwrap_or_default();
        let Some((line, after)) = ways(self.head, new).filter(|(_, w)| !w.is_empty()) else {
            return;
        };
        let anonymous = vec![BTreeSet::new()];
        let before = if before.is_empty() { &anonymous } else { &before };
        let shut = before
            .iter()
            .find(|had| !after.iter().any(|asks| asks.is_subset(had)));
        if let Some(had) = shut {
            let what = match had.iter().next() {
                None => "callers must authenticate now".to_owned(),
                Some(scheme) => format!("`{scheme}` alone is no longer enough to authenticate"),
            };
            self.hit("security-required", Priority::P1, what, [(Side::Right, line)]);
        }
    }
}
