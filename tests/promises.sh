#!/usr/bin/env bash
# Runs the long form of every promise (docs/design/safety.md 2); writes docs/promises.md.
# With words, only the tests whose names contain one of them; then the report is printed and not written.
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
filters=("$@")
[ "${#filters[@]}" -gt 0 ] || filters=(promise_)
PIEME_LONG=1 cargo test --release --no-fail-fast --lib --test it -- "${filters[@]}" --nocapture --test-threads=1 >"$log" 2>&1
code=$?

# libtest writes a test's name in front of its first line. A promise whose check failed says so on its own line.
report() {
  echo "# The promises, checked"
  echo
  echo "\`bash tests/promises.sh\`, $(date -u +%Y-%m-%d), kernel $(uname -r), release build, long form. A control is a broken variant on"
  echo "which the same check must report violations."
  echo
  echo "| promise | done and counted | violations | control |"
  echo "|---|---|---|---|"
  grep -o 'PROMISE [0-9][0-9] |.*' "$log" | grep -v '^PROMISE 00' | sort -u |
    sed -E 's/^PROMISE ([0-9]+) \| (.*) \| ([^|]*) \| control: (.*)$/| \1 | \2 | \3 | \4 |/'
  if [ "$code" -ne 0 ]; then
    echo
    echo "Failed:"
    grep -E '^test .*FAILED$|^    promises::|^error' "$log" | sort -u | sed 's/^ */- /'
  fi
}
if [ "$#" -gt 0 ]; then report; else report >docs/promises.md; fi
[ "$code" -eq 0 ] || tail -n 60 "$log" >&2
exit "$code"
