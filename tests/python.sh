#!/usr/bin/env bash
# Prints the Python to use: the first on the PATH, unless only Debian's own has the modules of Debian's packages.
set -euo pipefail
for python in python3 /usr/bin/python3; do
  if "$python" -c 'import pymysql, yaml' 2>/dev/null; then
    echo "$python"
    exit
  fi
done
# Where they are still missing, they will be installed for Debian's.
if [[ -x /usr/bin/python3 ]]; then echo /usr/bin/python3; else echo python3; fi
