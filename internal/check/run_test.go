// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// hats forbids data.hat, and takes it off.
const hats = `package p

import rego.v1

deny contains {"msg": sprintf("the hat %s is forbidden", [input.object.data.hat]), "path": "/data/hat"} if input.object.data.hat

remediation contains {"action": "patch", "ops": [{"op": "remove", "path": "/data/hat"}]} if input.object.data.hat
`

func now() time.Time { return time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC) }

func aPolicy(name, rego string, kinds ...string) *v1alpha1.ClusterRegoPolicy {
	return &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RegoPolicySpec{
			Severity: v1alpha1.SeverityHigh, Admission: v1alpha1.Admission{Action: v1alpha1.AdmissionDeny},
			Rego:  v1alpha1.RegoSource{File: name + ".rego", Main: rego},
			Match: v1alpha1.Match{Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: kinds}}},
		},
	}
}

func inForce(tb testing.TB, policies []*v1alpha1.ClusterRegoPolicy, waivers ...*v1alpha1.Waiver) *catalog.Snapshot {
	tb.Helper()
	c := catalog.New(catalog.Options{TimeLimit: 10 * time.Second})
	for _, p := range policies {
		if err := c.Set(p); err != nil {
			tb.Fatal(err)
		}
	}
	for _, e := range waivers {
		if err := c.SetWaiver(e); err != nil {
			tb.Fatal(err)
		}
	}
	return c.Snapshot()
}

