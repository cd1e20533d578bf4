//! Counts the processes below one, and their memory.
//!
//! Limits of a single process do not hold a program that forks, and the kernel does not
//! count root's processes at all; so all of them are looked at, several times a second.

use std::fs;

/// What the processes below one use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Census {
    /// Processes and their threads.
    pub(super) processes: u32,
    /// Resident bytes.
    pub(super) memory: u64,
}

/// Counts everything below the process `root`, which itself is not counted. It stops when
/// there are more than `most`. A process that ends meanwhile counts as gone.
pub(super) fn below(root: u32, most: u32) -> Census {
    let mut census = Census::default();
    let mut open = vec![root];
    while let Some(process) = open.pop() {
        let threads = tasks(process);
        if process != root {
            census.processes = census
                .processes
                .saturating_add(u32::try_from(threads.len()).unwrap_or(u32::MAX));
            census.memory = census.memory.saturating_add(resident(process));
        }
        if census.processes > most {
            return census;
        }
        for thread in threads {
            let path = format!("/proc/{process}/task/{thread}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            open.extend(
                children
                    .split_ascii_whitespace()
                    .filter_map(|id| id.parse::<u32>().ok()),
            );
        }
    }
    census
}

fn tasks(process: u32) -> Vec<String> {
    let Ok(entries) = fs::read_dir(format!("/proc/{process}/task")) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect()
}

fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    kib.unwrap_or(0).saturating_mul(1024)
}

/// Whether the kernel tells which processes are below one.
pub(super) fn works() -> bool {
    fs::read_to_string(format!("/proc/{0}/task/{0}/children", std::process::id())).is_ok()
}
