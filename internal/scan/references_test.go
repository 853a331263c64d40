// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// changing tells of changes as a test wants.
type changing struct {
	signal chan struct{}
	keys   map[string]bool
	known  map[string]bool
}

func (c *changing) Changed() <-chan struct{} { return c.signal }

func (c *changing) States() <-chan struct{} { return nil }

func (c *changing) Take() map[string]bool {
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
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
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
		from.keys = map[string]bool{}
		for _, key := range keys {
			from.keys[key] = true
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
			from.keys = map[string]bool{key: true}
			from.known = map[string]bool{key: true}
			s.sync(t.Context())
			if len(from.known)+len(s.references.waiting)+len(s.references.errors) > 0 {
				t.Errorf("not taken: %v; waiting: %v, %v", from.known, s.references.waiting, s.references.errors)
			}
			s.stopKind(configMaps, s.kinds[configMaps])
		})
	}
}
