// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixture"
)

func testDraft(eligible, ineligible int) draft {
	d := draft{revision: "r1", policy: &v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-host-network", UID: "p1", Generation: 3}}}
	d.strategy.SetDefaults()
	d.rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
	d.stages, _ = canary.ReadStages(&d.strategy) // it has none
	object := func(kind string, i int) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop",
			Name: fmt.Sprintf("%s-%05d", kind, i), UID: fmt.Sprintf("%s-%d", kind, i)}
	}
	for i := range eligible {
		d.eligible = append(d.eligible, candidate{object: object("web", i), mayLead: true})
	}
	for i := range ineligible {
		d.ineligible = append(d.ineligible,
			candidate{object: object("managed", i), reason: v1alpha1.ReasonManaged, told: true})
	}
	d.hash = planHash(d)
	return d
}

func TestBuild(t *testing.T) {
	cases := map[string]struct {
		reason               string
		eligible, ineligible int
		waves                []int32
		slices               int
	}{
		"One target is a canary alone": {reason: "there is nothing to prove it for", eligible: 1, waves: []int32{1},
			slices: 1},
		"Objects that are only reported don't count for the waves": {
			reason: "30 to fix make a canary, then 25 %, then the rest; 3 more are in the last wave", eligible: 30,
			ineligible: 3,
			waves:      []int32{1, 6, 26}, slices: 1,
		},
		"Objects that are left alone come behind a canary that is alone": {
			reason: "wave 0 must hold nothing but the canary", eligible: 1, ineligible: 5, waves: []int32{1, 5},
			slices: 1,
		},
		"Objects that are left alone make a plan of their own": {
			reason: "their owners are to get the fix", ineligible: 5, waves: []int32{5}, slices: 1,
		},
		"10,000 targets make 100 slices": {reason: "100 a slice", eligible: 10000, waves: []int32{1, 499, 2000, 7500},
			slices: 100},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := testDraft(tc.eligible, tc.ineligible)
			rem, parts, err := d.build()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.waves, canary.Targets(rem.Spec.Plan.Waves)); diff != "" {
				t.Errorf("%s\nwaves: -want +got\n%s", tc.reason, diff)
			}
			if rem.Spec.Plan.Writable != int32(tc.eligible) {
				t.Errorf("%s: %d of %d targets may be written, want %d", tc.reason, rem.Spec.Plan.Writable,
					rem.Spec.Plan.Targets, tc.eligible)
			}
			if len(parts) != tc.slices || len(rem.Spec.Plan.Slices) != tc.slices {
				t.Errorf("%s: want %d slices, got %d, of which %d are named", tc.reason, tc.slices, len(parts),
					len(rem.Spec.Plan.Slices))
			}
			checkTargets(t, d, rem, parts)
		})
	}
}

func checkTargets(t *testing.T, d draft, rem *v1alpha1.Remediation, parts []*v1alpha1.RemediationSlice) {
	t.Helper()
	perWave := make([]int32, len(rem.Spec.Plan.Waves))
	seen := map[string]int{}
	for _, slice := range parts {
		if len(slice.Targets) > v1alpha1.MaxTargetsPerSlice {
			t.Errorf("slice %s holds %d targets", slice.Name, len(slice.Targets))
		}
		for _, target := range slice.Targets {
			managed := strings.HasPrefix(target.Object.UID, "managed")
			if managed != (target.SkipReason == v1alpha1.ReasonManaged) {
				t.Errorf("%s is left alone for the reason %q", target.Object.Name, target.SkipReason)
			}
			perWave[target.Wave]++
			seen[target.Object.UID]++
		}
	}
	if diff := cmp.Diff(canary.Targets(rem.Spec.Plan.Waves), perWave); diff != "" {
		t.Errorf("targets by wave: -want +got\n%s", diff)
	}
	for _, c := range slices.Concat(d.eligible, d.ineligible) {
		if seen[c.object.UID] != 1 {
			t.Errorf("%s is in the plan %d times", c.object.Name, seen[c.object.UID])
		}
	}
}

