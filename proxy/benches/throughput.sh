#!/usr/bin/env bash
# What a point select costs through Telamon, through HAProxy (mode tcp) and direct: queries a second, and the proxy's
# CPU time for each. Prints a Markdown table for docs/benchmarking.md.
#
#   cargo build --release && proxy/benches/throughput.sh
#
# All three reach one and the same server (for Telamon the primary, and there is no replica), without TLS, with as many
# threads for each proxy as the machine has cores. Slices are interleaved, each round in the reverse order of the one
# before, so that what else the machine does falls on all alike; ratios are taken within a round. Everything runs on
# loopback, on free ports, and is ended by its pid.
#
# "telamon" shares CONNECTIONS connections among its clients (pool.mode = "transaction"), "session" gives each client one.
#
# From the environment: ROUNDS (6), SECONDS_PER_SLICE (10), THREADS ("8 64"), WORKERS (cores), TABLE_SIZE (100000),
# WORKLOAD (oltp_point_select), CONNECTIONS (140), TARGETS ("direct haproxy telamon session"),
# TELAMON_BIN (target/release/telamon). A proxy that is not there is left out.
set -euo pipefail

ROUNDS=${ROUNDS:-6}
SECONDS_PER_SLICE=${SECONDS_PER_SLICE:-10}
THREADS=${THREADS:-8 64}
WORKERS=${WORKERS:-$(nproc)}
TABLE_SIZE=${TABLE_SIZE:-100000}
WORKLOAD=${WORKLOAD:-oltp_point_select}
CONNECTIONS=${CONNECTIONS:-140}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TELAMON_BIN=${TELAMON_BIN:-${CARGO_TARGET_DIR:-$root/target}/release/telamon}
PATH=$PATH:/usr/sbin
work=$(mktemp -d -t telamon-throughput.XXXXXX)
samples=$work/samples.tsv
# A server that starts deletes other servers' temporary tables where the directory is shared.
export TMPDIR=$work
# Where each target listens, and which process stands in the way.
declare -A ports=() pids=()

