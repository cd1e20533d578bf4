//! The layers of the crate, held by a test: which folder may name which, and which
//! crates; and how long a file may be.
//!
//! Paths are resolved with `syn`, so a comment or a string never counts and a `use`
//! tree counts leaf by leaf. What could hide an edge from the resolver (`#[path]`,
//! `include!`, a renamed or globbed crate root, a re-export in `lib.rs`) is itself a
//! violation. Each rule is tried on a seeded violation: a guard that sees nothing
//! passes for ever.
#![allow(missing_docs, reason = "a test binary")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
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
    ("isolation", &["domain", "ports"]),
    ("config", &["domain"]),
    ("telemetry", &["domain"]),
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
            "isolation",
            "config",
            "telemetry",
            "emulator",
            "server",
            "cli",
        ],
    ),
    ("main", &["app"]),
];

/// `(crate, the only layers that may name it)`: a forge client that can reach the
/// database, or a service that knows HTTP, is a design that has slipped.
const CRATES: &[(&str, &[&str])] = &[
    ("axum", &["server", "emulator", "app"]),
    ("clap", &["cli", "app", "main"]),
    ("hyper", &["server", "emulator"]),
    ("octocrab", &["forge"]),
    ("sqlx", &["store"]),
];

/// Parts of `std` that the pure domain must not name.
const IMPURE_STD: &[&str] = &["env", "fs", "net", "process", "thread", "time"];

/// What one file names.
struct Names {
    /// Module path now, e.g. `["domain", "review", "finding"]`; grows in inline modules.
    module: Vec<String>,
    /// Absolute paths within the crate.
    ours: BTreeSet<Vec<String>>,
    /// Paths that start at another crate.
    others: BTreeSet<Vec<String>>,
    /// What could hide a path from us.
    tricks: BTreeSet<String>,
}

impl Names {
    /// Resolves a path to one from the crate's root, if it is ours.
    fn resolve(&self, segments: &[String]) -> Option<Vec<String>> {
        let mut at = match segments.first()?.as_str() {
            "crate" | "jury" => Vec::new(),
            "self" | "super" => self.module.clone(),
            _ => return None,
        };
        for (place, segment) in segments.iter().enumerate() {
            match segment.as_str() {
                "crate" | "jury" if place == 0 => {}
                "self" => {}
                "super" => drop(at.pop()),
                name => at.push(name.to_owned()),
            }
        }
        Some(at)
    }

    fn path(&mut self, segments: &[String]) {
        match self.resolve(segments) {
            Some(path) if path.is_empty() => {}
            Some(path) => drop(self.ours.insert(path)),
            None => drop(self.others.insert(segments.to_vec())),
        }
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(p) => self.tree(&p.tree, &with(&p.ident)),
            syn::UseTree::Name(n) => self.path(&with(&n.ident)),
            syn::UseTree::Rename(r) => {
                if self.resolve(&with(&r.ident)).is_some_and(|path| path.is_empty()) {
                    self.tricks.insert("renames the crate's root".into());
                }
                self.path(&with(&r.ident));
            }
            syn::UseTree::Glob(_) => {
                if self.resolve(before).is_some_and(|path| path.is_empty()) {
                    self.tricks.insert("globs the crate's root".into());
                }
                self.path(before);
            }
            syn::UseTree::Group(g) => g.items.iter().for_each(|t| self.tree(t, before)),
        }
    }

    /// Paths in tokens that nobody has parsed: macro calls, attributes.
    fn tokens(&mut self, tokens: TokenStream, in_attribute: bool) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.end_of_path(&mut path);
                    }
                    path.push(ident.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.tokens(group.stream(), in_attribute),
                // serde takes paths as text: #[serde(with = "crate::…")].
                TokenTree::Literal(literal) if in_attribute => {
                    let text = literal.to_string();
                    let text = text.trim_matches('"');
                    if text.starts_with("crate::") {
                        self.path(&text.split("::").map(str::to_owned).collect::<Vec<_>>());
                    }
                }
                TokenTree::Literal(_) | TokenTree::Punct(_) => {}
            }
            self.end_of_path(&mut path);
            colons = 0;
        }
        self.end_of_path(&mut path);
    }

    fn end_of_path(&mut self, path: &mut Vec<String>) {
        if path.len() > 1 {
            self.path(path);
        }
        path.clear();
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &[]);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        item.attrs
            .iter()
            .for_each(|attribute| self.visit_attribute(attribute));
        if let Some((_, items)) = &item.content {
            self.module.push(item.ident.to_string());
            items.iter().for_each(|item| self.visit_item(item));
            self.module.pop();
        }
    }

    fn visit_item_extern_crate(&mut self, _: &'ast syn::ItemExternCrate) {
        self.tricks.insert("has an extern crate".into());
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        if segments.len() > 1 {
            self.path(&segments);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if call
            .path
            .segments
            .last()
            .is_some_and(|last| last.ident == "include")
        {
            self.tricks.insert("uses include!".into());
        }
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone(), false);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let tokens = attribute.meta.to_token_stream();
        let text = tokens.to_string();
        let is_path = attribute.path().is_ident("path");
        if (is_path && !names_tests_beside(&text))
            || (text.starts_with("cfg_attr") && text.contains("path ="))
        {
            self.tricks.insert("uses #[path]".into());
        }
        self.tokens(tokens, true);
    }
}

