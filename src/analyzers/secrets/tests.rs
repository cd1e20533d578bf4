//! Made-up secrets are put together here at run time, so that no scanner, ours
//! included, trips over this file.

use std::ops::Range;

use super::{Secrets, shapes};
use crate::{
    analyzers::doubles::{TextChange, finding, found, holds, report},
    domain::{
        diff::FileStatus,
        review::{
            finding::{Priority, Side},
            grounding::ground,
            reviewer::ContributionState,
        },
    },
    ports::{analyzer::Analyzer as _, change::Change},
};

/// `count` characters of `alphabet` that look drawn at random and always are the same.
fn random(alphabet: &str, count: usize, seed: u64) -> String {
    let letters: Vec<char> = alphabet.chars().collect();
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    (0..count)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            letters[(state % letters.len() as u64) as usize]
        })
        .collect()
}

const BASE62: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const HEX: &str = "0123456789abcdef";
const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const LOWER: &str = "abcdefghijklmnopqrstuvwxyz0123456789";

fn r(alphabet: &str, count: usize) -> String {
    random(alphabet, count, count as u64 + alphabet.len() as u64)
}

/// One line per shape: the rule it should be found by, and the line.
fn specimens() -> Vec<(&'static str, String)> {
    let b62 = |n| r(BASE62, n);
    let hex = |n| r(HEX, n);
    vec![
        ("github-token", format!("{}_{}", "ghp", b62(36))),
        ("github-token", format!("{}_{}", "gho", b62(36))),
        ("github-token", format!("{}_{}", "ghu", b62(36))),
        ("github-token", format!("{}_{}", "ghr", b62(76))),
        ("github-token", format!("{}_{}", "ghs", b62(36))),
        (
            "github-app-token",
            format!("{}_123456_eyJ{}.eyJ{}.{}", "ghs", b62(30), b62(90), b62(200)),
        ),
        (
            "github-fine-grained-token",
            format!("github_{}_{}_{}", "pat", b62(22), b62(59)),
        ),
        ("gitlab-token", format!("{}-{}", "glpat", b62(20))),
        (
            "gitlab-token",
            format!("{}-{}.01.{}", "glpat", b62(27), r(LOWER, 9)),
        ),
        ("gitlab-runner-token", format!("GR13{}{}", "48941", b62(20))),
        ("aws-access-key", format!("{}{}", "AKIA", r(UPPER, 16))),
        (
            "aws-secret-key",
            format!("aws_secret_access_key = {}", r(BASE64, 40)),
        ),
        (
            "aws-secret-key",
            format!("\"SecretAccessKey\": \"{}\",", r(BASE64, 40)),
        ),
        (
            "aws-session-token",
            format!("{}Z2lu{}", "IQoJb3Jp", r(BASE64, 200)),
        ),
        ("google-api-key", format!("{}{}", "AIza", b62(35))),
        ("google-oauth-secret", format!("{}-{}", "GOCSPX", b62(28))),
        ("google-oauth-token", format!("{}.{}", "ya29", b62(60))),
        (
            "slack-token",
            format!("{}-123456789012-1234567890123-{}", "xoxb", b62(24)),
        ),
        ("slack-token", format!("{}-2-{}", "xoxp", hex(60))),
        (
            "slack-app-token",
            format!("{}-1-A0123ABCD-1234567890123-{}", "xapp", hex(64)),
        ),
        (
            "slack-webhook",
            format!(
                "https://hooks.{}.com/services/T0A1B2C3D/B0A1B2C3D/{}",
                "slack",
                b62(24)
            ),
        ),
        ("stripe-key", format!("{}_{}_{}", "sk", "live", b62(24))),
        ("stripe-key", format!("{}_{}_{}", "rk", "live", b62(99))),
        ("stripe-test-key", format!("{}_{}_{}", "sk", "test", b62(24))),
        ("twilio-key", format!("{}{}", "SK", hex(32))),
        ("twilio-auth-token", format!("TWILIO_AUTH_TOKEN={}", hex(32))),
        ("sendgrid-key", format!("{}.{}.{}", "SG", b62(22), b62(43))),
        ("npm-token", format!("{}_{}", "npm", b62(36))),
        (
            "npm-registry-credential",
            format!(
                "//registry.example.net/:_{}={}",
                "authToken", "0f0cd5a1-8d2e-4f1b-9c3d-2b7f6a5e4d3c"
            ),
        ),
        ("pypi-token", format!("{}-AgEIcHlwaS5vcmc{}", "pypi", b62(80))),
        ("cratesio-token", format!("{}{}", "cio", b62(32))),
        ("docker-token", format!("{}_{}", "dckr_pat", b62(27))),
        (
            "anthropic-key",
            format!("{}-ant-api03-{}-{}AA", "sk", b62(40), b62(52)),
        ),
        ("openai-key", format!("{}-proj-{}", "sk", b62(48))),
        (
            "openai-key",
            format!("{}-{}T3Blbk{}{}", "sk", b62(20), "FJ", b62(20)),
        ),
        ("model-provider-key", format!("{}-{}", "sk", b62(48))),
        ("huggingface-token", format!("{}_{}", "hf", b62(34))),
        (
            "azure-storage-key",
            format!(
                "DefaultEndpointsProtocol=https;AccountName=a;{}={}==",
                "AccountKey",
                r(BASE64, 86)
            ),
        ),
        (
            "azure-sas",
            format!(
                "https://a.blob.core.windows.net/c?sv=2022-11-02&ss=b&srt=sco&sp=r&se=2030-01-01&{}={}%3D",
                "sig",
                b62(43)
            ),
        ),
        ("azure-client-secret", format!("{}8Q~{}", "aB3", b62(34))),
        ("digitalocean-token", format!("{}_v1_{}", "dop", hex(64))),
        (
            "heroku-key",
            format!("HEROKU_API_KEY={}", "0f0cd5a1-8d2e-4f1b-9c3d-2b7f6a5e4d3c"),
        ),
        ("heroku-key", format!("{}-{}", "HRKU", b62(60))),
        ("shopify-token", format!("{}_{}", "shpat", hex(32))),
        ("telegram-token", format!("123456789:AA{}", b62(33))),
        (
            "discord-token",
            format!("{}{}.{}.{}", "M", b62(23), b62(6), b62(27)),
        ),
        (
            "discord-webhook",
            format!(
                "https://{}.com/api/webhooks/123456789012345678/{}",
                "discord",
                b62(68)
            ),
        ),
        ("mailgun-key", format!("{}-{}", "key", hex(32))),
        ("vault-token", format!("{}.{}", "hvs", b62(90))),
        ("jwt", format!("eyJ{}.eyJ{}.{}", b62(30), b62(60), b62(43))),
        (
            "database-url",
            format!(
                "DATABASE_URL=postgres://app:{}@db.prod.acme.io:5432/app",
                r(BASE62, 14)
            ),
        ),
        (
            "database-url",
            format!("mongodb+srv://svc:{}@cluster0.ab1cd.mongodb.net/x", r(BASE62, 14)),
        ),
        (
            "url-password",
            format!("https://deploy:{}@git.acme.io/x.git", r(BASE62, 20)),
        ),
        ("high-entropy-value", format!("const api_key = \"{}\";", b62(32))),
        ("high-entropy-value", format!("  client_secret: \"{}\"", b62(40))),
        ("high-entropy-value", format!("password = 'tR7#{}!'", b62(10))),
        (
            "authorization-header",
            format!("curl -H 'Authorization: Bearer {}'", b62(40)),
        ),
    ]
}

