// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// some are n objects of a namespace.
func some(namespace string, n int) []v1alpha1.ObjectReference {
	var refs []v1alpha1.ObjectReference
	for i := range n {
		name := fmt.Sprintf("%s-%d", namespace, i)
		refs = append(refs, v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace,
			Name: name, UID: name})
	}
	return refs
}

// othersFail opens the breaker of her namespace by the failures of two other policies.
func (s *siege) othersFail() {
	for i := range 4 {
		rem := s.Plan(fmt.Sprintf("other-%d", i))
		rem.Spec.Plan.Policy.Name = fmt.Sprintf("other-%d", i%2)
		s.Must(s.Record(s.Ctx, rem, []rollout.Outcome{breakertest.Failed(fmt.Sprintf("f%d", i), hers)}))
		s.Must(s.Record(s.Ctx, rem,
			[]rollout.Outcome{{Type: circuit.TargetSucceeded, Key: fmt.Sprintf("ok%d", i), Count: 9,
				Namespaces: map[string]int32{"bank": 9}}}))
	}
	if st := s.StateOf("namespace-" + hers); st != v1alpha1.BreakerOpen {
		s.Fatalf("the breaker of her namespace is %s", st)
	}
}

func TestOthersDontWaitForTheBreakerOfANamespace(t *testing.T) {
	alone := behaviour{Heals: never}
	cases := map[string]struct {
		reason string
		begin  []v1alpha1.ObjectReference
		broken bool // her objects fail
		closed bool // her namespace's breaker is open from the start
		shuts  bool // it opens while the first plan is at work
		comes  []v1alpha1.ObjectReference
		held   bool // the first plan waits for her breaker
	}{
		"Her canary has failed when nobody else had violations": {
			reason: "her namespace is blocked, and not the revision", begin: some(hers, 2), broken: true,
			comes: some("shop", 3)},
		"Her namespace's breaker is open": {
			reason: "her objects are left out", begin: append(some(hers, 3), some("shop", 3)...), closed: true},
		"It opens while a plan is at work": {
			reason: "the plan goes on without them", begin: append(some(hers, 9), some("shop", 9)...), shuts: true},
		"All of a plan is hers, and others come while it waits for her breaker": {
			reason: "the plan gives way", begin: some(hers, 3), closed: true, comes: some("shop", 3), held: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newSiege(t, tc.begin, func(r *simStrategy) {
				r.ProgressDeadline.Duration = 15 * time.Second
			})
			s.behave = func(_ int, ref v1alpha1.ObjectReference) behaviour {
				if ref.Namespace == hers && tc.broken {
					return alone
				}
				return behaviour{}
			}
			if tc.closed {
				s.othersFail()
			}
			if tc.comes != nil || tc.shuts {
				s.arrives = func(sim *simulation) {
					waits := sim.rem.Status.Phase == v1alpha1.PhaseHeld || !tc.held && sim.rem.Status.Phase.Final()
					if tc.shuts && sim.rem.Status.Phase == v1alpha1.PhaseApplying && sim.rem.Status.Wave == 0 &&
						s.Read("namespace-"+hers) == nil {
						s.othersFail()
					}
					if waits && tc.comes != nil {
						s.left, tc.comes = append(s.left, tc.comes...), nil
						s.Scan.Found = s.found()
					}
				}
			}
			for rounds := 0; tc.comes != nil || len(s.others()) > 0; rounds++ {
				if why, err := s.next(); why != "" || err != nil || rounds > 10 ||
					s.Time.Now().Sub(simStart()) > 20*time.Minute {
					t.Fatalf("%s\n%d objects of others are left after %s: %s (%v)\n%s", tc.reason, len(s.others()),
						s.Time.Now().Sub(simStart()), why, err, s.told())
				}
			}
			if tc.held && s.plans[0].Status.Phase != v1alpha1.PhaseSuperseded {
				t.Errorf("the plan that waited is %s: %s", s.plans[0].Status.Phase, s.plans[0].Status.Message)
			}
		})
	}
}

// A plan whose targets are all in one namespace waits for its breaker, as it ever did.
func TestAPlanOfOneNamespaceWaitsForItsBreaker(t *testing.T) {
	s := newSiege(t, some(hers, 3), func(*simStrategy) {})
	s.behave = func(int, v1alpha1.ObjectReference) behaviour { return behaviour{} }
	s.othersFail()
	since := s.Time.Now()
	if _, err := s.next(); err != nil {
		t.Fatal(err)
	}
	st := s.plans[0].Status
	if waited := s.Time.Now().Sub(since); st.Phase != v1alpha1.PhaseSucceeded || waited < 30*time.Minute {
		t.Errorf("it is %s after %s, though the breaker was open for half an hour: %s", st.Phase, waited, st.Message)
	}
}
