#!/usr/bin/env bash
# Builds the Debian 12 in which the installation is tested: tests/installed/root.sh ROOT.
# It is kept between runs; needs mmdebstrap and root.
set -euo pipefail
root=$1
[ -e "$root/.made" ] && exit 0
rm -rf "$root"
mkdir -p "$(dirname "$root")"
packages=systemd,systemd-sysv,dbus,ca-certificates,sqlite3,procps,sudo,man-db,bash-completion
packages+=,curl,chromium
mmdebstrap --quiet --variant=minbase --include="$packages" bookworm "$root"
# Runs the script bound to /out when the system is up, then powers off.
cat >"$root/etc/systemd/system/inside.service" <<'U'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash -c '/bin/bash /out/inside.sh >/out/transcript 2>&1; echo $? >/out/code; \
  systemctl --no-block poweroff'
[Install]
WantedBy=multi-user.target
U
chroot "$root" systemctl enable --quiet inside.service
# Nothing else may take dpkg's lock meanwhile.
chroot "$root" systemctl mask --quiet apt-daily.timer apt-daily-upgrade.timer \
  dpkg-db-backup.timer man-db.timer
touch "$root/.made"
