#!/usr/bin/env bash
# Builds the container image of the programs that were built, starts it without a network, and uses
# it. Ends with 77 where this machine cannot build or start one.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=pieme-test-$$
cannot() {
  echo "$*"
  exit 77
}

[ "$(id -u)" -eq 0 ] || cannot 'the image is made by root'
for program in podman buildah mmdebstrap; do
  command -v "$program" >/dev/null || cannot "there is no $program"
done
packaging/container.sh --profile dev --no-build >/dev/null
trap 'podman rm -f "$name" >/dev/null 2>&1 || true' EXIT
# Some machines have a runtime that does not know their control groups, and another that does.
for runtime in "" runc; do
  podman=(podman ${runtime:+--runtime "$runtime"})
  podman rm -f "$name" >/dev/null 2>&1 || true
  why=$("${podman[@]}" run -d --name "$name" --network none --no-healthcheck \
    --ulimit nofile=8192:8192 --ulimit nproc=4096:4096 \
    localhost/pieme 2>&1) && break || podman=()
done
[ ${#podman[@]} -gt 0 ] || cannot "podman cannot start a container: $(tail -n 1 <<<"$why")"

inside() { "${podman[@]}" exec "$name" "$@"; }
health=$(podman image inspect --format '{{join .HealthCheck.Test " "}}' localhost/pieme)
[ "$health" = 'CMD /usr/bin/pieme doctor --only daemon,store' ] || {
  echo "the health check is: $health"
  exit 1
}
for _ in $(seq 1 40); do
  inside pieme doctor --only daemon,store && break
  sleep 0.25
done
inside pieme doctor
"${podman[@]}" exec -d "$name" pieme demo --site-only
for _ in $(seq 1 40); do
  inside pieme add http://127.0.0.1:8643/products --name practice-list --yes && break
  sleep 0.25
done
inside pieme records practice-list --json | grep -q '"name"\|"records"\|"rows"'
! inside /bin/sh -c true 2>/dev/null || { echo 'there is a shell in the image'; exit 1; }
podman stop -t 40 "$name" >/dev/null
echo 'all as it should be'