fn rules(path: &str, text: impl AsRef<[u8]>) -> Vec<String> {
    found(&Secrets, &TextChange::new().adding(path, text))
}

#[test]
fn every_shape_is_found_by_its_rule_in_any_file_and_its_value_is_in_no_text() {
    for path in ["src/main.rs", "config", "deploy/app.yml", "notes.md", "x.bin"] {
        for (rule, line) in specimens() {
            let change = TextChange::new().adding(path, format!("first\n{line}\nlast\n"));
            let drafts = report(&Secrets, &change).drafts;
            let names: Vec<String> = drafts.iter().map(|d| d.provenance.to_string()).collect();
            assert_eq!(names, [format!("rule:secrets/{rule}")], "{path}: {line}");
            let draft = &drafts[0];
            assert!(draft.secret);
            assert_eq!(holds(&Secrets, &change, draft), Some(true));
            for word in line
                .split(|c: char| !c.is_ascii_alphanumeric())
                .filter(|w| w.len() > 12 && w.contains(|c: char| c.is_ascii_digit()))
            {
                assert!(
                    !draft.title.contains(word) && !draft.body.contains(word),
                    "{line}"
                );
            }
        }
    }
}

#[test]
fn provider_shapes_may_block_and_guesses_do_not() {
    for (rule, line) in specimens() {
        let draft = report(&Secrets, &TextChange::new().adding("a.py", format!("{line}\n")))
            .drafts
            .remove(0);
        let guess = matches!(
            rule,
            "stripe-test-key" | "jwt" | "url-password" | "high-entropy-value" | "authorization-header"
        );
        assert_eq!(draft.priority == Priority::P0, !guess, "{rule}");
        assert!(guess || draft.confidence.get() >= 0.7, "{rule}");
    }
}

