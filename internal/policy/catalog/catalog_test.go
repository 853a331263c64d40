// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// saying is a policy on Pods that finds one violation with the message.
func saying(name, message string) *v1alpha1.ClusterRegoPolicy {
	return withRego(name, fmt.Sprintf("package p\n\nimport rego.v1\n\ndeny contains %q if input.pod", message))
}

func withRego(name, source string) *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1},
		Spec: v1alpha1.RegoPolicySpec{
			Rego: v1alpha1.RegoSource{File: name + ".rego", Main: source},
			Match: v1alpha1.Match{
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
		},
	}
}

func podRequest() *policy.Request {
	return &policy.Request{
		Operation: policy.Create,
		Kind:      policy.GroupVersionKind{Version: "v1", Kind: "Pod"},
		Namespace: "team",
		Name:      "web",
		Object:    map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web"}},
		Now:       time.Unix(1_700_000_000, 0),
	}
}

func newCatalog(tb testing.TB, policies ...*v1alpha1.ClusterRegoPolicy) *catalog.Catalog {
	tb.Helper()
	c := catalog.New(catalog.Options{TimeLimit: time.Minute})
	for _, p := range policies {
		if err := c.Set(p); err != nil {
			tb.Fatal(err)
		}
	}
	return c
}

// said is the messages of each policy's verdict, or its error.
func said(results []catalog.Result) map[string]string {
	verdicts := map[string]string{}
	for _, r := range results {
		if r.Err != nil {
			verdicts[r.Policy] = "error: " + r.Err.Error()
			continue
		}
		var messages []string
		for _, v := range r.Violations {
			messages = append(messages, v.Message)
		}
		verdicts[r.Policy] = strings.Join(messages, ",")
	}
	return verdicts
}

func TestSnapshotEvaluatesWhatConcernsTheRequest(t *testing.T) {
	nodes := saying("nodes", "node")
	nodes.Spec.Match.Kinds[0].Kinds = []string{"Node"}
	c := newCatalog(t, saying("b", "second"), saying("a", "first"), nodes)
	results := c.Snapshot().Evaluate(t.Context(), podRequest())
	if diff := cmp.Diff(map[string]string{"a": "first", "b": "second"}, said(results)); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if results[0].Policy != "a" || results[0].Definition.Name != "a" {
		t.Errorf("results aren't sorted by name or lack their definition: %+v", results)
	}
	one, matched := c.Snapshot().EvaluateOne(t.Context(), "b", podRequest())
	if !matched || said([]catalog.Result{one})["b"] != "second" {
		t.Errorf("EvaluateOne(b) = %+v, %t", one, matched)
	}
	for _, name := range []string{"nodes", "unknown"} {
		if res, matched := c.Snapshot().EvaluateOne(t.Context(), name, podRequest()); matched {
			t.Errorf("EvaluateOne(%s) = %+v, want no match", name, res)
		}
	}
}

func TestSnapshotReportsErrorsAsVerdicts(t *testing.T) {
	selects := saying("selects", "x")
	selects.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"a": "b"}}
	slow := withRego("slow", "package p\n\nimport rego.v1\n\ndeny contains \"x\" if { some a in numbers.range(1, "+
		"100000); some b in numbers.range(1, 100000); a + b == -1 }")
	c := catalog.New(catalog.Options{TimeLimit: time.Second})
	for _, p := range []*v1alpha1.ClusterRegoPolicy{selects, slow, saying("good", "fine")} {
		if err := c.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	results := c.Snapshot().Evaluate(t.Context(), podRequest())
	verdicts := said(results)
	for name, want := range map[string]string{"selects": "error: policy selects: its namespaceSelector",
		"slow": "error: policy slow: stopped at its time limit", "good": "fine"} {
		if !strings.HasPrefix(verdicts[name], want) {
			t.Errorf("verdict of %s = %q, want %q…", name, verdicts[name], want)
		}
	}
	broken := podRequest()
	broken.Now = time.Time{}
	for name, verdict := range said(c.Snapshot().Evaluate(t.Context(), broken)) {
		if !strings.HasPrefix(verdict, "error: ") {
			t.Errorf("verdict of %s on an unreadable request = %q, want an error", name, verdict)
		}
	}
}

