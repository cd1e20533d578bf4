//! The `jury` program.

fn main() -> std::process::ExitCode {
    jury::app::main()
}
