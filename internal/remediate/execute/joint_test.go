// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
	"evenkeel.dev/evenkeel/test/fixture"
)

// wants is a policy that wants a value under a key of the data of ConfigMaps.
func wants(name, key, value string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
	p.Spec.Admission.Action = v1alpha1.AdmissionAudit
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Rego = v1alpha1.RegoSource{File: "p.rego", Main: fmt.Sprintf(`package p

import rego.v1

bad if input.object.data["%[1]s"] != "%[2]s"

deny contains "%[1]s must be %[2]s" if bad

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/data/%[1]s", "value": "%[2]s"}]} if bad
`, key, value)}
	p.SetDefaults()
	return p
}

// company is plans of several policies for one ConfigMap, whose data are a, b and c,
// each "bad", on a simulated API server.
type company struct {
	*testing.T
	api    client.Client
	passes []*Pass
	// saved are the records as each plan has persisted them.
	saved []v1alpha1.TargetRecord
	// patches are the writes that the server was sent, dry runs left out; refuse says
	// what it answers to them, and lost that the answer is lost after it has stored them.
	patches int
	refuse  error
	lost    bool
	// saver, when it is set, is asked before a plan persists its records.
	saver func(plan int) error
}

func newCompany(t *testing.T, policies ...*v1alpha1.ClusterRegoPolicy) *company {
	t.Helper()
	return companyOf(t, known(t, policies...), policies...)
}

// known are the policies that a manager has compiled.
func known(t *testing.T, policies ...*v1alpha1.ClusterRegoPolicy) *catalog.Snapshot {
	t.Helper()
	all := catalog.New(catalog.Options{TimeLimit: time.Minute})
	for _, p := range policies {
		if err := all.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	return all.Snapshot()
}

func companyOf(t *testing.T, known *catalog.Snapshot, policies ...*v1alpha1.ClusterRegoPolicy) *company {
	t.Helper()
	c := &company{T: t, saved: make([]v1alpha1.TargetRecord, len(policies))}
	web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u1"},
		Data: map[string]string{"a": "bad", "b": "bad", "c": "bad"}}
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	c.api = fake.NewClientBuilder().WithObjects(web, shop).WithInterceptorFuncs(
		interceptor.Funcs{Patch: c.patch}).Build()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	for i, pol := range policies {
		p := &Pass{Remediation: &v1alpha1.Remediation{}, Snapshot: known, InForce: known,
			Records: &record.Records{},
			Targets: &targets.Client{Reader: c.api, Writer: c.api, Mapper: mapper,
				Clock: clocktesting.NewFakePassiveClock(fixtest.Now), Annotate: true}}
		p.Remediation.Name, p.Remediation.Spec.Plan.Waves = fmt.Sprintf("plan-%d", i), fixture.PlannedWaves(0, 1)
		p.Remediation.Spec.Plan.Policy.Name = pol.Name
		p.Remediation.Spec.Plan.Policy.Revision, _ = p.Snapshot.Revision(pol.Name)
		p.Remediation.Spec.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
		slice := &v1alpha1.RemediationSlice{}
		slice.Targets = []v1alpha1.Target{
			{Object: v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web",
				UID: "u1"}, Wave: 1}}
		p.Records.Add(slice)
		p.Save = func(context.Context) error {
			if c.saver != nil {
				if err := c.saver(i); err != nil {
					return err
				}
			}
			c.saved[i] = *p.Records.Record(0).DeepCopy()
			return nil
		}
		c.passes = append(c.passes, p)
	}
	c.passes[0].Partners = func(context.Context, map[string]bool) []*Partner {
		var others []*Partner
		for _, p := range c.passes[1:] {
			others = append(others, &Partner{Pass: p, Ready: map[string]int{"u1": 0}, Room: 1,
				Leave: func() {}})
		}
		return others
	}
	return c
}

func (c *company) patch(ctx context.Context, api client.WithWatch, obj client.Object, patch client.Patch,
	opts ...client.PatchOption) error {
	if len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) == 0 {
		c.patches++
		if c.refuse != nil {
			return c.refuse
		}
	}
	if err := fixtest.Patch(ctx, api, obj, patch, opts...); err != nil || !c.lost ||
		len((&client.PatchOptions{}).ApplyOptions(opts).DryRun) > 0 {
		return err
	}
	return apierrors.NewTimeoutError("the answer is lost", 1)
}

