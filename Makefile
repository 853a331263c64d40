# Everything here needs Go, make and git only, and the tests ssh-keygen: tools and the
# local control plane are built from their Go modules, at the versions that this
# repository pins.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

##@ Variables (make TARGET NAME=value)

NAME ?= default## instance of the local control plane: two names run side by side (up, down, status)
NODES ?= 3## number of fake nodes (up)
KEEP ?=## 1 leaves the demo's cluster up and prints how to use it (demo)
ARGS ?=## further flags of the manager, for example ARGS="--remediation-allow-fields=image" (run)
FLAGS ?=## further flags for go test, for example FLAGS="-run Breaker -v", or for Ginkgo, FLAGS="-ginkgo.focus=breaker" (test targets)
SEED ?=## what samples are drawn by, the commit by default; each run prints it (test targets)
PROCS ?=## how many processes share the specs of a suite, each with a control plane (test-integration, attack, test-e2e, chaos)
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)## version stamped into the binary (build, dist, image, image-push)
IMAGE ?= evenkeel## name of the image, with its registry (dist, image, image-push)
IMAGE_PLATFORMS ?= linux/amd64 linux/arm64## what image builds for
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64## what dist builds for
PKG ?=## packages, for example PKG="./internal/canary ./internal/breaker/...": those to test (test-unit), or to mutate, where all is the safety core and the default what changed of it (mutate)
BENCH ?= check engines webhook scan memory## which benchmarks are run (bench)
SEEDS ?= 1 2 3## which objects are generated, 3,000 for each number (compare-gator)
MIN_KILLED ?= 97## percent of the mutants that tests reach of which tests must fail (mutate)
MIN_COVERED ?= 95## percent of the mutants that tests must reach (mutate)
WORKERS ?= 1## mutants that are tested at the same time (mutate)

TEST         := FLAGS="$(FLAGS)" SEED="$(SEED)" hack/test.sh
CONTROLPLANE := go run -C hack/controlplane ./cmd/controlplane
CONTROLLER_GEN := go tool -modfile=hack/tools/go.mod controller-gen
LINT_MODULE  := $(CURDIR)/hack/tools/golangci/go.mod
KUBE_API_LINTER := go tool -modfile=$(CURDIR)/hack/tools/kubeapilinter/go.mod golangci-lint-kube-api-linter
GOLANGCI     := go tool -modfile=$(LINT_MODULE) golangci-lint

# The modules whose code is ours.
MODULES := . hack/controlplane hack/demo hack/image hack/bench hack/tools hack/components/certmanager
# The modules that only pin versions. Those of hack/bench aren't among them: they are
# needed for a benchmark alone, and are large.
PINS := hack/tools/golangci hack/tools/kubeapilinter hack/tools/gremlins hack/tools/gotestsum hack/components/etcd hack/components/kubernetes hack/components/kwok hack/components/crds hack/components/gatekeeper

# The safety core: what decides on writes to other people's objects, and on requests.
SAFETY_CORE := internal/breaker internal/breaker/circuit internal/canary internal/rollout internal/webhook/review \
	$(wildcard internal/remediate/fix internal/remediate/execute)

##@ Start here

.PHONY: help
help: ## Show this text
	@awk 'BEGIN { FS = "## " } \
	  /^##@ / { printf "\n%s\n", substr($$0, 5); next } \
	  /^[a-z0-9-]+:.*## / { split($$1, t, ":"); printf "  %-17s %s\n", t[1], $$2; next } \
	  /^[A-Z_]+ \?=.*## / { split($$1, t, " "); printf "  %-17s %s\n", t[1], $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo

.PHONY: demo
demo: ## Show the main job on a real control plane, from nothing to a summary
	@KEEP="$(KEEP)" go run -C hack/demo .

# The lists take about the same time, and have five control planes at most. While two are of chaos, the
# second list runs packages, which have none.
.PHONY: test
test: ## Set up what is needed and run the tests; ends with "N passed, N failed"
	@$(TEST) integration,dist-if-changed,hack-if-changed,image-if-changed unit,docs,config,escalation,sources chaos,e2e,attack,journeys

.PHONY: test-nightly
test-nightly: ## Run what make test samples or leaves out: a kill at every write, hostile policies, the tools, the image, the demo
	@status=0; $(TEST) large || status=1; \
	FLAGS=-rapid.checks=2000 PKG=./pkg/rego/compiled hack/test.sh unit || status=1; \
	EVENKEEL_EXHAUSTIVE=1 hack/test.sh e2e,dist,image chaos,hack || status=1; \
	EVENKEEL_EXHAUSTIVE=1 FLAGS=-ginkgo.label-filter=large hack/test.sh integration || status=1; \
	go run -C hack/demo . || status=1; exit $$status

