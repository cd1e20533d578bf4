//! Schemas: what a value may be, before and after.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    analyzers::json::{Id, Tree, Value},
    domain::review::finding::{Priority, Side},
};

use super::{
    compare::{Comparison, STEPS, Way},
    document::{Target, resolve},
};

/// Parts of an `allOf`, nested ones included, that are put together.
const PARTS: usize = 256;
/// Levels of a schema that are compared.
const DEEPEST: usize = 48;

/// A schema with its `allOf` put together.
#[derive(Default)]
struct Shape {
    line: u32,
    /// `None`: any.
    types: Option<(BTreeSet<String>, u32)>,
    format: Option<(String, u32)>,
    pattern: Option<(String, u32)>,
    /// Values and the line of each; `None`: any.
    values: Option<(BTreeMap<String, u32>, u32)>,
    required: BTreeMap<String, u32>,
    properties: BTreeMap<String, (u32, Id)>,
    /// Where further properties are forbidden.
    closed: Option<u32>,
    /// Schemas of further properties, and of a list's items.
    further: Option<Id>,
    items: Option<Id>,
    /// Bounds by their name, with whether the bound itself is excluded.
    bounds: BTreeMap<&'static str, (f64, bool, u32)>,
    /// `oneOf` and `anyOf`.
    choices: Vec<Id>,
    choices_line: u32,
    nullable: bool,
    elsewhere: bool,
    broken: bool,
}

/// Bounds, and whether more of it lets in less.
const BOUNDS: &[(&str, bool)] = &[
    ("minimum", true),
    ("maximum", false),
    ("minLength", true),
    ("maxLength", false),
    ("minItems", true),
    ("maxItems", false),
    ("minProperties", true),
    ("maxProperties", false),
];

fn spelled(tree: &Tree, id: Id) -> String {
    match tree.value(id) {
        Value::Null => "null".to_owned(),
        Value::Bool(b) => b.to_string(),
        Value::Number(n) => n.clone(),
        Value::Text(t) => format!("\"{t}\""),
        Value::List(_) => "[…]".to_owned(),
        Value::Map(_) => "{…}".to_owned(),
    }
}

fn number(tree: &Tree, id: Id) -> Option<f64> {
    match tree.value(id) {
        Value::Number(text) => text.parse().ok(),
        _ => None,
    }
}

impl Shape {
    fn of(tree: &Tree, id: Id) -> Self {
        let mut shape = Self {
            line: tree.line(id),
            ..Self::default()
        };
        let mut seen = BTreeSet::new();
        let mut open = vec![id];
        while let Some(id) = open.pop() {
            let id = match resolve(tree, id) {
                Target::Here(id) => id,
                Target::Elsewhere => {
                    shape.elsewhere = true;
                    continue;
                }
                Target::Broken => {
                    shape.broken = true;
                    continue;
                }
            };
            if seen.len() < PARTS && seen.insert(id) {
                shape.take(tree, id);
                if let Some(parts) = tree.get(id, "allOf") {
                    open.extend(tree.items(parts));
                }
            }
        }
        if shape.nullable
            && let Some((types, _)) = &mut shape.types
        {
            types.insert("null".to_owned());
        }
        shape
    }

    /// About how much there is to compare.
    fn size(&self) -> usize {
        self.properties.len() + self.required.len() + self.values.as_ref().map_or(0, |(v, _)| v.len())
    }