func judged(tb testing.TB, snapshot *catalog.Snapshot, text string, opts check.Options) *check.Report {
	tb.Helper()
	documents, err := manifest.Read(tb.Context(), []string{"-"}, strings.NewReader(text), manifest.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	opts.Now = now()
	report, err := check.Run(tb.Context(), snapshot, check.Each(check.Of(documents, "default", nil)), opts)
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

// lines tells a report: "LINE TITLE POLICY: MESSAGE" for each violation.
func lines(report *check.Report) []string {
	var out []string
	for i := range report.Results {
		r := &report.Results[i]
		head := fmt.Sprintf("%s %s: ", r.Title(), r.Policy.Name)
		switch {
		case r.Err != nil:
			out = append(out, head+"error: "+r.Err.Error())
		case r.Waived != nil:
			out = append(out, head+"waived by "+r.Waived.Name)
		default:
			for _, v := range r.Violations {
				out = append(out, fmt.Sprintf("%d ", r.LineAt(v.Path))+head+v.Message)
			}
		}
	}
	return out
}

const hat = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: shop}\n" +
	"data:\n  size: \"7\"\n  hat: top\n---\n"

func TestRun(t *testing.T) {
	byLabel := aPolicy("by-label", hats, "ConfigMap")
	byLabel.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"tier": "shop"}}
	inDefault := aPolicy("in-default", hats, "ConfigMap")
	inDefault.Spec.Match.Namespaces = []string{"default"}
	until := func(at time.Time) *v1alpha1.Waiver {
		return &v1alpha1.Waiver{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "legacy"},
			Spec: v1alpha1.WaiverSpec{
				WaiverTerms: v1alpha1.WaiverTerms{Policies: []string{"hats"}, Reason: "for now",
					ExpirationTime: metav1.NewTime(at)}},
		}
	}
	tests := map[string]struct {
		reason   string
		snapshot *catalog.Snapshot
		text     string
		want     []string
	}{
		"a violation": {
			"with the line of its field", inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("hats", hats, "ConfigMap")}),
			hat,
			[]string{"6 ConfigMap shop/a hats: the hat top is forbidden"},
		},
		"a selected namespace among the manifests": {
			"the policy knows its labels", inForce(t, []*v1alpha1.ClusterRegoPolicy{byLabel}),
			hat + "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, labels: {tier: shop}}\n",
			[]string{"6 ConfigMap shop/a by-label: the hat top is forbidden"},
		},
		"a namespace that isn't selected": {
			"the policy doesn't concern the object", inForce(t, []*v1alpha1.ClusterRegoPolicy{byLabel}),
			hat + "apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n", nil,
		},
		"a namespace that nobody knows": {
			"it is an error, never a pass", inForce(t, []*v1alpha1.ClusterRegoPolicy{byLabel}), hat,
			[]string{"ConfigMap shop/a by-label: error: policy by-label: its namespaceSelector can't be judged: the " +
				"Namespace shop isn't known yet"},
		},
		"a waiver": {
			"it waives as in the cluster",
			inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("hats", hats, "ConfigMap")}, until(now().Add(time.Hour))),
			hat,
			[]string{"ConfigMap shop/a hats: waived by legacy"},
		},
		"a waiver that has expired": {
			"it waives nothing", inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("hats", hats, "ConfigMap")},
				until(now())), hat,
			[]string{"6 ConfigMap shop/a hats: the hat top is forbidden"},
		},
		"an object without namespace": {
			"it is where it would be created", inForce(t, []*v1alpha1.ClusterRegoPolicy{inDefault}),
			strings.Replace(hat, ", namespace: shop", "", 1),
			[]string{"6 ConfigMap default/a in-default: the hat top is forbidden"},
		},
		"a rule that fails": {
			"it is an error, never a pass",
			inForce(t, []*v1alpha1.ClusterRegoPolicy{
				aPolicy("broken",
					"package p\n\nimport rego.v1\n\ndeny contains \"x\" if to_number(input.object.data.hat) > 3\n",
					"ConfigMap")}), hat,
			[]string{
				`ConfigMap shop/a broken: error: policy broken: rule deny: broken.rego:5: eval_builtin_error: to_number: strconv.ParseFloat: parsing "top": invalid syntax`},
		},
		"a Secret": {
			"its values aren't told", inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("hats", hats, "Secret")}),
			"apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: shop}\ndata: {hat: aHVzaGh1c2g=}\n",
			[]string{"4 Secret shop/a hats: the hat [censored] is forbidden"},
		},
		"an object within one of another kind": {
			"kubectl applies it", inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("hats", hats, "ConfigMap")}),
			"apiVersion: v1\nkind: Service\nmetadata: {name: s}\nitems:\n" +
				"- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: shop}, data: {hat: top}}\n",
			[]string{"5 ConfigMap shop/a hats: the hat top is forbidden"},
		},
		"a policy among the manifests": {
			"it is an object as any other",
			inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("hats", hats, "ConfigMap")}),
			"apiVersion: evenkeel.dev/v1alpha1\nkind: Policy\nmetadata: {name: a}\n", nil,
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, lines(judged(t, tc.snapshot, tc.text, check.Options{}))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRunCountsAndKeepsWhatIsClean(t *testing.T) {
	text := hat + strings.ReplaceAll(hat, "hat: top", "cap: flat") +
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\n"
	report := judged(t, inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("hats", hats, "ConfigMap")}), text,
		check.Options{Clean: true})
	if report.Objects != 3 || report.Unconcerned != 1 || report.Policies != 1 || len(report.Results) != 1 ||
		len(report.Clean) != 1 {
		t.Errorf("report %+v", report)
	}
	if s := report.Summary(); s.Violations != 1 || s.BySeverity[v1alpha1.SeverityHigh] != 1 ||
		s.ByAction[v1alpha1.AdmissionDeny] != 1 {
		t.Errorf("summary %+v", s)
	}
}

func TestRunShowsAFixOnlyWhenItWorks(t *testing.T) {
	tests := map[string]struct {
		reason, rego string
		others       []*v1alpha1.ClusterRegoPolicy
		want         string
	}{
		"one that works": {"it is shown as a diff", hats, nil, "-  hat: top\n"},
		"one that doesn't resolve the violation": {
			"it would mislead", strings.Replace(hats, `"remove", "path": "/data/hat"`,
				`"replace", "path": "/data/hat", "value": "cap"`, 1), nil, ""},
		"one that can't be made": {
			"there is no such field", strings.Replace(hats, `"path": "/data/hat"}]`, `"path": "/data/cap"}]`, 1), nil,
			""},
		"one that breaks another": {
			"the rollout would refuse it", hats,
			[]*v1alpha1.ClusterRegoPolicy{
				aPolicy("bare",
					"package p\n\nimport rego.v1\n\ndeny contains \"a bare head\" if not input.object.data.hat\n",
					"ConfigMap")}, ""},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			policies := append(tc.others, aPolicy("hats", tc.rego, "ConfigMap"))
			report := judged(t, inForce(t, policies), hat, check.Options{Fix: true})
			if got := report.Results[0].Fix; !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("%s: %q", tc.reason, got)
			}
		})
	}
}

