#!/usr/bin/env bash
# Builds a release: programs, their bills of materials, manifests, and checksums.
# The same commit gives the same bytes, wherever it is built: the date is the
# commit's, and no path of this machine gets in.
# Usage: hack/dist.sh FOLDER VERSION IMAGE PLATFORM...   (PLATFORM is OS/ARCH)
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -lt 4 ]; then
  echo "Error: give FOLDER VERSION IMAGE PLATFORM..." >&2
  exit 2
fi
out=$1 version=$2 image=$3
shift 3
mkdir -p "$out"
out=$(cd "$out" && pwd)
rm -f "$out"/evenkeel_* "$out"/install*.yaml "$out"/SHA256SUMS

for platform in "$@"; do
  os=${platform%/*} arch=${platform#*/}
  program=$out/evenkeel_${os}_$arch
  GOOS=$os GOARCH=$arch GOFLAGS=-buildvcs=true hack/build.sh "$program" "$version"
  go run -C hack/image . sbom "$program" "$version" >"$program.cdx.json"
  echo "Built $program"
done

pages=$(mktemp -d)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct) go run -ldflags "-X evenkeel.dev/evenkeel/internal/version.version=$version" ./cmd/evenkeel docs --format man "$pages"
tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" -C "$pages" -cf - . | gzip -n >"$out/evenkeel_man.tar.gz"
rm -rf "$pages"
echo "Built $out/evenkeel_man.tar.gz"

overlay=$(mktemp -d "$PWD/config/.dist-XXXXXX")
trap 'rm -rf "$overlay"' EXIT
for install in default self-signed; do
  cat >"$overlay/kustomization.yaml" <<EOF
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../$install]
images:
  - name: evenkeel
    newName: $image
    newTag: $version
EOF
  name=install.yaml
  [ "$install" = default ] || name=install-$install.yaml
  go tool -modfile=hack/tools/go.mod kustomize build "$overlay" >"$out/$name"
done

cd "$out"
sha256sum -- evenkeel_* install*.yaml >SHA256SUMS
echo "Built $out/SHA256SUMS"
