//! Compiled programs and large binaries: nobody can review either.

use crate::{
    domain::review::finding::{Priority, Side},
    ports::change::{Change, ChangeError},
};

use super::{Found, advice, is_fixture, new_or_altered, remark, short};

/// From how many bytes on a binary is told to be large: 5 MiB.
const LARGE: usize = 5 << 20;
/// Bytes that are read to look for programs; what is beyond is told as not read.
const READ: usize = 512 << 20;

/// What kind of program the bytes are, by their own header.
pub(super) fn program(blob: &[u8]) -> Option<&'static str> {
    let word = |at: usize| blob.get(at..at + 4);
    match word(0)? {
        b"\x7fELF" => Some("an ELF program"),
        [0xfe, 0xed, 0xfa, 0xce | 0xcf] | [0xce | 0xcf, 0xfa, 0xed, 0xfe] => Some("a Mach-O program"),
        // The same four bytes begin a Java class, whose next word is its version (45 and
        // up); a universal binary has the number of its parts there.
        [0xca, 0xfe, 0xba, 0xbe | 0xbf] => {
            let parts = u32::from_be_bytes(word(4)?.try_into().ok()?);
            (1..45).contains(&parts).then_some("a Mach-O program")
        }
        [b'M', b'Z', ..] => {
            let at = u32::from_le_bytes(word(0x3c)?.try_into().ok()?);
            (word(usize::try_from(at).ok()?)? == b"PE\0\0").then_some("a Windows program")
        }
        _ => None,
    }
}

pub(super) async fn judge<'a>(change: &'a dyn Change, found: &mut Found<'a>) -> Result<(), ChangeError> {
    let mut read = 0;
    for file in new_or_altered(change).filter(|f| f.binary) {
        let regular = file.new_mode.is_none_or(|mode| mode & 0o170_000 == 0o100_000);
        if !regular || (file.old_oid.is_some() && file.old_oid == file.new_oid) {
            continue;
        }
        if read >= READ {
            found.unread.push(&file.path);
            continue;
        }
        let path = short(&file.path);
        let Some(blob) = change.read(Side::Right, &file.path).await? else {
            let body = "It is larger than 16 MiB, was not opened, and stays in the history for ever. Keep it in Git LFS or \
                        in a release, and fetch it by its hash.";
            found.drafts.push(
                remark(
                    "large-binary",
                    Priority::P2,
                    0.85,
                    format!("{path} is a very large binary"),
                    body.to_owned(),
                )
                .unanchored(),
            );
            continue;
        };
        read += blob.len();
        if let Some(kind) = program(&blob) {
            let (priority, confidence) = if is_fixture(&file.path) {
                (Priority::P3, 0.6)
            } else {
                (Priority::P1, 0.8)
            };
            found.drafts.push(
                remark(
                    "program",
                    priority,
                    confidence,
                    format!("{path} is {kind}"),
                    "What a compiled program does cannot be reviewed here. Build it from source in CI, or fetch it from a \
                     release and check its hash."
                        .to_owned(),
                )
                .unanchored(),
            );
        } else if blob.len() >= LARGE {
            let mib = blob.len() >> 20;
            let draft = remark(
                "large-binary",
                Priority::P3,
                0.7,
                format!("{path} is a binary of {mib} MiB"),
                "It stays in the history for ever, and every clone has it. Git LFS or a release keeps it apart."
                    .to_owned(),
            )
            .unanchored();
            found.drafts.push(advice(draft));
        }
    }
    Ok(())
}
