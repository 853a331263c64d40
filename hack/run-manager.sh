#!/usr/bin/env bash
# Runs the manager from this checkout on a control plane of `make up`, as its
# ServiceAccount and with no other permissions, and listens on this machine alone, on ports that are
# free: from 9443 (WEBHOOK_PORT) and 8081 (PROBE_PORT) on. Usage: hack/run-manager.sh [NAME [FLAG…]]
set -euo pipefail
cd "$(dirname "$0")/.."

dir=$PWD/.local/${1:-default}
if [ ! -e "$dir/kubeconfig" ]; then
  echo "Error: no control plane in $dir: start it with 'make up NAME=${1:-default}'" >&2
  exit 1
fi
kubectl="$PWD/bin/kubectl"
export KUBECONFIG=$dir/kubeconfig
"$kubectl" apply --server-side -k config/local >"$dir/logs/install.log"

mkdir -p "$dir/manager"
cp "$KUBECONFIG" "$dir/manager/kubeconfig"
export KUBECONFIG=$dir/manager/kubeconfig
token=$("$kubectl" create token evenkeel --namespace=evenkeel-system --duration=24h)
"$kubectl" config set-credentials manager --token="$token" >/dev/null
"$kubectl" config set-context --current --user=manager >/dev/null

# free_port prints the first port from $1 on, but $2, that nothing listens on.
free_port() {
  local port
  for ((port = $1; port < $1 + 100; port++)); do
    if [ "$port" != "${2:-}" ] && ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      echo "$port"
      return
    fi
  done
  echo "Error: no port from $1 to $port is free on 127.0.0.1: stop what listens there, or set WEBHOOK_PORT and PROBE_PORT" >&2
  return 1
}

webhook=${WEBHOOK_PORT:-$(free_port 9443)}
probes=${PROBE_PORT:-$(free_port 8081 "$webhook")}
echo "Webhook:   https://localhost:$webhook"
echo "Readiness: http://localhost:$probes/readyz"
echo "The manager runs with the permissions of ServiceAccount evenkeel-system/evenkeel; stop it with Ctrl-C"
exec bin/evenkeel manager --kubeconfig="$KUBECONFIG" \
  --leader-elect=false --webhook-host=127.0.0.1 --webhook-port="$webhook" \
  --webhook-url="https://localhost:$webhook" --webhook-owner=evenkeel-manager \
  --cert-dir="$dir/manager/certificates" --webhook-client-ca-file="$dir/pki/webhooks/ca.crt" \
  --health-probe-bind-address="127.0.0.1:$probes" --metrics-bind-address=0 \
  --source-allow-files --source-dir="$dir/manager/sources" --zap-encoder=console "${@:2}"
