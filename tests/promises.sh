#!/usr/bin/env bash
# Runs the long form of every promise (docs/design/safety.md 2); writes docs/promises.md.
# With arguments, runs only the tests whose names contain one of them, and prints the report.
set -uo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
filters=("$@")
[ "${#filters[@]}" -gt 0 ] || filters=(promise_)
PIEME_LONG=1 cargo test --release --no-fail-fast --lib --test it -- \
  "${filters[@]}" --nocapture --test-threads=1 >"$log" 2>&1
code=$?

# libtest writes a test's name in front of its first line. A promise whose check failed says so on
# its own line.
report() {
  cat <<'HEAD'
# Guarantees and how they are checked

Each guarantee has a test that tries to break it many times and counts the violations. Each test
also runs on a control: a deliberately broken variant on which the same check must report
violations.

```
bash tests/promises.sh              # the long form of every check; writes this file
bash tests/promises.sh promise_26   # one check; prints the report
```

The short form of every check runs with the other tests.

## Results

HEAD
  echo "Long form of $(date -u +%Y-%m-%d), kernel $(uname -r), release build."
  cat <<'TABLE'

| no. | what was done, and what counts as a violation | violations | violations of the control |
|---|---|---|---|
TABLE
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
