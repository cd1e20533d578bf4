//! The text of a diff, cut into files while git prints it, and bounded before anything
//! of it is parsed.
//!
//! A line that begins with `diff --git ` begins a file: git puts a sign before every line
//! of content, so no content can pose as one. Of a file whose patch is over a bound only
//! the names are kept. Whole files are handed on in batches, so that never more than a
//! batch is in memory as text.

const BEGIN: &[u8] = b"diff --git ";

/// What is kept of a text diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Bytes of one file's patch, with headers.
    pub(super) file_bytes: usize,
    /// Lines of one file's patch, with headers.
    pub(super) file_lines: usize,
    /// Bytes of all files together.
    pub(super) bytes: usize,
    /// Lines of all files together.
    pub(super) lines: usize,
    /// Bytes after which a batch is handed on.
    pub(super) batch: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            // The parser keeps 8 MiB and 200,000 lines of a file; hunks' headers come on top.
            file_bytes: 24 << 20,
            file_lines: 500_000,
            bytes: 128 << 20,
            lines: 4_000_000,
            batch: 8 << 20,
        }
    }
}

/// Why only the names of a file are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// Its patch is over the bound of a file.
    File,
    /// The files before it used up what is kept of a change.
    Change,
    /// Git was ended in the middle of it.
    Ended,
}

/// One file of the diff, or one half of a file that changed its type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// What git printed of it; the names alone when it is cut.
    pub(super) text: Vec<u8>,
    pub(super) cut: Option<Cut>,
}

/// Cuts what is fed to it.
#[derive(Debug)]
pub(super) struct Sections {
    bounds: Bounds,
    /// The beginning of a line that may still become [`BEGIN`].
    pending: Vec<u8>,
    at_start: bool,
    text: Vec<u8>,
    lines: usize,
    cut: Option<Cut>,
    /// Where the names end, once they do.
    names: Option<usize>,
    /// What the files before this one came to.
    bytes_before: usize,
    lines_before: usize,
    whole: Vec<Section>,
}

