#!/usr/bin/env bash
# Compiles the program as every release, image and `make build` has it: static,
# without paths of this machine. GOOS and GOARCH are those of the environment.
# Usage: hack/build.sh FILE VERSION
set -euo pipefail
cd "$(dirname "$0")/.."
CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X evenkeel.dev/evenkeel/internal/version.version=$2" -o "$1" ./cmd/evenkeel
