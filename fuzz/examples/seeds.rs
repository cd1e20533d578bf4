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

const RDJSONL: &[u8] = b"\x01{\"message\":\"m\",\"location\":{\"path\":\"a.js\",\"range\":{\"start\":{\"line\":2}}}}\n{\"message\":\"n\",\"severity\":\"ERROR\",\"location\":{\"path\":\"a.js\"}}\n";

/// Every part of a result that is read, on the target's own file.
const SARIF: &[u8] = br#"{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","rules":[{"id":"R","defaultConfiguration":{"level":"error"},"properties":{"tags":["security"],"precision":"high"},"messageStrings":{"a":{"text":"x {0}"}}}]}},"columnKind":"utf16CodeUnits","originalUriBaseIds":{"S":{"uri":"file:///work/"}},"artifacts":[{"location":{"uri":"src/a.rs"}}],"invocations":[{"executionSuccessful":true}],"results":[{"ruleId":"R","ruleIndex":0,"message":{"id":"a","arguments":["1"]},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"src/a.rs","uriBaseId":"S"},"region":{"startLine":3,"startColumn":7,"endLine":3,"endColumn":9}}}],"fixes":[{"artifactChanges":[{"artifactLocation":{"uri":"src/a.rs","uriBaseId":"S"},"replacements":[{"deletedRegion":{"startLine":3,"startColumn":7,"endColumn":9},"insertedContent":{"text":"y"}}]}]}]},{"ruleId":"R","message":{"text":"m"},"suppressions":[],"locations":[{"physicalLocation":{"artifactLocation":{"index":0},"region":{"charOffset":10,"charLength":3}}}]}]}]}"#;

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
    for entry in fs::read_dir(here.join("../fixtures/reports"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let report = fs::read(&path)?;
        match path.extension().and_then(|e| e.to_str()) {
            Some("sarif") => write("sarif", &name, &report)?,
            // The first byte tells the format.
            Some("rdjson") => write("rdjson", &name, &[b"\0", &report[..]].concat())?,
            Some("xml") => write("rdjson", &name, &[b"\x02", &report[..]].concat())?,
            _ => {}
        }
    }
    write("rdjson", "lines", RDJSONL)?;
    write("sarif", "small", SARIF)?;
    Ok(())
}
