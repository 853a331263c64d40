// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const template = `apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: owned}
spec:
  crd: {spec: {names: {kind: Owned}}}
  targets:
    - target: admission.k8s.gatekeeper.sh
      rego: |
        package owned
        violation[{"msg": msg}] {
          not input.review.object.metadata.labels.owner
          msg := sprintf("%v has no owner", [input.review.object.metadata.name])
        }
---
apiVersion: constraints.gatekeeper.sh/v1beta1
kind: Owned
metadata: {name: all}
spec: {match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}}
`

const podReview = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1",` +
	`"operation":"CREATE","kind":{"group":"","version":"v1","kind":"Pod"},"namespace":"shop","name":"NAME",` +
	`"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"NAME","namespace":"shop","labels":LABELS}}}}`

func TestBothEnginesAnswerEachReviewAndAreMeasured(t *testing.T) {
	dir := t.TempDir()
	rules, reviews := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "reviews")
	of := func(name, labels string) string {
		return strings.NewReplacer("NAME", name, "LABELS", labels).Replace(podReview)
	}
	for file, text := range map[string]string{rules: template,
		reviews: of("web", `{"owner":"jane"}`) + "\n" + of("db", "{}") + "\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bodies, err := lines(reviews)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]int64{}
	for _, engine := range []string{"compiled", "topdown"} {
		snapshot, err := policies(t.Context(), rules, engine)
		if err != nil {
			t.Fatal(err)
		}
		got, err := verdicts(snapshot, bodies)
		if diff := cmp.Diff([][]string{{}, {"db has no owner"}}, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", engine, err, diff)
		}
		if took, err := measure(snapshot, bodies, time.Millisecond); err != nil || took <= 0 {
			t.Errorf("%s: %d ns, %v", engine, took, err)
		}
		if made[engine], err = allocations(snapshot, bodies); err != nil {
			t.Error(err)
		}
	}
	if made["compiled"] <= 0 || made["compiled"] >= made["topdown"] {
		t.Errorf("allocations: %v, want some, and less than topdown's", made)
	}
}

func TestRulesThatCantBeMigratedAreNoBenchmark(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rules.yaml")
	refused := strings.Replace(template, "not input", "http.send({}); not input", 1)
	if err := os.WriteFile(file, []byte(refused), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := policies(t.Context(), file, "compiled")
	if err == nil || !strings.Contains(err.Error(), "Owned/all") && !strings.Contains(err.Error(), "owned") {
		t.Errorf("it says %v", err)
	}
}