impl Sections {
    pub(super) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            pending: Vec::new(),
            at_start: true,
            text: Vec::new(),
            lines: 0,
            cut: None,
            names: None,
            bytes_before: 0,
            lines_before: 0,
            whole: Vec::new(),
        }
    }

    /// Takes the next bytes. A batch when there is one: all files that are whole but
    /// the last, whose other half may follow.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Option<Vec<Section>> {
        if self.pending.is_empty() {
            self.take(bytes);
        } else {
            let mut joined = std::mem::take(&mut self.pending);
            joined.extend_from_slice(bytes);
            self.take(&joined);
        }
        let ready: usize = self.whole.iter().map(|s| s.text.len()).sum();
        if ready <= self.bounds.batch || self.whole.len() < 2 {
            return None;
        }
        let last = self.whole.pop()?;
        let batch = std::mem::replace(&mut self.whole, vec![last]);
        Some(batch)
    }

    /// The rest. `ended`: git was stopped before it was done.
    pub(super) fn finish(mut self, ended: bool) -> Vec<Section> {
        let pending = std::mem::take(&mut self.pending);
        self.piece(&pending);
        if ended && !self.text.is_empty() {
            self.shorten(Cut::Ended);
        }
        self.close();
        self.whole
    }

    fn take(&mut self, mut rest: &[u8]) {
        while !rest.is_empty() {
            let end = rest.iter().position(|&b| b == b'\n').map(|at| at + 1);
            if self.at_start {
                if end.is_none() && rest.len() < BEGIN.len() {
                    self.pending = rest.to_vec();
                    return;
                }
                if rest.starts_with(BEGIN) {
                    self.close();
                } else if self.names.is_none() && (rest.starts_with(b"--- ") || rest.starts_with(b"@@ ")) {
                    self.names = Some(self.text.len());
                }
            }
            let (piece, after) = rest.split_at(end.unwrap_or(rest.len()));
            self.piece(piece);
            self.at_start = end.is_some();
            self.lines += usize::from(self.at_start);
            rest = after;
        }
    }

    fn piece(&mut self, piece: &[u8]) {
        if self.cut.is_some() {
            return;
        }
        let (bytes, lines) = (self.text.len() + piece.len(), self.lines + 1);
        if bytes > self.bounds.file_bytes || lines > self.bounds.file_lines {
            self.shorten(Cut::File);
        } else if self.bytes_before + bytes > self.bounds.bytes
            || self.lines_before + lines > self.bounds.lines
        {
            self.shorten(Cut::Change);
        }
        // Names are always kept: they say what was cut.
        if self.cut.is_none() || self.names.is_none() {
            self.text.extend_from_slice(piece);
        }
    }

    /// Keeps the names alone.
    fn shorten(&mut self, why: Cut) {
        if let Some(names) = self.names {
            self.cut = Some(why);
            self.text.truncate(names);
            self.text.shrink_to_fit();
            self.lines = 0;
        } else if why == Cut::Ended {
            // Not even its names are whole.
            self.text.clear();
        }
    }

    fn close(&mut self) {
        let text = std::mem::take(&mut self.text);
        let (cut, lines) = (self.cut.take(), std::mem::take(&mut self.lines));
        self.names = None;
        if text.is_empty() {
            return;
        }
        self.bytes_before += text.len();
        self.lines_before += if cut.is_some() { 0 } else { lines };
        self.whole.push(Section { text, cut });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Bounds {
        Bounds {
            file_bytes: 200,
            file_lines: 12,
            bytes: 1000,
            lines: 40,
            batch: 0,
        }
    }

    fn patch(name: &str, lines: &[&str]) -> String {
        let added: String = lines.iter().map(|l| format!("+{l}\n")).collect();
        format!(
            "diff --git a/{name} b/{name}\nindex 1..2 100644\n--- a/{name}\n+++ b/{name}\n@@ -0,0 +1,{} @@\n{added}",
            lines.len()
        )
    }

    fn names(name: &str) -> String {
        format!("diff --git a/{name} b/{name}\nindex 1..2 100644\n")
    }

    /// Fed in pieces of every length, what comes out is the same.
    fn cut(text: &str, bounds: Bounds, ended: bool) -> Vec<(String, Option<Cut>)> {
        let outcomes: Vec<_> = [1, 2, 7, 11, 64, text.len().max(1)]
            .map(|size| {
                let mut sections = Sections::new(bounds);
                let mut out = Vec::new();
                for piece in text.as_bytes().chunks(size) {
                    out.extend(sections.feed(piece).into_iter().flatten());
                }
                out.extend(sections.finish(ended));
                out.into_iter()
                    .map(|s| (String::from_utf8(s.text).unwrap(), s.cut))
                    .collect::<Vec<_>>()
            })
            .into();
        assert!(outcomes.windows(2).all(|w| w[0] == w[1]), "{outcomes:#?}");
        outcomes.into_iter().next().unwrap()
    }

    #[test]
    fn files_are_told_apart_and_content_cannot_pose_as_one() {
        let (a, b) = (patch("a", &["diff --git a/x b/x", "--- a/x"]), patch("b", &["2"]));
        assert_eq!(cut(&format!("{a}{b}"), bounds(), false), [(a, None), (b, None)]);
        assert_eq!(cut("", bounds(), false), []);
    }

    #[test]
    fn of_a_file_over_a_bound_the_names_are_kept_and_the_others_are_whole() {
        let small = patch("s", &["1"]);
        for large in [
            patch("l", &[&"x".repeat(300)]),
            patch("l", &["", "", "", "", "", "", "", "", ""]),
        ] {
            assert_eq!(
                cut(&format!("{small}{large}{small}"), bounds(), false),
                [
                    (small.clone(), None),
                    (names("l"), Some(Cut::File)),
                    (small.clone(), None)
                ]
            );
        }
    }

    #[test]
    fn when_the_change_is_over_its_bound_the_rest_is_named() {
        let one = patch("f", &["1", "2", "3"]);
        let outcome = cut(&one.repeat(7), bounds(), false);
        assert_eq!(outcome.len(), 7);
        assert!(
            outcome[..5]
                .iter()
                .all(|(text, cut)| *text == one && cut.is_none())
        );
        assert!(
            outcome[5..]
                .iter()
                .all(|(text, cut)| *text == names("f") && *cut == Some(Cut::Change))
        );
    }

    #[test]
    fn what_git_did_not_finish_is_not_taken_for_whole() {
        let one = patch("f", &["1", "2", "3"]);
        let text = format!("{one}{one}");
        assert_eq!(
            cut(&text[..text.len() - 4], bounds(), true),
            [(one.clone(), None), (names("f"), Some(Cut::Ended))]
        );
        assert_eq!(
            cut(&format!("{one}diff --git a/f"), bounds(), true),
            [(one, None)]
        );
    }
}
