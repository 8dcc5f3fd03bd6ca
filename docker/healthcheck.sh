#!/usr/bin/env bash
# Healthy: something on Telamon's port greets as a MySQL server does (protocol version 10 behind a packet header).
set -euo pipefail
port=${1:-1234}

exec 3<>"/dev/tcp/127.0.0.1/$port"
head=$(timeout 3 head -c 5 <&3 | od -An -tx1 | tr -d ' \n')
[[ $head =~ ^[0-9a-f]{6}000a$ ]]
