use proptest::prelude::*;

use super::DebugLeftovers;
use crate::{
    analyzers::doubles::{TextChange, found, holds, report},
    domain::review::finding::Axis,
};

/// The rules that fire for a new file, as `<priority> <rule>:<line>`.
fn rules(path: &str, text: impl AsRef<[u8]>) -> Vec<String> {
    found(&DebugLeftovers, &TextChange::new().adding(path, text))
        .into_iter()
        .map(|f| f.replace("debug_leftovers/", "").replace(&format!(" {path}"), ""))
        .collect()
}

const NONE: [&str; 0] = [];

#[track_caller]
fn table(cases: &[(&str, &str, &str)]) {
    for (path, text, expected) in cases {
        let expected: Vec<&str> = expected.split(", ").filter(|e| !e.is_empty()).collect();
        assert_eq!(rules(path, format!("{text}\n")), expected, "{path}: {text}");
    }
}

#[test]
fn a_focused_test_holds_the_change_since_it_switches_off_the_others() {
    table(&[
        ("a.test.ts", "describe.only('a', () => {})", "p1 focused-test:1"),
        ("a.test.ts", "it\n  .only('a', () => {})", "p1 focused-test:1"),
        (
            "a.spec.js",
            "test.describe.only(`a`, () => {})",
            "p1 focused-test:1",
        ),
        (
            "a.spec.js",
            "it.only.each([1])('a', () => {})",
            "p1 focused-test:1",
        ),
        ("a.spec.js", "it.each`x`.only('a')", ""),
        ("tests/a.js", "fdescribe('a', () => {})", "p1 focused-test:1"),
        ("tests/a.js", "fit(\"a\", () => {})", "p1 focused-test:1"),
        ("tests/rule.js", "{ code: 'x', only: true }", "p1 focused-test:1"),
        ("src/a.js", "test.only('a', f)", "p2 focused-test:1"),
        ("spec/a_spec.rb", "fit 'works' do", "p1 focused-test:1"),
        (
            "spec/a_spec.rb",
            "it 'works', focus: true do",
            "p1 focused-test:1",
        ),
        ("spec/a_spec.rb", "it 'works', :focus do", "p1 focused-test:1"),
        (
            "a_test.go",
            "var _ = FDescribe(\"a\", func() {})",
            "p1 focused-test:1",
        ),
        // Near misses.
        (
            "a.test.ts",
            "model.fit('a', 1); query.only('a'); cart.test.only('x')",
            "",
        ),
        ("a.test.ts", "function fit('a', b) {}", ""),
        ("a.test.ts", "fit(model, data)", ""),
        ("a.test.ts", "const only = describe.only;", ""),
        ("a.py", "model.fit('a', 1)", ""),
        (
            "spec/spec_helper.rb",
            "config.filter_run_when_matching :focus",
            "",
        ),
        ("spec/spec_helper.rb", "config.filter_run :x, focus: true", ""),
        ("a.go", "FIt(\"a\")", ""),
        ("a_test.go", "func FIt(a string) {}", ""),
    ]);
}

#[test]
fn the_focus_is_taken_away_by_a_suggestion_where_that_is_all_it_takes() {
    let suggestion = |path: &str, text: &str| {
        let change = TextChange::new().adding(path, text);
        report(&DebugLeftovers, &change).drafts.remove(0).suggestion
    };
    assert_eq!(
        suggestion("a.test.ts", "a();\n  describe.only('é', () => {\r\n").as_deref(),
        Some("  describe('é', () => {\r")
    );
    assert_eq!(
        suggestion("a.test.ts", "\u{FEFF}fit('a', b)\n").as_deref(),
        Some("\u{FEFF}it('a', b)")
    );
    assert_eq!(suggestion("a.test.ts", "it\n.only('a')\n"), None);
    assert_eq!(suggestion("a.test.js", "x = { only: true }\n"), None);
}