#[test]
fn a_signed_token_in_a_test_weighs_less() {
    let line = format!(
        "t = eyJ{}.eyJ{}.{}\n",
        r(BASE62, 30),
        r(BASE62, 60),
        r(BASE62, 43)
    );
    assert_eq!(rules("tests/a.rs", &line), ["p2 secrets/jwt tests/a.rs:1"]);
    assert_eq!(rules("src/a.rs", &line), ["p1 secrets/jwt src/a.rs:1"]);
}

#[test]
fn a_wrong_checksum_lowers_the_confidence_but_not_below_the_threshold() {
    let sure = |token: String| {
        let draft = report(&Secrets, &TextChange::new().adding("a", token))
            .drafts
            .remove(0);
        draft.confidence.get()
    };
    // The checksum was computed by zlib.
    let body = "a1b2c3d4e5f6g7h8i9j0k1l2m3n4o5";
    let right = format!("gh{}_{body}{}", "p", CHECKSUM_OF_BODY);
    let wrong = format!("gh{}_{body}{}", "p", "0zzzzz");
    assert!(sure(right) > 0.95);
    assert!((0.7..0.95).contains(&sure(wrong)));
}

const CHECKSUM_OF_BODY: &str = "3J5BSK";

#[test]
fn several_secrets_on_one_line_are_all_told() {
    let line = format!(
        "a={}_{} b={}_{} c={}{}",
        "ghp",
        r(BASE62, 36),
        "ghp",
        random(BASE62, 36, 9),
        "AKIA",
        r(UPPER, 16)
    );
    let drafts = report(&Secrets, &TextChange::new().adding("x", line)).drafts;
    let titles: Vec<&str> = drafts.iter().map(|d| d.title.as_str()).collect();
    assert_eq!(
        titles,
        [
            "GitHub token in the added code (2 of them)",
            "AWS access key in the added code"
        ]
    );
}

#[test]
fn crlf_latin_1_escapes_and_long_lines_hide_nothing() {
    let token = format!("{}_{}", "ghp", r(BASE62, 36));
    assert_eq!(
        rules("a.ini", format!("x={token}\r\n")),
        ["p0 secrets/github-token a.ini:1"]
    );
    let latin = [b"caf\xE9 = '", token.as_bytes(), b"'\n"].concat();
    assert_eq!(rules("a.py", latin), ["p0 secrets/github-token a.py:1"]);
    let escaped = format!("{{\"log\": \"line\\n{}{} end\"}}", "AKIA", r(UPPER, 16));
    assert_eq!(rules("a.json", escaped), ["p0 secrets/aws-access-key a.json:1"]);
    let long = format!("{}{token}{}", "lorem(1);".repeat(40_000), ";".repeat(100));
    let change = TextChange::new().adding("app.min.js", long);
    assert_eq!(found(&Secrets, &change), ["p0 secrets/github-token app.min.js:1"]);
    let draft = report(&Secrets, &change).drafts.remove(0);
    let blob = futures::executor::block_on(change.read(Side::Right, "app.min.js")).unwrap();
    assert!(ground(draft, blob.as_deref()).is_ok());
}

#[test]
fn only_added_lines_count_also_in_a_renamed_file() {
    let token = format!("{}_{}", "ghp", r(BASE62, 36));
    let other = format!("{}_{}", "ghp", random(BASE62, 36, 5));
    let before = format!("a\n{token}\nb\n");
    let after = format!("a\n{token}\nb\n{other}\n");
    let change = TextChange::new().between("new", FileStatus::Renamed, before.as_bytes(), after.as_bytes());
    assert_eq!(found(&Secrets, &change), ["p0 secrets/github-token new:4"]);
    let removed = TextChange::new().changing("x", before, "a\nb\n");
    assert_eq!(found(&Secrets, &removed), [""; 0]);
}

