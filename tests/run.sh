#!/usr/bin/env bash
# Everything that must hold before a change lands, stage by stage. `run.sh [lint]`: all, or what needs no server.
#
# A stage that fails does not keep the others from running. Each prints its time; the last line sums up, a test and a
# stage without tests counting one each.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

PATH=$PATH:/usr/sbin
PYTHON=$(tests/python.sh)
export PYTHON
export RUSTDOCFLAGS='-D warnings'
# One build that nothing follows: what makes the next one faster is only ballast.
[[ ${CI:-} != true ]] || export CARGO_INCREMENTAL=0
target=$(cargo metadata --locked --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
export TELAMON_BIN=$target/debug/telamon

passed=0 failed=0 skipped=0
failures=()
timings=()
output=$(mktemp)
trap 'rm -f "$output"' EXIT

# stage NAME COMMAND…
stage() {
  local name=$1 begin=$SECONDS code
  shift
  printf '\n== %s\n' "$name"
  "$@" 2>&1 | tee "$output"
  code=${PIPESTATUS[0]}
  timings+=("$(printf '%5d s  %s' $((SECONDS - begin)) "$name")")
  count "$code"
  ((code == 0)) || failures+=("$name")
}

skip() {
  skipped=$((skipped + 1))
  printf '\n== %s: skipped, %s\n' "$1" "$2"
}

# Adds up the closing lines of the test runners in the stage's output; a stage without any counts by its exit code.
count() {
  local code=$1 stage_passed stage_failed
  read -r stage_passed stage_failed < <(sed 's/\x1b\[[0-9;]*m//g' "$output" | awk '
    /^ *Summary \[/ || /^test result: / || /^docker: / {
      for (i = 2; i <= NF; i++) {
        if ($i ~ /^passed/) passed += $(i - 1)
        if ($i ~ /^(failed|timed)/) failed += $(i - 1)
      }
    }
    END { print passed + 0, failed + 0 }')
  if ((stage_passed + stage_failed == 0)); then
    ((code == 0)) && stage_passed=1
  fi
  ((code == 0 || stage_failed > 0)) || stage_failed=1
  passed=$((passed + stage_passed))
  failed=$((failed + stage_failed))
}

lint() {
  stage 'format' cargo fmt --all --check
  stage 'clippy' cargo clippy --locked --workspace --all-targets -- -D warnings
  stage 'documentation' cargo doc --locked --workspace --no-deps --document-private-items
  stage 'shell scripts' shellcheck_all
  # Its installation is long, so that only CI does it unasked.
  [[ ${CI:-} != true ]] || tests/install-cargo-deny.sh || echo 'cargo-deny could not be installed'
  if cargo deny --version >/dev/null 2>&1; then
    stage 'dependencies' make --no-print-directory deny
  else
    skip 'dependencies' 'cargo-deny is not installed (make deny does it)'
  fi
}

shellcheck_all() {
  git ls-files --cached --others --exclude-standard -z '*.sh' .ci/run | xargs -0 shellcheck --external-sources
}

tests() {
  # Tests and programs in one go: alone, the programs would need other features of the same crates, all built twice.
  stage 'build' cargo build --locked --workspace --bins --tests
  if cargo nextest --version >/dev/null 2>&1; then
    stage 'unit tests' cargo nextest run --locked --workspace --exclude integration-tests --no-fail-fast
    stage 'documentation tests' cargo test --locked --workspace --doc --no-fail-fast
  else
    stage 'unit tests' cargo test --locked --workspace --exclude integration-tests --no-fail-fast
  fi
  # By cargo's own runner: a process for each theme, so that its tests share one cluster of servers.
  stage 'integration tests' cargo test --locked --package integration-tests --no-fail-fast
  stage 'docker scripts' docker/check.sh
  # Alone: it takes a core, and tests that wait for servers want theirs.
  stage 'fuzzing' proxy/fuzz/run.sh
}

lint
[[ ${1:-} == lint ]] || tests

printf '\n== time\n'
printf '%s\n' "${timings[@]}"
if ((failed > 0)); then
  printf '\nFailed: %s\n' "${failures[*]}"
fi
printf '\n%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