#[test]
fn breakpoints_are_found_in_every_language_that_has_them() {
    table(&[
        ("a.js", "  debugger;", "p2 debugger:1"),
        ("a.ts", "if (a) debugger", "p2 debugger:1"),
        ("a.py", "import pdb; pdb.set_trace()", "p1 debugger:1"),
        ("a.py", "    breakpoint()", "p1 debugger:1"),
        ("a.py", "if x: breakpoint()", "p1 debugger:1"),
        ("a.py", "import ipdb", "p2 debugger:1"),
        ("a.rb", "  binding.pry", "p1 debugger:1"),
        ("a.rb", "byebug", "p1 debugger:1"),
        ("a.rb", "foo if bar; byebug", "p1 debugger:1"),
        ("a.go", "runtime.Breakpoint()", "p2 debugger:1"),
        ("a.cpp", "  __debugbreak();", "p3 debugger:1"),
        // Near misses.
        ("a.js", "const a = { debugger: 1 }; b.debugger; c(debugger)", ""),
        ("a.py", "import pdb", ""),
        ("a.py", "def breakpoint():\n    pass", ""),
        ("a.py", "x = self.breakpoint()", ""),
        ("a.py", "hook = breakpoint", ""),
        ("a.rb", "gem 'byebug'\nrequire 'pry'\nfoo(byebug: 1)", ""),
        ("a.rb", "x.debugger", ""),
        ("a.c", "#define BREAK() __debugbreak()", ""),
    ]);
}

#[test]
fn skipped_tests_without_a_reason_are_told() {
    table(&[
        ("tests/a.rs", "#[ignore]", "p2 skipped-test:1"),
        ("src/a.rs", "#[ignore = \"\"]", "p2 skipped-test:1"),
        ("a.test.js", "it.skip('a', f)", "p2 skipped-test:1"),
        ("a.test.js", "xit('a', f)", "p2 skipped-test:1"),
        ("a.spec.ts", "test.skip()", "p2 skipped-test:1"),
        ("test_a.py", "@pytest.mark.skip", "p2 skipped-test:1"),
        ("test_a.py", "@pytest.mark.skip(reason='')", "p2 skipped-test:1"),
        ("test_a.py", "@unittest.skip", "p2 skipped-test:1"),
        ("test_a.py", "    pytest.skip()", "p2 skipped-test:1"),
        (
            "a_test.go",
            "func TestA(t *testing.T) {\n\tt.Skip()",
            "p2 skipped-test:2",
        ),
        ("a_test.go", "var _ = PIt(\"a\", f)", "p2 skipped-test:1"),
        (
            "src/test/java/ATest.java",
            "@Disabled\nvoid a() {}",
            "p2 skipped-test:1",
        ),
        ("src/test/java/ATest.java", "@Ignore(\"\")", "p2 skipped-test:1"),
        ("spec/a_spec.rb", "xit 'works' do", "p2 skipped-test:1"),
        ("test/a_test.rb", "    skip", "p2 skipped-test:1"),
        ("a_test.cc", "TEST(Foo, DISABLED_Bar) {", "p2 skipped-test:1"),
        ("a_test.cc", "GTEST_SKIP();", "p2 skipped-test:1"),
        // A comment gives a reason to those who read the file, not to those who run it.
        ("tests/a.rs", "#[ignore] // needs a network", "p3 skipped-test:1"),
        (
            "a.test.js",
            "// flaky on CI\nit.skip('a', f)",
            "p3 skipped-test:2",
        ),
        // Near misses.
        ("tests/a.rs", "#[ignore = \"needs a network\"]", ""),
        ("src/a.rs", "#[serde(ignore)] let ignore = [ignore];", ""),
        ("a.spec.ts", "test.skip(isMobile, 'not on phones')", ""),
        ("a.test.js", "query.skip('a'); it.todo('a')", ""),
        ("test_a.py", "@pytest.mark.skip(reason='needs x')", ""),
        (
            "test_a.py",
            "@pytest.mark.skip('needs x')\n@pytest.mark.skipif(a)",
            "",
        ),
        (
            "test_a.py",
            "@unittest.skip('needs x')\n@unittest.skipIf(a, 'b')",
            "",
        ),
        ("a_test.go", "if testing.Short() {\n\tt.Skip()", ""),
        ("a_test.go", "t.Skip(\"needs x\")", ""),
        (
            "src/test/java/ATest.java",
            "@Disabled(\"JIRA-1\")\n@DisabledOnOs(x)",
            "",
        ),
        ("src/main/java/Entity.java", "@Ignore\nString a;", ""),
        ("spec/a_spec.rb", "skip 'needs x'\nxit = 1", ""),
        ("a_test.cc", "GTEST_SKIP() << \"needs x\";", ""),
    ]);
}

