use std::{collections::BTreeMap, path::Path};

use super::super::{FileContent, Flags, Inputs, load};
use super::*;

/// The tools of a whole configuration that ends in `tail`, or its faults.
fn tools(tail: &str) -> Result<Vec<ToolConfig>, Vec<String>> {
    let text = format!("[github]\napp_id = 1\n{tail}");
    let env = BTreeMap::from([
        ("HOME".to_owned(), "/home/x".to_owned()),
        ("JURY_GITHUB_WEBHOOK_SECRET".to_owned(), "s".repeat(40)),
        (
            "JURY_GITHUB_PRIVATE_KEY".to_owned(),
            format!("-----BEGIN {0}-----\nx\n-----END {0}-----\n", "RSA PRIVATE KEY"),
        ),
    ]);
    let read = |_: &Path| {
        Ok(FileContent {
            bytes: text.clone().into_bytes(),
            world_readable: false,
        })
    };
    load(&Inputs {
        env: &env,
        flags: Flags::default(),
        read: &read,
    })
    .map(|loaded| loaded.value.tools)
    .map_err(|error| error.0)
}

#[track_caller]
fn fault(tail: &str, words: &str) {
    let faults = tools(tail).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(
        faults[0].starts_with("jury.toml:") && faults[0].contains(words),
        "{faults:?}"
    );
}

#[test]
fn a_tool_needs_a_name_a_command_and_a_format() {
    let two = tools(
        "[[tools]]\nname = \"ruff\"\ncommand = [\"ruff\", \"check\"]\nformat = \"sarif\"\n\
         [[tools]]\nname = \"own-2\"\ncommand = [\"/opt/own\"]\nformat = \"rdjsonl\"\naxis = \"performance\"\n\
         timeout_seconds = 5\nmemory_mib = 64\noutput_mib = 1\nprocesses = 8\nexit_codes = [0, 3]\nreadable = [\"/opt/own\"]\n\
         environment = { A = \"b\" }\n",
    )
    .unwrap();
    assert_eq!(
        (two[0].exit_codes.as_slice(), two[0].axis, two[0].memory),
        (&[0, 1][..], None, 2 << 30)
    );
    assert_eq!(
        two[1],
        ToolConfig {
            name: "own-2".into(),
            command: vec!["/opt/own".into()],
            format: Format::Rdjsonl,
            axis: Some(Axis::Performance),
            timeout: Duration::from_secs(5),
            memory: 64 << 20,
            output: 1 << 20,
            processes: 8,
            exit_codes: vec![0, 3],
            readable: vec!["/opt/own".into()],
            environment: vec![("A".into(), "b".into())],
        }
    );
    assert_eq!(tools("").unwrap(), []);
    fault(
        "[[tools]]\ncommand = [\"x\"]\nformat = \"sarif\"\n",
        "`name` is missing",
    );
    fault(
        "[[tools]]\nname = \"x\"\nformat = \"sarif\"\n",
        "`command` is missing",
    );
    fault(
        "[[tools]]\nname = \"x\"\ncommand = [\"x\"]\n",
        "`format` is missing: sarif, rdjson, rdjsonl or checkstyle",
    );
}

#[test]
fn a_slip_is_told_with_its_line_and_what_was_meant() {
    let with =
        |more: &str| format!("[[tools]]\nname = \"x\"\ncommand = [\"x\"]\nformat = \"sarif\"\n{more}\n");
    fault(
        &with("fromat = \"x\""),
        "unknown key `fromat`; did you mean `format`?",
    );
    fault(&with("timeout = 3"), "unknown key `timeout`");
    fault(
        &with("timeout_seconds = 0"),
        "`timeout_seconds` must be a whole number from 1 to 3600",
    );
    fault(&with("memory_mib = \"1\""), "`memory_mib` must be a whole number");
    fault(
        &with("axis = \"speed\""),
        "`axis` must be one of correctness, security",
    );
    fault(
        &with("exit_codes = [300]"),
        "`exit_codes` must be a list of numbers from 0 to 125",
    );
    fault(
        &with("readable = [\"opt\"]"),
        "`readable` must hold absolute paths",
    );
    fault(&with("readable = [\"/\"]"), "`readable` must hold absolute paths");
    fault(
        &with("readable = [\"/opt/../root\"]"),
        "`readable` must hold absolute paths",
    );
    fault(
        &with("environment = { A = 1 }"),
        "`environment` must be a table of strings",
    );
    fault(
        "[[tools]]\nname = \"X y\"\ncommand = [\"x\"]\nformat = \"sarif\"\n",
        "`name` must be 1 to 40 lowercase",
    );
    fault(
        "[[tools]]\nname = \"x\"\ncommand = \"x -y\"\nformat = \"sarif\"\n",
        "`command` must be a list of strings, not a string",
    );
    fault(
        "[[tools]]\nname = \"x\"\ncommand = [\"--x\"]\nformat = \"sarif\"\n",
        "`command` must begin with a program",
    );
    fault(
        "[[tools]]\nname = \"x\"\ncommand = [\"x\"]\nformat = \"sarfi\"\n",
        "`format` must be one of sarif, rdjson",
    );
    fault("[tools]\nname = \"x\"\n", "`tools` must be a list of tables");
    fault(
        &format!("{}{}", with(""), with("")),
        "there are two tools named \"x\"",
    );
    fault(
        "[[tool]]\nname = \"x\"\n",
        "unknown key `tool`; did you mean `tools`?",
    );
}