func TestSetKeepsTheLastGoodRevision(t *testing.T) {
	c := newCatalog(t, saying("p", "good"))
	before, _ := c.Status("p")
	cases := map[string]struct {
		reason string
		change func(*v1alpha1.ClusterRegoPolicy)
		want   string
	}{
		"Rego that doesn't parse": {"its place is named", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main = "package p\n\ndeny {{"
		}, "p.rego:3:"},
		"a forbidden built-in": {"its place is named", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main += "\n\nwarn contains \"x\" if http.send({})"
		}, "p.rego:7:22: the built-in function http.send is forbidden"},
		"a match that can't be right": {"its field is named", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Namespaces = []string{"A"}
		}, "spec.match.namespaces"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := saying("p", "good")
			p.Generation = 2
			tc.change(p)
			err := c.Set(p)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("%s: Set error %v, want one with %q", tc.reason, err, tc.want)
			}
			status, ok := c.Status("p")
			if !ok || status.Revision != before.Revision || status.Generation != 1 || !errors.Is(status.Err, err) {
				t.Errorf("status = %+v, want revision %s of generation 1 with the error", status, before.Revision)
			}
			if again := c.Set(p); !errors.Is(again, err) {
				t.Errorf("the same definition again gives %v, want the error kept", again)
			}
			if diff := cmp.Diff(map[string]string{"p": "good"},
				said(c.Snapshot().Evaluate(t.Context(), podRequest()))); diff != "" {
				t.Errorf("verdicts (-want +got):\n%s", diff)
			}
		})
	}
	if err := c.Set(saying("p", "fixed")); err != nil {
		t.Fatal(err)
	}
	if status, _ := c.Status("p"); status.Err != nil || status.Revision == before.Revision {
		t.Errorf("status after fixing = %+v", status)
	}
}

func TestSetOfAPolicyThatNeverCompiled(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ClusterRegoPolicy){
		"its Rego is broken":  func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Rego.Main = "package p\n\ndeny {{" },
		"its match is broken": func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Match.Namespaces = []string{"{"} },
	} {
		t.Run(name, func(t *testing.T) {
			c := catalog.New(catalog.Options{})
			p := saying("p", "x")
			change(p)
			if err := c.Set(p); err == nil {
				t.Fatal("Set took it")
			}
			res, matched := c.Snapshot().EvaluateOne(t.Context(), "p", podRequest())
			if !matched || res.Err == nil || res.Clean() || res.Definition.Name != "p" {
				t.Errorf("result = %+v, matched %t: want an error, never a pass", res, matched)
			}
			if revision, ok := c.Snapshot().Revision("p"); ok {
				t.Errorf("revision %s is in force", revision)
			}
			if status, ok := c.Status("p"); !ok || status.Err == nil || status.Generation != 0 {
				t.Errorf("status = %+v, %t", status, ok)
			}
		})
	}
}

func TestAPolicyOnShellsWithABrokenMatchRefusesThem(t *testing.T) {
	c := catalog.New(catalog.Options{})
	p := saying("p", "x")
	p.Spec.Match.Kinds[0].Subresources = []v1alpha1.Subresource{"exec"}
	p.Spec.Admission.Operations = []v1alpha1.Operation{v1alpha1.OperationConnect}
	p.Spec.Match.Namespaces = []string{"{"}
	if err := c.Set(p); err == nil {
		t.Fatal("Set took it")
	}
	shell := podRequest()
	shell.Operation, shell.Kind, shell.Resource, shell.SubResource = policy.Connect,
		policy.GroupVersionKind{Version: "v1", Kind: "PodExecOptions"}, "pods", "exec"
	if res, matched := c.Snapshot().EvaluateOne(t.Context(), "p", shell); !matched || res.Err == nil {
		t.Errorf("result = %+v, matched %t: want an error, never a pass", res, matched)
	}
}

