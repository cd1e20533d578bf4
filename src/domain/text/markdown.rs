//! Markdown of strangers, written anew.
//!
//! A body is parsed, and only what is known to be harmless is written again by
//! us: paragraphs, lists, quotes, emphasis, code. Text is escaped, HTML and
//! comments become visible text, headings become bold lines, links show where
//! they lead and lead nowhere, images are left out, every fence is closed. So a
//! body cannot forge our headings, our markers, a mention, a `suggestion` block
//! or a tracking image, whatever the forge's own parser makes of it.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::{
    code_fence, code_span, defuse_comments, escape, guard_line_start, info_string, truncate_chars,
    visible_lines,
};

/// Deeper quotes and lists are flattened.
const MAX_DEPTH: usize = 6;

/// More is cut before it is parsed.
const MAX_CHARS: usize = 65_536;

/// Info strings that the forge renders as something else than code.
const RENDERED: &[&str] = &["suggestion", "mermaid", "math", "geojson", "topojson", "stl"];

/// `body` as Markdown that is safe to put anywhere where a block may stand.
/// Without blank lines at its ends; empty when nothing is left.
pub fn markdown(body: &str) -> String {
    let body = truncate_chars(body, MAX_CHARS);
    let mut writer = Writer::default();
    for event in Parser::new_ext(&body, Options::empty()) {
        writer.event(event);
    }
    writer.flush();
    writer.out
}

/// An open quote or list item.
struct Container {
    /// What its lines start with.
    prefix: String,
    /// What its first line starts with instead, until that line is written.
    bullet: Option<String>,
}

