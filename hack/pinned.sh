#!/bin/sh
# pinned.sh UNPINNED IMAGE...: fails unless each image is named by its digest, or
# UNPINNED is yes. No digest stands in this repository: whoever builds takes the one
# that they have checked.
set -eu
unpinned=$1
shift
for image in "$@"; do
  digest=${image##*@sha256:}
  if [ "$digest" != "$image" ] && [ "${#digest}" -eq 64 ]; then
    continue
  fi
  if [ "$unpinned" = yes ]; then
    echo "Note: $image is taken as its registry has it today." >&2
    continue
  fi
  echo "Error: $image isn't named by digest, so what is built on can change unseen." >&2
  echo "Give it as a build argument: NAME:TAG@sha256:DIGEST, where this prints the digest:" >&2
  echo "  docker buildx imagetools inspect ${image%%@*} --format '{{.Manifest.Digest}}'" >&2
  echo "Or take it as it is: --build-arg UNPINNED=yes, or UNPINNED=yes make image." >&2
  exit 1
done
