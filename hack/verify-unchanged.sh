#!/usr/bin/env bash
# Runs a command that regenerates files, and fails if that changes, adds or
# removes one. It compares the working tree with itself, so that it also works
# on changes that aren't committed yet.
set -euo pipefail

cd "$(git rev-parse --show-toplevel)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

snapshot() {
  git ls-files --cached --others --exclude-standard -z |
    while IFS= read -r -d '' file; do
      [[ -f $file ]] && printf '%s  %s\n' "$(git hash-object --no-filters -- "$file")" "$file"
    done
  return 0
}

snapshot >"$work/before"
"$@"
snapshot >"$work/after"

if ! diff "$work/before" "$work/after" >"$work/changes"; then
  echo "Error: these files were stale; they are regenerated now, commit them:" >&2
  sed -n 's/^[<>] [0-9a-f]*  /  /p' "$work/changes" | sort -u >&2
  exit 1
fi
echo "Generated files are up to date"
