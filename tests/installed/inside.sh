# Runs in a Debian with a real systemd, as root: installs pieme as the README says, and uses it as
# people do. /out has the packages (pieme_*.deb, before.deb), README.md and tasks/. The first thing
# that is not as expected ends it.
set -euo pipefail
export LC_ALL=C.UTF-8
cd /out

say() { printf '\n### %s\n' "$*"; }
fail() {
  printf '\nFAILED: %s\n' "$*"
  systemctl status pieme-daemon pieme-adopt.path pieme-adopt.service --no-pager -n 0 || true
  systemctl --failed --no-pager || true
  journalctl -u pieme-daemon --no-pager -n 40 || true
  exit 1
}
# Types a command as somebody who has just logged in.
as() {
  local who=$1
  shift
  printf '%s$ %s\n' "$who" "$*"
  runuser -l "$who" -c "$*"
}
# Waits until a command succeeds, a minute at most.
until_true() {
  local what=$1 until=$((SECONDS + 60))
  shift
  while [ $SECONDS -lt $until ]; do
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.25
  done
  fail "waited in vain: $what"
}
state_is() {
  [ "$(runuser -l ann -c "pieme status $1 --json" | grep -oE '"state": *"[a-z-]+"' | head -1 |
    cut -d'"' -f4)" = "$2" ]
}
rows_of() { sqlite3 "file:/var/lib/pieme/pieme.db?mode=ro" "SELECT count(*) FROM \"$1\""; }
main_pid() { systemctl show -p MainPID --value pieme-daemon; }
is_active() { systemctl is-active --quiet pieme-daemon; }
# The lines of the n-th code block of the README's section on the service.
block() {
  awk -v n="$1" '/^## /{on = /^## Install it as a service/}
    on && /^```/{k++; next}
    on && k == 2 * n - 1' /out/README.md
}

useradd -m -s /bin/bash ann
useradd -m -s /bin/bash bob
echo 'ann ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/ann

say 'The package before, with a database in it, is upgraded and purged'
apt-get install -y -qq ./before.deb >/dev/null 2>&1 || fail 'the package before cannot be installed'
is_active || fail 'the package before does not run'
usermod -aG pieme ann
as ann 'pieme demo --site-only >/dev/null 2>&1 &' 
until_true 'the practice site' curl -sf http://127.0.0.1:8643/products
pieme add http://127.0.0.1:8643/products --allow-private --name shop --yes ||
  fail 'the package before adds no task'
echo '# changed by an administrator' >>/etc/pieme/config.toml
before=$(rows_of shop)
# Where both sides have changed the configuration dpkg asks; the administrator keeps their own.
keep_ours=(-o 'Dpkg::Options::=--force-confold')
apt-get install -y -qq "${keep_ours[@]}" ./pieme_*.deb </dev/null >/dev/null 2>&1 ||
  fail 'the upgrade fails'
is_active || fail 'it does not run after the upgrade'
[ "$(rows_of shop)" = "$before" ] && [ "$before" -gt 0 ] || fail 'rows are lost by the upgrade'
grep -q 'changed by an administrator' /etc/pieme/config.toml ||
  fail 'the upgrade has replaced the configuration'
# In version 0.1 task.toml itself granted private addresses; now config.toml does.
if grep -q '^allow_private' /var/lib/pieme/tasks/shop/task.toml; then
  as ann 'pieme run shop' && fail 'a task grants itself an address' || true
  sed -i '/^allow_private/d' /var/lib/pieme/tasks/shop/task.toml
  printf '[private]\nshop = ["127.0.0.1:8643"]\n' >>/etc/pieme/config.toml
fi
as ann 'pieme run shop' || fail 'no run after the upgrade'
apt-get purge -y -qq pieme >/dev/null 2>&1 </dev/null || fail 'purge fails'
! pgrep -u pieme >/dev/null || fail 'a process is left behind'
[ ! -e /var/lib/pieme ] && [ ! -e /etc/pieme ] && [ ! -e /usr/bin/pieme ] ||
  fail 'files are left behind'
gpasswd -d ann pieme >/dev/null
pkill -u ann pieme || true

say 'README, "Install it as a service"'
mkdir -p ~ann/pieme/target/debian ~ann/pieme/packaging
cp ./pieme_*.deb ~ann/pieme/target/debian/
# The package was made outside.
printf '#!/bin/sh\n' >~ann/pieme/packaging/deb.sh
chmod +x ~ann/pieme/packaging/deb.sh
block 1 | grep -q 'apt install' || fail 'the README has no first block'
{ echo 'set -e; cd ~/pieme'; block 1 | sed 's/apt install/apt install -y/'; } >/tmp/first
{ echo 'set -e'; block 2; } >/tmp/second
cat /tmp/first
USER=ann runuser -l ann -c 'bash /tmp/first' 2>&1 | tail -n 3
is_active || fail 'the service does not run after the installation'
[ "$(rows_of sqlite_schema 2>/dev/null || echo 0)" != 0 ] || fail 'there is no database'
cat /tmp/second
runuser -l ann -c 'bash /tmp/second' || fail 'the second block of the README'
[ "$(rows_of practice-list)" -gt 0 ] || fail 'no rows are published'
as ann 'pieme doctor' || fail 'doctor is not content'

say 'What systemd says'
systemctl status pieme-daemon --no-pager -n 0 | head -n 12
systemctl show -p StatusText --value pieme-daemon | grep -q . || fail 'no status text'
systemd-analyze security pieme-daemon --no-pager --threshold=15 | tail -n 1 ||
  fail 'the exposure is above 1.5'
stat -c '%A %U:%G %n' /var/lib/pieme /var/lib/pieme/tasks /var/lib/pieme/pieme.db \
  /run/pieme/control.sock
[ "$(stat -c %a:%U:%G /var/lib/pieme)" = 750:pieme:pieme ] || fail 'the mode of the state folder'
[ "$(stat -c %a:%U:%G /var/lib/pieme/tasks)" = 2770:pieme:pieme ] || fail 'the mode of tasks/'
[ "$(stat -c %a /var/lib/pieme/pieme.db)" = 640 ] || fail 'the mode of the database'
[ "$(stat -c %a /run/pieme/control.sock)" = 660 ] || fail 'the mode of the socket'

say 'The journal: our first line first, one line a run, no warning'
journalctl -u pieme-daemon --no-pager -o cat
journalctl -u pieme-daemon --no-pager -o cat | grep -q 'practice-list: published' ||
  fail 'a run has no line'
! journalctl -u pieme-daemon --no-pager -o cat | grep -qE 'Uninited|Job creator' ||
  fail "somebody else's lines are in the journal"
[ -z "$(journalctl -u pieme-daemon --no-pager -o cat -p warning -q)" ] ||
  fail 'there are warnings on a good day'

say 'Everyday commands of a group member'
printf '%s\n' 'a member drops a folder, by hand'
{ as ann 'pieme add http://127.0.0.1:8643/products --allow-private --name hers --yes' 2>&1 ||
  true; } | grep -q 'the lines to add are \[private\] and "hers" =' ||
  fail 'a member who cannot change config.toml is not told the lines'
# The folders below are copies of the practice tasks under other names.
for name in dropped copied-by-root mine with-browser; do
  sed -i "s|^\"practice-\*\" = \(.*\)|&\n$name = \1|" /etc/pieme/config.toml
done
as ann 'umask 022; mkdir /var/lib/pieme/tasks/dropped &&' \
  'cp /out/tasks/practice-shop/task.toml /var/lib/pieme/tasks/dropped/'
until_true 'rows of the dropped folder' state_is dropped needs-label
as ann 'pieme label dropped --yes' || fail 'label'
as ann 'pieme run dropped' || fail 'run'
as ann 'pieme status' || fail 'status'
as ann 'pieme export dropped -o /tmp/dropped.csv && head -n 2 /tmp/dropped.csv' || fail 'export'
as ann 'pieme pause dropped && pieme resume dropped' || fail 'pause'
as ann 'pieme validate dropped' || fail 'validate'
as ann 'pieme log dropped' >/dev/null || fail 'log'
as ann 'sqlite3 "file:/var/lib/pieme/pieme.db?mode=ro" "SELECT count(*) FROM dropped"' ||
  fail 'sqlite3'

say 'Root adds a task; the daemon can write it'
pieme add http://127.0.0.1:8643/products --allow-private --name by-root --yes ||
  fail 'root adds no task'
grep -qxF 'by-root = ["127.0.0.1:8643"]' /etc/pieme/config.toml || fail 'nothing is granted'
[ "$(stat -c %U:%G /etc/pieme/config.toml)" = root:root ] || fail 'the owner of config.toml'
[ -z "$(find /var/lib/pieme -user root)" ] ||
  fail "files of root: $(find /var/lib/pieme -user root)"
cp -r /out/tasks/practice-shop /var/lib/pieme/tasks/copied-by-root
until_true 'rows of the folder that root copied' state_is copied-by-root ok
until_true 'the folder is the daemons to write' pieme validate copied-by-root
pieme validate || fail 'validate as root'

say 'A secret and a session: what logs in keeps its cookies'
printf open-sesame-7 | pieme secret set practice_password --task 'practice-*' \
  --origin http://127.0.0.1:8643 || fail 'root stores no secret'
[ "$(stat -c '%a %U' /etc/pieme/secrets/practice_password)" = '600 root' ] || fail 'its mode'
systemctl restart pieme-daemon || fail 'restart'
as ann 'cp -r /out/tasks/practice-orders /var/lib/pieme/tasks/'
until_true 'the orders behind the login' state_is practice-orders ok
until_true 'the folder is the daemons to write' pieme validate practice-orders
as ann 'pieme run practice-orders' || fail 'the orders'
[ -s /var/lib/pieme/tasks/practice-orders/.state/cookies.json ] || fail 'no session is kept'
as ann 'pieme doctor' || fail 'doctor of a member'
pieme doctor || fail 'doctor of root'

say 'A stranger, and a folder that the daemon cannot read'
as bob 'pieme status' && fail 'a stranger may look' || [ $? -eq 77 ] ||
  fail 'the exit code of a stranger'
{ as bob 'pieme status' 2>&1 || true; } | grep -q 'usermod -aG pieme bob' ||
  fail 'the sentence for a stranger'
systemctl stop pieme-adopt.path
as ann 'umask 077; mkdir ~/mine && cp /out/tasks/practice-shop/task.toml ~/mine/ &&' \
  'mv ~/mine /var/lib/pieme/tasks/mine'
as ann 'pieme validate mine' && fail 'validate calls it sound' || true
{ as ann 'pieme validate mine' || true; } | grep -q 'the daemon (pieme) cannot' ||
  fail 'validate does not say who cannot'
as ann 'pieme doctor' && fail 'doctor is content with it' || true
systemctl start pieme-adopt.path
until_true 'the folder that the daemon could not read' state_is mine needs-label
as ann 'pieme doctor' || fail 'doctor after the folder was adopted'

say 'Reload, restart with a run going, kill -9, watchdog'
systemctl reload pieme-daemon || fail 'reload'
is_active || fail 'it does not run after a reload'
as ann 'sed -i "s/^delay = .*/delay = \"1s\"/; s/^every = .*/every = \"6h\"/"' \
  '/var/lib/pieme/tasks/dropped/task.toml; pieme run dropped >/dev/null 2>&1 &'
until_true 'a run under way' state_is dropped running
systemctl restart pieme-daemon || fail 'restart'
until_true 'the run that went on or was made up' state_is dropped ok
[ "$(rows_of dropped)" -gt 0 ] || fail 'rows are lost by a restart'
pid=$(main_pid)
kill -9 "$pid"
until_true 'a new daemon after kill -9' bash -c "systemctl is-active --quiet pieme-daemon &&
  [ \$(systemctl show -p MainPID --value pieme-daemon) != $pid ]"
[ "$(rows_of dropped)" -gt 0 ] || fail 'rows are lost by kill -9'
mkdir -p /etc/systemd/system/pieme-daemon.service.d
printf '[Service]\nWatchdogSec=3s\nRestartSec=100ms\n' \
  >/etc/systemd/system/pieme-daemon.service.d/quick.conf
systemctl daemon-reload && systemctl restart pieme-daemon
pid=$(main_pid)
kill -STOP "$pid"
until_true 'the watchdog' bash -c "systemctl is-active --quiet pieme-daemon &&
  [ \$(systemctl show -p MainPID --value pieme-daemon) != $pid ]"
rm /etc/systemd/system/pieme-daemon.service.d/quick.conf
systemctl daemon-reload && systemctl restart pieme-daemon

if command -v chromium >/dev/null; then
  say 'A browser task, with the drop-in'
  sed 's/^\[fetch\]/[fetch]\nengine = "browser"/' /out/tasks/practice-shop/task.toml >/tmp/task.toml
  as ann 'mkdir /var/lib/pieme/tasks/with-browser &&' \
    'cp /tmp/task.toml /out/tasks/practice-shop/t*.json /out/tasks/practice-shop/labels.toml' \
    '/var/lib/pieme/tasks/with-browser/'
  { as ann 'pieme doctor' || true; } | grep -q 'drop-in' || fail 'doctor does not name the drop-in'
  sh -c "$(sed -n 's/^#   sudo //p' /usr/share/doc/pieme/examples/browser.conf |
    sed 's/sudo //g')" || fail "the drop-in's own lines"
  as ann 'pieme run with-browser' || fail 'a browser task fails'
fi

say 'man and completion'
man -w pieme >/dev/null && man pieme | head -n 5 || fail 'man pieme'
man -w pieme-add pieme-daemon >/dev/null || fail 'man pieme-add'
as ann 'source /usr/share/bash-completion/bash_completion; _completion_loader pieme;' \
  'COMP_WORDS=(pieme sta); COMP_CWORD=1;' \
  '"$(complete -p pieme | sed "s/.*-F \([^ ]*\).*/\1/")" pieme sta pieme;' \
  'echo "${COMPREPLY[@]}"' | grep -qw status || fail 'completion'

say 'Purge'
apt-get purge -y -qq pieme >/dev/null 2>&1 </dev/null || fail 'purge fails'
! pgrep -u pieme >/dev/null || fail 'a process is left behind'
[ ! -e /var/lib/pieme ] && [ ! -e /etc/pieme ] || fail 'files are left behind'
say 'all as it should be'
