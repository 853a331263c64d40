#!/usr/bin/env bash
# Runs the manager from this checkout on a control plane of `make up`, as its
# ServiceAccount and with no other permissions. Usage: hack/run-manager.sh [NAME [FLAG…]]
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

port=${WEBHOOK_PORT:-9443}
echo "The manager runs with the permissions of ServiceAccount evenkeel-system/evenkeel; stop it with Ctrl-C"
exec bin/evenkeel manager --kubeconfig="$KUBECONFIG" \
  --leader-elect=false --webhook-port="$port" --webhook-url="https://localhost:$port" --webhook-owner=evenkeel-manager \
  --cert-dir="$dir/manager/certificates" --webhook-client-ca-file="$dir/pki/webhooks/ca.crt" \
  --health-probe-bind-address="127.0.0.1:${PROBE_PORT:-8081}" --metrics-bind-address=0 \
  --source-allow-files --source-dir="$dir/manager/sources" --zap-encoder=console "${@:2}"
