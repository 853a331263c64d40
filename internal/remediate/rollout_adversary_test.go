// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/internal/remediate/planning"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// hers is the namespace that the adversary edits, and nothing else.
const hers = "eve"

// siege is a policy whose plans follow one another, with the breakers and the planner's
// judgement of the real thing, while somebody who edits one namespace does there what
// she likes.
type siege struct {
	*breakertest.Circuit
	policy *v1alpha1.ClusterRegoPolicy
	fleet  fleet
	// behave gives an object its behaviour in a plan.
	behave func(plan int, ref v1alpha1.ObjectReference) behaviour
	left   []v1alpha1.ObjectReference // what violates
	plans  []v1alpha1.Remediation
	// written are the objects that any plan has changed, by UID.
	written map[string]v1alpha1.ObjectReference
	// arrives is called after each step of a plan: what else happens.
	arrives func(*simulation)
}

func newSiege(t *testing.T, refs []v1alpha1.ObjectReference, change func(*simStrategy)) *siege {
	c := breakertest.New(t).In(hers, "shop", "bank", "post")
	c.Time.SetTime(simStart())
	s := &siege{Circuit: c, policy: &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid"}},
		fleet: newFleet(0).with(change), left: refs, written: map[string]v1alpha1.ObjectReference{}}
	s.fleet.sliceSize = 5
	return s
}

// found is what a scan finds by now.
func (s *siege) found() []policy.Finding {
	var found []policy.Finding
	for _, ref := range s.left {
		found = append(found, policy.Finding{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace,
			Name: ref.Name, UID: ref.UID, Fixable: true})
	}
	return found
}

// others are the objects of other namespaces that violate.
func (s *siege) others() []v1alpha1.ObjectReference {
	return slices.DeleteFunc(slices.Clone(s.left), func(ref v1alpha1.ObjectReference) bool {
		return ref.Namespace == hers
	})
}

// next plans and rolls out once, or waits as the planner does. It says why no plan is
// made any more, or "".
func (s *siege) next() (blockedFor string, err error) {
	s.Scan.Found = s.found()
	refs, wait, why, err := s.drafted()
	if why != "" || err != nil {
		return why, err
	}
	if len(refs) == 0 {
		s.After(max(wait, time.Second))
		return "", nil
	}
	if err := s.roll(refs); err != nil {
		return "", err
	}
	s.After(planning.DefaultDelay)
	return "", nil
}

// drafted are the objects of the next plan, by the planner's own judgement.
func (s *siege) drafted() (refs []v1alpha1.ObjectReference, wait time.Duration, why string, err error) {
	now, revision := s.Time.Now(), s.Revision("tags")
	var failedIn map[string]string
	if len(s.plans) > 0 {
		stand := history.StandingOf(s.policy, s.plans, revision, now)
		if wait := stand.NextAfter(s.found(), now) - now.Sub(s.plans[len(s.plans)-1].EndTime()); wait > 0 {
			return nil, wait, "", nil
		}
		if why := history.Blocked(s.policy, s.plans, revision, stand, s.found()); why != "" {
			return nil, 0, why, nil
		}
		failedIn = stand.LeftOut()
	}
	mode, err := s.Mode(s.Ctx, s.policy, v1alpha1.RemediationAutomatic)
	if err != nil || mode != v1alpha1.RemediationAutomatic {
		return nil, 0, fmt.Sprintf("mode %s", mode), err
	}
	keptBack, err := s.KeptBack(s.Ctx, s.Plan("tags-next"))
	if err != nil {
		return nil, 0, "", err
	}
	leftOut := planning.NamespacesLeftOut(s.fleet.strategy.Mode, failedIn, keptBack, s.found())
	for _, ref := range s.left {
		if _, out := leftOut[ref.Namespace]; !out {
			refs = append(refs, ref)
		}
	}
	return refs, planning.DefaultInterval, "", nil
}

