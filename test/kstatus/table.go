// SPDX-License-Identifier: Apache-2.0

package kstatus

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	gocmp "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Object is an object with conditions.
type Object interface {
	apiruntime.Object
	GetGeneration() int64
	SetGeneration(int64)
	Observed() (generation *int64, conditions *[]metav1.Condition)
}

// State is a state that an object may be in.
type State[O Object] struct {
	// Name tells the state to people: the first cell of its row.
	Name string
	// Object is in that state, but for its conditions.
	Object O
	// Set sets the conditions of such an object at a time.
	Set func(O, time.Time)
}

// Of is what kstatus makes of an object.
func Of(obj apiruntime.Object) (string, error) {
	content, err := apiruntime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return "", fmt.Errorf("convert %T: %w", obj, err)
	}
	live := &unstructured.Unstructured{Object: content}
	live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kindOf(obj)))
	result, err := status.Compute(live)
	if err != nil {
		return "", fmt.Errorf("compute the status of %T: %w", obj, err)
	}
	return string(result.Status), nil
}

// Table holds each state of a kind against the rules for conditions, and all of them
// against the kind's table in docs/reference/conditions.md, which update writes anew.
func Table[O Object](t *testing.T, update bool, states []State[O]) {
	t.Helper()
	const row = "| %s | %s | %s | %s |\n"
	text := fmt.Sprintf(row, "state", "Ready", "other conditions", "kstatus says") + "|---|---|---|---|\n"
	for _, s := range states {
		fresh := held(t, s, nil)
		for _, before := range states {
			// Where it comes from leaves nothing behind.
			if diff := gocmp.Diff(outline(fresh), outline(held(t, s, conditionsOf(held(t, before, nil))))); diff != "" {
				t.Errorf("%q after %q (-fresh +after):\n%s", s.Name, before.Name, diff)
			}
		}
		checkRules(t, s.Name, fresh)
		says, err := Of(fresh)
		if err != nil {
			t.Fatalf("%q: %v", s.Name, err)
		}
		ready, others := cells(conditionsOf(fresh))
		text += fmt.Sprintf(row, s.Name, ready, others, says)
	}
	compare(t, update, kindOf(states[0].Object), text)
}

// held is a state's object with its conditions, on top of those that held before.
func held[O Object](t *testing.T, s State[O], before []metav1.Condition) O {
	t.Helper()
	obj := s.Object.DeepCopyObject().(O)
	obj.SetGeneration(3)
	_, conditions := obj.Observed()
	*conditions = slices.Clone(before)
	at := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	s.Set(obj, at)
	again := obj.DeepCopyObject().(O)
	s.Set(again, at.Add(time.Hour))
	if diff := gocmp.Diff(obj, again); diff != "" {
		t.Errorf("%q: nothing has changed, but the object did (-first +second):\n%s", s.Name, diff)
	}
	return obj
}

func conditionsOf(obj Object) []metav1.Condition {
	_, conditions := obj.Observed()
	return slices.Clone(*conditions)
}

// outline is what the conditions say, whatever their order and times.
func outline(obj Object) []string {
	var out []string
	for _, c := range conditionsOf(obj) {
		out = append(out, fmt.Sprintf("%s=%s %s %q of %d", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration))
	}
	slices.Sort(out)
	return out
}

// cells are Ready and the other conditions as a table shows them, with their reasons where
// those differ.
func cells(conditions []metav1.Condition) (ready, others string) {
	slices.SortStableFunc(conditions, func(a, b metav1.Condition) int {
		order := v1alpha1.ConditionTypes()
		return cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type))
	})
	var rest []string
	reason := ""
	for _, c := range conditions {
		switch {
		case c.Type == v1alpha1.ConditionReady:
			reason = c.Reason
			ready = fmt.Sprintf("%s `%s`", c.Status, c.Reason)
		case c.Reason == reason:
			rest = append(rest, fmt.Sprintf("`%s=%s`", c.Type, c.Status))
		default:
			rest = append(rest, fmt.Sprintf("`%s=%s` (`%s`)", c.Type, c.Status, c.Reason))
		}
	}
	return ready, strings.Join(rest, " ")
}

// kindOf is the kind of an object: the name of its Go type.
func kindOf(obj apiruntime.Object) string { return reflect.TypeOf(obj).Elem().Name() }

// root is the repository.
func root() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(filepath.Dir(here)))
}

// compare holds a kind's table against the page.
func compare(t *testing.T, update bool, kind, want string) {
	t.Helper()
	path := filepath.Join(root(), "docs", "reference", "conditions.md")
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, section, found := strings.Cut(string(raw), "\n## "+kind+"\n")
	if !found {
		t.Fatalf("%s has no section %s", path, kind)
	}
	start := strings.Index(section, "\n| state |")
	if start < 0 {
		t.Fatalf("%s has no table of states below %s", path, kind)
	}
	start++
	end := strings.Index(section[start:], "|\n\n")
	table := section[start:]
	if end >= 0 {
		table = section[start : start+end+2]
	}
	if table == want {
		return
	}
	if !update {
		diff := gocmp.Diff(strings.Split(table, "\n"), strings.Split(want, "\n"))
		t.Fatalf("%s, %s (-page +code), write it anew with -update:\n%s", path, kind, diff)
	}
	page := before + "\n## " + kind + "\n" + section[:start] + want + section[start+len(table):]
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
}
