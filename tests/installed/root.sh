#!/usr/bin/env bash
# Makes the Debian 12 that the installation is tried in: tests/installed/root.sh ROOT. Kept between runs; needs mmdebstrap and root.
set -euo pipefail
root=$1
[ -e "$root/.made" ] && exit 0
rm -rf "$root"
mkdir -p "$(dirname "$root")"
packages=systemd,systemd-sysv,dbus,ca-certificates,sqlite3,procps,sudo,man-db,bash-completion,curl,chromium
mmdebstrap --quiet --variant=minbase --include="$packages" bookworm "$root"
# What is bound to /out is run when the system is up, and ends it.
cat >"$root/etc/systemd/system/inside.service" <<'U'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/bash -c '/bin/bash /out/inside.sh >/out/transcript 2>&1; echo $? >/out/code; systemctl --no-block poweroff'
[Install]
WantedBy=multi-user.target
U
chroot "$root" systemctl enable --quiet inside.service
# Nothing else takes dpkg's lock meanwhile.
chroot "$root" systemctl mask --quiet apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer man-db.timer
touch "$root/.made"