// roll rolls out a plan of some objects to its end.
func (s *siege) roll(refs []v1alpha1.ObjectReference) error {
	f, n := s.fleet, len(s.plans)
	f.refs = refs
	order := canary.Order(simHash, candidatesOf(refs))
	f.behave = func(place int) behaviour { return s.behave(n, refs[order[place]]) }
	sim, err := newSimulation(f)
	if err != nil {
		return err
	}
	sim.clock = s.Time
	sim.rem.Name, sim.rem.Spec.Plan.Hash = fmt.Sprintf("tags-%03d", n), fmt.Sprintf("%016d", n)
	sim.rem.Spec.Plan.Policy.Revision = s.Revision("tags")
	s.surround(sim)
	if err := sim.run(6000); err != nil {
		return err
	}
	if err := s.Release(s.Ctx, sim.rem); err != nil {
		return err
	}
	s.plans = append(s.plans, *sim.rem)
	for _, obj := range sim.objects {
		if obj.fixes > 0 && !(obj.ref.Namespace == hers && obj.SetBackAt > 0) { // what she sets back, she has chosen
			s.written[obj.ref.UID] = obj.ref
		}
		if obj.value == valueAfter || !obj.exists(s.Time.Now()) {
			s.left = slices.DeleteFunc(s.left, func(ref v1alpha1.ObjectReference) bool {
				return ref.UID == obj.ref.UID
			})
		}
	}
	return nil
}

// surround puts the real breakers around a plan.
func (s *siege) surround(sim *simulation) {
	fail := func(err error) {
		if err != nil {
			sim.fault("%v", err)
		}
	}
	sim.gate = func(sim *simulation) rollout.Gate {
		gate, err := s.Consult(s.Ctx, sim.rem)
		fail(err)
		return gate
	}
	sim.barred = func(sim *simulation, t rollout.TargetView) (string, string) {
		o := rollout.Observation{Spec: sim.rem.Spec, Targets: []rollout.TargetView{t}}
		refusals, err := s.KeptBack(s.Ctx, sim.rem)
		fail(err)
		o.Bar(refusals)
		return o.Targets[0].Barred, o.Targets[0].BarredReason
	}
	if s.arrives != nil {
		sim.watch = func(simStep) { s.arrives(sim) }
	}
	sim.breakers = s.Set
	sim.stop = func(sim *simulation) string {
		b, err := sim.records()
		fail(err)
		why, err := s.Outlasted(s.Ctx, sim.rem, pendingOf(b.Views()))
		fail(err)
		return why
	}
}

func candidatesOf(refs []v1alpha1.ObjectReference) []canary.Candidate {
	var list []canary.Candidate
	for _, r := range refs {
		list = append(list, canary.Candidate{Group: "apps", Kind: r.Kind, Namespace: r.Namespace, Name: r.Name})
	}
	return list
}

// besieged are some objects of hers, and some of others.
func besieged(t *rapid.T) []v1alpha1.ObjectReference {
	var refs []v1alpha1.ObjectReference
	add := func(namespace string) {
		n := len(refs)
		refs = append(refs, v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace,
			Name: fmt.Sprintf("app-%03d", n), UID: fmt.Sprintf("uid-%03d", n)})
	}
	for range rapid.IntRange(1, 25).Draw(t, "hers") {
		add(hers)
	}
	for range rapid.IntRange(2, 10).Draw(t, "others") {
		add(rapid.SampledFrom([]string{"shop", "bank", "post"}).Draw(t, "namespace"))
	}
	return refs
}

func anyStrategy(t *rapid.T) func(*simStrategy) {
	size := rapid.Int32Range(1, 3).Draw(t, "canary")
	waves := rapid.SampledFrom([][]string{{"100%"}, {"50%", "100%"}, {"20%", "40%", "60%", "100%"}}).Draw(t, "waves")
	most, soak := rapid.Int32Range(1, 5).Draw(t, "maxInFlight"), durations(0, 5, 60).Draw(t, "soak")
	return func(r *simStrategy) {
		r.steps(intstr.FromInt32(size), waves...)
		r.soak(soak)
		r.MaxInFlight, r.ProgressDeadline.Duration = most, 15*time.Second
	}
}

