package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

const privilegedRego = `package evenkeel.test.privileged

privileged contains i if {
	some i, c in input.pod.spec.containers
	c.securityContext.privileged
}

at(i) := sprintf("/spec/containers/%d/securityContext/privileged", [i])

deny contains {"msg": msg, "path": at(i)} if {
	some i in privileged
	msg := sprintf("container %q is privileged", [input.pod.spec.containers[i].name])
}

warn contains "the service account is the default one" if input.pod.spec.serviceAccountName == "default"

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": at(i), "value": false}]} if {
	some i in privileged
}
`

// brokenRego fails when it is evaluated, not when it is compiled.
const brokenRego = `package evenkeel.test.broken

deny contains "never" if to_number(input.object.metadata.name) > 3
`

// newPolicy is a Deny policy on Pods and pod templates that fails closed.
func newPolicy(name, rego string, change ...func(*v1alpha1.ClusterRegoPolicy)) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1},
		Spec: v1alpha1.RegoPolicySpec{
			Title:      "No privileged containers",
			Owner:      "platform",
			Severity:   v1alpha1.SeverityHigh,
			RunbookURL: "https://runbooks.example.com/" + name,
			Rego:       v1alpha1.RegoSource{File: name + ".rego", Main: rego},
			Match:      v1alpha1.Match{Resources: []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}},
			Admission:  v1alpha1.Admission{Action: v1alpha1.AdmissionDeny},
		},
	}
	p.SetDefaults()
	for _, c := range change {
		c(p)
	}
	return p
}

func withAction(action v1alpha1.AdmissionAction) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Action = action }
}

func withFailurePolicy(f v1alpha1.FailurePolicy) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.FailurePolicy = f }
}

func denyingExisting(p *v1alpha1.ClusterRegoPolicy) {
	p.Spec.Admission.ExistingViolations = v1alpha1.ExistingDeny
}

func withOperations(ops ...v1alpha1.Operation) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.Operations = ops }
}

func withResources(group string, kinds ...string) func(*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Match.Resources = append(p.Spec.Match.Resources, v1alpha1.ResourceMatch{APIGroups: []string{group}, Kinds: kinds})
	}
}

type tree = map[string]any

// deployment has one container for each flag, privileged where it is true.
func deployment(name string, privileged ...bool) tree {
	var containers []any
	for i, on := range privileged {
		containers = append(containers, tree{
			"name":            string(rune('a' + i)),
			"image":           "registry.example.com/app:1.2.3",
			"securityContext": tree{"privileged": on},
		})
	}
	return tree{
		"apiVersion": "apps/v1",
		"kind":       "Deployment",
		"metadata":   tree{"name": name, "namespace": "shop"},
		"spec": tree{
			"replicas": int64(2),
			"template": tree{
				"metadata": tree{"labels": tree{"app": name}},
				"spec":     tree{"containers": containers},
			},
		},
	}
}

// set changes one field of an object.
func set(object tree, value any, path ...string) tree {
	at := object
	for _, field := range path[:len(path)-1] {
		at = at[field].(tree)
	}
	at[path[len(path)-1]] = value
	return object
}

