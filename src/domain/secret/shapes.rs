//! What tokens of known providers look like.
//!
//! A shape is enough: nothing is sent anywhere to see whether a token is alive.
//! Where a provider puts a checksum in its tokens, a wrong one lowers the
//! confidence and never dismisses the token, since formats change unannounced.

use std::{collections::BTreeMap, ops::Range, sync::LazyLock};

use regex::bytes::{Regex, RegexSet};

use crate::domain::review::finding::Priority;

use super::placeholder;

/// One kind of token.
pub struct Shape {
    /// The rule's id, without the analyzer's name.
    pub id: &'static str,
    /// What it is, for the title.
    pub what: &'static str,
    /// Text that every line with such a token holds, in lower case; any of them.
    pub hints: &'static [&'static str],
    /// The token is group `v` (or the whole match), in bytes without Unicode.
    pub pattern: &'static str,
    /// How it weighs.
    pub priority: Priority,
    /// How sure the shape alone makes us; 0.7 and more may block.
    pub confidence: f64,
    /// What may not stand right before and after the token.
    pub edge: Edge,
}

/// What may touch a token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Edge {
    /// The prefix is so distinct that anything may stand before it.
    Free,
    /// Letters and digits on either side make it part of something longer.
    Word,
}

use Edge::{Free, Word};
use Priority::{P0, P1};

macro_rules! shapes {
    ($($id:literal, $what:literal, [$($hint:literal),+], $pattern:literal, $priority:ident, $confidence:literal, $edge:ident;)+) => {
        &[$(Shape {
            id: $id, what: $what, hints: &[$($hint),+], pattern: $pattern,
            priority: $priority, confidence: $confidence, edge: $edge,
        }),+]
    };
}