func TestSetOfAPolicyWithoutKinds(t *testing.T) {
	c := newCatalog(t, saying("good", "fine"))
	p := saying("p", "x")
	p.Spec.Match.Kinds[0].Kinds = []string{"*"}
	if err := c.Set(p); err == nil {
		t.Fatal("Set took it")
	}
	if status, ok := c.Status("p"); !ok || status.Err == nil {
		t.Errorf("status = %+v, %t: want the reason", status, ok)
	}
	if err := c.Set(saying("later", "fine too")); err != nil {
		t.Errorf("a later policy suffers: %v", err)
	}
	want := map[string]string{"good": "fine", "later": "fine too"}
	if diff := cmp.Diff(want, said(c.Snapshot().Evaluate(t.Context(), podRequest()))); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
}

func TestSetWithoutRecompiling(t *testing.T) {
	c := newCatalog(t, saying("p", "x"))
	changes := c.Subscribe()
	revision, _ := c.Snapshot().Revision("p")
	p := saying("p", "x")
	p.Generation, p.Spec.Admission.Action = 2, v1alpha1.AdmissionDeny
	if err := c.Set(p); err != nil {
		t.Fatal(err)
	}
	p.Spec.Admission.Action = v1alpha1.AdmissionWarn
	got := c.Snapshot().Policies()[0]
	if got.Spec.Admission.Action != v1alpha1.AdmissionDeny || got.Generation != 2 {
		t.Errorf("definition = %+v, want the new one, copied", got)
	}
	if after, _ := c.Snapshot().Revision("p"); after != revision {
		t.Errorf("revision changed from %s to %s", revision, after)
	}
	select {
	case <-changes:
	default:
		t.Error("no change was signalled")
	}
	p = got.DeepCopy()
	p.Status.ObservedGeneration, p.ResourceVersion = 2, "77"
	if err := c.Set(p); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changes:
		t.Error("a status update was signalled as a change")
	default:
	}
}

func TestSubscribeJoinsChanges(t *testing.T) {
	c := newCatalog(t)
	changes := c.Subscribe()
	for i := range 5 {
		if err := c.Set(saying(fmt.Sprintf("p%d", i), "x")); err != nil {
			t.Fatal(err)
		}
	}
	c.Delete("p0")
	c.Delete("unknown")
	<-changes
	select {
	case <-changes:
		t.Error("six changes were told more than once")
	default:
	}
	if n := len(c.Snapshot().Policies()); n != 4 {
		t.Errorf("%d policies are in force, want 4", n)
	}
	if _, ok := c.Status("p0"); ok {
		t.Error("a deleted policy has a status")
	}
}

func TestCheck(t *testing.T) {
	c := newCatalog(t)
	if c.Complete() || c.Check(nil) == nil {
		t.Error("an empty catalog passes for complete before its first list")
	}
	c.MarkComplete()
	if err := c.Check(nil); err != nil || !c.Complete() {
		t.Errorf("Check = %v after the first list", err)
	}
}