// lead lets the first plan write.
func (c *company) lead() error { return c.passes[0].Work(c.Context(), rollout.Intent{Write: []int{0}}) }

func (c *company) data() map[string]string {
	c.Helper()
	web := &corev1.ConfigMap{}
	if err := c.api.Get(c.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, web); err != nil {
		c.Fatal(err)
	}
	return web.Data
}

// persisted are the states of the plans' records, with the fields that each has recorded.
func (c *company) persisted() []string {
	var out []string
	for _, rec := range c.saved {
		text := string(rec.State)
		if rec.Write != nil {
			for _, f := range rec.Write.Fields {
				text += " " + f.Path
			}
		}
		out = append(out, strings.TrimSpace(text+" "+rec.Reason))
	}
	return out
}

func (c *company) must(want []string, patches int, data map[string]string) {
	c.Helper()
	if diff := gocmp.Diff(want, c.persisted()); diff != "" {
		c.Errorf("the plans' records: -want +got\n%s", diff)
	}
	if c.patches != patches {
		c.Errorf("the server was sent %d patches, want %d", c.patches, patches)
	}
	if diff := gocmp.Diff(data, c.data()); diff != "" {
		c.Errorf("the object: -want +got\n%s", diff)
	}
}

func TestSeveralPlansWriteOnce(t *testing.T) {
	c := newCompany(t, wants("one", "a", "good"), wants("two", "b", "good"), wants("three", "c", "good"))
	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Applied /data/a", "Applied /data/b", "Applied /data/c"}, 1,
		map[string]string{"a": "good", "b": "good", "c": "good"})

	// Each undoes its own part, and keeps the others'.
	if err := c.passes[1].Work(t.Context(), rollout.Intent{Revert: []int{0}}); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Applied /data/a", "Reverted /data/b", "Applied /data/c"}, 2,
		map[string]string{"a": "good", "b": "bad", "c": "good"})
	if err := c.passes[0].Work(t.Context(), rollout.Intent{Revert: []int{0}}); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Reverted /data/a", "Reverted /data/b", "Applied /data/c"}, 3,
		map[string]string{"a": "bad", "b": "bad", "c": "good"})
}

// Fixes that can't go together go one after the other: the later one is computed from
// what the first has left.
func TestFixesThatConflictAreWrittenApart(t *testing.T) {
	c := newCompany(t, wants("one", "a", "good"), wants("two", "a", "better"), wants("three", "c", "good"))
	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Applied /data/a", "", "Applied /data/c"}, 1,
		map[string]string{"a": "good", "b": "bad", "c": "good"})
}

func TestWhatAJointWriteResolvesIsNotWrittenTwice(t *testing.T) {
	c := newCompany(t, wants("one", "a", "good"), wants("two", "a", "good"))
	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Applied /data/a", ""}, 1, map[string]string{"a": "good", "b": "bad", "c": "bad"})
}

