#!/usr/bin/env bash
# Makes a private wiki with 321 pages: the program in FOLDER/code, its state in FOLDER/state.
#
# usage: prepare.sh FOLDER PASSWORD
#
# Debian's package is unpacked, not installed: installed, it brings Apache and starts it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1/packages"
folder=$(cd "$1" && pwd) password=$2
code=$folder/code
(
  cd "$folder/packages"
  apt-get -qq -o APT::Sandbox::User=root download mediawiki mediawiki-classes libjs-underscore
  for package in *.deb; do dpkg -x "$package" root; done
)
mkdir "$code"
# The links lead to places that only an installation fills.
find "$folder/packages/root/usr/share/mediawiki" -mindepth 1 -maxdepth 1 -not -type l \
  -exec mv -t "$code" {} +
mkdir -p "$code/extensions" "$code/images" "$code/cache"
rm -r "$folder/packages"

# In memory: a thousand small transactions would wait for the disk.
memory=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -r "$memory"' EXIT
state=$memory/state
mkdir "$state"
php "$code/maintenance/install.php" --dbtype=sqlite --dbpath="$state" --dbname=wiki \
  --server=http://127.0.0.1 --scriptpath= --lang=en --pass="$password" \
  --skins=Vector,MonoBook,Timeless 'Tide Wiki' WikiAdmin >"$folder/log" 2>&1
cat "$here/settings.php" >>"$code/LocalSettings.php"
echo '<?php' >"$state/admin.php"
export PIEME_APP=$state PIEME_WIKI=$code
php "$here/seed.php" >>"$folder/log" 2>&1
php "$code/maintenance/runJobs.php" >>"$folder/log" 2>&1
cp -r "$state" "$folder"