#[test]
fn what_plainly_is_no_secret_is_not_mentioned() {
    let quiet: &[(&str, String)] = &[
        ("a.md", format!("{}{}", "AKIA", "IOSFODNN7EXAMPLE")),
        (
            "a.md",
            format!(
                "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY{}",
                "EXAMPLEKEY"
            ),
        ),
        ("a.md", format!("GITHUB_TOKEN={}_{}", "ghp", "x".repeat(36))),
        (
            "a.md",
            format!(
                "https://hooks.{}.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
                "slack"
            ),
        ),
        (
            "a.md",
            format!(
                "OPENAI_API_KEY={}-{}",
                "sk", "your-api-key-here-your-api-key-here"
            ),
        ),
        ("ci.yml", "token: ${{ secrets.GITHUB_TOKEN }}".into()),
        ("ci.yml", "api_key: \"${API_KEY_FROM_THE_VAULT_9}\"".into()),
        ("a.py", "password = os.environ['DB_PASSWORD_2024']".into()),
        ("a.ts", "const secret = process.env.JWT_SECRET_KEY_V2;".into()),
        ("a.rs", "let token = \"<your token here 123456>\";".into()),
        (
            "a.rs",
            "const TOKEN_NAME: &str = \"x-service-auth-token-v2\";".into(),
        ),
        (
            "a.rs",
            "token_type: \"urn:ietf:params:oauth:token-type:jwt2\"".into(),
        ),
        (
            "a.rs",
            "(\"aws-secret-key\", r\"(?i)aws[a-z0-9]{3}x4Q9z7Kp2[A-Za-z0-9/+]{40}\")".into(),
        ),
        (
            "a.rs",
            "let secret = \"0f0cd5a1-8d2e-4f1b-9c3d-2b7f6a5e4d3c\";".into(),
        ),
        ("Cargo.lock", format!("checksum = \"{}\"", r(HEX, 64))),
        (
            "package-lock.json",
            format!("\"integrity\": \"sha512-{}==\"", r(BASE64, 86)),
        ),
        ("a.rs", format!("const REV: &str = \"{}\";", r(HEX, 40))),
        ("a.rs", format!("rev = \"{}\"", r(HEX, 40))),
        (
            "a.css",
            format!("background: url(data:image/png;base64,{}==)", r(BASE64, 800)),
        ),
        ("a.js", format!("const tokens = [\"{}\"]", "identifier, keyword")),
        (
            "a.env",
            "DATABASE_URL=postgres://postgres:postgres@localhost:5432/app".into(),
        ),
        ("a.env", "DATABASE_URL=postgres://user:password@host/db".into()),
        (
            "a.env",
            "DATABASE_URL=postgres://app:${DB_PASSWORD}@db.prod/app".into(),
        ),
        (
            "a.rs",
            "format!(\"postgres://{user}:{password}@{host}/{db}\")".into(),
        ),
        ("a.rs", "https://example.com:8080/a@b".into()),
        ("a.tf", "secret_key = var.secret_key_for_production_2".into()),
        (
            "a.go",
            "if strings.HasPrefix(line, \"-----BEGIN RSA PRIVATE KEY-----\") {".into(),
        ),
        ("a.py", "password = \"correct horse battery staple\"".into()),
        ("a.py", "PASSWORD_FIELD = \"user_password_confirmation_2\"".into()),
        (
            "a.html",
            "<input type=\"password\" name=\"password\" id=\"password-field-1\">".into(),
        ),
        ("a.ts", "getToken(\"auth-token-cookie-name-1\")".into()),
        ("task.txt", format!("ta{}-{}", "sk", r(LOWER, 40))),
    ];
    for (path, line) in quiet {
        assert_eq!(rules(path, format!("{line}\n")), [""; 0], "{path}: {line}");
    }
}

fn pem(kind: &str) -> String {
    let body: String = (0..6).map(|n| random(BASE64, 64, n + 3) + "\n").collect();
    format!("-----BEGIN {kind}-----\n{body}-----END {kind}-----\n")
}

