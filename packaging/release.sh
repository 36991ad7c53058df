#!/usr/bin/env bash
# Makes a release in target/release-VERSION: the Debian packages, a tarball, an SBOM (CycloneDX),
# the release notes and the checksums. The version is the one in Cargo.toml; CHANGELOG.md must have
# a section "## [VERSION]". Installs cargo-cyclonedx into target/tools.
#   packaging/release.sh [--profile dev|release]
set -euo pipefail
cd "$(dirname "$0")/.."

profile=release
[ "${1:-}" != --profile ] || profile=$2
version=$(sed -n '/^\[package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
heading="## [$version]"
notes=$(awk -v heading="$heading" '/^## /{on = index($0, heading) == 1; next} on' CHANGELOG.md)
[ -n "$notes" ] || { echo "CHANGELOG.md has no section \"$heading\"" >&2; exit 1; }
[ -z "$(git status --porcelain)" ] || { echo 'there are uncommitted changes' >&2; exit 1; }

out=target/release-$version
rm -rf "$out"
mkdir -p "$out"
packaging/deb.sh --profile "$profile" --out "$out" >/dev/null

# The same files without a package manager: unpack, edit config.toml, start pieme-daemon.
name=pieme-$version-$(uname -m)-linux
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
dpkg-deb -x "$out"/pieme_*.deb "$made/root"
mkdir -p "$made/$name"
cp -a "$made/root/usr/bin/." "$made/$name/"
cp -r README.md CHANGELOG.md LICENSE config.toml docs systemd packaging/monitoring \
  target/package/man1 target/package/man8 target/package/completions "$made/$name/"
rm -rf "$made/$name/docs/screens"
tar --sort=name --owner=0 --group=0 --mtime="@$(git log -1 --format=%ct)" \
  -C "$made" -czf "$out/$name.tar.gz" "$name"

tools=target/tools/bin
[ -x "$tools/cargo-cyclonedx" ] ||
  cargo install --quiet --locked --root target/tools cargo-cyclonedx
PATH="$PWD/$tools:$PATH" cargo cyclonedx --quiet --format json --override-filename "$name.cdx"
mv "$name.cdx.json" "$out/"

printf '%s\n' "$notes" >"$out/NOTES.md"
(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
echo "next: git tag v$version"
