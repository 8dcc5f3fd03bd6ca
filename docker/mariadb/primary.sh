#!/usr/bin/env bash
# The primary of the demo cluster. Environment: common.sh.
set -euo pipefail
# shellcheck source=docker/mariadb/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

make_data_directory
serve primary
