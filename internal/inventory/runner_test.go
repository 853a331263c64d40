// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// TestAnEditWaitsForWhatItLooksUp edits a policy while the list of what the new rules look up takes long, or never
// ends.
func TestAnEditWaitsForWhatItLooksUp(t *testing.T) {
	for name, ends := range map[string]bool{"the list takes long": true, "it never ends": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &served{names: []string{"a"}, version: "10", held: make(chan struct{})}
				store := New(Options{Client: s, Resolver: s})
				policies := catalog.New(catalog.Options{Inventory: store})
				ctx, stop := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- (&Runner{Store: store, Policies: policies}).Start(ctx) }()
				after := func(d time.Duration) {
					<-store.options.Clock.After(d) // of the bubble's time
					synctest.Wait()
				}
				set := func(generation int64, rule string, kinds ...v1alpha1.ReferencedKind) {
					p := &v1alpha1.ClusterRegoPolicy{}
					p.Name, p.Generation = "p", generation
					p.Spec.Rego.Main = "package a\n\ndeny contains \"x\" if " + rule + "\n"
					p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""},
						Kinds: []string{"ConfigMap"}}}
					p.Spec.Match.References = kinds
					if err := policies.Set(p); err != nil {
						t.Fatal(err)
					}
				}
				inForce := func(when string, generation int64) {
					t.Helper()
					if status, _ := policies.Status("p"); status.Generation != generation {
						t.Errorf("%s: generation %d is in force, want %d", when, status.Generation, generation)
					}
				}
				set(1, "input.object.a")
				set(2, "data.inventory.cluster.v1.Node[input.object.a]", v1alpha1.ReferencedKind{Kind: "Node"})
				after(patience / 2)
				inForce("the list is under way", 1)
				if ends {
					close(s.held)
					synctest.Wait()
				} else {
					after(patience/2 + 2*expiryPoll)
				}
				inForce("it has ended, or taken too long", 2)
				stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