func TestPlanHash(t *testing.T) {
	base := testDraft(3, 0)
	shuffled := testDraft(3, 0)
	shuffled.eligible[0], shuffled.eligible[2] = shuffled.eligible[2], shuffled.eligible[0]
	if planHash(base) != planHash(shuffled) {
		t.Error("the order in which the scan finds the targets changes the plan's hash")
	}
	again := testDraft(3, 0)
	again.plans = []v1alpha1.Remediation{{ObjectMeta: metav1.ObjectMeta{UID: "earlier"}}}
	if planHash(base) == planHash(again) {
		t.Error("the same drift after an earlier plan has the earlier plan's hash: it could never be planned")
	}
	preview, previewAgain := testDraft(3, 0), testDraft(3, 0)
	preview.rollout.Mode, previewAgain.rollout.Mode = v1alpha1.RemediationDryRun, v1alpha1.RemediationDryRun
	previewAgain.plans = again.plans
	if planHash(preview) != planHash(previewAgain) {
		t.Error("the same targets would be previewed for ever")
	}
	told, toldAgain, more := testDraft(0, 3), testDraft(0, 3), testDraft(0, 4)
	toldAgain.plans = again.plans
	slices.Reverse(toldAgain.ineligible)
	if planHash(told) != planHash(toldAgain) {
		t.Error("the same owners would be told for ever")
	}
	if planHash(told) == planHash(more) {
		t.Error("one more object of others is never told of")
	}
}

// TestADryRunIsMadeAgainWithItsStrategy: the deletion has ended the one before, which keeps
// its name for as long as the history keeps it.
func TestADryRunIsMadeAgainWithItsStrategy(t *testing.T) {
	by := func(uid types.UID, generation int64) string {
		d := testDraft(3, 0)
		d.rollout.Mode = v1alpha1.RemediationDryRun
		d.named = &v1alpha1.RemediationStrategy{
			ObjectMeta: metav1.ObjectMeta{Name: "careful", UID: uid, Generation: generation}}
		return planHash(d)
	}
	first, again := by("one", 1), by("one", 1)
	if first != again {
		t.Error("the same targets would be previewed for ever")
	}
	if by("one", 1) == by("two", 1) {
		t.Error("a strategy that is made anew with the same values is never previewed")
	}
	if by("one", 1) == by("one", 3) {
		t.Error("a strategy that is corrected to what it said before is never previewed")
	}
}

// A yes is to what was shown: the fix, which is the revision's, and the strategy.
func TestAPlanHashBindsStrategyAndFix(t *testing.T) {
	base := planHash(testDraft(3, 0))
	for name, change := range map[string]func(*draft){
		"the fix":     func(d *draft) { d.revision = "r2" },
		"the mode":    func(d *draft) { d.rollout.Mode = v1alpha1.RemediationManual },
		"concurrency": func(d *draft) { d.rollout.MaxInFlight++ },
		"the soak":    func(d *draft) { d.strategy.Steps[0].Soak.Duration += time.Second },
		"the verbs": func(d *draft) {
			d.rollout.AllowedActions = append(d.rollout.AllowedActions, v1alpha1.ActionDelete)
		},
		"what to do after": func(d *draft) { d.rollout.OnFailure = v1alpha1.FailureHold },
		"a limit":          func(d *draft) { d.rollout.MaxPerNamespace = 1 },
		"health": func(d *draft) {
			d.rollout.UnknownHealth = v1alpha1.UnknownHealthAllow
		},
	} {
		d := testDraft(3, 0)
		change(&d)
		if planHash(d) == base {
			t.Errorf("%s may change without the plan's hash", name)
		}
	}
}

