#!/usr/bin/env bash
# Installs what a purpose needs and this machine lacks, by apt-get. `install.sh test|demo|fuzz|docker|bench`
#
# Elsewhere than on Debian and Ubuntu, or without root, it says what to install. Only `demo` goes on without it: it
# has a cluster of its own.
set -euo pipefail

# What a command or Python module comes with: `command package`.
case ${1:-} in
  test) needs='cc:gcc c++:g++ mariadbd:mariadb-server mariadb:mariadb-client sysbench:sysbench shellcheck:shellcheck
      setpriv:util-linux python3:python3 pymysql.py:python3-pymysql yaml.py:python3-yaml' ;;
  demo) needs='cc:gcc mariadbd:mariadb-server' ;;
  fuzz) needs='cc:gcc c++:g++' ;;
  docker) needs='mariadbd:mariadb-server mariadb:mariadb-client setpriv:util-linux python3:python3 yaml.py:python3-yaml' ;;
  bench) needs='mariadbd:mariadb-server mariadb:mariadb-client sysbench:sysbench haproxy:haproxy setpriv:util-linux
      python3:python3' ;;
  *)
    echo "usage: $0 test|demo|fuzz|docker|bench" >&2
    exit 2
    ;;
esac

# Servers are in /usr/sbin, which an unprivileged user's PATH may lack.
PATH=$PATH:/usr/sbin
python=$("$(dirname "${BASH_SOURCE[0]}")/python.sh")

have() {
  case $1 in
    *.py) "$python" -c "import ${1%.py}" 2>/dev/null ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

missing=()
for need in $needs; do
  have "${need%%:*}" || missing+=("${need#*:}")
done
((${#missing[@]} > 0)) || exit 0

purpose=$1

# give_up WHY
give_up() {
  echo "$1" >&2
  echo "Missing here, by the names of Debian's packages: ${missing[*]}" >&2
  if [[ $purpose == demo ]] && have cc; then
    echo 'The demo goes on with the servers it brings itself.' >&2
    exit 0
  fi
  exit 1
}

command -v apt-get >/dev/null || give_up 'This machine has no apt-get: install what is missing in its own way.'
[[ $(id -u) == 0 ]] || give_up "To install what is missing: sudo apt-get install ${missing[*]}"

# The packages would start their services; this file is Debian's way to say no. Ours goes, another's stays.
policy=/usr/sbin/policy-rc.d
if [[ ! -e $policy ]]; then
  trap 'rm -f "$policy"' EXIT
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
fi

echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt() { apt-get -o Acquire::Retries=3 --quiet --quiet "$@" </dev/null; }
{ apt update && apt install --yes --no-install-recommends "${missing[@]}" >/dev/null; } ||
  give_up 'apt-get could not install what is missing.'
