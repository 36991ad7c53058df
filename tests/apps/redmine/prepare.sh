#!/usr/bin/env bash
# Makes a Redmine with 183 issues in FOLDER/state: Debian's program with a configuration of its own.
# The instance that the Debian package sets up is not touched.
#
# usage: prepare.sh FOLDER PASSWORD
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
# In memory: a thousand small transactions would wait for the disk.
memory=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -r "$memory"' EXIT
state=$memory/state
mkdir "$state"
# The links lead to the package's own instance.
for part in /usr/share/redmine/*; do
  [ "${part##*/}" = instances ] || cp -rL "$part" "$state"
done
cd "$state"
sed -i 's|/usr/share/redmine/{config,instances/\*/config}|{config,instances/*/config}|' Gemfile
mkdir -p instances/default/{config,files,log,tmp}
rm -f config/database.yml
cat >instances/default/config/database.yml <<'END'
production: { adapter: sqlite3, database: instances/default/redmine.sqlite3, timeout: 10000 }
END
export RAILS_ENV=production SECRET_KEY_BASE=only-on-loopback
{
  ruby bin/rails db:migrate
  ruby bin/rails runner "$here/seed.rb" "$2"
} >"$folder/log" 2>&1
cp -r "$state" "$folder"