func TestBlocked(t *testing.T) {
	cases := map[string]struct {
		reason, revision, retry string
		phase                   v1alpha1.RemediationPhase
		why                     string
		failed                  int32
		blocked                 bool
	}{
		"A rolled back revision isn't tried again": {
			reason: "it did harm", revision: "r1", phase: v1alpha1.PhaseRolledBack, blocked: true},
		"An incomplete rollback isn't either": {
			reason: "it did harm", revision: "r1", phase: v1alpha1.PhaseRollbackIncomplete, blocked: true},
		"A fix that never applies isn't either": {reason: "ten candidates failed", revision: "r1",
			phase: v1alpha1.PhaseAborted, why: v1alpha1.ReasonNoViableCanary, failed: 10, blocked: true},
		"A fix that is set back wherever it is tried isn't either": {reason: "somebody goes on with it", revision: "r1",
			phase: v1alpha1.PhaseAborted, why: v1alpha1.ReasonLostToFights, failed: 10, blocked: true},
		"A fix that failed on a few targets only is": {
			reason: "those wait by themselves", revision: "r1", phase: v1alpha1.PhaseAborted,
			why: v1alpha1.ReasonNoViableCanary, failed: 9,
		},
		"A lack of healthy canaries passes": {reason: "health comes back by itself", revision: "r1",
			phase: v1alpha1.PhaseAborted, why: v1alpha1.ReasonNoHealthyCanary},
		"A new revision is tried": {reason: "the policy was fixed", revision: "r2",
			phase: v1alpha1.PhaseRolledBack},
		"A person may say to try again": {reason: "the token is new", revision: "r1", retry: "new",
			phase: v1alpha1.PhaseRolledBack},
		"An old word doesn't count for the end": {reason: "the token stood there when the plan ended", revision: "r1",
			retry: "old", phase: v1alpha1.PhaseRolledBack, blocked: true},
		"A success blocks nothing": {
			reason: "drift comes again", revision: "r1", phase: v1alpha1.PhaseSucceeded},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pol := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: types.UID("p1")}}
			latest := v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "plan-1"}}
			latest.Spec.Plan.Policy = v1alpha1.PlannedPolicy{Name: "p", UID: "p1", Revision: "r1"}
			latest.Status.Phase, latest.Status.Reason, latest.Status.Counts.Failed = tc.phase, tc.why, tc.failed
			latest.Spec.RetryToken, latest.Status.LastHandledRetryToken = tc.retry, "old"
			plans := []v1alpha1.Remediation{latest}
			got := history.Blocked(pol, plans, tc.revision,
				history.StandingOf(pol, plans, tc.revision, breakertest.Noon),
				nil)
			if (got != "") != tc.blocked {
				t.Errorf("%s\nblocked: want %t, got %q", tc.reason, tc.blocked, got)
			}
			if got != "" && !strings.Contains(got, "evenkeel rollout retry plan-1") {
				t.Errorf("the message doesn't say what to do: %s", got)
			}
		})
	}
}

func TestAPlanCarriesHeatOn(t *testing.T) {
	d, earlier := testDraft(0, 0), history.New()
	earlier.Slow["web-uid"] = 3
	known := earlier.Of(v1alpha1.ObjectReference{UID: "web-uid"}, &metav1.PartialObjectMetadata{}, nil)
	d.sort(policy.Finding{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "web", UID: "web-uid",
		Fixable: true}, &metav1.PartialObjectMetadata{}, nil, known, &limits.Reach{})
	_, parts, err := d.build()
	if err != nil {
		t.Fatal(err)
	}
	if got := parts[0].Targets[0].Heat; got != 300 {
		t.Errorf("the plan carries on a heat of %d, want 300", got)
	}
}

// A Namespace in which nothing may be created isn't a target of a plan that only creates.
func TestNamespacesInWhichNothingIsWrittenAreLeftOut(t *testing.T) {
	reach := &limits.Reach{Exempt: []string{"kube-system"}}
	d := testDraft(0, 0)
	d.rollout.AllowedActions = []v1alpha1.ActionType{v1alpha1.ActionCreate}
	for _, name := range []string{"kube-system", "shop"} {
		d.sort(policy.Finding{APIVersion: "v1", Kind: "Namespace", Name: name, UID: name, Fixable: true},
			&metav1.PartialObjectMetadata{}, nil, history.Fixes{}, reach)
	}
	if len(d.ineligible) != 1 || d.ineligible[0].object.Name != "kube-system" ||
		d.ineligible[0].reason != v1alpha1.ReasonNotAllowed ||
		!strings.Contains(d.ineligible[0].message, limits.FlagNamespaces) {
		t.Errorf("left out: %+v", d.ineligible)
	}
	if len(d.eligible) != 1 || d.eligible[0].object.Name != "shop" {
		t.Errorf("to fix: %+v", d.eligible)
	}
}