#[test]
fn prints_are_advice_and_only_where_they_are_out_of_place() {
    table(&[
        ("src/a.rs", "let x = dbg!(1);", "p2 debug-print:1"),
        ("tests/a.rs", "dbg![1];", "p3 debug-print:1"),
        (
            "src/a.rs",
            "#[cfg(test)]\nmod tests {\n    fn t() { dbg!(1); }\n}",
            "p3 debug-print:3",
        ),
        ("src/a.js", "console.log(a)", "p3 debug-print:1"),
        ("src/A.java", "System.out.println(a);", "p3 debug-print:1"),
        (
            "src/A.java",
            "} catch (E e) { e.printStackTrace(); }",
            "p3 debug-print:1",
        ),
        ("src/a.py", "print('DEBUG', x)", "p3 debug-print:1"),
        ("src/a.py", "print(\"here\")", "p3 debug-print:1"),
        ("a.go", "fmt.Println(\"XXX\", a)", "p3 debug-print:1"),
        ("src/a.rs", "eprintln!(\"DEBUG {x}\");", "p3 debug-print:1"),
        ("a.cpp", "std::cerr << \"DEBUG: \" << x;", "p3 debug-print:1"),
        ("a.rb", "puts 'here 1'", "p3 debug-print:1"),
        // Near misses.
        ("src/a.rs", "my::dbg(1); let dbg = 1; !dbg", ""),
        ("src/cli/a.js", "console.log(a)", ""),
        ("scripts/a.js", "console.log(a)", ""),
        ("src/a.js", "#!/usr/bin/env node\nconsole.log(a)", ""),
        ("a.test.js", "console.log(a)", ""),
        (
            "src/a.js",
            "console.error(a); console.warn(b); myconsole.log(c)",
            "",
        ),
        (
            "src/A.java",
            "public static void main(String[] a) { System.out.println(a); }",
            "",
        ),
        (
            "src/a.py",
            "print('Here are the results'); print(x); print('debugging is fun')",
            "",
        ),
        ("a.go", "fmt.Println(\"hello\")", ""),
        ("a.rb", "p x\nputs 'hello'", ""),
    ]);
}

#[test]
fn placeholders_and_branches_that_cannot_run_are_told() {
    table(&[
        ("src/a.rs", "fn a() { todo!() }", "p2 unfinished:1"),
        ("tests/a.rs", "fn a() { todo!(\"x\") }", "p3 unfinished:1"),
        ("src/a.rs", "fn a() { unimplemented!() }", "p3 unfinished:1"),
        ("src/a.js", "throw new Error('TODO: later')", "p2 unfinished:1"),
        ("a.go", "panic(\"TODO\")", "p2 unfinished:1"),
        ("src/A.kt", "fun a() = TODO()", "p2 unfinished:1"),
        (
            "src/A.java",
            "throw new UnsupportedOperationException(\"Not implemented yet\");",
            "p2 unfinished:1",
        ),
        ("a.c", "#if 0\nint a;\n#endif", "p3 dead-branch:1"),
        ("a.c", "  if (0) f();", "p3 dead-branch:1"),
        ("a.js", "if (false) f()", "p3 dead-branch:1"),
        ("a.go", "if false {", "p3 dead-branch:1"),
        ("src/a.rs", "if false { f() }", "p3 dead-branch:1"),
        ("a.py", "if False:\n    f()", "p3 dead-branch:1"),
        ("a.rb", "if false\n  f\nend", "p3 dead-branch:1"),
        // Near misses.
        (
            "src/a.rs",
            "unimplemented!(\"windows\"); let todo = 1; todo(); todo!= 1;",
            "",
        ),
        ("src/a.js", "throw new Error('Todo item not found')", ""),
        ("a.go", "panic(\"unreachable\")", ""),
        ("a.c", "do { f(); } while (0);\n#if 0x10\n#if 0 || A\n", ""),
        ("a.js", "if (falsey) f(); if (0 < a) f()", ""),
        ("src/a.rs", "if false_alarm {", ""),
    ]);
}

