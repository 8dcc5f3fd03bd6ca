#!/usr/bin/env bash
# A replica of the demo cluster: follows PRIMARY_HOST (and PRIMARY_PORT, 3306) by GTID. Environment: common.sh.
set -euo pipefail
# shellcheck source=docker/mariadb/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
: "${PRIMARY_HOST:?the address of the primary}"
PRIMARY_PORT=${PRIMARY_PORT:-3306}

make_data_directory
# Said anew at each start, so that a changed address or password counts; where replication stands is kept in
# mysql.gtid_slave_pos.
(umask 077 && cat >"$DATA/follow.sql") <<SQL
STOP SLAVE;
CHANGE MASTER TO MASTER_HOST=$(sql_string "$PRIMARY_HOST"), MASTER_PORT=$PRIMARY_PORT, MASTER_USER='replication', MASTER_PASSWORD=$(sql_string "$REPLICATION_PASSWORD"), MASTER_CONNECT_RETRY=1, MASTER_HEARTBEAT_PERIOD=2, MASTER_USE_GTID=slave_pos;
START SLAVE;
SQL
serve replica --relay-log=relay --skip-slave-start --init-file="$DATA/follow.sql"
