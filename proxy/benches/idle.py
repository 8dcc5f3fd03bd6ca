#!/usr/bin/env python3
"""What an idle session costs: the growth of a running Telamon's resident memory, for each of many clients.

    python3 proxy/benches/idle.py --pid PID --port 1234 --user app --password app --clients 9000

Needs PyMySQL (Debian: python3-pymysql), and client.max_connections and file descriptors for that many clients. The first
200 clients are not counted: what a worker makes once is made for them.
"""

import argparse
import resource
import time

import pymysql


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pid", type=int, required=True)
    parser.add_argument("--port", type=int, default=1234)
    parser.add_argument("--user", default="app")
    parser.add_argument("--password", default="app")
    parser.add_argument("--clients", type=int, default=9000)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    clients = []

    def connect(count):
        for _ in range(count):
            login = {"user": options.user, "password": options.password}
            clients.append(pymysql.connect(host="127.0.0.1", port=options.port, ssl_disabled=True, **login))

    connect(200)
    before, begun = resident_kib(options.pid), time.monotonic()
    connect(options.clients)
    after, took = resident_kib(options.pid), time.monotonic() - begun
    each = (after - before) / options.clients
    print(f"{options.clients} idle sessions, made in {took:.1f} s: {each:.2f} KiB each ({before} to {after} KiB)")


main()