// TestConcurrentEvaluationWhilePoliciesAreSwapped: each request sees whole
// policies of one moment. The pair of policies is always set to the same number,
// in order, so no snapshot may show the second ahead of the first, and the stable
// policy must be in each.
func TestConcurrentEvaluationWhilePoliciesAreSwapped(t *testing.T) {
	c := newCatalog(t, saying("stable", "stable"), saying("one", "0"), saying("two", "0"))
	const requests, evaluations = 100, 3
	var wg sync.WaitGroup
	for range requests {
		wg.Go(func() {
			for range evaluations {
				verdicts := said(c.Snapshot().Evaluate(t.Context(), podRequest()))
				var one, two int
				_, err := fmt.Sscanf(verdicts["one"]+" "+verdicts["two"], "%d %d", &one, &two)
				if err != nil || verdicts["stable"] != "stable" || two > one || one > two+1 {
					t.Errorf("torn verdicts: %v (%v)", verdicts, err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wg.Wait()
		close(done)
	}()
	for i := 1; ; i++ {
		swapOnce(t, c, fmt.Sprint(i))
		select {
		case <-done:
			return
		default:
		}
	}
}

// swapOnce sets the pair to the number, and breaks and fixes the stable policy.
func swapOnce(t *testing.T, c *catalog.Catalog, number string) {
	t.Helper()
	for _, name := range []string{"one", "two"} {
		if err := c.Set(saying(name, number)); err != nil {
			t.Error(err)
		}
	}
	broken := saying("stable", "stable")
	broken.Spec.Rego.Main = "package"
	if err := c.Set(broken); err == nil {
		t.Error("a broken policy was taken")
	}
	if err := c.Set(saying("stable", "stable")); err != nil {
		t.Error(err)
	}
}

func TestOneInputServesConcurrentEvaluations(t *testing.T) {
	compiled, err := rego.Compile(saying("p", "x"))
	if err != nil {
		t.Fatal(err)
	}
	input, err := rego.NewInput(podRequest())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if d := compiled.Evaluate(t.Context(), input, time.Minute); d.Err != nil || len(d.Violations) != 1 {
				t.Errorf("decision = %+v", d)
			}
		})
	}
	wg.Wait()
}

// malformed is a policy as it is read that can't be read: without its spec.
func malformed(name string) *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Generation: 2, Annotations: map[string]string{v1alpha1.AnnotationMalformed: "soak: bad"}}}
}

func TestAMalformedPolicyKeepsItsLastGoodRevision(t *testing.T) {
	c := newCatalog(t, saying("a", "one"), saying("b", "two"))
	before, _ := c.Status("a")
	for name, good := range map[string]string{"a": before.Revision, "never": ""} {
		if err := c.Set(malformed(name)); !errors.Is(err, catalog.ErrMalformed) ||
			!strings.Contains(err.Error(), "soak: bad") {
			t.Errorf("%s: Set says %v", name, err)
		}
		if now, _ := c.Status(name); now.Revision != good || !errors.Is(now.Err, catalog.ErrMalformed) {
			t.Errorf("%s: the status is %+v, want revision %q", name, now, good)
		}
	}
	if diff := cmp.Diff(map[string]string{"a": "one", "b": "two"},
		said(c.Snapshot().Evaluate(t.Context(), podRequest()))); diff != "" {
		t.Errorf("verdicts (-want +got):\n%s", diff)
	}
	if err := c.Set(saying("a", "three")); err != nil {
		t.Errorf("corrected, it isn't taken: %v", err)
	}
}

func TestAMalformedWaiverWaivesNothing(t *testing.T) {
	c := newCatalog(t, saying("a", "one"))
	w := v1alpha1.NewWaiver("team")
	w.SetName("w")
	w.SetAnnotations(map[string]string{v1alpha1.AnnotationMalformed: "expirationTime: bad"})
	if err := c.SetWaiver(w); !errors.Is(err, catalog.ErrMalformed) {
		t.Errorf("SetWaiver says %v", err)
	}
}

func TestDependsOnNamespace(t *testing.T) {
	selecting := saying("selecting", "x")
	selecting.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"team": "a"}}
	broken := withRego("broken", "package p\n\ndeny contains input.review.namespaceObject if {")
	c := newCatalog(t, selecting,
		saying("speaking", "a namespaceObject isn't read"),
		withRego("reading",
			"package p\n\ndeny contains \"x\" if { r := input.review; r[\"namespaceObject\"].metadata.labels.team }"))
	if err := c.Set(broken); err == nil {
		t.Fatal("a policy that doesn't compile was taken")
	}
	want := map[string]bool{"selecting": true, "speaking": false, "reading": true, "broken": false, "unknown": false}
	for name, depends := range want {
		if got := c.Snapshot().DependsOnNamespace(name); got != depends {
			t.Errorf("%s: %t, want %t", name, got, depends)
		}
	}
}
