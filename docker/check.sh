#!/usr/bin/env bash
# Proves the images' scripts without an engine: runs the very entry scripts as three local servers on free loopback
# ports, and looks whether they are the cluster that compose.yml promises. Ends what it started. About ten seconds.
# Needs mariadb-server, mariadb-client and python3-yaml. PYTHON: the interpreter. TELAMON_BIN: to check telamon.toml with.
set -euo pipefail
# Each server is a process group, so that a start that is cut off leaves nothing behind.
set -m
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d -t telamon-docker.XXXXXX)
python=${PYTHON:-python3}
passed=0 failed=0
declare -A pids=() ports=()

finish() {
  local name code=$?
  ((code == 0)) || tail -n 60 "$work"/*.log || true
  for name in "${!pids[@]}"; do stop "$name" KILL; done
  rm -rf "$work"
}
trap finish EXIT

export APP_PASSWORD="it's \\ a \"password\"" MONITOR_PASSWORD=monitor-password REPLICATION_PASSWORD="re'plication"

# The servers refuse to run as root: as in the image, they run as the account mysql.
as_mysql=(setpriv --pdeathsig KILL)
if [[ $(id -u) == 0 ]]; then
  as_mysql+=(--reuid mysql --regid mysql --clear-groups --inh-caps=-all --no-new-privs)
  chown mysql: "$work"
fi

free_port() {
  "$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# start NAME ID SCRIPT
start() {
  local name=$1 id=$2 script=$3 data=$work/$1
  : "${ports[$name]:=$(free_port)}"
  if [[ ! -d $data ]]; then
    mkdir "$data"
    [[ $(id -u) != 0 ]] || chown mysql: "$data"
  fi
  DATA=$data SOCKET=$data/s.sock PORT=${ports[$name]} BIND=127.0.0.1 SERVER_ID=$id \
    PRIMARY_HOST=127.0.0.1 PRIMARY_PORT=${ports[primary]} \
    "${as_mysql[@]}" "$here/mariadb/$script" >>"$work/$name.log" 2>&1 &
  pids[$name]=$!
}

# stop NAME [SIGNAL]
stop() {
  local pid=${pids[$1]}
  unset "pids[$1]"
  kill -s "${2:-TERM}" -- "-$pid" 2>/dev/null || true
  wait "$pid" 2>/dev/null || true
  # What a start that was cut off had begun ends a little later than the start itself.
  while kill -0 -- "-$pid" 2>/dev/null; do sleep 0.05; done
}

# ask NAME USER PASSWORD SQL [OPTION…]
ask() {
  MYSQL_PWD=$3 mariadb --no-defaults --protocol=tcp -h 127.0.0.1 -P "${ports[$1]}" -u "$2" -B -e "$4" "${@:5}" 2>&1
}
app() { ask "$1" app "$APP_PASSWORD" "$2" -N; }
monitor() { ask "$1" monitor "$MONITOR_PASSWORD" "$2" -N; }
status_of() { monitor "$1" "SHOW STATUS LIKE '$2'" | cut -f2; }
replica_field() { ask "$1" monitor "$MONITOR_PASSWORD" 'SHOW SLAVE STATUS' --vertical | sed -n "s/^ *$2: //p"; }

# within SECONDS COMMAND…: waits for the command to succeed.
within() {
  local until=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < until)) && all_run || return 1
    sleep 0.1
  done
}

# Whether no server has ended by itself.
all_run() {
  local pid
  for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}

# holds WHAT COMMAND…: one line of the result.
holds() {
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    printf 'ok      %s\n' "$what"
  else
    failed=$((failed + 1))
    printf 'FAILED  %s\n' "$what"
  fi
}
is() { [[ $("${@:2}") == "$1" ]]; }
at_least() {
  local number
  number=$("${@:2}")
  [[ $number =~ ^[0-9]+$ ]] && ((number >= $1))
}
contains() { [[ $("${@:2}") == *"$1"* ]]; }

check_files() {
  holds 'compose.yml: servers, ports and volumes are what they should be' "$python" - "$here" <<'PY'
import pathlib, sys, yaml
here = pathlib.Path(sys.argv[1])
compose = yaml.safe_load((here / "compose.yml").read_text())
services = compose["services"]
assert set(services) == {"primary", "replica1", "replica2", "telamon"}, services
assert services["telamon"]["ports"] == ["127.0.0.1:1234:1234"]
ids = [services[name]["environment"]["SERVER_ID"] for name in ("primary", "replica1", "replica2")]
assert len(set(ids)) == 3, ids
for name, service in services.items():
    build = service["build"]
    context = (here / build["context"]).resolve()
    assert (context / build["dockerfile"]).is_file(), build
    for volume in service.get("volumes", []):
        assert volume.split(":")[0] in compose["volumes"], volume
    if name != "telamon":
        script = pathlib.PurePath(service["command"][0])
        assert (here / "mariadb" / script.name).stat().st_mode & 0o100, script
    for line in (context / build["dockerfile"]).read_text().splitlines():
        words = line.split()
        if words[:1] == ["COPY"] and not words[1].startswith("--from"):
            assert all((context / source).exists() for source in words[1:-1]), line
PY
  local telamon=${TELAMON_BIN:-}
  if [[ -n $telamon ]]; then
    holds 'telamon.toml: telamon check finds nothing' "$telamon" check --config "$here/telamon.toml"
  fi
}

check_cluster() {
  start primary 1 primary.sh
  start replica1 2 replica.sh
  start replica2 3 replica.sh
  local name
  for name in primary replica1 replica2; do
    holds "$name answers the application" within 60 app "$name" 'SELECT 1'
  done
  ((failed == 0)) || return 0
  holds 'both replicas acknowledge commits' within 20 is 2 status_of primary Rpl_semi_sync_master_clients
  holds 'the application may create and write' app primary \
    'CREATE TABLE app.t (id INT PRIMARY KEY, v TEXT); INSERT INTO app.t VALUES (1, "first")'
  holds 'a commit was acknowledged, none went alone' at_least 1 status_of primary Rpl_semi_sync_master_yes_tx
  holds 'no commit went alone' is 0 status_of primary Rpl_semi_sync_master_no_tx
  for name in replica1 replica2; do
    holds "$name has the row" within 20 is first app "$name" 'SELECT v FROM app.t WHERE id = 1'
    holds "$name follows by GTID" is Slave_Pos replica_field "$name" Using_Gtid
    holds "$name acknowledges commits" is ON status_of "$name" Rpl_semi_sync_slave_status
    holds "$name refuses writes" contains 'ERROR 1290' app "$name" 'INSERT INTO app.t VALUES (9, "never")'
  done
  holds 'the account is the same everywhere' contains 'ERROR 1045' ask replica1 app wrong 'SELECT 1'
  holds 'the greeting is what healthcheck.sh looks for' "$here/healthcheck.sh" "${ports[primary]}"
}

check_restarts() {
  stop replica1 KILL
  holds 'commits go on without one replica' app primary 'INSERT INTO app.t VALUES (2, "second")'
  start replica1 2 replica.sh
  holds 'a killed replica catches up after its start' \
    within 60 is second app replica1 'SELECT v FROM app.t WHERE id = 2'
  stop primary
  start primary 1 primary.sh
  holds 'the primary keeps its rows over a restart' within 60 is 2 app primary 'SELECT COUNT(*) FROM app.t'
  holds 'the replicas come back to it' within 20 is 2 status_of primary Rpl_semi_sync_master_clients
  app primary 'INSERT INTO app.t VALUES (3, "third")'
  for name in replica1 replica2; do
    holds "$name follows on" within 20 is third app "$name" 'SELECT v FROM app.t WHERE id = 3'
    holds "$name is where the primary is" within 20 same_gtid "$name"
  done
}
same_gtid() {
  local query='SELECT @@gtid_current_pos'
  [[ $(monitor primary "$query") == "$(monitor "$1" "$query")" ]]
}

check_files
check_cluster
((failed > 0)) || check_restarts
printf 'docker: %d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
