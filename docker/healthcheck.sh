#!/usr/bin/env bash
# Healthy: something on the port greets as a MySQL server does, with a packet of protocol version 10.
set -euo pipefail
port=${1:-1234}

# take N: the next bytes of the connection, in hexadecimal.
take() { timeout 3 head -c "$1" <&3 | od -An -v -tx1 | tr -d ' \n'; }

exec 3<>"/dev/tcp/127.0.0.1/$port"
length=$(take 3)
# All of the greeting is taken, so that the server sees a client that left, and not one that broke off.
greeting=$(take $((1 + 16#${length:4:2}${length:2:2}${length:0:2})))
[[ $greeting == 000a* ]]