/// Whether a `path` attribute names a file of tests in the same folder, the one use
/// that hides nothing: `#[path = "anchor_tests.rs"]`.
fn names_tests_beside(attribute: &str) -> bool {
    let file = attribute.split('"').nth(1).unwrap_or_default();
    file.ends_with("_tests.rs") && !file.contains(['/', '\\'])
}

fn names_in(source: &str, module: &[String]) -> Names {
    let file = syn::parse_file(source).expect("the source parses");
    let mut names = Names {
        module: module.to_vec(),
        ours: BTreeSet::new(),
        others: BTreeSet::new(),
        tricks: BTreeSet::new(),
    };
    names.visit_file(&file);
    names
}

/// Every Rust file below `root`.
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
    found.sort();
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
    // `anchor_tests.rs` is the module `tests` of `anchor`.
    let of = parts
        .last()
        .and_then(|last| last.strip_suffix("_tests"))
        .map(str::to_owned);
    if let Some(of) = of {
        parts.pop();
        parts.extend([of, "tests".to_owned()]);
    }
    parts
}

/// A module's path and its source.
type File = (Vec<String>, String);

fn crate_files() -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let read = |path: PathBuf| {
        let module = module_of(path.strip_prefix(&root).expect("below src"));
        (module, fs::read_to_string(&path).expect("readable"))
    };
    sources(&root).into_iter().map(read).collect()
}

/// Everything that breaks a rule, one line each.
fn violations(files: &[File]) -> Vec<String> {
    let layers: BTreeMap<&str, &[&str]> = LAYERS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (module, source) in files {
        let names = names_in(source, module);
        let at = module.join("::");
        let Some(layer) = module.first() else {
            // lib.rs: a re-export there would give a layer a second name.
            let reexports = syn::parse_file(source)
                .expect("the source parses")
                .items
                .iter()
                .any(|item| !matches!(item, syn::Item::Mod(module) if module.content.is_none()));
            if reexports {
                wrong.push("lib.rs has more than modules".to_owned());
            }
            continue;
        };
        let Some(allowed) = layers.get(layer.as_str()) else {
            wrong.push(format!("{at} is in no layer"));
            continue;
        };
        wrong.extend(names.tricks.iter().map(|trick| format!("{at} {trick}")));
        let named: BTreeSet<&str> = names.ours.iter().map(|path| path[0].as_str()).collect();
        for name in named {
            if !layers.contains_key(name) {
                wrong.push(format!("{at} names {name}, which is in no layer"));
            } else if name != layer && !allowed.contains(&name) {
                wrong.push(format!("{at} names {name}"));
            }
        }
        let foreign: BTreeSet<&str> = names.others.iter().map(|path| path[0].as_str()).collect();
        for (name, only) in CRATES {
            // A client's tests put a server at the other end of the wire.
            let is_fake = *name == "axum" && module.last().is_some_and(|last| last == "tests");
            if foreign.contains(name) && !only.contains(&layer.as_str()) && !is_fake {
                wrong.push(format!("{at} names the crate {name}"));
            }
        }
        if layer == "domain" {
            let std = names
                .others
                .iter()
                .filter(|path| path[0] == "std")
                .filter_map(|path| path.get(1));
            let impure: BTreeSet<&String> = std.filter(|part| IMPURE_STD.contains(&part.as_str())).collect();
            wrong.extend(impure.iter().map(|part| format!("{at} names std::{part}")));
        }
    }
    wrong
}

