#!/usr/bin/env bash
# Builds the Debian packages pieme and pieme-dbgsym in target/debian (or OUT). Needs dpkg-dev, and
# cargo-deb, which it installs into target/tools.
#   packaging/deb.sh [--profile dev|release] [--version VERSION] [--out OUT] [--no-build]
# --no-build packs the programs that were built before.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=release version=() out=target/debian build=yes
while [ $# -gt 0 ]; do
  case $1 in
    --profile) profile=$2 ;;
    --version) version=(--deb-version "$2") ;;
    --out) out=$2 ;;
    --no-build) build=no && shift && continue ;;
    *) sed -n '2,5s/^# *//p' "$0" >&2 && exit 2 ;;
  esac
  shift 2
done

tools=target/tools/bin
[ -x "$tools/cargo-deb" ] || cargo install --quiet --locked --root target/tools cargo-deb@3.8.0

[ "$build" = no ] || cargo build --quiet --profile "$profile" --bins
folder=target/$([ "$profile" = dev ] && echo debug || echo "$profile")

made=target/package
rm -rf "$made"
mkdir -p "$made/completions" "$out"
ln -s pieme "$made/pieme-daemon"
packaging/config.sh >"$made/config.toml"
"$folder/pieme" manual "$made/man1"
mkdir "$made/man8" && mv "$made"/man1/*.8 "$made/man8/"
"$folder/pieme" completions bash >"$made/completions/pieme.bash"
"$folder/pieme" completions zsh >"$made/completions/_pieme"
"$folder/pieme" completions fish >"$made/completions/pieme.fish"

# For tests: the program of the test profile, packed quickly and without debug symbols.
how=(--dbgsym)
[ "$profile" = dev ] && how=(--fast)
"$tools/cargo-deb" --no-build --profile "$profile" "${how[@]}" "${version[@]}" --output "$out/"
ls -l "$out"