.PHONY: setup
setup: ## Build all that the other targets need: program, local control plane, linters (a dev container runs it once)
	@for program in go git ssh-keygen; do command -v "$$program" >/dev/null || { echo "Error: $$program is missing: install Go 1.26, git and openssh-client" >&2; exit 1; }; done
	@$(MAKE) build
	@$(CONTROLPLANE) build
	@$(GOLANGCI) version
	@echo "All is there. Next: make demo, or make test-unit"

##@ Tests

.PHONY: test-unit
test-unit: ## Tables, Rego, golden traces, models: no control plane; PKG names packages
	@PKG="$(PKG)" $(TEST) unit

.PHONY: test-large
test-large: ## The tests of packages that take minutes: policies that would never end, ten thousand targets
	@$(TEST) large

.PHONY: test-integration
test-integration: ## Manifests and controllers against a real API server
	@PROCS="$(PROCS)" $(TEST) integration $(if $(FLAGS),,escalation,journeys,config,sources)

.PHONY: test-docs
test-docs: ## Run the commands of the documentation, page by page
	@$(TEST) docs

.PHONY: test-image
test-image: ## The image built, unpacked and run without permissions; replicas replaced under traffic
	@$(TEST) image

.PHONY: test-e2e
test-e2e: ## The manager as a process: killed, raced, fed with bad input
	@PROCS="$(or $(PROCS),2)" $(TEST) e2e

.PHONY: test-gatekeeper
test-gatekeeper: ## Move a cluster from the real Gatekeeper to Evenkeel and back, both side by side on a real control plane
	@$(TEST) gatekeeper

.PHONY: attack
attack: ## Try to get past it and to make it do harm, on a real control plane; print the table of attempts
	@table=$$(mktemp) && trap 'rm -f "$$table"' EXIT && status=0 && \
	{ EVENKEEL_ATTACK_TABLE="$$table" PROCS="$(or $(PROCS),2)" $(TEST) attack || status=$$?; } && \
	printf '\n' && cat "$$table" && exit $$status

.PHONY: journeys
journeys: ## Follow people through what they want of it, on a real control plane; print how long each took
	@table=$$(mktemp) && trap 'rm -f "$$table"' EXIT && status=0 && \
	{ EVENKEEL_JOURNEYS_TABLE="$$table" $(TEST) journeys || status=$$?; } && \
	printf '\n' && cat "$$table" && exit $$status

.PHONY: chaos
chaos: ## Break a real control plane under rollouts, with a kill at every write; write the figures to docs/chaos.md
	@EVENKEEL_CHAOS_TABLE="$(CURDIR)/docs/chaos.md" EVENKEEL_EXHAUSTIVE=1 PROCS="$(or $(PROCS),3)" $(TEST) chaos

.PHONY: test-hack
test-hack: ## The tests of the local control plane, the demo, the benchmarks and the release
	@$(TEST) hack,dist

.PHONY: mutate
mutate: ## Change the safety core operator by operator, and list what its tests don't notice: CONTRIBUTING.md
	@hack/mutate.sh "$(MIN_KILLED)" "$(MIN_COVERED)" "$(WORKERS)" "$(SAFETY_CORE)" $(PKG)

.PHONY: bench
bench: ## Measure Evenkeel beside its peers, which are built once; write the figures to docs/benchmarks.md
	@go run -C hack/bench . --runs 15 --table "$(CURDIR)/docs/benchmarks.md" $(BENCH)

.PHONY: bench-go
bench-go: ## Run the benchmarks of the packages, without the tests
	@go test -run='^$$' -bench=. -benchmem ./internal/... ./pkg/...

.PHONY: compare-gator
compare-gator: ## Compare the verdicts of Gatekeeper's engine and Evenkeel on thousands of generated objects and reviews of them
	@EVENKEEL_EXHAUSTIVE=1 go test -C hack/bench . -run='^TestVerdictsAreGatekeepers$$' -count=1 -v -timeout=3h -args -seeds="$(SEEDS)"

##@ Code

.PHONY: build
build: ## Build the binary into bin/evenkeel
	@hack/build.sh bin/evenkeel "$(VERSION)"
	@ln -sf evenkeel bin/kubectl-evenkeel
	@cp hack/kubectl_complete-evenkeel bin/
	@echo "Built bin/evenkeel $(VERSION), also as the plugin bin/kubectl-evenkeel"

