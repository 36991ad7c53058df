#!/usr/bin/env bash
# Prints the configuration of an installation: config.toml of the project with the unit's paths.
set -euo pipefail
cd "$(dirname "$0")/.."

places=(
  'tasks = "tasks"|tasks = "/var/lib/pieme/tasks"'
  'state = "state"|state = "/var/lib/pieme"'
  'socket = "state/control.sock"|socket = "/run/pieme/control.sock"'
  'store = "state/pieme.db"|store = "/var/lib/pieme/pieme.db"'
  'secrets = "secrets"|secrets = "/etc/pieme/secrets"'
)
text=$(cat config.toml)
for place in "${places[@]}"; do
  from=${place%%|*} to=${place##*|}
  grep -qxF "$from" <<<"$text" || { echo "config.toml has no line: $from" >&2; exit 1; }
  text=$(awk -v from="$from" -v to="$to" '$0 == from { $0 = to } { print }' <<<"$text")
done
printf '%s\n' "$text"
