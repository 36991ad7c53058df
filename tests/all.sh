#!/usr/bin/env bash
# Sets up and runs every check: formatting, lints, all tests. Needs a Rust toolchain; installs
# everything else that is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# program:Debian package
needed=(sqlite3:sqlite3 script:bsdutils systemd-analyze:systemd cc:gcc curl:curl python3:python3
  chromium:chromium npm:npm man:man-db zsh:zsh fish:fish promtool:prometheus
  systemd-nspawn:systemd-container mmdebstrap:mmdebstrap dpkg-shlibdeps:dpkg-dev)
install() {
  local as_root=()
  [ "$(id -u)" -eq 0 ] || as_root=(sudo)
  echo "installing: $*"
  "${as_root[@]}" apt-get update -qq
  # Behind sudo, which drops variables: redmine would ask for its database.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "$@"
}
missing=()
for pair in "${needed[@]}"; do
  command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
# A run trusts the certificate authorities of this machine; without any it trusts nobody.
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
[ "${#missing[@]}" -eq 0 ] || install "${missing[@]}"

# The PostgreSQL server that the tests start themselves; its programs are not on the path.
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || install postgresql

# For the tests that set a daemon's clock.
ls /usr/lib/*/faketime/libfaketime.so.1 >/dev/null 2>&1 || install libfaketime

# The real web applications that the robot is tested on have a virtual environment of their own.
apps=target/apps
if ! cmp -s tests/apps/requirements.txt "$apps/requirements.txt"; then
  python3 -c 'import ensurepip, venv' 2>/dev/null || install python3-venv
  rm -rf "$apps"
  python3 -m venv "$apps"
  "$apps/bin/pip" install --quiet --disable-pip-version-check -r tests/apps/requirements.txt
  cp tests/apps/requirements.txt "$apps/requirements.txt"
fi

# MediaWiki and Redmine run from copies of their own, without a web server of the machine. They are
# installed and filled once, and each test copies what is filled.
has_php='foreach (["intl", "mbstring", "pdo_sqlite", "xml"] as $e) extension_loaded($e) || exit(1);'
php -r "$has_php" 2>/dev/null || install php-cli php-intl php-mbstring php-sqlite3 php-xml
{ [ -d /usr/share/redmine ] && command -v puma >/dev/null; } || install redmine redmine-sqlite puma
for app in mediawiki redmine; do
  sum=$(cat tests/apps/"$app"/* | sha256sum)
  [ "$(cat "$apps/$app/prepared" 2>/dev/null)" != "$sum" ] || continue
  rm -rf "${apps:?}/$app"
  # The password of the tests.
  tests/apps/"$app"/prepare.sh "$apps/$app" correct-horse-9 || { cat "$apps/$app/log"; exit 1; }
  echo "$sum" >"$apps/$app/prepared"
done

# axe-core, which finds accessibility faults of a page.
if [ ! -e target/axe/axe.min.js ]; then
  mkdir -p target/axe
  (cd target/axe && npm pack --silent axe-core@4.14.0 &&
    tar xzf axe-core-*.tgz --strip-components=1 package/axe.min.js)
fi

# The Debian in which the installation is tested, and cargo-deb, which builds the package. Where
# there cannot be one, the test says so.
[ "$(id -u)" -ne 0 ] || tests/installed/root.sh target/root/bookworm ||
  echo 'no Debian to try the installation in'
[ -x target/tools/bin/cargo-deb ] ||
  cargo install --quiet --locked --root target/tools cargo-deb@3.8.0

# cargo-deny, in a debug build: 50 s of processor time; its release build optimises for minutes.
deny=target/tools/bin/cargo-deny
[ -x "$deny" ] || cargo install --quiet --debug --locked --root target/tools cargo-deny@0.20.2

# Licences, sources, duplicates and known vulnerabilities of the dependencies. The database of
# vulnerabilities comes from GitHub; where that cannot be reached, an earlier copy is used, or a git
# bundle beside the real pages of the tests.
advisories=target/advisory-dbs/advisory-db-3157b0e258782691
checks=(bans licenses sources)
GIT_TERMINAL_PROMPT=0 timeout 60 "$deny" fetch db >/dev/null 2>&1 || [ -e "$advisories" ] ||
  git clone -q "${PIEME_CORPUS:-../shared}/advisory-db.bundle" "$advisories" 2>/dev/null || true
if git -C "$advisories" rev-parse --quiet --verify HEAD >/dev/null 2>&1; then
  checks+=(advisories)
else
  echo "advisories are not checked: no RustSec database can be fetched, and none is in $advisories"
fi
cargo fetch --quiet --locked
"$deny" --offline check --hide-inclusion-graph "${checks[@]}"

cargo fmt --check
cargo clippy --all-targets --quiet -- -D warnings
if command -v cargo-nextest >/dev/null; then
  cargo nextest run --no-fail-fast
else
  cargo test --no-fail-fast
fi