// reviewOf is the AdmissionReview of a Deployment, as the API server sends it.
func reviewOf(operation string, object, old tree, change ...func(tree)) tree {
	named := object
	if named == nil {
		named = old
	}
	request := tree{
		"uid":       "705ab4f5",
		"kind":      tree{"group": "apps", "version": "v1", "kind": "Deployment"},
		"resource":  tree{"group": "apps", "version": "v1", "resource": "deployments"},
		"name":      named["metadata"].(tree)["name"],
		"namespace": "shop",
		"operation": operation,
		"userInfo":  tree{"username": "ann", "groups": []any{"developers"}},
		"object":    nil,
		"oldObject": nil,
		"dryRun":    false,
	}
	if object != nil {
		request["object"] = object
	}
	if old != nil {
		request["oldObject"] = old
	}
	for _, c := range change {
		c(request)
	}
	return tree{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
}

func dryRun(request tree) { request["dryRun"] = true }

func encode(t testing.TB, value any) []byte {
	t.Helper()
	body, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// fakeNamespaces knows every namespace, unless it holds an error.
type fakeNamespaces struct{ err error }

func (f fakeNamespaces) Get(_ context.Context, name string) (map[string]any, error) {
	return tree{"apiVersion": "v1", "kind": "Namespace", "metadata": tree{"name": name}}, f.err
}

func newCatalog(t testing.TB, policies ...*v1alpha1.ClusterRegoPolicy) *catalog.Catalog {
	t.Helper()
	c := catalog.New(catalog.Options{TimeLimit: 5 * time.Second})
	for _, p := range policies {
		if err := c.Set(p); err != nil {
			t.Fatalf("policy %s: %v", p.Name, err)
		}
	}
	return c
}

func newTestMetrics(t testing.TB) (*Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	m, err := NewMetrics(registry)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

// value reads one counter.
func value(t testing.TB, counter prometheus.Counter) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(counter)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families[0].GetMetric()[0].GetCounter().GetValue()
}

func newHandler(t testing.TB, class v1alpha1.FailurePolicy, c *catalog.Catalog) *Handler {
	t.Helper()
	metrics, _ := newTestMetrics(t)
	return &Handler{
		Reviews:    testReader(),
		Class:      class,
		Judge:      func() Judge { return c.Snapshot() },
		Namespaces: fakeNamespaces{},
		Metrics:    metrics,
		Clock:      clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)),
		Log:        logr.Discard(),
	}
}

// testReader has the bounds that ship.
func testReader() *intake.Reader { return intake.NewReader(intake.DefaultBounds(DefaultMemory, 2)) }

func post(h http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, PathFail+"?timeout=5s", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func ask(t testing.TB, h http.Handler, review tree) response {
	t.Helper()
	w := post(h, encode(t, review))
	if w.Code != http.StatusOK {
		t.Fatalf("HTTP status %d: %s", w.Code, w.Body)
	}
	var out responseReview
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		t.Fatalf("the answer isn't JSON: %v", err)
	}
	if out.APIVersion != intake.APIVersion || out.Kind != intake.Kind || out.Response.UID != "705ab4f5" {
		t.Fatalf("the answer isn't an AdmissionReview of the same uid: %s", w.Body)
	}
	return out.Response
}

func denialMessage(t testing.TB, h http.Handler, body []byte) string {
	var out responseReview
	w := post(h, body)
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || out.Response.Status == nil {
		t.Errorf("no denial: %d %s", w.Code, w.Body)
		return ""
	}
	return out.Response.Status.Message
}

func jsonValue(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

// testKinds serves a few kinds.
func testKinds() *Kinds {
	return NewKinds(func() (meta.RESTMapper, error) {
		m := meta.NewDefaultRESTMapper([]schema.GroupVersion{
			{Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "batch", Version: "v1"},
			{Group: "coordination.k8s.io", Version: "v1"}, {Group: "evenkeel.dev", Version: "v1alpha1"},
		})
		for _, k := range []schema.GroupVersionKind{
			{Version: "v1", Kind: "Pod"},
			{Version: "v1", Kind: "Service"},
			{Version: "v1", Kind: "ReplicationController"},
			{Group: "apps", Version: "v1", Kind: "Deployment"},
			{Group: "apps", Version: "v1", Kind: "StatefulSet"},
			{Group: "apps", Version: "v1", Kind: "DaemonSet"},
			{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
			{Group: "batch", Version: "v1", Kind: "Job"},
			{Group: "batch", Version: "v1", Kind: "CronJob"},
			{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"},
			{Group: "evenkeel.dev", Version: "v1alpha1", Kind: "ClusterRegoPolicy"},
		} {
			m.Add(k, meta.RESTScopeNamespace)
		}
		m.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
		return m, nil
	})
}

// gathered reads one counter or gauge.
func gathered(t testing.TB, collector prometheus.Collector) float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	metric := families[0].GetMetric()[0]
	return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
}
