//! Characters that a reader does not see, and what they do to a line.

use super::scripts::{is_emoji_part, is_rtl, joins, takes_variation, wraps_without_spaces};

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Text runs in another direction than the compiler reads it.
    Bidi,
    /// Characters without a shape.
    Invisible,
    /// A word made of letters of two alphabets that look alike.
    Homoglyph,
}

/// A fault of a line, how grave it is and where.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sighting {
    pub(super) fault: Fault,
    pub(super) grade: Grade,
    /// The characters in question, each with its one-based column in characters.
    pub(super) characters: Vec<(usize, char)>,
}

/// How grave a fault is, before the kind of file is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grade {
    /// What right-to-left text and good typography need.
    Lawful,
    /// Odd, mostly an accident of copying.
    Odd,
    /// No lawful reason in a program.
    Suspicious,
    /// Hides something.
    Hostile,
}

/// Everything about `text`, which is one line; `first` for a file's first line.
pub(super) fn look(text: &str, first: bool) -> Vec<Sighting> {
    if text.is_ascii() {
        return Vec::new();
    }
    let chars: Vec<char> = text.chars().collect();
    [bidi(&chars), invisible(&chars, first), homoglyph(&chars)]
        .into_iter()
        .flatten()
        .collect()
}

fn is_bidi(c: char) -> bool {
    matches!(c, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{061C}')
}

fn bidi(chars: &[char]) -> Option<Sighting> {
    let characters = picked(chars, |_, c| is_bidi(c));
    if characters.is_empty() {
        return None;
    }
    let rtl = chars.iter().any(|c| is_rtl(*c));
    let marks_only = characters
        .iter()
        .all(|(_, c)| matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}'));
    let overrides = characters
        .iter()
        .any(|(_, c)| matches!(c, '\u{202D}' | '\u{202E}'));
    let closers_only = characters
        .iter()
        .all(|(_, c)| matches!(c, '\u{202C}' | '\u{2069}' | '\u{200E}' | '\u{200F}' | '\u{061C}'));
    let grade = match (is_balanced(&characters), rtl) {
        _ if marks_only && rtl => return None,
        _ if marks_only => Grade::Odd,
        (true, true) if !overrides => Grade::Lawful,
        (true, true) => Grade::Odd,
        (true, false) if overrides => Grade::Hostile,
        (true, false) => Grade::Suspicious,
        (false, _) if closers_only => Grade::Odd,
        (false, _) => Grade::Hostile,
    };
    Some(Sighting {
        fault: Fault::Bidi,
        grade,
        characters,
    })
}

/// Whether every embedding, override and isolate ends on the line (UAX #9: a
/// PDF closes an embedding or override, a PDI everything since its isolate).
fn is_balanced(controls: &[(usize, char)]) -> bool {
    let mut open: Vec<char> = Vec::new();
    for (_, c) in controls {
        match c {
            '\u{202A}' | '\u{202B}' | '\u{202D}' | '\u{202E}' | '\u{2066}' | '\u{2067}' | '\u{2068}' => {
                open.push(*c);
            }
            '\u{202C}' => match open.last() {
                Some('\u{202A}' | '\u{202B}' | '\u{202D}' | '\u{202E}') => drop(open.pop()),
                _ => return false,
            },
            '\u{2069}' => match open.iter().rposition(|o| matches!(o, '\u{2066}'..='\u{2068}')) {
                // What stands open inside the isolate ends with it, unseen by
                // whoever wrote it in good faith.
                Some(at) if at + 1 == open.len() => open.truncate(at),
                _ => return false,
            },
            _ => {}
        }
    }
    open.is_empty()
}

fn picked(chars: &[char], wanted: impl Fn(usize, char) -> bool) -> Vec<(usize, char)> {
    chars
        .iter()
        .enumerate()
        .filter(|(i, c)| wanted(*i, **c))
        .map(|(i, c)| (i + 1, *c))
        .collect()
}

fn invisible(chars: &[char], first: bool) -> Option<Sighting> {
    let graded: Vec<(usize, char, Grade)> = chars
        .iter()
        .enumerate()
        .filter_map(|(i, c)| grade_of(chars, i, first).map(|g| (i + 1, *c, g)))
        .collect();
    let grade = graded.iter().map(|(_, _, g)| *g).max()?;
    let characters = graded.into_iter().map(|(i, c, _)| (i, c)).collect();
    Some(Sighting {
        fault: Fault::Invisible,
        grade,
        characters,
    })
}

/// How grave the invisible character at `i` is; `None` for one that is seen or
/// does its lawful work.
fn grade_of(chars: &[char], i: usize, first: bool) -> Option<Grade> {
    let c = chars[i];
    let before = i.checked_sub(1).map(|i| chars[i]);
    let after = chars.get(i + 1).copied();
    let neighbours = |lawful: fn(char) -> bool| before.is_some_and(lawful) || after.is_some_and(lawful);
    match c {
        '\u{200B}' => (!chars.iter().any(|c| wraps_without_spaces(*c))).then_some(Grade::Suspicious),
        '\u{200C}' | '\u{200D}' => {
            let joining = before.is_some_and(joins) || after.is_some_and(joins);
            let emoji =
                c == '\u{200D}' && before.is_some_and(is_emoji_part) && after.is_some_and(is_emoji_part);
            (!joining && !emoji).then_some(Grade::Suspicious)
        }
        '\u{2060}' | '\u{2061}'..='\u{2064}' | '\u{206A}'..='\u{206F}' => Some(Grade::Suspicious),
        '\u{FEFF}' => (i > 0 || !first).then_some(Grade::Odd),
        '\u{00AD}' => Some(Grade::Odd),
        '\u{034F}' => (!neighbours(joins)).then_some(Grade::Suspicious),
        '\u{180E}' => (!neighbours(|c| matches!(c, '\u{1800}'..='\u{18AF}'))).then_some(Grade::Suspicious),
        // They are letters to a compiler and nothing to a reader.
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => {
            (!neighbours(|c| matches!(c, '\u{1100}'..='\u{115E}' | '\u{1161}'..='\u{11FF}')))
                .then_some(Grade::Hostile)
        }
        '\u{E0000}'..='\u{E007F}' => (!in_flag(chars, i)).then_some(Grade::Hostile),
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => {
            let selects = |c: char| matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}');
            let beside = [before, after].into_iter().flatten().filter(|b| selects(*b));
            if beside.clone().any(|b| b != c) {
                // Different ones in a row select nothing: they carry something.
                Some(Grade::Hostile)
            } else if beside.count() > 0 {
                Some(Grade::Odd)
            } else {
                (!before.is_some_and(|b| takes_variation(b, after))).then_some(Grade::Odd)
            }
        }
        // To some languages they end the line, and with it a comment.
        '\u{2028}' | '\u{2029}' | '\u{0085}' => Some(Grade::Suspicious),
        _ => None,
    }
}

