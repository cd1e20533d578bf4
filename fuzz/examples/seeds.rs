//! Writes the first corpus of every target from the fixtures:
//! `cargo run --manifest-path fuzz/Cargo.toml --example seeds`.

use std::{fs, io, path::Path};

const POLICIES: [&str; 3] = [
    "gate = \"enforce\"\npublish = \"review\"\napprove = false\n[axes.security]\ngated = true\n[consensus]\nquorum = 2\n",
    "[policy]\ngate = \"advisory\"\n[policy.consensus.quorum]\np0 = 1\np1 = 0x2\n",
    "gaet = \"enforce\"\n",
];

const TEXTS: [&str; 4] = [
    "# A\n\n*b*, **c**, `d` and [e](https://example.com).\n\n- one\n  1. two\n- three\n\n> ```rust\n> x\n> ```\n\n![i](x.png)\n<b>h</b>\n\n---\n",
    "@octocat fixes #1, GH-2, o/r#3 http://example.com www.example.com\n\n| a | b |\n|---|---|\n\n~~x~~ $x$ [ ] [^1]\n\n[^1]: n\n",
    "<!-- jury:review -->\n```sug]gestion\nx\n```\n~~~mermaid\ngraph\n~~~\n\tcode\n",
    "a\u{202e}b\u{200b}c\0d\re\r\nf\u{a0}g",
];

fn main() -> io::Result<()> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let write = |target: &str, name: &str, seed: &[u8]| {
        let folder = here.join("corpus").join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("seed-{name}")), seed)
    };
    let cases: serde_json::Value = serde_json::from_slice(&fs::read(here.join("../fixtures/diff/cases.json"))?)?;
    for case in cases.as_array().into_iter().flatten() {
        let (Some(id), Some(diff)) = (case["id"].as_str(), case["diff"].as_str()) else { continue };
        write("diff", id, diff.as_bytes())?;
        // What a forge gives for one file.
        if let Some(hunks) = diff.find("@@ ") {
            write("diff", &format!("{id}-hunks"), &diff.as_bytes()[hunks..])?;
        }
        for (start, end, left) in [(1_u32, 1_u32, 0_u8), (1, 3, 1), (2, 40, 0)] {
            let place = [&start.to_le_bytes()[..], &end.to_le_bytes(), &[left]].concat();
            write("anchor", &format!("{id}-{start}-{end}-{left}"), &[&place, diff.as_bytes()].concat())?;
        }
    }
    for (name, seed) in POLICIES.iter().enumerate() {
        write("policy", &name.to_string(), seed.as_bytes())?;
    }
    for (name, seed) in TEXTS.iter().enumerate() {
        write("text", &name.to_string(), seed.as_bytes())?;
    }
    Ok(())
}
