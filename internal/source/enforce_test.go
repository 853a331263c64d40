// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source/git"
)

// A revision that waits for something may be given up by the repository meanwhile, or
// by those who sign for it.
func TestWhatBecomesOfARevisionThatIsReadAndNotInForce(t *testing.T) {
	answers := func(err error) func(*desk) { return func(d *desk) { d.refuses = err } }
	tests := map[string]struct {
		reason   string
		then     func(*desk)
		revision string
	}{
		"its signer isn't known any more": {"nobody answers for it", answers(&git.Error{
			Kind: git.ErrSignature, Revision: revisionB}), revisionA},
		"no signer is known any more": {"nobody answers for it", func(d *desk) {
			if err := d.c.client.Delete(t.Context(), signers()); err != nil {
				t.Fatal(err)
			}
		}, revisionA},
		"the signers are others, and the server doesn't answer": {"nobody answers for it", func(d *desk) {
			others := signers()
			others.Data = map[string][]byte{"keys": []byte("another's")}
			if err := d.c.client.Update(t.Context(), others); err != nil {
				t.Fatal(err)
			}
			d.refuses = errors.New("no route")
		}, revisionA},
		"the branch has gone": {"nobody follows it", answers(git.ErrReferenceNotFound), revisionA},
		"the server doesn't answer": {"it is the newest that is known, and the next must descend from it",
			answers(errors.New("no route")), revisionB},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, verified)
			d.holds(revisionA, "hats")
			if src := d.look(); src.Status.Revision != revisionA {
				t.Fatalf("it begins with %v", src.Status)
			}
			foreign := located("caps").Definition
			if err := d.c.client.Create(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			d.holds(revisionB, "hats", "caps")
			if ready := readyOf(d.ask()); ready.Reason != v1alpha1.ReasonPolicyConflict {
				t.Fatalf("beside a policy of that name: %v", ready)
			}
			tc.then(d)
			if err := d.c.client.Delete(t.Context(), foreign); err != nil {
				t.Fatal(err)
			}
			d.lastEvent()
			src := d.look()
			if event := d.lastEvent(); tc.revision == revisionB &&
				(!strings.Contains(event, v1alpha1.EventPolicySourceApplied) ||
					!strings.Contains(event, "revision "+revisionB+" is in force: 2 policies; 1 made")) {
				t.Errorf("that it came into force is announced as %q", event)
			}
			if src.Status.Revision != tc.revision || (d.policy("caps") != nil) != (tc.revision == revisionB) {
				t.Errorf("%s: revision %s, the policy that it adds: %v", tc.reason, src.Status.Revision,
					d.policy("caps"))
			}
			if mustFollow(src) != commitOf(tc.revision) {
				t.Errorf("the next must follow %s", mustFollow(src))
			}
			if ready := readyOf(d.look()); ready.Status != metav1.ConditionFalse ||
				!strings.Contains(ready.Message, "Revision "+tc.revision+" stays in force") {
				t.Errorf("%s: %v", tc.reason, ready)
			}
		})
	}
}

// An emergency's override mustn't wait for another one to be corrected.
func TestRightOverridesCountBesideWrongOnesWhileTheNewestRevisionIsBroken(t *testing.T) {
	d := newDesk(t)
	d.holds(revisionA, "hats", "caps")
	d.look()
	d.holds(revisionB, "hats", "caps")
	d.files["caps/caps.rego"] += "\ndeny contains x if nobody\n"
	if ready := readyOf(d.ask()); ready.Reason != v1alpha1.ReasonNotCompiling {
		t.Fatalf("a broken revision: %v", ready)
	}
	src := d.ask(func(src *v1alpha1.PolicySource) {
		src.Spec.Overrides = []v1alpha1.SourceOverride{
			{Policies: []string{"hats"}, AdmissionAction: v1alpha1.AdmissionWarn},
			{Policies: []string{"hots"}, AdmissionAction: v1alpha1.AdmissionAudit}}
	})
	if p := d.policy("hats"); p.Spec.Admission.Action != v1alpha1.AdmissionWarn {
		t.Errorf("the right override has no effect: %v", p.Spec.Admission)
	}
	if ready := readyOf(src); ready.Reason != v1alpha1.ReasonNotCompiling || src.Status.ProblemCount != 2 ||
		src.Status.Problems[0].File != "caps/caps.rego" ||
		src.Status.Problems[1].File != "spec.overrides[1].policies[0]" ||
		!strings.Contains(ready.Message, "caps/caps.rego:") ||
		!strings.Contains(ready.Message, "; revision "+revisionA+", which stays in force, isn't as it should be: "+
			`spec.overrides[1].policies[0]: the repository has no policy "hots"`) {
		t.Errorf("it says %v: %v", ready, src.Status.Problems)
	}
	edited := d.policy("caps")
	edited.Spec.Title = "Any hats"
	if err := d.c.client.Update(t.Context(), edited); err != nil {
		t.Fatal(err)
	}
	d.look()
	if p := d.policy("caps"); p.Spec.Title == edited.Spec.Title {
		t.Error("an edit isn't corrected")
	}
}

// What a wrong override did while it was right ends when a person takes it out, and not
// when somebody else's revision doesn't compile.
func TestAWrongOverrideHasNothingTightenedByABrokenRevision(t *testing.T) {
	overrides := func(first, name string, more ...v1alpha1.SourceOverride) func(*v1alpha1.PolicySource) {
		return func(src *v1alpha1.PolicySource) {
			src.Spec.Overrides = append([]v1alpha1.SourceOverride{
				{Policies: []string{first}, RemediationMode: v1alpha1.RemediationDryRun},
				{Policies: []string{name}, AdmissionAction: v1alpha1.AdmissionWarn}}, more...)
		}
	}
	d := newDesk(t, overrides("*", "hats"))
	d.holds(revisionA, "hats", "caps")
	d.look()
	want := d.policy("hats").Spec
	holds := func(when string) {
		t.Helper()
		diff := cmp.Diff(want, d.policy("hats").Spec)
		if diff != "" || want.Admission.Action != v1alpha1.AdmissionWarn {
			t.Errorf("%s (-before +after):\n%s", when, diff)
		}
	}
	d.ask(overrides("*", "hots"))
	holds("with the good revision")
	d.holds(revisionB, "hats", "caps")
	d.files["caps/caps.rego"] += "\ndeny contains x if nobody\n"
	d.ask()
	holds("with a broken revision")
	d.ask(overrides("*", "hots", v1alpha1.SourceOverride{Policies: []string{"caps"},
		AdmissionAction: v1alpha1.AdmissionAudit}))
	holds("with another override")
	if p := d.policy("caps"); p.Spec.Admission.Action != v1alpha1.AdmissionAudit {
		t.Errorf("the override that was added has no effect: %v", p.Spec.Admission)
	}
	d.ask(func(src *v1alpha1.PolicySource) { src.Spec.Overrides = nil })
	if p := d.policy("hats"); p.Spec.Admission.Action == v1alpha1.AdmissionWarn {
		t.Error("the override stays though it was taken out")
	}
}
