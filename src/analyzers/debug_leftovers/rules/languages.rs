//! What each language calls its left-overs.

use crate::domain::review::finding::Priority;

use super::{Finder, Rule};

impl Finder<'_> {
    pub(super) fn rust(&mut self, i: usize) {
        let call = |f: &Self| ["(", "[", "{"].iter().any(|open| f.is(i + 2, open));
        let invoked = self.is(i + 1, "!") && call(self) && self.is_word(i);
        let test = self.place.test;
        match self.text(i) {
            b"dbg" if invoked => {
                let priority = if test { Priority::P3 } else { Priority::P2 };
                self.hit(Rule::DebugPrint, i, "dbg!", priority, 0.9);
            }
            b"todo" if invoked => {
                let priority = if test { Priority::P3 } else { Priority::P2 };
                self.hit(Rule::Unfinished, i, "todo!", priority, 0.8);
            }
            // With a reason it is often meant to stay.
            b"unimplemented" if invoked && !test && (self.is(i + 3, ")") || self.is(i + 3, "]")) => {
                self.hit(Rule::Unfinished, i, "unimplemented!", Priority::P3, 0.6);
            }
            b"ignore" if self.before(i) == b"[" && self.is(i.wrapping_sub(2), "#") => {
                let silent = self.is(i + 1, "]") || (self.is(i + 1, "=") && self.is_empty_literal(i + 2));
                if silent {
                    self.skipped(i, "#[ignore]");
                }
            }
            _ => {}
        }
    }

    pub(super) fn script(&mut self, i: usize) {
        if !self.is_word(i) || self.before(i) == b"." {
            return;
        }
        match self.text(i) {
            b"debugger" if self.is_free(i) && self.closes_line(i) && !self.is(i + 1, ":") => {
                self.hit(Rule::Debugger, i, "debugger", Priority::P2, 0.9);
            }
            b"console" if self.place.quiet && self.is(i + 1, ".") && self.is(i + 3, "(") => {
                if let name @ ("log" | "dir" | "table") =
                    std::str::from_utf8(self.text(i + 2)).unwrap_or_default()
                {
                    self.hit(Rule::DebugPrint, i, &format!("console.{name}"), Priority::P3, 0.5);
                }
            }
            b"describe" | b"it" | b"test" | b"context" | b"suite" | b"specify" | b"bench" => self.chain(i),
            word @ (b"fdescribe" | b"fit" | b"fcontext")
                if self.is_free(i)
                    && self.is(i + 1, "(")
                    && self.is_literal(i + 2)
                    && self.is(i + 3, ",") =>
            {
                let cut = self.first_byte(i);
                self.focused(i, &String::from_utf8_lossy(word), cut);
            }
            word @ (b"xdescribe" | b"xit" | b"xtest" | b"xcontext")
                if self.is(i + 1, "(") && self.is_literal(i + 2) && self.is(i + 3, ",") =>
            {
                self.skipped(i, &String::from_utf8_lossy(word));
            }
            // A rule tester's or a runner's option.
            b"only" if self.place.test && self.seq(i + 1, &[":", "true"]) => {
                self.focused(i, "only: true", None);
            }
            b"throw" if self.seq(i + 1, &["new", "Error", "("]) => self.says_unfinished(i, i + 4),
            _ => {}
        }
    }

    /// `describe.only(`, `test.describe.only(`, `it.only.each(…)`, `test.skip(`.
    pub(super) fn chain(&mut self, i: usize) {
        const LONGEST: usize = 6;
        let mut at = i + 1;
        let (mut only, mut skip) = (None, None);
        for _ in 0..LONGEST {
            if !self.is(at, ".") || !self.is_word(at + 1) {
                break;
            }
            match self.text(at + 1) {
                b"only" => only = Some(at),
                b"skip" => skip = Some(at),
                b"each" | b"concurrent" | b"sequential" | b"serial" | b"parallel" | b"describe"
                | b"failing" | b"fails" | b"for" | b"extend" => {}
                _ => return,
            }
            at += 2;
        }
        let called = self.is(at, "(") || self.is_literal(at);
        let head = String::from_utf8_lossy(self.text(i)).into_owned();
        if let (Some(dot), true) = (only, called) {
            let cut = match (self.token(dot), self.token(dot + 1)) {
                (Some(dot), Some(word)) if dot.line == self.line(i) && word.line == dot.line => {
                    Some(dot.start..word.end)
                }
                _ => None,
            };
            self.focused(i, &format!("{head}.only"), cut);
        } else if skip.is_some() && called {
            // `test.skip(condition, "reason")` is how Playwright skips for a reason.
            let titled = self.is_literal(at) || (self.is_literal(at + 1) && self.is(at + 2, ","));
            let silent = self.is(at + 1, ")");
            if titled || silent {
                self.skipped(i, &format!("{head}.skip"));
            }
        }
    }

    pub(super) fn python(&mut self, i: usize) {
        if !self.is_word(i) || !(self.is_free(i) || self.before(i) == b"import") {
            return;
        }
        match self.text(i) {
            b"breakpoint" if self.seq(i + 1, &["(", ")"]) && self.opens_statement(i) => {
                self.hit(Rule::Debugger, i, "breakpoint()", Priority::P1, 0.9);
            }
            name @ (b"pdb" | b"ipdb" | b"pudb" | b"wdb" | b"rpdb") => {
                let name = String::from_utf8_lossy(name).into_owned();
                if self.seq(i + 1, &[".", "set_trace", "("]) {
                    self.hit(
                        Rule::Debugger,
                        i,
                        &format!("{name}.set_trace()"),
                        Priority::P1,
                        0.9,
                    );
                } else if name != "pdb" && self.before(i) == b"import" {
                    self.hit(Rule::Debugger, i, &format!("import {name}"), Priority::P2, 0.7);
                }
            }
            b"pytest"
                if self.seq(i + 1, &[".", "mark", ".", "skip"])
                    && self.before(i) == b"@"
                    && self.gives_no_reason(i + 5) =>
            {
                self.skipped(i, "@pytest.mark.skip");
            }
            b"pytest" if self.seq(i + 1, &[".", "skip", "(", ")"]) => self.skipped(i, "pytest.skip()"),
            b"unittest"
                if self.seq(i + 1, &[".", "skip"])
                    && self.before(i) == b"@"
                    && self.gives_no_reason(i + 3) =>
            {
                self.skipped(i, "@unittest.skip");
            }
            _ => {}
        }
    }

    /// Whether a decorator whose arguments would start at `i` has none that says something.
    pub(super) fn gives_no_reason(&self, i: usize) -> bool {
        if !self.is(i, "(") {
            return true;
        }
        let first = if self.seq(i + 1, &["reason", "="]) {
            i + 3
        } else {
            i + 1
        };
        self.is(first, ")") || (self.is_empty_literal(first) && self.is(first + 1, ")"))
    }

    pub(super) fn go(&mut self, i: usize) {
        if !self.is_word(i) {
            return;
        }
        let test = self.place.test;
        match self.text(i) {
            b"runtime" if self.seq(i + 1, &[".", "Breakpoint", "(", ")"]) => {
                self.hit(Rule::Debugger, i, "runtime.Breakpoint()", Priority::P2, 0.9);
            }
            b"spew" if self.seq(i + 1, &[".", "Dump", "("]) => {
                self.hit(Rule::DebugPrint, i, "spew.Dump", Priority::P3, 0.7);
            }
            b"panic" if self.is(i + 1, "(") && self.is_free(i) => self.says_unfinished(i, i + 2),
            word @ (b"FDescribe" | b"FIt" | b"FContext" | b"FWhen" | b"FEntry" | b"FDescribeTable"
            | b"FSpecify")
                if test && self.is(i + 1, "(") && self.is_free(i) =>
            {
                let cut = self.first_byte(i);
                self.focused(i, &String::from_utf8_lossy(word), cut);
            }
            word @ (b"PDescribe" | b"PIt" | b"PContext" | b"PWhen" | b"PEntry" | b"XDescribe" | b"XIt"
            | b"XContext" | b"XWhen" | b"XEntry")
                if test && self.is(i + 1, "(") && self.is_free(i) =>
            {
                self.skipped(i, &String::from_utf8_lossy(word));
            }
            b"t" if test && self.opens_line(i) && self.is(i + 1, ".") => {
                let silent = self.seq(i + 2, &["Skip", "(", ")"]) || self.seq(i + 2, &["SkipNow", "(", ")"]);
                if silent && !self.is_conditional(i) {
                    self.skipped(i, "t.Skip()");
                }
            }
            _ => {}
        }
    }

    /// An error at `i` whose message at `text` says that something is yet to be written.
    pub(super) fn says_unfinished(&mut self, i: usize, text: usize) {
        if !self.is_literal(text) {
            return;
        }
        let said = String::from_utf8_lossy(self.text(text)).to_ascii_lowercase();
        let said = said.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        if said == "todo"
            || said.starts_with("todo:")
            || said.starts_with("not implemented yet")
            || said == "implement me"
        {
            self.hit(Rule::Unfinished, i, "a placeholder", Priority::P2, 0.7);
        }
    }

    pub(super) fn java(&mut self, i: usize) {
        if !self.is_word(i) {
            return;
        }
        match self.text(i) {
            b"System"
                if self.place.quiet
                    && self.is(i + 1, ".")
                    && self.seq(i + 3, &[".", "println", "("])
                    && matches!(self.text(i + 2), b"out" | b"err") =>
            {
                self.hit(Rule::DebugPrint, i, "System.out.println", Priority::P3, 0.5);
            }
            b"printStackTrace"
                if self.place.quiet && self.before(i) == b"." && self.seq(i + 1, &["(", ")"]) =>
            {
                self.hit(Rule::DebugPrint, i, "printStackTrace()", Priority::P3, 0.5);
            }
            b"TODO"
                if self.is(i + 1, "(")
                    && self.is_free(i)
                    && (self.is(i + 2, ")") || self.is_literal(i + 2)) =>
            {
                self.hit(Rule::Unfinished, i, "TODO()", Priority::P2, 0.7);
            }
            b"UnsupportedOperationException" | b"RuntimeException"
                if self.before(i) == b"new" && self.is(i + 1, "(") =>
            {
                self.says_unfinished(i, i + 2);
            }
            word @ (b"Disabled" | b"Ignore") if self.place.test && self.before(i) == b"@" => {
                let silent = !self.is(i + 1, "(")
                    || self.is(i + 2, ")")
                    || (self.is_empty_literal(i + 2) && self.is(i + 3, ")"));
                if silent {
                    self.skipped(i, &format!("@{}", String::from_utf8_lossy(word)));
                }
            }
            _ => {}
        }
    }

    pub(super) fn ruby(&mut self, i: usize) {
        if !self.is_word(i) {
            return;
        }
        let test = self.place.test && !self.place.helper;
        match self.text(i) {
            b"binding" if self.is(i + 1, ".") => {
                if let name @ ("pry" | "irb" | "remote_pry" | "pry_remote" | "break") =
                    std::str::from_utf8(self.text(i + 2)).unwrap_or_default()
                {
                    self.hit(Rule::Debugger, i, &format!("binding.{name}"), Priority::P1, 0.9);
                }
            }
            word @ (b"byebug" | b"debugger") if self.opens_statement(i) && self.closes_line(i) => {
                self.hit(
                    Rule::Debugger,
                    i,
                    &String::from_utf8_lossy(word),
                    Priority::P1,
                    0.85,
                );
            }
            word @ (b"fit" | b"fdescribe" | b"fcontext" | b"fspecify" | b"fexample" | b"fscenario"
            | b"ffeature")
                if test && self.opens_line(i) && (self.is_literal(i + 1) || self.is(i + 1, "(")) =>
            {
                let cut = self.first_byte(i);
                self.focused(i, &String::from_utf8_lossy(word), cut);
            }
            b"focus" if test => {
                let pair = self.seq(i + 1, &[":", "true"]) && self.before(i) == b",";
                let symbol = self.before(i) == b":"
                    && self.is(i.wrapping_sub(2), ",")
                    && matches!(self.text(i + 1), b"do" | b"," | b"{");
                if pair || symbol {
                    self.focused(i, ":focus", None);
                }
            }
            word @ (b"xit" | b"xdescribe" | b"xcontext" | b"xspecify" | b"xexample" | b"xscenario"
            | b"xfeature")
                if test && self.opens_line(i) && (self.is_literal(i + 1) || self.is(i + 1, "(")) =>
            {
                self.skipped(i, &String::from_utf8_lossy(word));
            }
            b"skip"
                if test
                    && self.opens_line(i)
                    && self.closes_line(i)
                    && self.before(i) != b"."
                    && !self.is_conditional(i) =>
            {
                self.skipped(i, "skip");
            }
            _ => {}
        }
    }

    pub(super) fn c(&mut self, i: usize) {
        if !self.is_word(i) {
            return;
        }
        match self.text(i) {
            word @ (b"__debugbreak" | b"DebugBreak" | b"__builtin_debugtrap")
                if self.opens_statement(i)
                    && self.seq(i + 1, &["(", ")"])
                    && self.before(i) != b"define"
                    && !self.after_define(i) =>
            {
                let name = format!("{}()", String::from_utf8_lossy(word));
                self.hit(Rule::Debugger, i, &name, Priority::P3, 0.5);
            }
            b"raise" if self.seq(i + 1, &["(", "SIGTRAP", ")"]) && !self.after_define(i) => {
                self.hit(Rule::Debugger, i, "raise(SIGTRAP)", Priority::P3, 0.5);
            }
            b"GTEST_SKIP" if self.seq(i + 1, &["(", ")", ";"]) && !self.is_conditional(i) => {
                self.skipped(i, "GTEST_SKIP()");
            }
            b"TEST" | b"TEST_F" | b"TEST_P" if self.is(i + 1, "(") && self.is(i + 3, ",") => {
                let off = |n: usize| self.text(n).starts_with(b"DISABLED_");
                if off(i + 2) || off(i + 4) {
                    self.skipped(i, "DISABLED_");
                }
            }
            _ => {}
        }
    }

    /// Whether token `i` stands on the line of a `#define`.
    pub(super) fn after_define(&self, i: usize) -> bool {
        (0..i)
            .rev()
            .take_while(|n| self.line(*n) == self.line(i))
            .any(|n| self.is(n, "define"))
    }
}
