//! Rebuilds when a migration is added: the compiler does not see the folder.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
