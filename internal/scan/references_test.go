// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// changing tells of changes as a test wants.
type changing struct {
	signal chan struct{}
	keys   map[string]inventory.Namespaces
	known  map[string]bool
}

func (c *changing) Changed() <-chan struct{} { return c.signal }

func (c *changing) States() <-chan struct{} { return nil }

func (c *changing) Take() map[string]inventory.Namespaces {
	taken := c.keys
	c.keys = nil
	return taken
}

func (c *changing) TakeKnown() map[string]bool {
	taken := c.known
	c.known = nil
	return taken
}

// TestChangesOfReferencesListAKindATenthOfTheTime holds the scan to what it may spend on changes of what policies
// refer to: a second's patience, and after a pass nine times as long as it took.
func TestChangesOfReferencesListAKindATenthOfTheTime(t *testing.T) {
	policies := catalog.New(catalog.Options{})
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name = "unique"
	p.Spec.Rego.Main = "package unique\n\n" +
		"deny contains \"x\" if data.inventory.cluster.v1.Node[input.object.metadata.name]\n"
	p.Spec.Match.Resources = []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: "Node"}}
	if err := policies.Set(p); err != nil {
		t.Fatal(err)
	}
	key := policies.Snapshot().ReferencesOf("unique")[0].Key()
	clock := clocktesting.NewFakeClock(epoch)
	from := &changing{}
	gk := schema.GroupKind{Kind: "ConfigMap"}
	k := &kindScan{kind: gk, again: make(chan struct{}, 1)}
	x := index.New(index.Options{Clock: clock, InForce: func(string) (string, bool) { return "", false }})
	s := &Scanner{catalog: policies, index: x, clock: clock, references: newReferenceChanges(from),
		kinds: map[schema.GroupKind]*kindScan{gk: k}}
	asked := func() bool {
		select {
		case <-k.again:
			return true
		default:
			return false
		}
	}
	change := func(keys ...string) {
		from.keys = map[string]inventory.Namespaces{}
		for _, key := range keys {
			from.keys[key] = inventory.InNamespaces("a") // of Nodes it doesn't matter
		}
		s.relistReferring()
	}
	change("another")
	if s.references.due() != nil || asked() {
		t.Error("what no policy refers to has a kind listed")
	}
	change(key)
	if asked() {
		t.Error("the kind is listed at the first change of many")
	}
	clock.Step(referenceDebounce)
	select {
	case <-s.references.due():
	default:
		t.Fatal("nothing tells that the time has come")
	}
	if s.relistReferring(); !asked() {
		t.Error("the kind isn't listed")
	}
	took := 10 * time.Second
	k.rested.Store(clock.Now().Add(referenceShare * took).UnixNano())
	change(key)
	clock.Step(referenceShare*took - time.Second)
	if s.relistReferring(); asked() {
		t.Error("the kind is listed more than a tenth of the time")
	}
	clock.Step(time.Second)
	if s.relistReferring(); !asked() {
		t.Error("the change is forgotten")
	}
	if s.references.due() != nil {
		t.Error("a kind that was listed still waits")
	}
	k.rested.Store(clock.Now().Add(referenceShare * took).UnixNano())
	from.known = map[string]bool{key: true}
	change(key)
	clock.Step(referenceDebounce)
	if s.relistReferring(); !asked() {
		t.Error("what couldn't be judged until now waits as what is judged by something older")
	}
	change(key)
	clock.Step(referenceDebounce)
	if s.relistReferring(); asked() {
		t.Error("the next change doesn't wait any more")
	}
}

// TestAPassForANewPolicyKnowsWhatItRefersTo has the objects become known to which a policy refers, before the pass begins
// that the policy itself asks for: no other one is needed.
func TestAPassForANewPolicyKnowsWhatItRefersTo(t *testing.T) {
	for _, scanned := range []bool{false, true} {
		t.Run(fmt.Sprintf("a kind that is scanned already: %t", scanned), func(t *testing.T) {
			w := worldAtRest(t)
			p := w.policy("a")
			if scanned {
				w.set(p)
			}
			from := &changing{}
			s := w.scanner(func(o *Options) { o.References = from })
			s.sync(t.Context())
			p = p.DeepCopy()
			p.Spec.Parameters = jsonOf(`{"label":"b"}`)
			p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: "Node"}}
			w.set(p)
			key := w.catalog.Snapshot().ReferencesOf(p.Name)[0].Key()
			from.keys = map[string]inventory.Namespaces{key: inventory.AllNamespaces()}
			from.known = map[string]bool{key: true}
			s.sync(t.Context())
			if len(from.known)+len(s.references.waiting)+len(s.references.errors) > 0 {
				t.Errorf("not taken: %v; waiting: %v, %v", from.known, s.references.waiting, s.references.errors)
			}
			s.stopKind(configMaps, s.kinds[configMaps])
		})
	}
}