    fn take(&mut self, tree: &Tree, id: Id) {
        let text = |key: &str| {
            let (line, id) = tree.entry(id, key)?;
            Some((tree.text(id)?.to_owned(), line))
        };
        if let Some((line, kind)) = tree.entry(id, "type") {
            let types: BTreeSet<String> = match tree.value(kind) {
                Value::Text(one) => BTreeSet::from([one.clone()]),
                Value::List(many) => many
                    .iter()
                    .filter_map(|t| tree.text(*t))
                    .map(str::to_owned)
                    .collect(),
                _ => BTreeSet::new(),
            };
            if !types.is_empty() {
                self.types = Some((types, line));
            }
        }
        self.nullable |= tree
            .get(id, "nullable")
            .is_some_and(|v| tree.value(v) == &Value::Bool(true));
        self.format = text("format").or(self.format.take());
        self.pattern = text("pattern").or(self.pattern.take());
        if let Some((line, list)) = tree.entry(id, "enum") {
            let values = tree
                .items(list)
                .iter()
                .map(|v| (spelled(tree, *v), tree.line(*v)));
            self.values = Some((values.collect(), line));
        } else if let Some((line, one)) = tree.entry(id, "const") {
            self.values = Some((BTreeMap::from([(spelled(tree, one), line)]), line));
        }
        if let Some(list) = tree.get(id, "required") {
            let names = tree
                .items(list)
                .iter()
                .filter_map(|r| Some((tree.text(*r)?, tree.line(*r))));
            self.required
                .extend(names.map(|(name, line)| (name.to_owned(), line)));
        }
        if let Some(all) = tree.get(id, "properties") {
            let all = tree
                .entries(all)
                .map(|(name, line, id)| (name.to_owned(), (line, id)));
            self.properties.extend(all);
        }
        if let Some((line, further)) = tree.entry(id, "additionalProperties") {
            match tree.value(further) {
                Value::Bool(false) => self.closed = Some(line),
                Value::Map(_) => self.further = Some(further),
                _ => {}
            }
        }
        self.items = tree.get(id, "items").or(self.items);
        for (name, _) in BOUNDS {
            let Some((line, bound)) = tree.entry(id, name) else {
                continue;
            };
            if let Some(bound) = number(tree, bound) {
                self.bounds.insert(name, (bound, false, line));
            }
        }
        for (name, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            let Some((line, value)) = tree.entry(id, name) else {
                continue;
            };
            // A number in 3.1; before, a word about the bound.
            match (tree.value(value), self.bounds.get_mut(bound)) {
                (Value::Bool(true), Some(bound)) => bound.1 = true,
                (Value::Number(n), _) => {
                    if let Ok(n) = n.parse() {
                        self.bounds.insert(bound, (n, true, line));
                    }
                }
                _ => {}
            }
        }
        for name in ["oneOf", "anyOf"] {
            if let Some((line, list)) = tree.entry(id, name) {
                self.choices.extend(tree.items(list));
                self.choices_line = line;
            }
        }
    }
}

/// Whether every value of type `a` is one of the types.
fn fits(a: &str, types: &BTreeSet<String>) -> bool {
    types.contains(a) || (a == "integer" && types.contains("number"))
}

fn joined(types: &BTreeSet<String>) -> String {
    types.iter().cloned().collect::<Vec<_>>().join(" or ")
}

