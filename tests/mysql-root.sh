#!/bin/sh
# Puts a private MySQL (server and client) under DIR, without touching this machine's own packages:
# Debian's stable release carries MariaDB only, so the packages come from Debian's sid by debootstrap.
#
#   tests/mysql-root.sh DIR        then TELAMON_MYSQLD=DIR/mysqld telamon-bench cluster up --flavor mysql
#
# Needs root, debootstrap and a Debian mirror (MIRROR=URL, default: this machine's own, else deb.debian.org).
# Does nothing where DIR already holds a working server. DIR/mysqld and DIR/mysql are the programs to call:
# they run the binaries with the libraries of that root, so that no chroot is needed.
set -eu

usage() { echo "usage: $0 DIR" >&2; exit 2; }
[ $# -eq 1 ] || usage
case $1 in /*) root=$1 ;; *) root=$(pwd)/$1 ;; esac

if [ -x "$root/mysqld" ] && version=$("$root/mysqld" --version 2>/dev/null); then
    echo "mysql-root: already there: $version"
    exit 0
fi
[ "$(id -u)" -eq 0 ] || { echo "mysql-root: debootstrap needs root; run this as root" >&2; exit 1; }
command -v debootstrap >/dev/null || {
    echo "mysql-root: debootstrap is not installed; run: apt-get install debootstrap" >&2
    exit 1
}

mirror_of_this_machine() {
    sed -n -e 's/^URIs:[[:space:]]*\([^[:space:]]*\).*/\1/p' /etc/apt/sources.list.d/*.sources 2>/dev/null |
        grep -m1 '/debian/*$' || echo http://deb.debian.org/debian
}
mirror=${MIRROR:-$(mirror_of_this_machine)}

# The packages are fetched and unpacked, never configured: nothing of the new root runs as a service, and
# the second stage, which would need a chroot with /proc and /dev, is left out.
partial=$root.partial
rm -rf "$partial"
mkdir -p "$partial"
log=$partial.log
echo "mysql-root: fetching mysql-server-core and mysql-client-core of sid from $mirror"
debootstrap --foreign --variant=minbase --include=mysql-server-core,mysql-client-core sid "$partial" "$mirror" \
    >"$log" 2>&1 || { tail -n 20 "$log" >&2; echo "mysql-root: debootstrap failed; whole log: $log" >&2; exit 1; }
for package in "$partial"/var/cache/apt/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" | tar -x -C "$partial" --keep-directory-symlink
done
rm -rf "$partial/debootstrap" "$partial/var/cache/apt/archives" "$partial/usr/share/doc" "$partial/usr/share/man"

write_wrapper() { # NAME BINARY [ARGUMENT]
    cat >"$partial/$1" <<WRAPPER
#!/bin/sh
# Runs this root's $2 with this root's libraries.
here=\$(dirname "\$(readlink -f "\$0")")
libraries=\$(echo "\$here"/usr/lib/*-linux-gnu)
exec "\$here"/usr/lib*/ld-linux-*.so.* --library-path "\$libraries:\$libraries/mysql/private" "\$here/$2" "\$@"${3:+ $3}
WRAPPER
    chmod 755 "$partial/$1"
}
# The server takes its base directory from its executable's place, which is ld.so's here; the last option wins.
# shellcheck disable=SC2016
write_wrapper mysqld usr/sbin/mysqld '"--basedir=$here/usr"'
write_wrapper mysql usr/bin/mysql
write_wrapper mysqldump usr/bin/mysqldump
write_wrapper mysqlslap usr/bin/mysqlslap

"$partial/mysqld" --version || { echo "mysql-root: the server does not start; files: $partial" >&2; exit 1; }
rm -rf "$root" "$log"
mv "$partial" "$root"
echo "mysql-root: ready: $root/mysqld"