/// Every shape, the more telling ones first: where two overlap, the first one names it.
pub const SHAPES: &[Shape] = shapes! {
    "github-app-token", "GitHub App installation token", ["ghs_"], r"ghs_[0-9]{1,20}_[A-Za-z0-9_.\-]{30,4000}", P0, 0.95, Free;
    "github-token", "GitHub token", ["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"gh[pousr]_[A-Za-z0-9]{36,251}", P0, 0.85, Free;
    "github-fine-grained-token", "GitHub fine-grained token", ["github_pat_"], r"github_pat_[A-Za-z0-9_]{50,255}", P0, 0.95, Free;
    "gitlab-token", "GitLab token", ["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-", "glffct-", "gloas-"],
        r"gl(?:pat|dt|rt|cbt|ptt|ft|imt|agent|soat|ffct|oas)-[A-Za-z0-9_\-]{20,300}(?:\.[0-9a-z]{2}\.[0-9a-z]{7,9})?", P0, 0.9, Word;
    "gitlab-runner-token", "GitLab runner registration token", ["gr1348941"], r"GR1348941[A-Za-z0-9_\-]{20,50}", P0, 0.9, Word;
    "aws-access-key", "AWS access key", ["akia", "asia", "abia", "acca"], r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}", P0, 0.85, Word;
    "aws-secret-key", "AWS secret access key", ["aws", "secret_access_key", "secretaccesskey", "secret-access-key"],
        r#"(?i)(?:aws[a-z0-9_.\-]{0,24}secret|secret[_\-]?access[_\-]?key|aws[a-z0-9_.\-]{0,24}_sk)[a-z0-9_.\-]{0,24}["'`]?\s{0,8}(?:=>|:=|[:=,>]|\s)\s{0,8}["'`]?(?P<v>[A-Za-z0-9/+]{40})"#, P0, 0.9, Word;
    "aws-session-token", "AWS session token", ["iqojb3jpz2lu", "fwogzxivyxdz"], r"(?:IQoJb3JpZ2lu|FwoGZXIvYXdz)[A-Za-z0-9/+=]{60,4000}", P0, 0.9, Word;
    "aws-bedrock-key", "AWS Bedrock API key", ["absk"], r"ABSK[A-Za-z0-9+/]{100,300}={0,2}", P0, 0.85, Word;
    "google-api-key", "Google API key", ["aiza"], r"AIza[0-9A-Za-z_\-]{35}", P0, 0.85, Word;
    "google-oauth-secret", "Google OAuth client secret", ["gocspx-"], r"GOCSPX-[A-Za-z0-9_\-]{20,40}", P0, 0.95, Free;
    "google-oauth-token", "Google OAuth token", ["ya29."], r"ya29\.[A-Za-z0-9_\-]{20,2000}", P0, 0.85, Word;
    "google-refresh-token", "Google OAuth refresh token", ["1//0"], r"1//0[A-Za-z0-9_\-]{40,300}", P0, 0.8, Word;
    "slack-token", "Slack token", ["xox"], r"xox(?:e\.xox)?[abceoprs]-[A-Za-z0-9\-]{20,400}", P0, 0.9, Word;
    "slack-app-token", "Slack app token", ["xapp-"], r"xapp-[0-9]-[A-Za-z0-9]{6,20}-[0-9]{6,20}-[A-Za-z0-9]{20,100}", P0, 0.9, Word;
    "slack-webhook", "Slack webhook address", ["hooks.slack"], r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?P<v>[A-Za-z0-9_/+]{24,200})", P0, 0.9, Free;
    "stripe-key", "Stripe live key", ["k_live_"], r"[sr]k_live_[A-Za-z0-9]{16,250}", P0, 0.95, Word;
    "stripe-test-key", "Stripe test key", ["k_test_"], r"[sr]k_test_[A-Za-z0-9]{16,250}", P1, 0.8, Word;
    "webhook-signing-secret", "webhook signing secret", ["whsec_"], r"whsec_[A-Za-z0-9+/]{24,120}={0,2}", P0, 0.85, Word;
    "twilio-key", "Twilio API key", ["sk"], r"SK[0-9a-f]{32}", P0, 0.75, Word;
    "twilio-auth-token", "Twilio auth token", ["twilio"],
        r#"(?i)twilio[a-z0-9_.\- ]{0,24}(?:auth|token|secret|key)[a-z0-9_.\-]{0,16}["'`]?\s{0,8}(?:=>|:=|[:=,>]|\s)\s{0,8}["'`]?(?P<v>[0-9a-f]{32})"#, P0, 0.85, Word;
    "sendgrid-key", "SendGrid API key", ["sg."], r"SG\.[A-Za-z0-9_\-]{16,32}\.[A-Za-z0-9_\-]{32,64}", P0, 0.95, Word;
    "npm-token", "npm access token", ["npm_"], r"npm_[A-Za-z0-9]{36}", P0, 0.85, Word;
    "npm-registry-credential", "npm registry credential", [":_authtoken", ":_password", ":_auth", "_authtoken"],
        r#"(?::_(?:authToken|password|auth)|_authToken)\s{0,4}=\s{0,4}["']?(?P<v>[A-Za-z0-9+/_.\-]{16,400}={0,2})"#, P0, 0.85, Word;
    "pypi-token", "PyPI API token", ["pypi-age"], r"pypi-AgE[A-Za-z0-9_\-]{30,400}", P0, 0.95, Word;
    "cratesio-token", "crates.io API token", ["cio"], r"cio[A-Za-z0-9]{32}", P0, 0.8, Word;
    "rubygems-token", "RubyGems API key", ["rubygems_"], r"rubygems_[0-9a-f]{48}", P0, 0.95, Word;
    "nuget-key", "NuGet API key", ["oy2"], r"oy2[a-z0-9]{43}", P0, 0.8, Word;
    "docker-token", "Docker Hub token", ["dckr_pat_", "dckr_oat_"], r"dckr_[po]at_[A-Za-z0-9_\-]{20,60}", P0, 0.95, Word;
    "anthropic-key", "Anthropic API key", ["sk-ant-"], r"sk-ant-[A-Za-z0-9_\-]{24,250}", P0, 0.95, Word;
    "openrouter-key", "OpenRouter API key", ["sk-or-"], r"sk-or-v1-[0-9a-f]{48,64}", P0, 0.95, Word;
    "openai-key", "OpenAI API key", ["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-none-", "t3blbkfj"],
        r"sk-(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_\-]{20,300}|[A-Za-z0-9]{10,40}T3BlbkFJ[A-Za-z0-9]{10,40})", P0, 0.95, Word;
    "model-provider-key", "model provider API key", ["sk-"], r"sk-[A-Za-z0-9]{32,64}", P0, 0.75, Word;
    "huggingface-token", "Hugging Face token", ["hf_", "api_org_"], r"(?:hf|api_org)_[A-Za-z0-9]{30,50}", P0, 0.85, Word;
    "groq-key", "Groq API key", ["gsk_"], r"gsk_[A-Za-z0-9]{48,60}", P0, 0.9, Word;
    "xai-key", "xAI API key", ["xai-"], r"xai-[A-Za-z0-9]{70,90}", P0, 0.9, Word;
    "replicate-token", "Replicate token", ["r8_"], r"r8_[A-Za-z0-9]{37,40}", P0, 0.9, Word;
    "perplexity-key", "Perplexity API key", ["pplx-"], r"pplx-[A-Za-z0-9]{40,56}", P0, 0.9, Word;
    "azure-storage-key", "Azure storage key", ["accountkey", "account_key", "storage", "azure"],
        r#"(?i)(?:account_?key|storage[a-z0-9_.\-]{0,24}key|azure[a-z0-9_.\-]{0,32}key)["'`]?\s{0,8}(?:=>|:=|[:=,])\s{0,8}["'`]?(?P<v>[A-Za-z0-9+/]{86}==)"#, P0, 0.95, Free;
    "azure-shared-access-key", "Azure shared access key", ["sharedaccesskey="], r"(?i)SharedAccessKey=(?P<v>[A-Za-z0-9+/]{43}=)", P0, 0.9, Free;
    "azure-sas", "Azure shared access signature", ["sig="], r"(?i)(?:[?&;](?:amp;)?|\b)sv=20[0-9]{2}-[^\s]{0,500}?&(?:amp;)?sig=(?P<v>[A-Za-z0-9%+/\-_]{40,120})", P0, 0.85, Free;
    "azure-sas", "Azure shared access signature", ["sig="], r"(?i)[?&](?:amp;)?sig=(?P<v>[A-Za-z0-9%+/\-_]{40,120}=?)&[^\s]{0,500}?sv=20[0-9]{2}-", P0, 0.85, Free;
    "azure-client-secret", "Azure client secret", ["q~"], r"[A-Za-z0-9_~.\-]{3}[0-9]Q~[A-Za-z0-9_~.\-]{31,34}", P0, 0.85, Word;
    "azure-devops-token", "Azure DevOps token", ["azdo"], r"[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}", P0, 0.95, Word;
    "digitalocean-token", "DigitalOcean token", ["doo_v1_", "dop_v1_", "dor_v1_"], r"do[opr]_v1_[0-9a-f]{64}", P0, 0.95, Word;
    "heroku-key", "Heroku API key", ["hrku-"], r"HRKU-[A-Za-z0-9_\-]{36,80}", P0, 0.95, Word;
    "heroku-key", "Heroku API key", ["heroku"],
        r#"(?i)heroku[a-z0-9_.\- ]{0,24}(?:key|token|secret)["'`]?\s{0,8}(?:=>|:=|[:=,>]|\s)\s{0,8}["'`]?(?P<v>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"#, P0, 0.85, Word;
    "shopify-token", "Shopify token", ["shpat_", "shpca_", "shppa_", "shpss_", "shptka_"], r"shp(?:at|ca|pa|ss|tka)_[0-9a-fA-F]{32}", P0, 0.95, Word;
    "telegram-token", "Telegram bot token", [":aa"], r"[0-9]{8,10}:AA[A-Za-z0-9_\-]{33}", P0, 0.9, Word;
    "discord-webhook", "Discord webhook address", ["/api/webhooks/"], r"discord(?:app)?\.com/api/(?:v[0-9]{1,2}/)?webhooks/[0-9]{17,20}/(?P<v>[A-Za-z0-9_\-]{50,100})", P0, 0.95, Free;
    "discord-token", "Discord bot token", ["."], r"[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,40}", P0, 0.8, Word;
    "mailgun-key", "Mailgun API key", ["key-"], r"key-[0-9a-f]{32}", P0, 0.8, Word;
    "mailgun-key", "Mailgun API key", ["mailgun"], r"(?i)mailgun.{0,60}?(?P<v>[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8})", P0, 0.9, Word;
    "mailchimp-key", "Mailchimp API key", ["-us"], r"[0-9a-f]{32}-us[0-9]{1,2}", P0, 0.85, Word;
    "brevo-key", "Brevo API key", ["xkeysib-"], r"xkeysib-[0-9a-f]{64}-[A-Za-z0-9]{16}", P0, 0.95, Word;
    "vault-token", "Vault token", ["hvs.", "hvb.", "hvr."], r"hv[sbr]\.[A-Za-z0-9_\-]{24,300}", P0, 0.9, Word;
    "terraform-token", "Terraform Cloud token", [".atlasv1."], r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{60,80}", P0, 0.95, Word;
    "databricks-token", "Databricks token", ["dapi"], r"dapi[0-9a-f]{32}(?:-[0-9])?", P0, 0.9, Word;
    "newrelic-key", "New Relic key", ["nrak-", "nrii-"], r"NR(?:AK|II)-[A-Za-z0-9_\-]{27,40}", P0, 0.9, Word;
    "grafana-token", "Grafana token", ["glsa_", "glc_eyj"], r"gl(?:sa_[A-Za-z0-9]{32}_[0-9a-fA-F]{8}|c_eyJ[A-Za-z0-9+/=]{32,400})", P0, 0.95, Word;
    "planetscale-credential", "PlanetScale credential", ["pscale_"], r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.\-=]{32,64}", P0, 0.95, Word;
    "linear-key", "Linear API key", ["lin_api_"], r"lin_api_[A-Za-z0-9]{40}", P0, 0.95, Word;
    "notion-token", "Notion token", ["ntn_"], r"ntn_[A-Za-z0-9]{40,60}", P0, 0.85, Word;
    "figma-token", "Figma token", ["figd_"], r"figd_[A-Za-z0-9_\-]{38,60}", P0, 0.95, Word;
    "atlassian-token", "Atlassian token", ["atatt3", "atbb"], r"(?:ATATT3[A-Za-z0-9_\-=]{60,300}|ATBB[A-Za-z0-9]{32})", P0, 0.9, Word;
    "square-token", "Square token", ["sq0"], r"sq0(?:atp|csp|idp)-[A-Za-z0-9_\-]{22,43}", P0, 0.9, Word;
    "doppler-token", "Doppler token", ["dp."], r"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:[a-z0-9_\-]{2,35}\.)?[A-Za-z0-9]{40,44}", P0, 0.95, Word;
    "pulumi-token", "Pulumi token", ["pul-"], r"pul-[0-9a-f]{40}", P0, 0.95, Word;
    "sentry-token", "Sentry token", ["sntrys_", "sntryu_"], r"sntry(?:s_eyJ[A-Za-z0-9+/=_]{40,400}|u_[0-9a-f]{64})", P0, 0.95, Word;
    "supabase-token", "Supabase token", ["sbp_", "sb_secret_"], r"(?:sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_\-]{20,60})", P0, 0.9, Word;
    "postman-key", "Postman API key", ["pmak-"], r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", P0, 0.95, Word;
    "tailscale-key", "Tailscale key", ["tskey-"], r"tskey-[a-z]{2,12}-[A-Za-z0-9]{8,24}-[A-Za-z0-9]{16,48}", P0, 0.9, Word;
    "netlify-token", "Netlify token", ["nfp_"], r"nfp_[A-Za-z0-9]{36,44}", P0, 0.9, Word;
    "sonar-token", "Sonar token", ["squ_", "sqp_", "sqa_"], r"sq[upa]_[0-9a-f]{40}", P0, 0.95, Word;
    "airtable-token", "Airtable token", ["pat"], r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}", P0, 0.95, Word;
    "artifactory-key", "Artifactory API key", ["akcp"], r"AKCp[A-Za-z0-9]{60,75}", P0, 0.85, Word;
    "alibaba-key", "Alibaba Cloud access key", ["ltai"], r"LTAI[A-Za-z0-9]{16,20}", P0, 0.75, Word;
    "age-key", "age secret key", ["age-secret-key-"], r"AGE-SECRET-KEY-1[0-9A-Z]{40,60}", P0, 0.95, Word;
    "onepassword-token", "1Password service account token", ["ops_eyj"], r"ops_eyJ[A-Za-z0-9_\-=]{100,2000}", P0, 0.95, Word;
    "jwt", "JSON Web Token", ["eyj"], r"eyJ[A-Za-z0-9_\-]{10,4000}\.eyJ[A-Za-z0-9_\-]{10,8000}\.[A-Za-z0-9_\-]{20,2000}", P1, 0.7, Word;
};