#[derive(Default)]
struct Writer {
    out: String,
    containers: Vec<Container>,
    /// The number of the next item of every open list; `None` = bullets.
    lists: Vec<Option<u64>>,
    /// How many quotes and items were flattened.
    flattened: usize,
    /// Text that is not escaped yet: the parser splits it where it likes, and a
    /// sign must be seen together with what follows it.
    text: String,
    /// The paragraph being collected.
    paragraph: String,
    /// The code block being collected: info string and text.
    code: Option<(String, String)>,
    /// Open links: the address and where its text starts in `paragraph`.
    links: Vec<(String, usize)>,
    /// Depth of open images, whose alternative text is left out.
    images: usize,
    /// Whether the next item follows the previous one without a blank line.
    tight: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        if self.images > 0 && !matches!(event, Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image)) {
            return;
        }
        if !matches!(event, Event::Text(_)) {
            let text = std::mem::take(&mut self.text);
            self.paragraph.push_str(&escape(&text));
        }
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.text.push_str(&text),
            },
            Event::Code(code) => self.paragraph.push_str(&code_span(&code)),
            Event::Html(html) | Event::InlineHtml(html) => self.paragraph.push_str(&escape(&html)),
            Event::InlineMath(math) | Event::DisplayMath(math) => self.paragraph.push_str(&code_span(&math)),
            Event::SoftBreak | Event::HardBreak => self.paragraph.push('\n'),
            Event::Rule => self.flush(),
            Event::FootnoteReference(_) | Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { .. } => {
                self.flush();
                self.paragraph.push_str("**");
            }
            Tag::BlockQuote(_) => {
                self.flush();
                self.open("> ".to_owned(), None);
            }
            Tag::CodeBlock(kind) => {
                self.flush();
                let info = match kind {
                    CodeBlockKind::Fenced(info) => info_string(info.split_whitespace().next().unwrap_or("")),
                    CodeBlockKind::Indented => String::new(),
                };
                let rendered = RENDERED.iter().any(|r| info.to_ascii_lowercase().contains(r));
                self.code = Some((if rendered { String::new() } else { info }, String::new()));
            }
            Tag::List(first) => {
                self.flush();
                // Not every numbered list may interrupt a paragraph: one that starts at another
                // number than 1 would be read as its text, and code in it would go live.
                self.tight = !self.lists.is_empty() && first.is_none();
                self.lists.push(first);
            }
            Tag::Item => {
                self.flush();
                let bullet = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let bullet = format!("{number}. ");
                        *number = number.saturating_add(1).min(999_999_999);
                        bullet
                    }
                    _ => "- ".to_owned(),
                };
                self.open(" ".repeat(bullet.len()), Some(bullet));
            }
            Tag::Emphasis => self.paragraph.push('*'),
            Tag::Strong => self.paragraph.push_str("**"),
            Tag::Link { dest_url, .. } => {
                // A sign right before it must not join with the link's text.
                if !self.paragraph.is_empty() && !self.paragraph.ends_with([' ', '\n', '(']) {
                    self.paragraph.push_str("&#8203;");
                }
                self.links.push((dest_url.into_string(), self.paragraph.len()));
            }
            Tag::Image { .. } => {
                if self.images == 0 {
                    self.paragraph.push_str("(image)");
                }
                self.images += 1;
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                if self.paragraph == "**" {
                    self.paragraph.clear();
                } else {
                    self.paragraph.push_str("**");
                    self.flush();
                }
            }
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.flush(),
            TagEnd::CodeBlock => {
                if let Some((info, code)) = self.code.take() {
                    let code = visible_lines(&code);
                    self.block(&code_fence(&info, &defuse_comments(&code)));
                    self.tight = false;
                }
            }
            TagEnd::BlockQuote(_) => self.close(),
            TagEnd::Item => {
                self.close();
                self.tight = true;
            }
            TagEnd::List(_) => {
                self.flush();
                self.lists.pop();
                self.tight = !self.lists.is_empty();
            }
            TagEnd::Emphasis => self.paragraph.push('*'),
            TagEnd::Strong => self.paragraph.push_str("**"),
            TagEnd::Link => {
                if let Some((address, at)) = self.links.pop() {
                    let shown = escape(&address);
                    if self.paragraph.get(at..).is_some_and(|text| text == shown) {
                        self.paragraph.truncate(at);
                        self.paragraph.push_str(&code_span(&address));
                    } else {
                        self.paragraph.push_str(" (");
                        self.paragraph.push_str(&code_span(&address));
                        self.paragraph.push(')');
                    }
                }
            }
            TagEnd::Image => self.images = self.images.saturating_sub(1),
            _ => {}
        }
    }

    fn open(&mut self, prefix: String, bullet: Option<String>) {
        if self.containers.len() >= MAX_DEPTH {
            self.flattened += 1;
        } else {
            self.containers.push(Container { prefix, bullet });
        }
    }

    fn close(&mut self) {
        self.flush();
        if self.flattened > 0 {
            self.flattened -= 1;
        } else {
            self.containers.pop();
        }
    }

    /// Writes the collected paragraph, if there is one.
    fn flush(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        let lines: Vec<String> = paragraph
            .split('\n')
            .map(|line| guard_line_start(line.trim_matches([' ', '\t'])))
            .filter(|line| !line.is_empty())
            .collect();
        if !lines.is_empty() {
            self.block(&lines.join("\n"));
        }
    }

    fn block(&mut self, text: &str) {
        let next_item = self.containers.iter().any(|c| c.bullet.is_some());
        if !(self.out.is_empty() || self.tight && next_item) {
            self.blank_line();
        }
        for (n, line) in text.split('\n').enumerate() {
            // A line of code may be empty; the one after it is a line all the same.
            if n > 0 || !self.out.is_empty() && !self.out.ends_with('\n') {
                self.out.push('\n');
            }
            for container in &mut self.containers {
                match container.bullet.take() {
                    Some(bullet) => self.out.push_str(&bullet),
                    None => self.out.push_str(&container.prefix),
                }
            }
            self.out.push_str(line);
        }
        self.tight = false;
    }

    /// The line between two blocks, inside whatever is open on both sides of it.
    fn blank_line(&mut self) {
        let open: String = self
            .containers
            .iter()
            .take_while(|c| c.bullet.is_none())
            .map(|c| c.prefix.as_str())
            .collect();
        self.out.push('\n');
        self.out.push_str(open.trim_end());
        self.out.push('\n');
    }
}