#[test]
fn comments_and_literals_are_no_code() {
    table(&[
        (
            "src/a.rs",
            "// dbg!(1)\n/* a /* todo!() */ dbg!(1) */ let a = r#\"dbg!(1) \" \"#;",
            "",
        ),
        (
            "src/a.rs",
            "/// dbg!(1)\nlet c = '\"'; let s = \"todo!() \\\" dbg!(2)\";",
            "",
        ),
        ("src/a.rs", "fn a<'a>(x: &'a str) { dbg!(x) }", "p2 debug-print:1"),
        ("src/a.rs", "let b = b'\\''; dbg!(b);", "p2 debug-print:1"),
        (
            "a.test.js",
            "const s = `describe.only('a') ${f({ a: `x` })} fit('a', b)`;",
            "",
        ),
        (
            "a.test.js",
            "const s = `${ it.only('a', b) }`;",
            "p1 focused-test:1",
        ),
        (
            "a.test.js",
            "const r = /it.only('a', b)/; const d = a / it.only('a', b) / 2",
            "p1 focused-test:1",
        ),
        (
            "a.test.js",
            "x.replace(/[/'\"`]/g, ''); it.only('a', b)",
            "p1 focused-test:1",
        ),
        (
            "a.py",
            "s = '''\nbreakpoint()\n'''\n# breakpoint()\nt = \"breakpoint()\"",
            "",
        ),
        ("a.py", "s = f'it\\'s'\nbreakpoint()", "p1 debugger:2"),
        (
            "a.go",
            "s := `\nruntime.Breakpoint()\n`\n// runtime.Breakpoint()",
            "",
        ),
        (
            "src/A.java",
            "String s = \"\"\"\nTODO()\n\"\"\"; /* TODO() */ char c = '\"'; // TODO()",
            "",
        ),
        (
            "a.rb",
            "s = <<~EOS\n  binding.pry\nEOS\n=begin\nbyebug\n=end\nx = %q(binding.pry (y) binding.pry)\n# byebug",
            "",
        ),
        ("a.rb", "s = <<~EOS\n  it's\n  EOS\nbyebug", "p1 debugger:4"),
        (
            "a.rb",
            "a = b / c; x =~ /it's/\nbyebug\n__END__\nbyebug\n",
            "p1 debugger:2",
        ),
        (
            "a.cc",
            "auto s = R\"x(\n#if 0\n)\" )x\"; // a \\\n#if 0\nint n = 1'000; /*\n#if 0\n*/",
            "",
        ),
    ]);
}

#[test]
fn only_new_lines_count_and_the_state_above_them_is_known() {
    let old = "fn a() {\n    dbg!(1);\n}\n";
    let change = TextChange::new().changing("src/a.rs", old, format!("{old}fn b() {{}}\n"));
    assert_eq!(found(&DebugLeftovers, &change), NONE);
    // Indented anew, or moved.
    let moved = TextChange::new().changing(
        "src/a.rs",
        old,
        "fn a() {\n    if x {\n        dbg!(1);\n    }\n}\n",
    );
    assert_eq!(found(&DebugLeftovers, &moved), NONE);
    // Once more is new.
    let twice = TextChange::new().changing("src/a.rs", old, "fn a() {\n    dbg!(1);\n    dbg!(1);\n}\n");
    assert_eq!(
        found(&DebugLeftovers, &twice),
        ["p2 debug_leftovers/debug-print src/a.rs:3"]
    );
    // Inside a comment that was opened above the change.
    let comment = "/*\nx\n*/\n";
    let inside = TextChange::new().changing("src/a.rs", comment, "/*\nx\ndbg!(1);\n*/\n");
    assert_eq!(found(&DebugLeftovers, &inside), NONE);
    let removed = TextChange::new().removing("src/a.rs", old);
    assert_eq!(found(&DebugLeftovers, &removed), NONE);
    for path in [
        "vendor/a.js",
        "node_modules/x/a.js",
        "a.min.js",
        "README.md",
        "a.txt",
    ] {
        assert_eq!(rules(path, "debugger;\n"), NONE, "{path}");
    }
}