/// A token on a line.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The rule's id, without the analyzer's name.
    pub id: &'static str,
    /// What it is, for the title.
    pub what: &'static str,
    /// Where the value is on the line, in bytes.
    pub at: std::ops::Range<usize>,
    /// How it weighs.
    pub priority: Priority,
    /// How sure.
    pub confidence: f64,
}

/// The tokens of one line; no two of them overlap, the first one that was found stands.
#[derive(Debug, Default)]
pub struct Hits {
    list: Vec<Hit>,
    /// Where they begin, and where they end.
    taken: BTreeMap<usize, usize>,
}

impl Hits {
    /// Whether nothing was found within `at` yet. No walk over the hits: a line may hold
    /// a hundred thousand tokens.
    pub fn is_free(&self, at: &Range<usize>) -> bool {
        let before = self.taken.range(..at.end).next_back();
        before.is_none_or(|(_, end)| *end <= at.start)
    }

    /// Adds a hit whose place is free.
    pub fn push(&mut self, hit: Hit) {
        self.taken.insert(hit.at.start, hit.at.end);
        self.list.push(hit);
    }

    /// All of them, in the order in which they stand on the line.
    pub fn in_order(mut self) -> Vec<Hit> {
        self.list.sort_by_key(|h| h.at.start);
        self.list
    }
}

