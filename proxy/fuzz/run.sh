#!/usr/bin/env bash
# Fuzzes the router, FUZZ_SECONDS long (60), from the corpus's statements on, along one path for each FUZZ_SEED (1):
# a landing must not hang on luck, and a look for new faults takes a new number. What it found stays in the target
# directory for the next time; an input that breaks a promise is named at the end and makes this fail.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

target=$(cargo metadata --locked --no-deps --format-version 1 | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p')
work=$target/fuzz
mkdir -p "$work/found" "$work/seeds" "$work/failures"

export RUSTC_WORKSPACE_WRAPPER=$PWD/proxy/fuzz/rustc.sh
cargo build --locked --quiet --package telamon-fuzz --features libfuzzer --bin fuzz-routing

# A seed for each statement: a byte for the dialect, and the text.
number=0
while IFS=$'\t' read -r kind dialect _ sql _; do
  [[ $kind != '#' ]] || continue
  number=$((number + 1))
  choice='\x40'
  [[ $dialect != mariadb* ]] || choice='\x41'
  { printf '%b' "$choice" && printf '%s' "${sql//'{LF}'/$'\n'}"; } >"$work/seeds/$number"
done <proxy/testdata/corpus.tsv

code=0
"$target/debug/fuzz-routing" "$work/found" "$work/seeds" -max_total_time="${FUZZ_SECONDS:-60}" -max_len=512 -seed="${FUZZ_SEED:-1}" \
  -dict=proxy/fuzz/sql.dict -artifact_prefix="$work/failures/" -timeout=10 -rss_limit_mb=2048 \
  -print_final_stats=1 "$@" >"$work/log" 2>&1 || code=$?
if ((code != 0)); then
  grep -a -m 5 -A 3 -e 'panicked at' -e 'ERROR: ' "$work/log" || tail -20 "$work/log"
  grep -a 'Test unit written' "$work/log" || true
  exit 1
fi
executed=$(sed -n 's/^stat::number_of_executed_units: //p' "$work/log")
inputs=$(find "$work/found" -type f | wc -l)
echo "fuzz: $executed texts read, $inputs kept for what they reach, none broke a promise"