#[test]
fn private_keys_of_every_kind_are_found_once_at_their_header() {
    for kind in [
        "RSA PRIVATE KEY",
        "PRIVATE KEY",
        "EC PRIVATE KEY",
        "DSA PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "ENCRYPTED PRIVATE KEY",
    ] {
        assert_eq!(
            rules("id_x", format!("a\n{}", pem(kind))),
            ["p0 secrets/private-key id_x:2"],
            "{kind}"
        );
    }
    let pgp = format!(
        "-----BEGIN PGP {}-----\nVersion: GnuPG v2\n\n{}\n",
        "PRIVATE KEY BLOCK",
        r(BASE64, 64)
    );
    assert_eq!(rules("k.asc", pgp), ["p0 secrets/private-key k.asc:1"]);
    let locked = format!(
        "-----BEGIN RSA {}-----\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,00\r\n\r\n{}\r\n",
        "PRIVATE KEY",
        r(BASE64, 64)
    );
    assert_eq!(rules("k", locked), ["p0 secrets/private-key k:1"]);
}

#[test]
fn a_private_key_escaped_into_one_line_or_split_into_strings_is_found() {
    let begin = format!("-----BEGIN {}-----", "PRIVATE KEY");
    let json = format!("  \"private_key\": \"{begin}\\n{}\\n-----END\",", r(BASE64, 64));
    assert_eq!(rules("sa.json", json), ["p0 secrets/private-key sa.json:1"]);
    let split = format!("k = \"{begin}\\n\" +\n    \"{}\\n\" +\n", r(BASE64, 64));
    assert_eq!(rules("k.js", split), ["p0 secrets/private-key k.js:1"]);
    let yaml = format!("key: |\n  {begin}\n  {}\n", r(BASE64, 64));
    assert_eq!(rules("k.yml", yaml), ["p0 secrets/private-key k.yml:2"]);
}

#[test]
fn a_key_that_was_replaced_under_its_old_header_is_found() {
    let change = TextChange::new().changing(
        "k",
        pem("PRIVATE KEY"),
        pem("PRIVATE KEY").replace(&random(BASE64, 64, 5), &random(BASE64, 64, 77)),
    );
    assert_eq!(found(&Secrets, &change), ["p0 secrets/private-key k:4"]);
}

#[test]
fn the_verifier_refutes_what_the_blob_does_not_show() {
    let change = TextChange::new().adding("a", format!("{}_{}\n", "ghp", r(BASE62, 36)));
    let draft = report(&Secrets, &change).drafts.remove(0);
    let other = TextChange::new().adding("a", "nothing\n");
    assert_eq!(holds(&Secrets, &other, &draft), Some(false));
}

#[test]
fn a_file_that_was_not_seen_makes_the_report_partial_and_a_picture_does_not() {
    let mut change = TextChange::new().adding("a", "b\n");
    let mut picture = crate::domain::diff::ChangedFile::new("a.png", FileStatus::Added);
    picture.binary = true;
    change.files.push(picture);
    let seen = report(&Secrets, &change);
    assert_eq!(seen.state, ContributionState::Complete);
    assert_eq!(seen.note.as_deref(), Some("1 binary file has no lines to judge"));
    let mut hidden = crate::domain::diff::ChangedFile::new("a.py", FileStatus::Modified);
    hidden.binary = true;
    change.files.push(hidden);
    let mut large = crate::domain::diff::ChangedFile::new("b.sql", FileStatus::Added);
    large.unseen = Some("too large".into());
    change.files.push(large);
    let partial = report(&Secrets, &change);
    assert_eq!(partial.state, ContributionState::Partial);
    assert_eq!(
        partial.note.as_deref(),
        Some("not read: a.py, b.sql; 1 binary file has no lines to judge")
    );
}

#[test]
fn random_values_are_found_and_words_are_not() {
    let hits = |alphabet: &str, length| {
        (1..=200u64)
            .filter(|seed| {
                !rules(
                    "a.py",
                    format!("secret = \"{}\"\n", random(alphabet, length, *seed)),
                )
                .is_empty()
            })
            .count()
    };
    for (alphabet, length, least) in [
        (BASE62, 20, 180),
        (BASE62, 32, 195),
        (BASE64, 40, 190),
        (HEX, 32, 190),
        (LOWER, 32, 180),
    ] {
        let found = hits(alphabet, length);
        assert!(found >= least, "{found} of 200 for {length} of {alphabet}");
    }
}

