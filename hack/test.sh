#!/usr/bin/env bash
# Runs stages of tests, prints what failed in full, and ends with the line "N passed, N failed, N skipped".
# Each argument is a list of stages, separated by commas, that run one after the other; the lists run at the same time:
#   hack/test.sh unit,docs integration e2e,chaos
# A stage with "-if-changed" is left out when it has passed on this machine with the same files.
# FLAGS has further flags for go test or ginkgo, PKG the packages of the stage unit, SEED the seed of samples.
set -umo pipefail
cd "$(dirname "$0")/.."

apart='test/(attack|chaos|config|dist|e2e|escalation|gatekeeper|image|integration|journeys|sources|walkthrough)(/|$)'
large='^(TestHostilePolicies.*|TestNothingIsNestedSoThat.*|TestARolloutOfTenThousand)$'
cache=${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel/tests
FLAGS=${FLAGS-} PKG=${PKG-}
export EVENKEEL_SEED=${SEED:-$(git rev-parse HEAD)}
# Writing what only debuggers read takes longer than the rest of a link. Collecting small heaps less
# often saves processor time in tests and in the managers that they start.
# With cgo, the package plugin that kustomize imports has gcc link each test: that takes twice as long.
export GOFLAGS="${GOFLAGS-} -ldflags=-w" GOGC=${GOGC-400} CGO_ENABLED=${CGO_ENABLED-0} KEEP=
out=$(mktemp -d)
jobs=()

stop() { # ends what still runs, at once if it doesn't end by itself
  kill -INT -- "${jobs[@]/#/-}"; sleep 0.5
  for _ in {1..30}; do kill -0 -- "${jobs[@]/#/-}" && sleep 1 || break; done
  kill -KILL -- "${jobs[@]/#/-}"; rm -rf "$out"
} 2>/dev/null
trap stop EXIT
trap 'exit 130' INT TERM

stage() { # NAME: runs it, and leaves its reports in $out
  local free module status=0
  free=$(df -Pk "$out" "$HOME" | awk 'NR == 2 || NR > 2 && $4 < kib { kib = $4 } END { print int(kib / 1048576) }')
  ((free >= 4)) || { echo "$free GiB of disk are left and tests need 4: make room, for example by go clean -cache"; return 1; }
  case $1 in
  unit) gotest unit . -skip="$large" "${packages[@]}" ;;
  large) gotest large . -run="$large" ./internal/policy/rego ./internal/remediate ;;
  docs) gotest docs . ./test/walkthrough ;;
  sources | dist) gotest "$1" . "./test/$1" ;;
  hack) for module in bench image controlplane demo; do gotest "hack-${module/\//-}" "hack/$module" ./... || status=1; done
    return "$status" ;;
  integration | chaos) suite "$1" "${PROCS:-2}" ;;
  *) suite "$1" "${PROCS:-1}" ;;
  esac
}

gotest() { # REPORT FOLDER ARGUMENT...
  (cd "$2" && "$OLDPWD/bin/gotestsum" --format=pkgname --format-hide-empty-pkg --hide-summary=skipped \
    --junitfile="$out/$1.xml" -- -timeout=60m -vet=off "${@:3}" $FLAGS)
}

suite() { # NAME PROCESSES
  bin/ginkgo run --procs="$2" --no-color --timeout=2h --vet=off --output-dir="$out" --junit-report="$1.xml" \
    ${FLAGS//-ginkgo./-} "./test/$1"
}

files() { # STAGE: what its tests are about, if that isn't everything
  case $1 in
  hack) echo hack Makefile ;;
  dist) echo hack Makefile cmd config test/dist ;;
  image) echo hack/build.sh hack/image hack/image.sh cmd config internal/manager internal/webhook test/image ;;
  esac
}

prepare() { # STAGES: builds what they run, so that no time limit includes it
  go build -modfile=hack/tools/gotestsum/go.mod -o bin/gotestsum gotest.tools/gotestsum || return
  [[ $1 =~ ^(unit|large)$ ]] && return
  # This compiles as go build does, and links nothing.
  go list -export ./... >/dev/null && go list -export -tags=clockoffset ./cmd/evenkeel >/dev/null &&
    go build -o bin/ginkgo github.com/onsi/ginkgo/v2/ginkgo &&
    go run -C hack/controlplane ./cmd/controlplane build && go run -C hack/controlplane ./cmd/controlplane tools
}

