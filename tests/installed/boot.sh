#!/usr/bin/env bash
# Boots a Debian with a real systemd in a container without a network, and installs pieme in it:
# tests/installed/boot.sh FOLDER.
# FOLDER has the packages (pieme_*.deb, before.deb); the commands and their output are printed and
# kept in FOLDER/transcript. Needs root, systemd-container and mmdebstrap. Ends with 77 where this
# machine cannot boot a container; nothing of pieme has run then.
set -euo pipefail
cd "$(dirname "$0")/../.."
folder=$1 root=target/root/bookworm
cannot() {
  echo "$*"
  exit 77
}

[ "$(id -u)" -eq 0 ] || cannot 'systemd-nspawn needs root'
for program in systemd-nspawn mmdebstrap; do
  command -v "$program" >/dev/null || cannot "there is no $program"
done
made=$(tests/installed/root.sh "$root" 2>&1) ||
  cannot "the Debian cannot be made: $(tail -n 3 <<<"$made")"
cp -r README.md tasks tests/installed/inside.sh "$folder/"
chmod -R a+rX "$folder"
rm -f "$folder/code" "$folder/transcript"
# The system calls of pieme's sandbox and of Chromium's namespaces must pass nspawn's filter.
timeout --kill-after=10 300 systemd-nspawn --quiet --directory="$root" --volatile=overlay --boot \
  --private-network --register=no --keep-unit --console=pipe --bind="$folder:/out" \
  --system-call-filter="landlock_create_ruleset landlock_add_rule landlock_restrict_self seccomp" \
  </dev/null >"$folder/boot.log" 2>&1 || true
[ -e "$folder/transcript" ] || cannot "the container does not boot: $(tail -n 5 "$folder/boot.log")"
cat "$folder/transcript"
exit "$(cat "$folder/code" 2>/dev/null || echo 124)"