/// Layers of the table of which nothing was scanned.
fn unscanned(files: &[File]) -> Vec<&'static str> {
    let has_code = |layer: &str| {
        files.iter().any(|(module, source)| {
            module.first().is_some_and(|first| first == layer) && !source.trim().is_empty()
        })
    };
    LAYERS
        .iter()
        .map(|(layer, _)| *layer)
        .filter(|layer| !has_code(layer))
        .collect()
}

/// Lines of code that a file may have, and lines of tests beside them.
const LONGEST: (usize, usize) = (500, 200);
/// Lines of code in a file of tests.
const LONGEST_TESTS: usize = 1000;

/// Lines of code, and lines of the inline test module (rustfmt ends it with a `}`
/// at the margin). Blank lines and comments are no code.
fn length(source: &str) -> (usize, usize) {
    let lines: Vec<&str> = source.lines().collect();
    let begin = lines
        .windows(2)
        .position(|pair| pair[0] == "#[cfg(test)]" && pair[1].starts_with("mod ") && pair[1].ends_with('{'));
    let tests = begin.map_or(0..0, |begin| {
        let end = lines[begin..].iter().position(|line| *line == "}");
        begin..end.map_or(lines.len(), |end| begin + end + 1)
    });
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    let code = lines
        .iter()
        .enumerate()
        .filter(|(at, line)| !tests.contains(at) && is_code(line));
    (code.count(), tests.len())
}

fn too_long(name: &str, source: &str) -> Option<String> {
    let (code, tests) = length(source);
    let is_tests = name.ends_with("tests") || name.contains("::tests::");
    let most = if is_tests { LONGEST_TESTS } else { LONGEST.0 };
    if code > most {
        Some(format!("{name} has {code} lines of code"))
    } else if tests > LONGEST.1 {
        Some(format!(
            "{name} has {tests} lines of tests: move them to a file of their own"
        ))
    } else {
        None
    }
}

#[test]
fn every_folder_names_only_what_its_layer_may() {
    let files = crate_files();
    assert_eq!(unscanned(&files), Vec::<&str>::new(), "layers without a file");
    assert_eq!(violations(&files), Vec::<String>::new());
}

#[test]
fn nothing_beside_the_rust_files_is_built() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("a manifest");
    assert!(
        !manifest.contains("path ="),
        "a target or dependency outside src and tests"
    );
    for entry in fs::read_dir(root.join("src")).expect("src") {
        let name = entry
            .expect("an entry")
            .file_name()
            .to_string_lossy()
            .into_owned();
        let layer = name.trim_end_matches(".rs");
        let listed = layer == "lib" || LAYERS.iter().any(|(known, _)| *known == layer);
        assert!(listed, "src/{name} is in no layer");
    }
}