finish() {
  local code=$?
  ((code == 0)) || tail -n 20 "$work"/*.log >&2 || true
  ((${#pids[@]} == 0)) || kill "${pids[@]}" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap finish EXIT

free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start NAME COMMAND…: ends with this script, however that ends.
start() {
  local name=$1
  shift
  setpriv --pdeathsig KILL "$@" >"$work/$name.log" 2>&1 &
  pids[$name]=$!
}

# Waits until a login through NAME works.
answers() {
  local until=$((SECONDS + 60))
  until sql "$1" 'SELECT 1' >/dev/null 2>&1; do
    if ((SECONDS >= until)) || ! kill -0 "${pids[$1]}" 2>/dev/null; then
      echo "$1 does not answer" >&2
      return 1
    fi
    sleep 0.1
  done
}
sql() { mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "${ports[$1]}" -u app -papp -e "$2"; }

start_server() {
  ports[direct]=$(free_port)
  local own=()
  [[ $(id -u) != 0 ]] || own=(--user=root)
  cat >"$work/accounts.sql" <<'SQL'
FLUSH PRIVILEGES;
CREATE DATABASE sbtest;
CREATE USER app@'%' IDENTIFIED BY 'app';
GRANT ALL PRIVILEGES ON *.* TO app@'%';
SQL
  mariadb-install-db --no-defaults "${own[@]}" --datadir="$work/data" --skip-test-db \
    --auth-root-authentication-method=normal --extra-file="$work/accounts.sql" >"$work/install.log" 2>&1
  start direct mariadbd --no-defaults "${own[@]}" --datadir="$work/data" --socket="$work/s.sock" \
    --bind-address=127.0.0.1 --port="${ports[direct]}" --pid-file="$work/server.pid" --skip-name-resolve \
    --max-connections=4500 --back-log=4000 --innodb-buffer-pool-size=256M --innodb-flush-log-at-trx-commit=2
  answers direct
}

start_haproxy() {
  ports[haproxy]=$(free_port)
  cat >"$work/haproxy.cfg" <<CFG
global
  nbthread $WORKERS
  maxconn 4000
defaults
  mode tcp
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen mysql
  bind 127.0.0.1:${ports[haproxy]}
  server primary 127.0.0.1:${ports[direct]}
CFG
  start haproxy haproxy -db -f "$work/haproxy.cfg"
  answers haproxy
}

# start_telamon NAME MODE CONNECTIONS
start_telamon() {
  ports[$1]=$(free_port)
  cat >"$work/$1.toml" <<TOML
listen = ["127.0.0.1:${ports[$1]}"]
workers = $WORKERS
[[servers]]
name = "primary"
address = "127.0.0.1:${ports[direct]}"
role = "primary"
[[users]]
name = "app"
password = "app"
[tls.client]
mode = "off"
[tls.server]
mode = "off"
[pool]
mode = "$2"
max_connections = $3
wait_ms = 60000
TOML
  start "$1" "$TELAMON_BIN" run --config "$work/$1.toml"
  answers "$1"
}

sysbench_on() {
  sysbench "$WORKLOAD" --db-driver=mysql --mysql-host=127.0.0.1 --mysql-port="${ports[$1]}" --mysql-user=app \
    --mysql-password=app --mysql-db=sbtest --tables=1 --table-size="$TABLE_SIZE" --db-ps-mode=disable "${@:2}"
}

# CPU time of a process so far, in clock ticks: user and system, all its threads (proc(5), fields 14 and 15).
ticks() { sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'; }

# CPU time that the whole machine has worked so far, in clock ticks.
machine_ticks() { awk '/^cpu / { print $2 + $3 + $4 + $7 + $8 }' /proc/stat; }

# slice ROUND TARGET THREADS: one line of samples.
slice() {
  local round=$1 target=$2 threads=$3 proxy=0 server machine client
  local TIMEFORMAT='%U %S'
  [[ $target == direct ]] || proxy=$(ticks "${pids[$target]}")
  server=$(ticks "${pids[direct]}")
  machine=$(machine_ticks)
  { time sysbench_on "$target" --threads="$threads" --time="$SECONDS_PER_SLICE" run >"$work/sysbench.log" 2>&1; } \
    2>"$work/client"
  machine=$(($(machine_ticks) - machine))
  server=$(($(ticks "${pids[direct]}") - server))
  [[ $target == direct ]] || proxy=$(($(ticks "${pids[$target]}") - proxy))
  client=$(awk -v hz="$(getconf CLK_TCK)" '{ print int(($1 + $2) * hz) }' "$work/client")
  awk -v OFS='\t' -v round="$round" -v target="$target" -v threads="$threads" \
    -v costs="$proxy $server $client $machine" '
    $1 == "queries:" { queries = $2; sub(/\(/, "", $3); rate = $3 }
    $1 == "95th" { p95 = $3 }
    $1 == "ignored" { errors = $3 }
    END {
      if (!queries || errors) exit 1
      split(costs, cost, " ")
      print round, target, threads, rate, queries, p95, cost[1], cost[2], cost[3], cost[4]
    }' "$work/sysbench.log" >>"$samples" || {
    echo "sysbench failed on $target" >&2
    return 1
  }
  tail -n 1 "$samples" | awk '{ printf "round %d  %-8s %3d threads  %9.0f q/s\n", $1, $2, $3, $4 }' >&2
}

report() {
  local telamon='' commit
  commit=$(git -C "$root" describe --always --dirty 2>/dev/null || echo unknown)
  [[ -z ${ports[telamon]:-} ]] || telamon="$("$TELAMON_BIN" --version) ($commit), "
  echo
  echo "$(date -u +%F), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1), $(nproc) cores, Linux $(uname -r)."
  echo "$telamon$(haproxy -v 2>/dev/null | awk 'NR == 1 { print "HAProxy " $3 }'), $(sysbench --version), MariaDB $(
    sql direct 'SELECT @@version' | tail -n 1). $WORKLOAD, $TABLE_SIZE rows, --db-ps-mode=disable, $WORKERS threads a proxy,"
  echo "$ROUNDS rounds of $SECONDS_PER_SLICE s; each value is the median, with the lowest and highest in brackets."
  echo
  python3 - "$samples" "$(getconf CLK_TCK)" <<'PY'
import collections
import statistics
import sys

path, ticks_a_second = sys.argv[1], int(sys.argv[2])
Sample = collections.namedtuple("Sample", "round target threads rate queries p95 proxy server client machine")
samples = [Sample(*line.rstrip("\n").split("\t")) for line in open(path)]
by_slice = {(s.threads, s.target, s.round): s for s in samples}
rounds = sorted({s.round for s in samples}, key=int)


def cpu(sample, ticks):
    """Microseconds of CPU time for each query."""
    return int(ticks) / ticks_a_second * 1e6 / int(sample.queries)


def spread(values, digits):
    shown = [f"{v:,.{digits}f}" for v in (statistics.median(values), min(values), max(values))]
    return f"{shown[0]} ({shown[1]}–{shown[2]})"


print("| threads | target | q/s | of direct | p95 ms | proxy CPU µs/query | of HAProxy's | server CPU µs/query |")
print("|--:|---|--:|--:|--:|--:|--:|--:|")
for threads in sorted({s.threads for s in samples}, key=int):
    for target in ("direct", "haproxy", "telamon", "session"):
        mine = [by_slice[threads, target, r] for r in rounds if (threads, target, r) in by_slice]
        if not mine:
            continue
        direct = [by_slice[threads, "direct", s.round] for s in mine]
        haproxy = [by_slice.get((threads, "haproxy", s.round)) for s in mine]
        own = [cpu(s, s.proxy) for s in mine]
        through = target != "direct"
        compared = through and all(haproxy) and all(int(h.proxy) for h in haproxy)
        cells = [
            threads,
            target,
            spread([float(s.rate) for s in mine], 0),
            spread([float(s.rate) / float(d.rate) for s, d in zip(mine, direct)], 2) if through else "1",
            spread([float(s.p95) for s in mine], 2),
            spread(own, 1) if through else "",
            spread([c / cpu(h, h.proxy) for c, h in zip(own, haproxy)], 2) if compared else "",
            spread([cpu(s, s.server) for s in mine], 1),
        ]
        print("| " + " | ".join(cells) + " |")

used = sum(int(s.machine) for s in samples)
foreign = used - sum(int(s.proxy) + int(s.server) + int(s.client) for s in samples)
print(f"\nOf the CPU time that the machine spent meanwhile, {max(foreign, 0) / max(used, 1):.0%} was for anything else.")
PY
}

start_server
sysbench_on direct prepare >"$work/prepare.log"
targets=(direct)
if command -v haproxy >/dev/null; then
  start_haproxy
  targets+=(haproxy)
fi
if [[ -x $TELAMON_BIN ]]; then
  start_telamon telamon transaction "$CONNECTIONS"
  start_telamon session session 4000
  targets+=(telamon session)
fi
[[ -z ${TARGETS:-} ]] || read -ra targets <<<"$TARGETS"
# Nobody's first slice: caches filled, connections made once.
for target in "${targets[@]}"; do sysbench_on "$target" --threads=8 --time=2 run >/dev/null; done

for ((round = 1; round <= ROUNDS; round++)); do
  order=("${targets[@]}")
  if ((round % 2 == 0)); then
    order=()
    for target in "${targets[@]}"; do order=("$target" "${order[@]}"); done
  fi
  for threads in $THREADS; do
    for target in "${order[@]}"; do slice "$round" "$target" "$threads"; done
  done
done
report