/// The compiled pattern of each shape, in the order of [`SHAPES`].
static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    SHAPES
        .iter()
        .map(|shape| Regex::new(&format!("(?-u){}", shape.pattern)).expect("a test compiles every pattern"))
        .collect()
});

/// What every hint stands for, one search for any of them, and one for all.
struct Hints {
    shapes: Vec<Vec<usize>>,
    any: Regex,
    all: RegexSet,
}

static HINTS: LazyLock<Hints> = LazyLock::new(|| {
    let mut hints: Vec<(&str, Vec<usize>)> = Vec::new();
    for (index, shape) in SHAPES.iter().enumerate() {
        for hint in shape.hints {
            match hints.iter_mut().find(|(h, _)| h == hint) {
                Some((_, shapes)) => shapes.push(index),
                None => hints.push((hint, vec![index])),
            }
        }
    }
    let patterns: Vec<String> = hints.iter().map(|(h, _)| regex::escape(h)).collect();
    let any = Regex::new(&format!("(?i-u){}", patterns.join("|"))).expect("escaped literals");
    let all = patterns.iter().map(|pattern| format!("(?i-u){pattern}"));
    Hints {
        shapes: hints.into_iter().map(|(_, shapes)| shapes).collect(),
        any,
        all: RegexSet::new(all).expect("escaped literals"),
    }
});