#[test]
fn every_file_is_short_enough_to_read() {
    let long: Vec<String> = crate_files()
        .iter()
        .filter_map(|(module, source)| too_long(&module.join("::"), source))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

fn seeded(module: &[&str], source: &str) -> Vec<String> {
    let module: Vec<String> = module.iter().map(|s| (*s).to_owned()).collect();
    violations(&[(module, source.to_owned())])
}

#[test]
fn a_seeded_violation_is_seen_in_every_layer() {
    for (layer, allowed) in LAYERS {
        for (other, _) in LAYERS {
            let source = format!("use crate::{other}::x::y;");
            let expected: &[String] = if other == layer || allowed.contains(other) {
                &[]
            } else {
                &[format!("{layer}::x names {other}")]
            };
            assert_eq!(seeded(&[layer, "x"], &source), expected, "{layer} → {other}");
        }
    }
    assert_eq!(seeded(&["utils"], ""), ["utils is in no layer"]);
    assert_eq!(
        unscanned(&[(vec!["domain".into()], "mod x;".into())]).len(),
        LAYERS.len() - 1
    );
}

#[test]
fn a_violation_is_seen_however_it_is_written() {
    for source in [
        "use crate::{domain::ids, store::Db};",
        "use crate::store;",
        "use crate::store::*;",
        "use crate::store as db;",
        "use super::super::super::store::Db;",
        "fn f() { super::super::super::store::open() }",
        "fn f(x: crate::store::Db) {}",
        "fn f() -> Vec<Option<crate::store::Db>> { vec![] }",
        "fn f() { let x = self::super::super::super::store::open(); }",
        "impl crate::store::Seen for X {}",
        "mod inner { use super::super::super::super::store::Db; }",
        "#[cfg(test)] mod tests { fn f() { super::super::super::super::store::open() } }",
        "fn f() { println!(\"{}\", crate::store::name()) }",
        "macro_rules! m { () => { $crate::store::open() }; }",
        "#[derive(crate::store::Row)] struct X;",
        "struct X { #[serde(with = \"crate::store::text\")] x: u8 }",
        "fn f() { jury::store::open() }",
    ] {
        assert_eq!(
            seeded(&["forge", "github", "client"], source),
            ["forge::github::client names store"],
            "{source}"
        );
    }
    for source in [
        "// crate::store::Db\nfn f() {}",
        "fn f() -> &'static str { \"crate::store::Db\" }",
        "#[cfg(test)] #[path = \"client_tests.rs\"] mod tests;",
        "mod store { pub fn open() {} }\nfn f() { self::store::open() }",
        "use super::store;",
    ] {
        assert_eq!(
            seeded(&["forge", "github", "client"], source),
            Vec::<String>::new(),
            "{source}"
        );
    }
}

#[test]
fn what_could_hide_a_violation_is_one() {
    for (source, expected) in [
        ("#[path = \"../store/db.rs\"] mod db;", "git uses #[path]"),
        (
            "#[path = \"../store/db_tests.rs\"] mod tests;",
            "git uses #[path]",
        ),
        ("#[cfg_attr(test, path = \"x.rs\")] mod db;", "git uses #[path]"),
        ("include!(\"../store/db.rs\");", "git uses include!"),
        ("fn f() { std::include!(\"x.rs\") }", "git uses include!"),
        ("use crate as jury_again;", "git renames the crate's root"),
        ("use super as root;", "git renames the crate's root"),
        ("use crate::*;", "git globs the crate's root"),
        ("use super::*;", "git globs the crate's root"),
        ("extern crate self as again;", "git has an extern crate"),
        ("use crate::Db;", "git names Db, which is in no layer"),
        ("fn f() { sqlx::query(\"\") }", "git names the crate sqlx"),
        ("use axum::Router;", "git names the crate axum"),
    ] {
        assert_eq!(seeded(&["git"], source), [expected], "{source}");
    }
    assert_eq!(
        seeded(&[], "pub mod store; pub use store::Db;"),
        ["lib.rs has more than modules"]
    );
    assert_eq!(seeded(&[], "pub mod store { }"), ["lib.rs has more than modules"]);
    assert_eq!(
        seeded(
            &["domain", "x"],
            "use std::{fmt, time::Instant}; fn f() { std::env::var(\"\"); }"
        ),
        ["domain::x names std::env", "domain::x names std::time"]
    );
}

#[test]
fn a_file_that_is_too_long_is_seen() {
    let code = |lines: usize| "fn f() {}\n".repeat(lines);
    let tests = |lines: usize| format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    x();\n".repeat(lines));
    assert_eq!(too_long("a", &code(500)), None);
    assert_eq!(too_long("a", &code(501)).unwrap(), "a has 501 lines of code");
    assert_eq!(too_long("a", &("// x\n\n".repeat(900) + &code(500))), None);
    assert_eq!(too_long("a", &(code(500) + &tests(197))), None);
    assert!(
        too_long("a", &(code(1) + &tests(198)))
            .unwrap()
            .contains("201 lines of tests")
    );
    assert_eq!(too_long("a::tests", &code(1000)), None);
    assert!(too_long("a::tests", &code(1001)).is_some());
}