func TestRunIsTheSameHoweverTheWorkFalls(t *testing.T) {
	var text strings.Builder
	for i := range 60 {
		fmt.Fprintf(&text,
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, namespace: shop}\ndata: {hat: h%d}\n---\n", i%7, i)
	}
	snapshot := inForce(t, []*v1alpha1.ClusterRegoPolicy{
		aPolicy("b", hats, "ConfigMap"), aPolicy("a", hats, "ConfigMap")})
	first := lines(judged(t, snapshot, text.String(), check.Options{}))
	if len(first) != 120 {
		t.Fatalf("%d violations, want 120", len(first))
	}
	for range 5 {
		if again := lines(judged(t, snapshot, text.String(), check.Options{})); !slices.Equal(first, again) {
			t.Fatalf("another order:\n%s", cmp.Diff(first, again))
		}
	}
}

func TestRunEndsWithTheSequencesError(t *testing.T) {
	broken := errors.New("the list broke off")
	subjects := func(yield func(check.Subject, error) bool) {
		_ = yield(check.Subject{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap"}}, nil) &&
			yield(check.Subject{}, broken)
	}
	report, err := check.Run(t.Context(), inForce(t, nil), iter.Seq2[check.Subject, error](subjects),
		check.Options{Now: now()})
	if !errors.Is(err, broken) || report.Objects != 1 {
		t.Errorf("error %v, report %+v", err, report)
	}
	if _, err := check.Run(t.Context(), inForce(t, nil), check.Each(nil), check.Options{}); err == nil {
		t.Error("a run without a time is accepted")
	}
}

func TestOfKnowsWhichKindsLiveInNoNamespace(t *testing.T) {
	object := func(apiVersion, kind string, more map[string]any) manifest.Document {
		o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "a"}}
		for key, value := range more {
			o[key] = value
		}
		return manifest.Document{Object: o}
	}
	crd := func(scope string) map[string]any {
		return map[string]any{
			"spec": map[string]any{"group": "x.io", "scope": scope, "names": map[string]any{"kind": scope + "Thing"}}}
	}
	documents := []manifest.Document{
		object("v1", "ConfigMap", nil), object("v1", "Node", nil),
		object("rbac.authorization.k8s.io/v1", "ClusterRole", nil),
		object("rbac.authorization.k8s.io/v1", "Role", nil), object("x.io/v1", "ClusterThing", nil),
		object("x.io/v1", "NamespacedThing", nil),
		object("y.io/v1", "Unknown", nil), object("storage.k8s.io/v1", "StorageClass", nil),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd("Cluster")),
		object("apiextensions.k8s.io/v1", "CustomResourceDefinition", crd("Namespaced")),
	}
	var got []string
	for _, s := range check.Of(documents, "shop", nil) {
		got = append(got, s.Title())
	}
	want := []string{
		"ConfigMap shop/a", "Node a", "ClusterRole a", "Role shop/a", "ClusterThing a", "NamespacedThing shop/a",
		"Unknown shop/a", "StorageClass a", "CustomResourceDefinition a", "CustomResourceDefinition a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if meta := documents[0].Object["metadata"].(map[string]any); meta["namespace"] != nil {
		t.Error("the document itself was changed")
	}
}

func TestOfKnowsWhereEvenkeelsKindsLive(t *testing.T) {
	definitions, err := manifest.Read(t.Context(), []string{"../../config/crd/bases"}, nil, manifest.Options{})
	if err != nil || len(definitions) == 0 {
		t.Fatalf("%d definitions, %v", len(definitions), err)
	}
	for _, d := range definitions {
		spec := d.Object["spec"].(map[string]any)
		kind := spec["names"].(map[string]any)["kind"].(string)
		object := manifest.Document{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind,
			"metadata": map[string]any{"name": "a"}}}
		want := kind + " a"
		if spec["scope"] == "Namespaced" {
			want = kind + " shop/a"
		}
		if got := check.Of([]manifest.Document{object}, "shop", nil)[0].Title(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