#[test]
fn a_flood_of_findings_is_cut_told_and_partial() {
    let guesses: String = (0..600)
        .map(|n| format!("secret = \"{}\"\n", random(BASE62, 40, n)))
        .collect();
    let change = TextChange::new().adding("a.py", format!("{guesses}{}_{}\n", "ghp", r(BASE62, 36)));
    let flood = report(&Secrets, &change);
    assert_eq!(flood.state, ContributionState::Partial);
    assert_eq!(flood.drafts.len(), 500);
    assert_eq!(flood.drafts[0].priority, Priority::P0, "the heaviest are kept");
    let note = flood.note.unwrap();
    assert!(note.ends_with("more findings are not listed"), "{note}");
}

/// Two tokens never count as one, and one never as two, however many stand on a line.
#[test]
fn a_line_full_of_tokens_is_one_finding_that_counts_them() {
    let token = |n: usize| format!("ghp_{n:06}k3Jx9QmZr7Vt2LwYb8Nc4Hd6Sf1PgA");
    let line: String = (0..3000).map(|n| format!("\"{}\", ", token(n))).collect();
    let change = TextChange::new().adding("tokens.js", format!("{line}\n"));
    let drafts = report(&Secrets, &change).drafts;
    assert_eq!(drafts.len(), 1);
    assert!(drafts[0].title.ends_with("(3000 of them)"), "{}", drafts[0].title);
}

#[test]
fn places_on_a_line_are_free_until_they_are_taken() {
    let hit = |at: Range<usize>| shapes::Hit {
        id: "x",
        what: "x",
        at,
        priority: Priority::P0,
        confidence: 1.0,
    };
    let mut hits = shapes::Hits::default();
    hits.push(hit(20..30));
    hits.push(hit(5..10));
    for (at, free) in [
        (0..5, true),
        (10..20, true),
        (0..6, false),
        (9..12, false),
        (0..40, false),
        (25..26, false),
        (19..21, false),
        (30..31, true),
    ] {
        assert_eq!(hits.is_free(&at), free, "{at:?}");
    }
    let order: Vec<usize> = hits.in_order().iter().map(|h| h.at.start).collect();
    assert_eq!(order, [5, 20]);
}

#[test]
fn a_token_in_a_new_name_is_told_once_a_kind_and_not_repeated() {
    let (token, other) = (
        format!("{}_{}", "ghp", r(BASE62, 36)),
        format!("{}-{}", "glpat", r(BASE62, 20)),
    );
    let named = |name: &str, status| TextChange::new().between(name, status, b"", b"text\n");
    let file = format!("deploy/{token}.md");
    let told = vec!["p0 secrets/file-name-github-token".to_owned()];
    for (status, old, expected) in [
        (FileStatus::Added, None, &told),
        (FileStatus::Renamed, Some("deploy/key.md".to_owned()), &told),
        (FileStatus::Copied, Some("deploy/key.md".to_owned()), &told),
        (FileStatus::Renamed, Some(format!("old/{token}.md")), &vec![]),
        (FileStatus::Modified, None, &vec![]),
        (FileStatus::Removed, None, &vec![]),
    ] {
        let change = named(&file, status).with(|f| f.old_path = old);
        assert_eq!(&found(&Secrets, &change), expected, "{status}");
    }
    let change = named(&file, FileStatus::Added)
        .adding(&format!("{token}/{token}/b.md"), "")
        .adding(&format!("c-{other}"), "")
        .with(|f| f.binary = true);
    let report = report(&Secrets, &change);
    assert_eq!(report.drafts.len(), 2);
    for draft in &report.drafts {
        let shown = format!("{draft:?}");
        assert!(!shown.contains(&token) && !shown.contains(&other), "{shown}");
        assert!(
            draft.anchor.is_none() && draft.body.contains("********"),
            "{shown}"
        );
        ground(draft.clone(), None).unwrap();
        let finding = finding(draft);
        assert_eq!(Secrets.stands_in_change(&finding, &change), Some(true));
        assert_eq!(
            Secrets.stands_in_change(&finding, &TextChange::new()),
            Some(false)
        );
    }
}
