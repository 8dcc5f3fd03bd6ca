//! Real client programs.

use std::process::{Command, Output, Stdio};

/// The first of these programs that is installed here.
#[must_use]
pub fn installed(names: &[&str]) -> Option<String> {
    let works = |name: &&&str| {
        let mut command = Command::new(name);
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok()
    };
    names.iter().find(works).map(|name| (*name).to_owned())
}

/// Runs a command to its end.
///
/// # Panics
/// It cannot be run, or its exit code is not 0; the text is all that it said.
pub fn run(command: &mut Command) -> String {
    let output = output(command);
    let said = said(&output);
    assert!(output.status.success(), "{command:?} ended with {}:\n{said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a command to its end, whatever its exit code.
///
/// # Panics
/// It cannot be run.
pub fn output(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).output();
    output.unwrap_or_else(|error| panic!("{command:?} cannot be run: {error}"))
}

/// Both of a program's outputs.
#[must_use]
pub fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