// TestChangesInANamespaceJudgeWhatLivesThere has policies that look no further than the object's namespace, and one that
// does.
func TestChangesInANamespaceJudgeWhatLivesThere(t *testing.T) {
	policies := catalog.New(catalog.Options{})
	set := func(name, kind, lookup string, namespaces ...string) {
		p := &v1alpha1.ClusterRegoPolicy{}
		p.Name = name
		p.Spec.Rego.Main = "package " + name + "\n\ndeny contains \"x\" if data.inventory.namespace[" + lookup +
			"].v1.Service\n"
		p.Spec.Match.Resources = []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{kind}}}
		p.Spec.Match.References = []v1alpha1.ReferencedKind{{Kind: "Service"}}
		p.Spec.Match.Namespaces, p.Spec.Match.ExcludedNamespaces = namespaces, []string{"spare-*"}
		if err := policies.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	set("narrow", "ConfigMap", "input.object.metadata.namespace")
	set("wide", "Pod", "_")
	set("elsewhere", "Secret", "input.object.metadata.namespace", "b", "z-*", "spare-z")
	key := policies.Snapshot().ReferencesOf("narrow")[0].Key()
	if other := policies.Snapshot().ReferencesOf("wide")[0].Key(); other != key {
		t.Fatalf("%q and %q are two", key, other)
	}
	clock := clocktesting.NewFakeClock(epoch)
	from := &changing{}
	kinds := map[string]*kindScan{}
	s := &Scanner{catalog: policies, clock: clock, references: newReferenceChanges(from),
		index: index.New(index.Options{Clock: clock}), kinds: map[schema.GroupKind]*kindScan{}}
	for _, kind := range []string{"ConfigMap", "Pod", "Secret"} {
		gk := schema.GroupKind{Kind: kind}
		kinds[kind] = &kindScan{kind: gk, again: make(chan struct{}, 1), some: make(chan inventory.Namespaces, 1)}
		s.kinds[gk] = kinds[kind]
	}
	change := func(after time.Duration, where inventory.Namespaces) {
		from.keys = map[string]inventory.Namespaces{key: where}
		s.relistReferring()
		clock.Step(after)
		s.relistReferring()
	}
	asked := func(when, kind string, want []string, whole bool) {
		t.Helper()
		var got []string
		select {
		case where := <-kinds[kind].some:
			got = where.Names()
		default:
		}
		again := false
		select {
		case <-kinds[kind].again:
			again = true
		default:
		}
		if diff := cmp.Diff(want, got); diff != "" || again != whole {
			t.Errorf("%s, %s: the whole kind %t, want %t; namespaces (-want +got):\n%s", when, kind, again, whole, diff)
		}
	}
	change(referenceDebounce-time.Millisecond, inventory.InNamespaces("a"))
	asked("at once", "ConfigMap", nil, false)
	change(time.Millisecond, inventory.InNamespaces("b"))
	asked("after a second", "ConfigMap", []string{"a", "b"}, false)
	asked("after a second", "Pod", nil, true)
	asked("it changed a moment ago where the policy judges", "Secret", nil, false)

	change(referenceDebounce, inventory.InNamespaces("y", "z-1", "spare-z"))
	asked("two are excluded, or not named", "Secret", []string{"b", "z-1"}, false)
	change(referenceDebounce, inventory.InNamespaces("y"))
	asked("it concerns none", "Secret", nil, false)
	asked("three have changed", "ConfigMap", []string{"y", "z-1"}, false)
	asked("any counts", "Pod", nil, true)

	took := time.Second
	kinds["ConfigMap"].rested.Store(clock.Now().Add(time.Hour).UnixNano())
	kinds["ConfigMap"].restedPartly.Store(clock.Now().Add(referenceShare * took).UnixNano())
	change(referenceShare*took-time.Millisecond, inventory.InNamespaces("a"))
	asked("it rests", "ConfigMap", nil, false)
	change(time.Millisecond, inventory.InNamespaces("c"))
	asked("it has rested from a partial pass, and not from a full one", "ConfigMap", []string{"a", "c"}, false)

	kinds["ConfigMap"].underway.Store(true)
	change(referenceDebounce, inventory.InNamespaces("a"))
	asked("what is being listed may have been judged before the change", "ConfigMap", nil, false)
	kinds["ConfigMap"].underway.Store(false)
	clock.Step(underwayPoll)
	s.relistReferring()
	asked("it is listed", "ConfigMap", []string{"a"}, false)

	kinds["ConfigMap"].rested.Store(0)
	change(0, inventory.InNamespaces("a"))
	change(referenceDebounce, inventory.AllNamespaces())
	asked("something has changed anywhere", "ConfigMap", nil, true)
	for i := range inventory.MostNamespaces + 1 {
		from.keys = map[string]inventory.Namespaces{key: inventory.InNamespaces(fmt.Sprint(i))}
		s.relistReferring()
	}
	clock.Step(referenceDebounce)
	s.relistReferring()
	asked("too many namespaces", "ConfigMap", nil, true)

	kinds["ConfigMap"].small.Store(true)
	change(0, inventory.InNamespaces("a", "b", "c", "d", "e", "f", "g", "h"))
	change(referenceDebounce, inventory.InNamespaces("i"))
	asked("one list is less than many", "ConfigMap", nil, true)
	change(referenceDebounce, inventory.InNamespaces("a"))
	asked("one is one", "ConfigMap", []string{"a"}, false)
	kinds["ConfigMap"].small.Store(false)
	kinds["ConfigMap"].relistIn(inventory.InNamespaces("a"))
	change(referenceDebounce, inventory.InNamespaces("b"))
	asked("a request waits", "ConfigMap", []string{"a", "b"}, false)
	clock.Step(time.Hour)
	s.relistReferring()
	asked("nothing has changed since", "ConfigMap", nil, false)
	if s.references.due() != nil {
		t.Error("something still waits")
	}
}
