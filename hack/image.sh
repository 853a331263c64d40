#!/usr/bin/env bash
# Builds the image out of this checkout: for each platform the program that a release
# has, then all of them as an OCI layout, archives for `docker load`, and bills of
# materials. It asks no registry and needs no container runtime. The same commit gives
# the same bytes: times are the commit's.
# Usage: hack/image.sh FOLDER VERSION IMAGE PLATFORM...   (PLATFORM is OS/ARCH)
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -lt 4 ]; then
  echo "Error: give FOLDER VERSION IMAGE PLATFORM..." >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd) version=$2 image=$3
shift 3

programs=$(mktemp -d)
trap 'rm -rf "$programs"' EXIT
arguments=()
for platform in "$@"; do
  program=$programs/${platform/\//_}
  GOOS=${platform%/*} GOARCH=${platform#*/} GOFLAGS=-buildvcs=true hack/build.sh "$program" "$version"
  arguments+=("$platform=$program")
done
go run -C hack/image . build --out "$out" --name "$image" --version "$version" \
  --created "$(git log -1 --format=%ct)" --revision "$(git rev-parse HEAD)" "${arguments[@]}"