// A controller that dies at any point of a joint write leaves records that each plan
// resolves by itself, from the object alone; nothing is written twice.
func TestAJointWriteThatIsCutShort(t *testing.T) {
	died := errors.New("the controller died")
	whole := map[string]string{"a": "good", "b": "good", "c": "bad"}
	nothing := map[string]string{"a": "bad", "b": "bad", "c": "bad"}
	cases := map[string]struct {
		reason string
		// dies is the number of times that records are persisted before the death.
		dies     int
		lost     bool
		before   []string
		resolved []string
		data     map[string]string
		patches  int
	}{
		"Before anything is recorded": {reason: "nobody knows anything", dies: 0, before: []string{"", ""},
			resolved: []string{"", ""}, data: nothing},
		"After a partner's intent": {reason: "it finds its write never sent", dies: 1,
			before:   []string{"", "Intent /data/b"},
			resolved: []string{"", "Pending /data/b Retrying"}, data: nothing},
		"After the write": {reason: "the object holds what each has recorded", dies: 2,
			before:   []string{"Intent /data/a", "Intent /data/b"},
			resolved: []string{"Applied /data/a", "Applied /data/b"}, data: whole, patches: 1},
		"After a partner knows": {reason: "the lead finds out", dies: 3,
			before:   []string{"Intent /data/a", "Applied /data/b"},
			resolved: []string{"Applied /data/a", "Applied /data/b"}, data: whole, patches: 1},
		"When the answer is lost": {reason: "the write was stored", dies: -1, lost: true,
			before:   []string{"Intent /data/a OutcomeUnknown", "Intent /data/b OutcomeUnknown"},
			resolved: []string{"Applied /data/a", "Applied /data/b"}, data: whole, patches: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCompany(t, wants("one", "a", "good"), wants("two", "b", "good"))
			c.lost = tc.lost
			left := tc.dies
			c.saver = func(int) error {
				if left--; left < 0 && tc.dies >= 0 {
					return died
				}
				return nil
			}
			if err := c.lead(); tc.dies >= 0 && !errors.Is(err, died) || tc.dies < 0 && err != nil {
				t.Fatalf("%s\nwrite: %v", tc.reason, err)
			}
			c.must(tc.before, tc.patches, tc.data)
			c.saver, c.lost = nil, false
			for i, p := range c.passes {
				if c.saved[i].State != v1alpha1.TargetIntent {
					continue
				}
				*p.Records.Record(0) = *c.saved[i].DeepCopy()
				if err := p.Work(t.Context(), rollout.Intent{Resolve: []int{0}}); err != nil {
					t.Fatal(err)
				}
			}
			c.must(tc.resolved, tc.patches, tc.data)
		})
	}
}

// A joint write that is refused for certain is blamed on nobody: each writes alone then.
func TestAJointWriteThatIsRefused(t *testing.T) {
	c := newCompany(t, wants("one", "a", "good"), wants("two", "b", "good"))
	c.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "web",
		errors.New(`admission webhook "x.example.com" denied the request: no`))
	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	bad := map[string]string{"a": "bad", "b": "bad", "c": "bad"}
	c.must([]string{"Pending JointRefused", "Pending"}, 1, bad)
	if len(c.passes[0].Denials())+len(c.passes[1].Denials()) > 0 {
		t.Error("a breaker is to count a denial that nobody knows whose it is")
	}

	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Failed AdmissionDenied", "Pending"}, 2, bad)
}

// What is said of one plan right before the write keeps its part from being sent, and
// the others write without it.
func TestAPartThatIsWithdrawn(t *testing.T) {
	c := newCompany(t, wants("one", "a", "good"), wants("two", "b", "good"))
	c.passes[1].Gate = &LastGate{Ask: func(context.Context) (rollout.Gate, error) {
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonPaused, Message: "a person has paused the rollout"},
			nil
	}}
	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	c.must([]string{"Pending " + v1alpha1.ReasonRetrying, "Pending"}, 0,
		map[string]string{"a": "bad", "b": "bad", "c": "bad"})
	if message := c.saved[0].Message; !strings.Contains(message, "the part of plan plan-1") ||
		!strings.Contains(message, "paused the rollout") {
		t.Errorf("why nothing was written isn't said: %s", message)
	}
	if c.saved[0].Attempts != 0 {
		t.Error("waiting is no try")
	}
}

// What a fix may not set by itself it may not set in company.
func TestAFixThatReachesTooFarDoesNotGoAlong(t *testing.T) {
	greedy := wants("greedy", "b", "good")
	source := greedy.Spec.Rego.Main
	greedy.Spec.Rego.Main = strings.Replace(source, `"value": "good"}]`,
		`"value": "good"}, {"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "u9"}]}]`, 1)
	if greedy.Spec.Rego.Main == source {
		t.Fatal("the fix is the same as before")
	}
	c := newCompany(t, wants("modest", "a", "good"), greedy)
	if err := c.lead(); err != nil {
		t.Fatal(err)
	}
	web := &corev1.ConfigMap{}
	if err := c.api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, web); err != nil {
		t.Fatal(err)
	}
	if web.Data["a"] != "good" || web.Data["b"] != "bad" || len(web.OwnerReferences) > 0 || c.patches != 1 {
		t.Errorf("the object holds %v and %v after %d writes, want the modest fix alone", web.Data, web.OwnerReferences,
			c.patches)
	}
	if c.saved[1].Write != nil {
		t.Errorf("the other plan has recorded %+v", c.saved[1].Write)
	}
}