impl Comparison<'_> {
    /// Compares what a value may be. `what` names it to a reader.
    pub(super) fn schema(&mut self, old: Id, new: Id, way: Way, what: &str) {
        self.schema_at(old, new, way, what, 0);
    }

    fn schema_at(&mut self, old: Id, new: Id, way: Way, what: &str, depth: usize) {
        let Some((old, new)) = self.both(old, new) else {
            return;
        };
        self.steps += 1;
        if depth > DEEPEST || self.steps > STEPS || !self.seen.insert((old, new, way)) {
            return;
        }
        let (before, after) = (Shape::of(self.base, old), Shape::of(self.head, new));
        self.steps += before.size() + after.size();
        self.elsewhere += usize::from(before.elsewhere || after.elsewhere);
        self.broken += usize::from(after.broken);
        if before.elsewhere || after.elsewhere || after.broken {
            return;
        }
        let composed = !before.choices.is_empty() || !after.choices.is_empty();
        if composed {
            self.choices(&before, &after, way, what, depth);
        } else {
            self.types(&before, &after, way, what);
        }
        self.values(&before, &after, way, what);
        if way == Way::In {
            self.bounds(&before, &after, what);
        }
        self.properties(&before, &after, way, what, depth);
        if let (Some(old), Some(new)) = (before.items, after.items) {
            self.schema_at(old, new, way, &format!("items of the {what}"), depth + 1);
        }
        if let (Some(old), Some(new)) = (before.further, after.further) {
            self.schema_at(old, new, way, &format!("values of the {what}"), depth + 1);
        }
    }

    fn types(&mut self, before: &Shape, after: &Shape, way: Way, what: &str) {
        let lines = |line: Option<u32>, old: Option<u32>| {
            let right = line.unwrap_or(after.line);
            let mut lines = vec![(Side::Right, right)];
            lines.extend(old.map(|l| (Side::Left, l)));
            lines
        };
        let (old, new) = (before.types.as_ref(), after.types.as_ref());
        let at = lines(new.map(|t| t.1), old.map(|t| t.1));
        match (way, old, new) {
            (Way::In, Some((old, _)), Some((new, _))) if !old.iter().all(|t| fits(t, new)) => {
                let words = format!("the {what} was {} and must be {} now", joined(old), joined(new));
                self.hit("request-type", Priority::P1, words, at);
                return;
            }
            (Way::In, None, Some((new, _))) if before.properties.is_empty() && before.values.is_none() => {
                let words = format!("the {what} could be anything and must be {} now", joined(new));
                self.hit("request-type", Priority::P1, words, at);
                return;
            }
            (Way::Out, Some((old, _)), Some((new, _))) if !new.iter().all(|t| fits(t, old)) => {
                let words = format!("the {what} was {} and may be {} now", joined(old), joined(new));
                self.hit("response-type", Priority::P1, words, at);
                return;
            }
            (Way::Out, Some((old, _)), None) if after.properties.is_empty() && after.values.is_none() => {
                let words = format!("the {what} was {} and may be anything now", joined(old));
                self.hit("response-type", Priority::P1, words, at);
                return;
            }
            _ => {}
        }
        let (old, new) = (&before.format, &after.format);
        let kinds = |f: &Option<(String, u32)>| f.as_ref().map(|f| f.0.clone());
        let changed = match (way, kinds(old).as_deref(), kinds(new).as_deref()) {
            (_, a, b) if a == b => false,
            (Way::In, _, None) | (Way::Out, None, _) => false,
            (Way::In, Some("int32"), Some("int64")) | (Way::Out, Some("int64"), Some("int32")) => false,
            (Way::In, Some("float"), Some("double")) | (Way::Out, Some("double"), Some("float")) => false,
            _ => true,
        };
        if changed {
            let name =
                |f: &Option<(String, u32)>| f.as_ref().map_or("none".to_owned(), |f| format!("`{}`", f.0));
            let words = format!(
                "the format of the {what} was {} and is {} now",
                name(old),
                name(new)
            );
            let at = lines(new.as_ref().map(|f| f.1), old.as_ref().map(|f| f.1));
            self.hit("format-changed", Priority::P2, words, at);
        }
    }

    fn values(&mut self, before: &Shape, after: &Shape, way: Way, what: &str) {
        match (way, &before.values, &after.values) {
            (Way::In, Some((old, old_line)), Some((new, line))) => {
                for (value, at) in old.iter().filter(|(v, _)| !new.contains_key(*v)) {
                    let lines = [(Side::Left, *at), (Side::Right, *line), (Side::Left, *old_line)];
                    let words = format!("the {what} may no longer be {}", tick(value));
                    self.hit("enum-value-removed", Priority::P1, words, lines);
                }
            }
            (Way::In, None, Some((_, line))) => {
                let words = format!("the {what} must be one of a few values now");
                self.hit("enum-value-removed", Priority::P1, words, [(Side::Right, *line)]);
            }
            (Way::Out, Some((old, _)), Some((new, line))) => {
                for (value, at) in new.iter().filter(|(v, _)| !old.contains_key(*v)) {
                    let lines = [(Side::Right, *at), (Side::Right, *line)];
                    let words = format!("the {what} may be {} now, which callers do not know", tick(value));
                    self.hit("enum-value-added", Priority::P1, words, lines);
                }
            }
            (Way::Out, Some((_, line)), None) => {
                let words = format!("the {what} was one of a few values and may be any now");
                let lines = [(Side::Left, *line), (Side::Right, after.line)];
                self.hit("enum-value-added", Priority::P1, words, lines);
            }
            _ => {}
        }
    }

    fn bounds(&mut self, before: &Shape, after: &Shape, what: &str) {
        for (name, least) in BOUNDS {
            let Some((new, excluded, line)) = after.bounds.get(name) else {
                continue;
            };
            let old = before.bounds.get(name);
            // A least length of nothing forbids nothing.
            let tighter = match old {
                None => !(*least && *new <= 0.0 && *name != "minimum"),
                Some((old, was, _)) if old == new => *excluded && !was,
                Some((old, ..)) if *least => new > old,
                Some((old, ..)) => new < old,
            };
            if tighter {
                let was = old.map_or("not bounded".to_owned(), |(old, ..)| old.to_string());
                let words = format!("the `{name}` of the {what} is {new} now (was {was})");
                self.hit("request-bounds", Priority::P1, words, [(Side::Right, *line)]);
            }
        }
        if let Some((new, line)) = &after.pattern
            && before.pattern.as_ref().map(|p| &p.0) != Some(new)
        {
            let (priority, words) = if before.pattern.is_none() {
                (Priority::P1, format!("the {what} must match a pattern now"))
            } else {
                (Priority::P2, format!("the pattern of the {what} changed"))
            };
            self.hit("request-bounds", priority, words, [(Side::Right, *line)]);
        }
    }

    fn properties(&mut self, before: &Shape, after: &Shape, way: Way, what: &str, depth: usize) {
        let (base, head) = (self.base, self.head);
        // What only the other way carries is of no concern here.
        let other = match way {
            Way::In => "readOnly",
            Way::Out => "writeOnly",
        };
        let marked = |tree: &Tree, id: Id| {
            let yes = |id: Id| {
                tree.get(id, other)
                    .is_some_and(|v| tree.value(v) == &Value::Bool(true))
            };
            yes(id) || matches!(resolve(tree, id), Target::Here(id) if yes(id))
        };
        for (name, (line, old)) in &before.properties {
            if marked(base, *old) {
                continue;
            }
            let Some((_, new)) = after.properties.get(name) else {
                let closed = after.closed.is_some();
                let lines = [(Side::Left, *line)];
                if way == Way::Out {
                    let words = format!("the {what} has no `{name}` any more");
                    self.hit("property-removed", Priority::P1, words, lines);
                } else if closed {
                    let words = format!("the {what} may no longer hold `{name}`");
                    self.hit("property-removed", Priority::P1, words, lines);
                }
                continue;
            };
            if way == Way::Out && before.required.contains_key(name) && !after.required.contains_key(name) {
                let lines = [(Side::Left, before.required[name]), (Side::Right, after.line)];
                let words = format!("`{name}` of the {what} may be missing now");
                self.hit("property-optional", Priority::P1, words, lines);
            }
            let inner = format!("`{name}` of the {}", shortened(what));
            self.schema_at(*old, *new, way, &inner, depth + 1);
        }
        if way == Way::Out {
            return;
        }
        for (name, line) in after
            .required
            .iter()
            .filter(|(n, _)| !before.required.contains_key(*n))
        {
            let property = after.properties.get(name);
            if property.is_some_and(|(_, id)| marked(head, *id)) {
                continue;
            }
            let mut lines = vec![(Side::Right, *line)];
            lines.extend(property.map(|(line, _)| (Side::Right, *line)));
            let words = format!("`{name}` of the {what} is required now");
            self.hit("property-required", Priority::P1, words, lines);
        }
        if let Some(line) = after.closed
            && before.closed.is_none()
        {
            let words = format!("the {what} may hold no other properties now");
            self.hit("request-closed", Priority::P1, words, [(Side::Right, line)]);
        }
    }

    /// Alternatives, matched by what they refer to, else by their order.
    fn choices(&mut self, before: &Shape, after: &Shape, way: Way, what: &str, depth: usize) {
        if before.choices.is_empty() || after.choices.is_empty() {
            return;
        }
        // Each is looked for among all: so many that it would take long are not compared.
        self.steps += before.choices.len() * after.choices.len();
        if self.steps > STEPS {
            return;
        }
        let (base, head) = (self.base, self.head);
        let name = |tree: &Tree, id: Id| {
            let own = tree.text_of(id, "$ref").or_else(|| tree.text_of(id, "title"));
            own.or_else(|| tree.text_of(id, "type")).map(str::to_owned)
        };
        let mut free: Vec<Id> = after.choices.clone();
        let mut lost = Vec::new();
        for old in &before.choices {
            let wanted = name(base, *old);
            match free
                .iter()
                .position(|new| wanted.is_some() && name(head, *new) == wanted)
            {
                Some(at) => {
                    let new = free.remove(at);
                    self.schema_at(
                        *old,
                        new,
                        way,
                        &format!("a form of the {}", shortened(what)),
                        depth + 1,
                    );
                }
                None => lost.push(*old),
            }
        }
        if way == Way::In && lost.len() > free.len() {
            let lines: Vec<(Side, u32)> = lost.iter().map(|id| (Side::Left, base.line(*id))).collect();
            self.hit(
                "alternative-removed",
                Priority::P1,
                format!("the {what} may take fewer forms now"),
                lines,
            );
        } else if way == Way::Out && free.len() > lost.len() {
            let mut lines: Vec<(Side, u32)> = free.iter().map(|id| (Side::Right, head.line(*id))).collect();
            lines.push((Side::Right, after.choices_line));
            self.hit(
                "alternative-added",
                Priority::P1,
                format!("the {what} may take more forms now"),
                lines,
            );
        } else {
            for (old, new) in lost.into_iter().zip(free) {
                self.schema_at(
                    old,
                    new,
                    way,
                    &format!("a form of the {}", shortened(what)),
                    depth + 1,
                );
            }
        }
    }
}

fn tick(value: &str) -> String {
    format!("`{}`", crate::domain::text::truncate_chars(value, 60))
}

/// A nested name keeps its head: deep documents must not make long titles.
fn shortened(what: &str) -> String {
    crate::domain::text::truncate_chars(what, 90).into_owned()
}