/// Whether a tag character belongs to the flag of a region: a black flag, up to
/// eight tags, and the tag that ends it.
fn in_flag(chars: &[char], i: usize) -> bool {
    let tag = |c: &char| matches!(c, '\u{E0020}'..='\u{E007F}');
    let start = chars[..=i].iter().rposition(|c| !tag(c));
    let Some(start) = start else { return false };
    let run = chars[start + 1..].iter().take_while(|c| tag(c)).count();
    chars[start] == '\u{1F3F4}' && (3..=8).contains(&run) && chars[start + run] == '\u{E007F}'
}

/// Words that mix ASCII letters with letters of another alphabet that look like
/// ASCII ones. A word with one letter that looks like none is foreign, not false.
fn homoglyph(chars: &[char]) -> Option<Sighting> {
    let mut characters = Vec::new();
    let mut start = 0;
    while start < chars.len() {
        let length = chars[start..]
            .iter()
            .take_while(|c| c.is_alphanumeric() || **c == '_')
            .count();
        let word = &chars[start..start + length];
        let foreign: Vec<usize> = (0..length)
            .filter(|i| word[*i].is_alphabetic() && !word[*i].is_ascii())
            .collect();
        if !foreign.is_empty()
            && word.iter().any(char::is_ascii_alphabetic)
            && foreign.iter().all(|i| looks_like_ascii(word[*i]))
        {
            characters.extend(foreign.iter().map(|i| (start + i + 1, word[*i])));
        }
        start += length.max(1);
    }
    (!characters.is_empty()).then_some(Sighting {
        fault: Fault::Homoglyph,
        grade: Grade::Suspicious,
        characters,
    })
}

fn looks_like_ascii(c: char) -> bool {
    const ALIKE: &str = "асеорухіјѕһԁԛԝӏАВЕКМНОРСТУХІЈЅԌοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";
    ALIKE.contains(c) || matches!(c, '\u{FF21}'..='\u{FF3A}' | '\u{FF41}'..='\u{FF5A}')
}