/// Every token of a known provider on `line`. The work is linear in the line's length:
/// one look for all hints, and one for every shape that is hinted at.
pub fn find(line: &[u8], hits: &mut Hits) {
    if line.len() < 20 {
        return;
    }
    let hints = &*HINTS;
    if !hints.any.is_match(line) {
        return;
    }
    let hinted = hints.all.matches(line).into_iter();
    let mut candidates: Vec<usize> = hinted
        .flat_map(|hint| hints.shapes[hint].iter().copied())
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    for index in candidates {
        let shape = &SHAPES[index];
        for found in PATTERNS[index].captures_iter(line) {
            let Some(value) = found.name("v").or_else(|| found.get(0)) else {
                continue;
            };
            let at = value.range();
            if !hits.is_free(&at) || (shape.edge == Word && !stands_alone(line, &at)) {
                continue;
            }
            let token = value.as_bytes();
            if placeholder::token(token) {
                continue;
            }
            if let Some(confidence) = judge(shape, token) {
                hits.push(Hit {
                    id: shape.id,
                    what: shape.what,
                    at,
                    priority: shape.priority,
                    confidence,
                });
            }
        }
    }
}

/// Whether nothing that belongs to a word touches the token. The letter of an
/// escape (`\n`, `\t`) right before it belongs to the escape.
fn stands_alone(line: &[u8], at: &std::ops::Range<usize>) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric();
    let before = match at.start.checked_sub(1).map(|i| line[i]) {
        None => true,
        Some(b'n' | b'r' | b't') if at.start >= 2 && line[at.start - 2] == b'\\' => true,
        Some(b) => !word(b),
    };
    before && line.get(at.end).is_none_or(|&b| !word(b))
}