#[test]
fn light_remarks_of_one_kind_are_one_and_heavy_ones_stand_alone() {
    let text = "console.log(1)\n".repeat(12);
    let change = TextChange::new().adding("src/a.js", &text);
    let drafts = report(&DebugLeftovers, &change).drafts;
    assert_eq!(drafts.len(), 1);
    assert!(
        drafts[0]
            .body
            .ends_with("Also on lines 2, 3, 4, 5, 6, 7, 8, 9, 3 more."),
        "{}",
        drafts[0].body
    );
    assert_eq!(
        rules("a.test.js", "it.only('a', b)\nit.only('c', d)\n"),
        ["p1 focused-test:1", "p1 focused-test:2"]
    );
    assert_eq!(
        rules("a.py", "breakpoint()\nbreakpoint()\n"),
        ["p1 debugger:1", "p1 debugger:2"]
    );
}

#[test]
fn the_axis_is_that_of_what_is_lost_and_the_blob_decides() {
    let change = TextChange::new().adding("a.test.js", "it.only('a', b)\ndebugger;\n");
    let drafts = report(&DebugLeftovers, &change).drafts;
    let axes: Vec<Axis> = drafts.iter().map(|d| d.axis).collect();
    assert_eq!(axes, [Axis::TestGap, Axis::Correctness]);
    let clean = TextChange::new().adding("a.test.js", "it('a', b)\n\n");
    assert_eq!(holds(&DebugLeftovers, &clean, &drafts[0]), Some(false));
}

#[test]
fn enormous_lines_and_endless_nesting_are_passed_over() {
    let texts = [
        "x".repeat(1 << 14),
        "(".repeat(1 << 13),
        "`${".repeat(1 << 14),
        "/*".repeat(1 << 15),
        "<<~A\n".repeat(1 << 13),
        "\"\\".repeat(1 << 14),
        "r####\"\n".repeat(1 << 13),
        "it.only.".repeat(1 << 13),
        "//\\\n".repeat(1 << 13),
        "%w[".repeat(1 << 13),
        format!("{}it.only('a', b)", " ".repeat(3000)),
    ];
    for extension in ["rs", "js", "py", "go", "java", "rb", "cc"] {
        for text in &texts {
            assert_eq!(
                rules(&format!("a.{extension}"), text),
                NONE,
                "{extension}: {}",
                &text[..8]
            );
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_and_what_is_found_is_found_again(
        extension in prop::sample::select(vec!["rs", "test.js", "py", "_test.go", "java", "_spec.rb", "cc"]),
        parts in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..12),
                prop::sample::select(vec![
                    "dbg!(", "it.only('a', ", "debugger", "'", "\"", "`", "${", "}", "/*", "*/", "//", "\n", "\r\n",
                    "#", "if false {", "\\", "<<~A", "r#\"", "R\"(", "%w[", "/", "breakpoint()", "#[ignore]", "\0",
                    "\u{FEFF}", "b'", "=begin", "binding.pry", "\t", "A",
                ]).prop_map(|s| s.as_bytes().to_vec()),
            ],
            0..60,
        ),
    ) {
        // `rules` asks the verifier's question of everything that was found.
        let text = [parts.concat(), b"\n".to_vec()].concat();
        let path = format!("x{}{extension}", if extension.starts_with('_') { "" } else { "." });
        rules(&path, &text);
    }
}
