#!/usr/bin/env bash
# Has gremlins mutate packages, and fails if their own tests notice too few of the mutants, or reach too few. Without a
# package, those of the core that differ from where the branch left main; "all" is the whole core.
# Usage: hack/mutate.sh PERCENT_KILLED PERCENT_COVERED WORKERS "CORE..." [PACKAGE...]
set -euo pipefail
cd "$(dirname "$0")/.."

killed=$1 covered=$2 workers=$3 core=$4
shift 4
case "$*" in
all)
  # shellcheck disable=SC2086 # a list of words
  set -- $core
  ;;
"")
  base=$(git merge-base origin/main HEAD 2>/dev/null || git merge-base main HEAD)
  [ "$base" != "$(git rev-parse HEAD)" ] || base=HEAD~
  changed=$({ git diff --name-only "$base" -- '*.go' && git ls-files --others --exclude-standard -- '*.go'; } | xargs -rn1 dirname | sort -u)
  for dir in $core; do
    if grep -qxF "$dir" <<<"$changed"; then set -- "$@" "$dir"; fi
  done
  if [ $# = 0 ]; then
    echo "Nothing of the safety core has changed since $base. Name a package as in PKG=./internal/canary, or all of it as PKG=all."
    exit
  fi
  ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/bin" "$scratch/module"
go build -modfile=hack/tools/gremlins/go.mod -o "$scratch/gremlins" github.com/go-gremlins/gremlins/cmd/gremlins
go build -C hack/tools -o "$scratch/bin/go" ./mutate # stands in for the go command
# A copy, for what changes meanwhile would be mixed in.
git ls-files -zco --exclude-standard | tar --null --ignore-failed-read -T - -cf - | tar -xf - -C "$scratch/module"
# gremlins passes over thresholds that are flags.
echo "{unleash: {threshold: {efficacy: $killed, mutant-coverage: $covered}}}" >"$scratch/config.yaml"

status=0
for dir in "$@"; do
  dir=${dir#./}
  echo "$dir:"
  # "/" leaves out the packages below: each is one of its own.
  (cd "$scratch/module" && EVENKEEL_MUTATE_GO=$(command -v go) PATH=$scratch/bin:$PATH "$scratch/gremlins" unleash --exclude-files / \
    --workers "$workers" --timeout-coefficient 20 --config "$scratch/config.yaml" --output-statuses lct "./$dir") || status=1
done
exit $status