/// The confidence of a token beyond its pattern; `None` when it is none after all.
fn judge(shape: &Shape, token: &[u8]) -> Option<f64> {
    match shape.id {
        "github-token" | "npm-token" => Some(match checksum_holds(token) {
            Some(true) => 0.99,
            _ => shape.confidence,
        }),
        "aws-access-key" => {
            // Key ids are base32; anything else is an older or a made-up one.
            let base32 = token[4..].iter().all(|b| matches!(b, b'A'..=b'Z' | b'2'..=b'7'));
            // `ASIA` begins words of capitals too.
            let digit = token[4..].iter().any(u8::is_ascii_digit);
            (digit || token.starts_with(b"AKIA")).then_some(if base32 { 0.9 } else { 0.75 })
        }
        // Forty characters of the base64 alphabet are also what a path or a
        // SHA-1 looks like.
        "aws-secret-key" => {
            let hex = token.iter().all(u8::is_ascii_hexdigit);
            (!hex && mixed(token)).then_some(shape.confidence)
        }
        "discord-token"
        | "huggingface-token"
        | "cratesio-token"
        | "model-provider-key"
        | "azure-client-secret"
        | "alibaba-key" => mixed(token).then_some(shape.confidence),
        "npm-registry-credential" => (token.len() >= 20 || mixed(token)).then_some(shape.confidence),
        "slack-token" => token.iter().any(u8::is_ascii_digit).then_some(shape.confidence),
        _ => Some(shape.confidence),
    }
}

/// Whether letters of both cases, or letters and digits, stand in it.
fn mixed(token: &[u8]) -> bool {
    let kinds = [
        token.iter().any(u8::is_ascii_lowercase),
        token.iter().any(u8::is_ascii_uppercase),
        token.iter().any(u8::is_ascii_digit),
    ];
    kinds.iter().filter(|k| **k).count() >= 2
}

/// Whether the last six characters are the CRC-32 of the rest in base 62, the
/// form GitHub and npm announced for tokens of 36 characters behind the prefix;
/// `None` for any other length.
fn checksum_holds(token: &[u8]) -> Option<bool> {
    let payload = &token[4..];
    (payload.len() == 36).then(|| {
        let (random, sum) = payload.split_at(30);
        base62(crc32(random)) == sum
    })
}

fn base62(mut number: u32) -> [u8; 6] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = [b'0'; 6];
    for place in text.iter_mut().rev() {
        *place = DIGITS[(number % 62) as usize];
        number /= 62;
    }
    text
}

fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}
