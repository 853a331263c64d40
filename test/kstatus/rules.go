// SPDX-License-Identifier: Apache-2.0

package kstatus

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// checkRules holds an object against the rules for conditions of every kind.
func checkRules(t *testing.T, state string, obj Object) {
	t.Helper()
	generation, conditions := obj.Observed()
	if *generation != obj.GetGeneration() {
		t.Errorf("%q: the status speaks of generation %d, want %d", state, *generation, obj.GetGeneration())
	}
	known := reasons(t)
	for _, c := range *conditions {
		if c.ObservedGeneration != obj.GetGeneration() {
			t.Errorf("%q: %s speaks of generation %d, want %d", state, c.Type, c.ObservedGeneration,
				obj.GetGeneration())
		}
		if !slices.Contains(v1alpha1.ConditionTypes(), c.Type) {
			t.Errorf("%q: %s isn't among the API's condition types", state, c.Type)
		}
		if !camelCase.MatchString(c.Reason) || !known[c.Reason] {
			t.Errorf("%q: the reason %q of %s is no CamelCase constant of the API", state, c.Reason, c.Type)
		}
		if c.LastTransitionTime.IsZero() {
			t.Errorf("%q: %s says not since when", state, c.Type)
		}
		if slices.Contains(onlyTrue(), c.Type) && c.Status != metav1.ConditionTrue {
			t.Errorf("%q: %s is %s; it is to be absent unless it is True", state, c.Type, c.Status)
		}
	}
	checkSummary(t, state, *conditions)
}

// checkSummary wants exactly one of Ready, Reconciling and Stalled to be True: kstatus then
// says Current, InProgress or Failed, in whichever order the conditions stand.
func checkSummary(t *testing.T, state string, conditions []metav1.Condition) {
	t.Helper()
	if meta.FindStatusCondition(conditions, v1alpha1.ConditionReady) == nil {
		t.Errorf("%q: there is no condition Ready", state)
	}
	var hold []string
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if meta.IsStatusConditionTrue(conditions, kind) {
			hold = append(hold, kind)
		}
	}
	if len(hold) != 1 {
		t.Errorf("%q: %q are True, want one of Ready, Reconciling and Stalled", state, hold)
	}
}

// onlyTrue are the conditions that are absent while they don't hold.
func onlyTrue() []string {
	return []string{
		v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled,
		v1alpha1.ConditionComplete, v1alpha1.ConditionEnded, v1alpha1.ConditionDemoted,
	}
}

var camelCase = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)

// reasonName is the name of a constant that may be a reason.
var reasonName = regexp.MustCompile(`^(Reason|Phase)[A-Z]`)

// reasons are the constants of the API that may be the reason of a condition.
func reasons(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(), "api", "v1alpha1", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("found no file of the API: %v", err)
	}
	out := map[string]bool{}
	for _, path := range files {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !reasonName.MatchString(spec.Names[0].Name) {
				return true
			}
			if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
				value, _ := strconv.Unquote(literal.Value)
				out[value] = true
			}
			return true
		})
	}
	return out
}
