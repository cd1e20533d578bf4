//! Which writing systems need which invisible characters.

/// Letters that run from right to left.
pub(super) fn is_rtl(c: char) -> bool {
    matches!(c, '\u{0590}'..='\u{08FF}' | '\u{FB1D}'..='\u{FDFF}' | '\u{FE70}'..='\u{FEFC}' | '\u{10800}'..='\u{10FFF}' | '\u{1E800}'..='\u{1EFFF}')
        && c != '\u{061C}'
}

/// Letters whose shape a ZWNJ or ZWJ rightly changes: Arabic and Persian,
/// Syriac, N'Ko, the Indic scripts, Mongolian, Khmer, Myanmar, Tibetan.
pub(super) fn joins(c: char) -> bool {
    is_rtl(c)
        || matches!(c, '\u{0900}'..='\u{0DFF}' | '\u{0E00}'..='\u{109F}' | '\u{1780}'..='\u{18AF}' | '\u{1900}'..='\u{1CFF}' | '\u{A800}'..='\u{ABFF}' | '\u{11000}'..='\u{11FFF}')
}

/// Scripts written without spaces, where a zero-width space says where a line may break.
pub(super) fn wraps_without_spaces(c: char) -> bool {
    matches!(c, '\u{0E00}'..='\u{0FFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{1950}'..='\u{19FF}')
}

/// Parts of emoji: pictures, skin tones, hair, regional letters, hearts, signs.
pub(super) fn is_emoji_part(c: char) -> bool {
    matches!(c, '\u{1F000}'..='\u{1FAFF}' | '\u{2190}'..='\u{21FF}' | '\u{2300}'..='\u{23FF}' | '\u{2460}'..='\u{24FF}' | '\u{25A0}'..='\u{27BF}' | '\u{2900}'..='\u{297F}' | '\u{2B00}'..='\u{2BFF}' | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}' | '\u{FE0E}' | '\u{FE0F}' | '\u{20E3}' | '\u{E0020}'..='\u{E007F}')
}

/// Whether a single variation selector may follow `base`.
pub(super) fn takes_variation(base: char, after: Option<char>) -> bool {
    let keycap = matches!(base, '0'..='9' | '#' | '*') && after == Some('\u{20E3}');
    let digit = matches!(base, '0'..='9' | '#' | '*');
    keycap || digit || (!base.is_ascii() && !base.is_whitespace())
}
