//! What happens in the demo: a small Rust crate, a pull request with four faults,
//! and its mending.

use crate::emulator::{Edit, OpenPull, People, Protection, Push, Refusal, RequiredCheck, Role};

/// The organization.
pub(super) const OWNER: &str = "octo-labs";
/// The repository.
pub(super) const REPO: &str = "greeter";
/// Who opens the pull request.
pub(super) const AUTHOR: &str = "mona";

const FULL_NAME: &str = "octo-labs/greeter";
const BRANCH: &str = "politer-greetings";

const MANIFEST: &str = "[package]\nname = \"greeter\"\nversion = \"0.1.0\"\nedition = \"2024\"\n";

const GREETING: &str = r#"//! Greets people.

/// Greets one person.
pub fn greet(name: &str) -> String {
    format!("Hello, {name}!")
}
"#;

const POLITE: &str = r#"//! Greets people.

/// Greets one person, politely.
pub fn greet(name: &str) -> String {
    let name = name.trim();
    if name.is_empty() {
        return "Good day!".to_owned();
    }
    format!("Good day, {name}!")
}
"#;

const TEST: &str = r#"use greeter::greet;

#[test]
fn a_person_is_greeted_by_name() {
    assert_eq!(greet("Mona"), "Good day, Mona!");
    assert_eq!(greet("  "), "Good day!");
}
"#;

/// The people and the repository.
pub(super) struct Story {
    people: People,
}

impl Story {
    pub(super) fn new(people: People) -> Self {
        Self { people }
    }

    /// The organization, its repository, its people.
    pub(super) fn set_the_scene(people: &People) -> Result<(), Refusal> {
        people.organization(OWNER);
        people.user(AUTHOR);
        people.create_repo(
            FULL_NAME,
            &[
                Edit::write("Cargo.toml", MANIFEST),
                Edit::write("README.md", "# greeter\n\nGreets people.\n"),
                Edit::write("src/lib.rs", GREETING),
            ],
        )?;
        people.add_collaborator(FULL_NAME, AUTHOR, Role::Write)
    }

    /// Nothing is merged unless the App itself said that the check passed.
    pub(super) fn require_the_check(people: &People, check: &str, app: u64) -> Result<(), Refusal> {
        let rules = Protection {
            required_checks: vec![RequiredCheck {
                context: check.to_owned(),
                app_id: Some(app),
            }],
            required_approvals: 0,
        };
        people.protect(FULL_NAME, "main", rules)
    }

    /// A token in the code, a half-resolved merge, text that is not what it looks
    /// like, and no test. Gives the head.
    pub(super) fn open_with_faults(&self) -> Result<String, Refusal> {
        let head = self.push(
            "Greet politely",
            &[
                Edit::write("src/lib.rs", conflicted()),
                Edit::write("src/client.rs", token()),
                Edit::write("src/access.rs", disguised()),
            ],
        )?;
        self.people.open_pull(OpenPull {
            repo: FULL_NAME,
            by: AUTHOR,
            title: "Greet politely",
            body: Some("Greets with \"Good day\" and asks the server for the name."),
            head_repo: None,
            head: BRANCH,
            base: "main",
            draft: false,
        })?;
        Ok(head)
    }

    /// What the review asked for. Gives the head.
    pub(super) fn push_the_fix(&self) -> Result<String, Refusal> {
        self.push(
            "Settle what the review found",
            &[
                Edit::write("src/lib.rs", POLITE),
                Edit::remove("src/client.rs"),
                Edit::remove("src/access.rs"),
                Edit::write("tests/greet.rs", TEST),
            ],
        )
    }

    fn push(&self, message: &str, edits: &[Edit]) -> Result<String, Refusal> {
        self.people.push(Push {
            repo: FULL_NAME,
            branch: BRANCH,
            by: AUTHOR,
            message,
            edits,
            onto: None,
        })
    }
}

// The faults are put together here, so that this file has none of them.

fn conflicted() -> String {
    let (ours, theirs) = (
        "    format!(\"Good day, {name}!\")\n",
        "    format!(\"Hello there, {name}!\")\n",
    );
    let fence = |mark: &str| mark.repeat(7);
    POLITE.replace(
        ours,
        &format!(
            "{} HEAD\n{ours}{}\n{theirs}{} main\n",
            fence("<"),
            fence("="),
            fence(">")
        ),
    )
}

fn token() -> String {
    // Not a token of anybody: it was never issued.
    let token = format!("ghp_{}", "k3Jx9QmZr7Vt2LwYb8Nc4Hd6Sf1PgA0eUiOX");
    format!("//! Asks the server for names.\n\n/// Opens the server.\npub const TOKEN: &str = \"{token}\";\n")
}

fn disguised() -> String {
    let (over, back, isolate) = ('\u{202e}', '\u{2066}', '\u{2069}');
    format!(
        "//! Who may see the guest list.\n\n/// Whether `role` may.\npub fn may_see(role: &str) -> bool {{\n    \
         role != \"guest{over} {back}// only hosts{isolate} {back}\"\n}}\n"
    )
}
