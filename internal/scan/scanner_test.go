// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	discoveryfake "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/internal/scan/listing"
)

const needsOwner = `package evenkeel.owner
import rego.v1
deny contains sprintf("%s has no label %s", [input.object.metadata.name, label]) if {
	label := input.parameters.label
	not input.object.metadata.labels[label]
}`

// world is a scanner over a fake API server, with a clock that runs fast.
type world struct {
	t          *testing.T
	ctx        context.Context
	client     *dynamicfake.FakeDynamicClient
	discovery  *discoveryfake.FakeDiscovery
	namespaces *controllertest.FakeInformer
	catalog    *catalog.Catalog
	index      *index.Index
	changes    <-chan event.GenericEvent
	forbidden  atomic.Bool
	clock      *clocktesting.FakeClock
}

func newWorld(t *testing.T, tune ...func(*Options)) *world {
	w := worldAtRest(t)
	w.start(w.scanner(tune...), w.clock)
	return w
}

// worldAtRest is one without a scanner that runs.
func worldAtRest(t *testing.T) *world {
	w := &world{t: t, ctx: t.Context(), catalog: catalog.New(catalog.Options{})}
	w.client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(
		runtime.NewScheme(), map[schema.GroupVersionResource]string{
			{Version: "v1", Resource: "configmaps"}:                        "ConfigMapList",
			{Group: "example.com", Version: "v1", Resource: "widgets"}:     "WidgetList",
			{Group: "example.com", Version: "v1beta1", Resource: "oddies"}: "OddieList",
		})
	w.client.PrependReactor("list", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
		if w.forbidden.Load() {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
		}
		return false, nil, nil
	})
	w.discovery = &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{}}
	w.serve("v1", "ConfigMap", "configmaps")
	w.clock = clocktesting.NewFakeClock(epoch)
	w.index = index.New(index.Options{Clock: w.clock,
		InForce: func(name string) (string, bool) { return w.catalog.Snapshot().Revision(name) }})
	w.changes = w.index.Changes()
	w.catalog.MarkComplete()
	return w
}

// scanner makes one that hasn't begun.
func (w *world) scanner(tune ...func(*Options)) *Scanner {
	w.t.Helper()
	informers := &informertest.FakeInformers{}
	var err error
	if w.namespaces, err = informers.FakeInformerFor(w.ctx, &corev1.Namespace{}); err != nil {
		w.t.Fatal(err)
	}
	m, err := newMetrics(prometheus.NewRegistry(), w.index)
	if err != nil {
		w.t.Fatal(err)
	}
	opts := Options{Clock: w.clock}.withDefaults()
	for _, tune := range tune {
		tune(&opts)
	}
	return &Scanner{
		catalog: w.catalog, index: w.index, client: w.client, informers: informers,
		resolver: listing.NewResolver(w.discovery, w.clock), namespaces: newNamespaces(),
		metrics: m, clock: w.clock, log: logr.Discard(), opts: opts, references: newReferenceChanges(opts.References),
		slots: make(chan struct{}, opts.MaxConcurrentPasses), kinds: map[schema.GroupKind]*kindScan{},
	}
}

// start runs the scanner, and the clock a thousand times as fast as ours.
func (w *world) start(s *Scanner, clock *clocktesting.FakeClock) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	go func() {
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				clock.Step(time.Second)
			}
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Errorf("the scanner ended with: %v", err)
		}
	})
}

func (w *world) serve(groupVersion, kind, resource string) {
	w.discovery.Resources = append(w.discovery.Resources, &metav1.APIResourceList{GroupVersion: groupVersion,
		APIResources: []metav1.APIResource{
			{Name: resource, Kind: kind, Namespaced: true, Verbs: metav1.Verbs{"list", "watch"}}}})
}

func (w *world) policy(label string, kinds ...v1alpha1.KindMatch) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}
	p.Spec.Severity = v1alpha1.SeverityHigh
	p.Spec.Match.Kinds = append([]v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}},
		kinds...)
	p.Spec.Rego = v1alpha1.RegoSource{File: "owner.rego", Main: needsOwner}
	p.Spec.Parameters = jsonOf(`{"label":"` + label + `"}`)
	p.SetDefaults()
	return p
}

func (w *world) set(p *v1alpha1.ClusterRegoPolicy) {
	w.t.Helper()
	if err := w.catalog.Set(p); err != nil {
		w.t.Fatal(err)
	}
}

var configMapResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func object(apiVersion, kind, name string, labels map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind,
		"metadata": map[string]any{"name": name, "namespace": "ns", "uid": "uid-" + name, "labels": labels}}}
}

