//! The layers of the crate, held by a test: which folder may name which.
//!
//! Paths are resolved with `syn`, so a comment or a string never counts and a
//! `use` tree counts leaf by leaf.
#![allow(missing_docs, reason = "a test binary")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use syn::visit::Visit;

/// `(folder, what it may name)`. A folder may always name itself.
const LAYERS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("ports", &["domain"]),
    ("store", &["domain"]),
    ("services", &["domain", "ports", "store"]),
    ("forge", &["domain", "ports", "git"]),
    ("git", &["domain", "ports"]),
    ("analyzers", &["domain", "ports"]),
    ("config", &["domain"]),
    ("telemetry", &[]),
    ("emulator", &[]),
    ("server", &["domain", "ports", "services", "config", "telemetry"]),
    ("cli", &["domain", "ports", "services", "config", "telemetry"]),
    (
        "app",
        &[
            "domain",
            "ports",
            "store",
            "services",
            "forge",
            "git",
            "analyzers",
            "config",
            "telemetry",
            "emulator",
            "server",
            "cli",
        ],
    ),
    ("main", &["app"]),
];

/// Collects the first segment after `crate` (or `jury`, or enough `super`s).
struct Names<'a> {
    /// Module path of the file, e.g. `["domain", "review", "finding"]`.
    module: &'a [String],
    found: BTreeSet<String>,
}

impl Names<'_> {
    fn path(&mut self, segments: &[String]) {
        let Some(first) = segments.first() else { return };
        if first == "crate" || first == "jury" {
            self.found.extend(segments.get(1).cloned());
        } else if first == "super" {
            let ups = segments.iter().take_while(|s| *s == "super").count();
            if ups >= self.module.len() {
                self.found.extend(segments.get(ups).cloned());
            }
        }
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(p) => self.tree(&p.tree, &with(&p.ident)),
            syn::UseTree::Name(n) => self.path(&with(&n.ident)),
            syn::UseTree::Rename(r) => self.path(&with(&r.ident)),
            syn::UseTree::Glob(_) => self.path(before),
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.tree(t, before)),
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &[]);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.path(&segments);
        syn::visit::visit_path(self, path);
    }
}

fn names_in(source: &str, module: &[String]) -> BTreeSet<String> {
    let file = syn::parse_file(source).expect("the source parses");
    let mut names = Names {
        module,
        found: BTreeSet::new(),
    };
    names.visit_file(&file);
    names.found
}

fn sources(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).expect("a readable folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    found
}

fn module_of(relative: &Path) -> Vec<String> {
    let mut parts: Vec<String> = relative
        .with_extension("")
        .iter()
        .map(|p| p.to_string_lossy().into_owned())
        .collect();
    if parts.last().is_some_and(|p| p == "mod" || p == "lib") {
        parts.pop();
    }
    parts
}

fn violations(files: &[(Vec<String>, String)]) -> Vec<String> {
    let layers: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (module, source) in files {
        let Some(layer) = module.first() else { continue };
        let Some(allowed) = layers.get(layer.as_str()) else {
            wrong.push(format!("{} is in no layer", module.join("::")));
            continue;
        };
        for name in names_in(source, module) {
            if layers.contains_key(name.as_str()) && name != *layer && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{} names {name}", module.join("::")));
            }
        }
    }
    wrong
}

#[test]
fn every_folder_names_only_what_its_layer_may() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files: Vec<(Vec<String>, String)> = sources(&root)
        .into_iter()
        .map(|path| {
            let module = module_of(path.strip_prefix(&root).expect("below src"));
            (module, fs::read_to_string(&path).expect("readable"))
        })
        .collect();
    assert!(
        files
            .iter()
            .any(|(m, _)| m.first().is_some_and(|f| f == "domain")),
        "the domain was not scanned"
    );
    assert_eq!(violations(&files), Vec::<String>::new());
}

#[test]
fn a_seeded_violation_is_seen() {
    let seeded = |module: &[&str], source: &str| {
        let module: Vec<String> = module.iter().map(|s| (*s).to_owned()).collect();
        violations(&[(module, source.to_owned())])
    };
    assert_eq!(
        seeded(&["domain", "x"], "use crate::{ports::clock, domain::ids};"),
        ["domain::x names ports"]
    );
    assert_eq!(
        seeded(&["domain", "x"], "fn f() { super::super::store::open() }"),
        ["domain::x names store"]
    );
    assert_eq!(
        seeded(&["cli"], "fn f(x: crate::store::Db) {}"),
        ["cli names store"]
    );
    assert_eq!(seeded(&["utils"], ""), ["utils is in no layer"]);
}
