#!/usr/bin/env bash
# Sets up and runs every check: formatting, lints, all tests. Needs a Rust toolchain; installs what else is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# program:Debian package
needed=(sqlite3:sqlite3 systemd-analyze:systemd cc:gcc curl:curl chromium:chromium)
missing=()
for pair in "${needed[@]}"; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
if [ "${#missing[@]}" -gt 0 ]; then
  as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "installing: ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

cargo fmt --check
cargo clippy --all-targets --quiet -- -D warnings
if command -v cargo-nextest >/dev/null; then
  cargo nextest run --no-fail-fast
else
  cargo test --no-fail-fast
fi
