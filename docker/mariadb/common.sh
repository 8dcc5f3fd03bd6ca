# shellcheck shell=bash
# Sourced by primary.sh and replica.sh: makes the data directory at the first start, and becomes the server.
#
# From the environment, required: SERVER_ID, APP_PASSWORD, MONITOR_PASSWORD, REPLICATION_PASSWORD.
# Optional, for servers outside a container: DATA (directory), SOCKET, PORT, BIND (address).
set -euo pipefail

: "${SERVER_ID:?a number of its own for each server}"
: "${APP_PASSWORD:?the password of the account app}"
: "${MONITOR_PASSWORD:?the password of the account monitor}"
: "${REPLICATION_PASSWORD:?the password of the account replication}"
DATA=${DATA:-/var/lib/mysql}
SOCKET=${SOCKET:-/run/mysqld/mysqld.sock}
PORT=${PORT:-3306}
BIND=${BIND:-*}
# Debian has the server outside an unprivileged user's PATH.
PATH=$PATH:/usr/sbin

# A server that starts deletes what it takes for leftovers of temporary tables in its TMPDIR, those of others included.
export TMPDIR=$DATA/tmp
mkdir -p "$TMPDIR"

# A text as an SQL string literal.
sql_string() {
  local text=$1
  text=${text//\\/\\\\}
  printf "'%s'" "${text//\'/\\\'}"
}

# The cluster's accounts and the application's schema. Each server makes them itself, before its binary log begins:
# so they are the same everywhere and take no part in replication.
accounts() {
  cat <<SQL
FLUSH PRIVILEGES;
CREATE DATABASE app;
CREATE USER app@'%' IDENTIFIED BY $(sql_string "$APP_PASSWORD");
GRANT ALL PRIVILEGES ON app.* TO app@'%';
CREATE USER monitor@'%' IDENTIFIED BY $(sql_string "$MONITOR_PASSWORD");
GRANT BINLOG MONITOR, SLAVE MONITOR ON *.* TO monitor@'%';
CREATE USER replication@'%' IDENTIFIED BY $(sql_string "$REPLICATION_PASSWORD");
GRANT REPLICATION SLAVE ON *.* TO replication@'%';
SQL
}

# Makes the data directory where there is none. It gets its name when it is whole, so that a start that was cut off
# is begun anew by the next one.
make_data_directory() {
  local fresh=$DATA/fresh
  [[ -d $DATA/data ]] && return
  rm -rf "$fresh"
  mkdir -m 700 "$fresh"
  (umask 077 && accounts >"$DATA/accounts.sql")
  mariadb-install-db --no-defaults --datadir="$fresh" --skip-test-db --auth-root-authentication-method=socket \
    --extra-file="$DATA/accounts.sql" >"$DATA/install.log" 2>&1 || {
    cat "$DATA/install.log" >&2
    return 1
  }
  rm "$DATA/accounts.sql"
  mv "$fresh" "$DATA/data"
}

# Becomes the server: `serve ROLE [OPTION…]`.
serve() {
  local role=$1 here
  shift
  here=$(dirname "${BASH_SOURCE[0]}")
  exec mariadbd --defaults-file="$here/server.cnf" --defaults-group-suffix=".$role" \
    --datadir="$DATA/data" --socket="$SOCKET" --port="$PORT" --bind-address="$BIND" --pid-file="$DATA/server.pid" \
    --server-id="$SERVER_ID" "$@"
}