.PHONY: dist
dist: ## Build a release into dist/: programs, SBOMs, manifests, checksums
	@hack/dist.sh dist "$(VERSION)" "$(IMAGE)" $(PLATFORMS)

.PHONY: image
image: ## Build the image for each platform into dist/image: OCI layout, archives for docker load, SBOMs; asks no registry
	@hack/image.sh dist/image "$(VERSION)" "$(IMAGE)" $(IMAGE_PLATFORMS)

.PHONY: image-push
image-push: ## Push what image has built to IMAGE:VERSION, with its SBOMs as referrers
	@go run -C hack/image . push "$(CURDIR)/dist/image" "$(IMAGE):$(VERSION)"

.PHONY: generate
generate: manifests ## Regenerate all that is generated: deep copies, manifests, tables in docs
	@$(CONTROLLER_GEN) object paths=./api/...
	@go run -C hack/tools ./apidocs $(CURDIR)/config/crd/bases $(CURDIR)/docs/reference/api.md
	@rm -f config/schemas/*.json
	@go run -C hack/tools ./schemas $(CURDIR)/config/crd/bases $(CURDIR)/config/schemas
	@rm -rf docs/reference/cli
	@env -u POD_NAMESPACE go run ./cmd/evenkeel docs docs/reference/cli
	@rm -f docs/policies/*.md
	@go run ./cmd/evenkeel runbooks policies docs/policies
	@go run -C hack/tools ./signaldocs $(CURDIR) $(CURDIR)/docs/reference/signals.md $(CURDIR)/docs/reference/labels.md
	@go test ./internal/webhook/exempt -run '^TestTheExemptionsPageIsTrue$$' -count=1 -update >/dev/null
	@go test ./policies -run '^TestEveryPolicyIsDescribed$$' -count=1 -update >/dev/null
	@go generate ./...

.PHONY: manifests
manifests: ## Regenerate the CRDs from the API types
	@$(CONTROLLER_GEN) crd:crdVersions=v1 paths=./api/... output:crd:dir=config/crd/bases

.PHONY: fmt
fmt: ## Format the code of every module
	@for dir in $(MODULES); do (cd $$dir && $(GOLANGCI) fmt -c $(CURDIR)/.golangci.yml); done

.PHONY: lint
lint: ## Check style and architecture of every module
	@$(GOLANGCI) config verify
	@for dir in $(MODULES); do \
	  echo "lint $$dir"; \
	  (cd $$dir && $(GOLANGCI) run -c $(CURDIR)/.golangci.yml ./...); \
	done
	@echo "lint api by Kubernetes' API conventions"
	@$(KUBE_API_LINTER) run -c $(CURDIR)/.golangci-kal.yml ./api/...

.PHONY: outdated
outdated: ## List the direct dependencies of every module that have newer versions or are deprecated
	@for dir in $(MODULES) $(PINS); do \
	  direct=$$(go list -C $$dir -m -f '{{if not (or .Main .Indirect)}}{{.Path}}{{end}}' all) || exit 1; \
	  [ -z "$$direct" ] || go list -C $$dir -m -u -e -f "{{if or .Update .Deprecated}}$$dir: {{.}} {{.Deprecated}}{{end}}" $$direct || exit 1; \
	done

.PHONY: verify
verify: verify-generated verify-modules lint ## Fail on stale generated files, untidy modules, lint, format

.PHONY: verify-generated
verify-generated: ## Regenerate, and fail if that changes a file
	@hack/verify-unchanged.sh $(MAKE) generate

.PHONY: verify-modules
verify-modules: ## Fail if go.mod or go.sum of a module isn't tidy
	@for dir in $(MODULES) $(PINS); do \
	  echo "tidy $$dir"; \
	  go mod tidy -C $$dir -diff || { echo "Error: $$dir/go.mod isn't tidy: run 'go mod tidy -C $$dir' and commit the result" >&2; exit 1; }; \
	done

##@ Local control plane

.PHONY: up
up: ## Start a Kubernetes control plane with fake nodes in the background
	@$(CONTROLPLANE) up --name "$(NAME)" --nodes "$(NODES)" --kubectl "$(CURDIR)/bin/kubectl"

.PHONY: run
run: build ## Run the manager in front of you, on the local control plane, with its own permissions only
	@hack/run-manager.sh "$(NAME)" $(ARGS)

.PHONY: down
down: ## Stop it and remove its data
	@$(CONTROLPLANE) down --name "$(NAME)"

.PHONY: status
status: ## Show its components
	@$(CONTROLPLANE) status --name "$(NAME)"

.PHONY: clean
clean: ## Remove what was built here; the caches outside the checkout stay
	@rm -rf bin dist
