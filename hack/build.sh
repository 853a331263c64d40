#!/usr/bin/env bash
# Compiles the program as every release, image and `make build` has it: static,
# without paths of this machine. GOOS and GOARCH are those of the environment.
# Usage: hack/build.sh FILE VERSION
# PROGRESS_EVERY is how many seconds pass before it is told, and told again, that it goes on: 10.
set -euo pipefail
cd "$(dirname "$0")/.."
# The first build takes minutes: whoever looks on is told that it goes on.
(while sleep "${PROGRESS_EVERY:-10}" >/dev/null 2>&1; do echo "  compiling evenkeel, ${SECONDS}s so far (minutes the first time, then seconds)" >&2; done) &
trap 'kill $! 2>/dev/null || true' EXIT
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X evenkeel.dev/evenkeel/internal/version.version=$2" -o "$1" ./cmd/evenkeel
