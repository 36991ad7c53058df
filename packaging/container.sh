#!/usr/bin/env bash
# Builds the image localhost/pieme, or with Chromium localhost/pieme-browser.
# Needs root, mmdebstrap, ca-certificates and buildah.
#   packaging/container.sh [--profile dev|release] [--browser] [--no-build]
set -euo pipefail
cd "$(dirname "$0")/.."

profile=release name=pieme variant=extract packages=libc6,libgcc-s1,tzdata build=yes
while [ $# -gt 0 ]; do
  case $1 in
    --profile) profile=$2 && shift ;;
    --browser) name=pieme-browser variant=minbase packages=ca-certificates,chromium,tzdata ;;
    --no-build) build=no ;;
    *) sed -n '2,3s/^# *//p' "$0" >&2 && exit 2 ;;
  esac
  shift
done

[ "$build" = no ] || cargo build --quiet --profile "$profile" --bin pieme
program=target/$([ "$profile" = dev ] && echo debug || echo "$profile")/pieme
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# Without a browser the packages are only unpacked: no shell, no package manager. On Debian,
# Chromium is started by a shell script.
mmdebstrap --quiet --variant="$variant" --include="$packages" bookworm "$made/root"
install -D -m 644 /etc/ssl/certs/ca-certificates.crt "$made/root/etc/ssl/certs/ca-certificates.crt"
install -D -m 755 "$program" "$made/root/usr/bin/pieme"
strip "$made/root/usr/bin/pieme"
ln -s pieme "$made/root/usr/bin/pieme-daemon"
mkdir -p "$made/root/etc/pieme/secrets" "$made/root/var/lib/pieme/tasks" "$made/root/tmp"
# The dashboard is reached from outside of the container, where a port is published; the socket is
# in the volume.
packaging/config.sh |
  sed -e 's|/run/pieme/control.sock|/var/lib/pieme/control.sock|' \
    -e 's|^web = .*|web = "0.0.0.0:8642"|' \
  >"$made/root/etc/pieme/config.toml"
chmod 1777 "$made/root/tmp"
chown -R 64160:64160 "$made/root/var/lib/pieme" "$made/root/etc/pieme/secrets"
echo 'pieme:x:64160:64160:pieme:/var/lib/pieme:/usr/sbin/nologin' >>"$made/root/etc/passwd"
echo 'pieme:x:64160:' >>"$made/root/etc/group"
tar -C "$made/root" -cf "$made/root.tar" .
rm -rf "$made/root"

buildah bud --quiet --format docker --tag "localhost/$name" --file packaging/Containerfile "$made"