// mischief is what somebody can do to an object of a namespace that she edits.
func mischief(t *rapid.T) behaviour {
	b := restless().Draw(t, "mischief")
	// What the API server does, and webhooks and gates, isn't hers.
	b.Unserved, b.Neighbour, b.ShutBetween = nil, neighbour{}, 0
	return b
}

// Whoever edits one namespace deletes, replaces, breaks and repairs what she likes there,
// at any time: with a good fix the objects of all others are fixed, soon, the policy is
// never demoted, and no breaker ever stops all.
func TestOneNamespaceNeverStopsTheOthers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := newSiege(t, besieged(rt), anyStrategy(rt))
		s.behave = func(_ int, ref v1alpha1.ObjectReference) behaviour {
			if ref.Namespace != hers {
				return behaviour{}
			}
			return mischief(rt)
		}
		for rounds := 0; len(s.others()) > 0; rounds++ {
			why, err := s.next()
			if why != "" || err != nil || rounds > 30 || s.Time.Now().Sub(simStart()) > 6*time.Hour {
				rt.Fatalf("after %d plans and %s, %d objects of others are left: %s (%v)\n%s", len(s.plans),
					s.Time.Now().Sub(simStart()), len(s.others()), why, err, s.told())
			}
			for _, name := range []string{"policy-tags", "global"} {
				if st := s.Set.Observe(s.Ctx, s.Read(name)); st.State == v1alpha1.BreakerOpen &&
					st.OnlyNamespace != hers || st.Demoted != nil {
					rt.Fatalf("breaker %s: %s, demoted %v: %s", name, st.State, st.Demoted, st.Message)
				}
			}
		}
	})
}

// told is how the plans ended.
func (s *siege) told() string {
	text := ""
	for i := range s.plans {
		st := s.plans[i].Status
		text += fmt.Sprintf("%s of %d: %s (%s) in %v: %s\n", s.plans[i].Name, s.plans[i].Spec.Plan.Targets, st.Phase,
			st.Reason, st.FailedIn, st.Message)
	}
	return text
}

// A fix that does harm changes no more objects than two canaries hold before its
// revision is blocked for good, whatever she does to make it look as if it were hers.
func TestAHarmfulFixIsBlockedAfterTwoCanaries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := newSiege(t, besieged(rt), anyStrategy(rt))
		harm := rapid.Custom(func(t *rapid.T) behaviour {
			harms := []behaviour{{Heals: never}, {WorsensAt: -1}}
			if s.fleet.strategy.Steps[0].Soak.Duration > 0 { // else nobody looks any more
				harms = append(harms, behaviour{GoneAt: time.Second}, behaviour{WorsensAt: 2 * time.Second})
			}
			return rapid.SampledFrom(harms).Draw(t, "harm")
		})
		s.behave = func(_ int, ref v1alpha1.ObjectReference) behaviour {
			b := harm.Draw(rt, "harm")
			if ref.Namespace != hers {
				return b
			}
			her := mischief(rt)
			her.Heals, her.RepairAt, her.Beaten = max(her.Heals, b.Heals), 0, false
			// an API server that doesn't answer isn't hers; what it met is undone, and doesn't count
			her.CheckErrors = 0
			if b.WorsensAt != 0 { // she doesn't hide the harm: see docs/threat-model.md
				her.WorsensAt = b.WorsensAt
			}
			if b.GoneAt > 0 {
				her.GoneAt = b.GoneAt
			}
			return her
		}
		most := 2 * int(s.fleet.strategy.Steps[0].Targets.IntVal)
		for rounds := 0; ; rounds++ {
			why, err := s.next()
			if err != nil || rounds > 60 {
				rt.Fatalf("not blocked after %d plans: %v\n%s", len(s.plans), err, s.told())
			}
			if len(s.written) > most {
				rt.Fatalf("%d objects were changed, more than %d\n%s", len(s.written), most, s.told())
			}
			if why != "" || len(s.left) == 0 {
				break
			}
		}
		s.After(100 * time.Hour)
		if why, err := s.next(); err != nil || why == "" && len(s.left) > 0 {
			rt.Fatalf("planned again days later: %v\n%s", err, s.told())
		}
	})
}