func (w *world) create(r schema.GroupVersionResource, o *unstructured.Unstructured) {
	w.t.Helper()
	if _, err := w.resource(r).Create(w.ctx, o, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) resource(r schema.GroupVersionResource) dynamic.ResourceInterface {
	return w.client.Resource(r).Namespace("ns")
}

// see is what the Index says of the policy "owner".
type see struct {
	Names    []string
	Complete bool
	State    v1alpha1.ScanState
	Scanned  int
}

func (w *world) look() see {
	findings, _, complete := w.index.Findings("owner")
	s, _ := w.index.Summary("owner", 0)
	got := see{Complete: complete, State: s.State, Scanned: s.Scanned}
	for _, f := range findings {
		got.Names = append(got.Names, f.Kind+" "+f.Name)
	}
	return got
}

// await looks whenever something changed until it sees what it wants.
func (w *world) await(reason string, want see) {
	w.t.Helper()
	deadline := time.After(20 * time.Second)
	for {
		diff := cmp.Diff(want, w.look())
		if diff == "" {
			return
		}
		select {
		case <-w.changes:
		case <-deadline:
			w.t.Fatalf("%s (-want +got):\n%s", reason, diff)
		}
	}
}

func TestScannerFollowsObjectsAndPolicies(t *testing.T) {
	w := newWorld(t)
	owned := map[string]any{"owner": "me"}
	w.create(configMapResource, object("v1", "ConfigMap", "good", owned))
	w.create(configMapResource, object("v1", "ConfigMap", "bad", nil))
	leaving := object("v1", "ConfigMap", "leaving", nil)
	leaving.SetDeletionTimestamp(&metav1.Time{Time: epoch})
	w.create(configMapResource, leaving)

	w.set(w.policy("owner"))
	w.await("an object that is being deleted counts until it is gone",
		see{[]string{"ConfigMap bad", "ConfigMap leaving"}, true, v1alpha1.ScanComplete, 3})
	if err := w.resource(configMapResource).Delete(w.ctx, "leaving", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("then it doesn't", see{[]string{"ConfigMap bad"}, true, v1alpha1.ScanComplete, 2})

	w.create(configMapResource, object("v1", "ConfigMap", "new", nil))
	w.await("the watch finds a new object",
		see{[]string{"ConfigMap bad", "ConfigMap new"}, true, v1alpha1.ScanComplete, 3})

	if _, err := w.resource(configMapResource).Update(w.ctx, object("v1", "ConfigMap", "bad", owned),
		metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.resource(configMapResource).Delete(w.ctx, "new", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("an update and a deletion count", see{nil, true, v1alpha1.ScanComplete, 2})

	w.set(w.policy("team"))
	w.await("a new revision judges everything anew",
		see{[]string{"ConfigMap bad", "ConfigMap good"}, true, v1alpha1.ScanComplete, 2})

	w.catalog.Delete("owner")
	w.await("a policy that is gone has no figures", see{})
}

func TestScannerFollowsCustomKinds(t *testing.T) {
	w := newWorld(t)
	w.create(configMapResource, object("v1", "ConfigMap", "bad", nil))
	w.create(schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"},
		object("example.com/v1", "Widget", "w", nil))
	w.set(w.policy("owner", v1alpha1.KindMatch{APIGroups: []string{"example.com"}, Kinds: []string{"Widget"}}))
	w.await("a kind that isn't served makes the scan incomplete",
		see{[]string{"ConfigMap bad"}, false, v1alpha1.ScanIncomplete, 1})
	s, _ := w.index.Summary("owner", 0)
	if len(s.Incomplete) != 1 || !strings.Contains(s.Incomplete[0].Message, "install its CustomResourceDefinition") {
		t.Errorf("incomplete is %+v, want Widget with what to do", s.Incomplete)
	}
	w.discovery.Fake.Lock()
	w.serve("example.com/v1", "Widget", "widgets")
	w.discovery.Fake.Unlock()
	w.await("a CRD that appears is found", see{[]string{"ConfigMap bad", "Widget w"}, true, v1alpha1.ScanComplete, 2})
}

func TestScannerShowsAForbiddenListAsIncomplete(t *testing.T) {
	w := newWorld(t)
	w.create(configMapResource, object("v1", "ConfigMap", "bad", nil))
	w.forbidden.Store(true)
	w.set(w.policy("owner"))
	w.await("nothing could be listed", see{nil, false, v1alpha1.ScanIncomplete, 0})
	s, _ := w.index.Summary("owner", 0)
	want := `{apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"]}`
	if len(s.Incomplete) != 1 || !strings.Contains(s.Incomplete[0].Message, want) {
		t.Errorf("incomplete is %+v, want the rule %s", s.Incomplete, want)
	}
	w.forbidden.Store(false)
	w.await("a granted permission is noticed", see{[]string{"ConfigMap bad"}, true, v1alpha1.ScanComplete, 1})
	w.forbidden.Store(true)
	w.await("a permission that is gone shows at the next resync, and old results aren't complete",
		see{[]string{"ConfigMap bad"}, false, v1alpha1.ScanIncomplete, 1})
}

func TestScannerJudgesAnewWhenANamespaceChanges(t *testing.T) {
	w := newWorld(t)
	namespace := func(env string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns", Labels: map[string]string{"env": env}}}
	}
	w.create(configMapResource, object("v1", "ConfigMap", "bad", nil))
	p := w.policy("owner")
	p.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"env": "prod"}}
	w.set(p)
	w.await("while the namespace isn't known the object can't be judged", see{nil, true, v1alpha1.ScanComplete, 1})
	if s, _ := w.index.Summary("owner", 0); s.Errors != 1 {
		t.Errorf("%d errors, want 1", s.Errors)
	}
	w.namespaces.Add(namespace("test"))
	w.await("a namespace that isn't selected", see{nil, true, v1alpha1.ScanComplete, 0})
	w.namespaces.Update(namespace("test"), namespace("prod"))
	w.await("a namespace that is selected now", see{[]string{"ConfigMap bad"}, true, v1alpha1.ScanComplete, 1})
}

func jsonOf(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