lane() { # STAGE...: runs them one after the other
  local name stamp TIMEFORMAT='%0R %0U %0S'
  trap 'exit 130' INT TERM
  for name in "$@"; do
    stamp=$cache/${name%-if-changed}-$(git ls-files -zco --exclude-standard -- $(files "${name%-if-changed}") |
      xargs -0 sha256sum 2>/dev/null | sha256sum | cut -c1-16)
    [[ $name == *-if-changed && -e $stamp ]] && echo "==> $name: passed here with the same files; make test-nightly runs it" && continue
    name=${name%-if-changed}
    echo "==> $name (at ${SECONDS}s)"
    { time stage "$name" 2>&1 | tee "$out/$name.log" >&3; } 2>"$out/$name.time" && touch "$out/$name.ok"
    tally "$name"
    [[ -e $out/$name.ok && -n $(files "$name") && -z $FLAGS ]] && mkdir -p "$cache" && touch "$stamp"
  done
  return 0 # only a list that ends early returns something else
}

count() { cat "$out/$1"*.xml 2>/dev/null | grep -cE "$2"; } # STAGE PATTERN: in its reports

tally() { # STAGE: prints and keeps its row of the table
  local name=$1 real user sys failed skipped passed
  read -r real user sys < <(tail -n1 "$out/$name.time")
  failed=$(count "$name" '<(failure|error)[ >]') skipped=$(count "$name" '<skipped[ >]')
  passed=$(($(count "$name" '<testcase (classname|name="\[It\])') - failed - skipped))
  ((passed + failed > 0)) || { rm -f "$out/$name.ok"; echo "No test ran: the stage proves nothing" >>"$out/$name.log"; }
  [[ -e $out/$name.ok || $failed -gt 0 ]] || failed=1
  printf '%-12s %7d %7d %8d %7ds %10ds\n' "$name" $((passed > 0 ? passed : 0)) "$failed" "$skipped" "$real" $((user + sys)) |
    tee -a "$out/table"
}

[[ $PKG =~ $apart ]] && echo "Error: ${BASH_REMATCH[0]} needs a control plane or takes long: make help names its target" >&2 && exit 1
if [[ $PKG ]]; then
  read -ra packages <<<"$PKG"
  packages=("${packages[@]#./}") && packages=("${packages[@]/#/./}")
else
  mapfile -t packages < <(go list ./... | grep -vE "$apart")
fi
echo "The seed of samples is $EVENKEEL_SEED: SEED=$EVENKEEL_SEED draws the same"
prepare "$*" || exit
exec 3>/dev/null
[[ $* == *[\ ,]* ]] || exec 3>&1 # a stage by itself shows its output as it comes
for stages in "$@"; do
  lane ${stages//,/ } &
  jobs+=($!)
done
broken=0
for job in "${jobs[@]}"; do
  wait "$job" || broken=1
done
jobs=()

echo && echo "The slowest:"
cat "$out"/*.xml 2>/dev/null | sed -nE 's/.*<testcase.* name="([^"]*)".* time="([0-9.]*)".*/\2s \1/p' | sort -rn | head -10
for log in "$out"/*.log; do
  [[ -e ${log%.log}.ok ]] && continue
  printf '\n==> What failed of %s:\n' "$(basename "$log" .log)"
  sed -n '/^=== \(Failed\|Errors\)/,$p' "$log" | grep . || cat "$log"
done
printf '\n%-12s %7s %7s %8s %8s %11s\n' STAGE PASSED FAILED SKIPPED TIME PROCESSORS
touch "$out/table" && sort "$out/table"
((broken)) && echo "A list of stages was ended: some of its stages have no row"
awk -v broken="$broken" '{ p += $2; f += $3; s += $4 }
  END { printf "%d passed, %d failed, %d skipped\n", p, f + broken, s; exit f + broken > 0 }' "$out/table"
