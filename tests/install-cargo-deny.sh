#!/usr/bin/env bash
# Installs cargo-deny from crates.io where it is missing. Built for a short build, not for speed: two to three minutes
# on two cores, half a second a run.
set -euo pipefail
if cargo deny --version >/dev/null 2>&1; then exit 0; fi
echo 'Installing: cargo-deny'
export CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=false CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16
timeout 900 cargo install --locked --quiet --no-default-features cargo-deny
