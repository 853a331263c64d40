// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/history"
)

func byEnv(env string) v1alpha1.TargetSelector {
	return v1alpha1.TargetSelector{NamespaceSelector: &v1alpha1.LabelSelector{
		MatchLabels: map[string]v1alpha1.LabelValue{"env": v1alpha1.LabelValue(env)}}}
}

// stagedDraft holds a number of objects in each environment; "" is cluster scope,
// and critical ones and ones that opted out are among them. Its stages are
// staging, then prod.
func stagedDraft(t interface{ Fatal(...any) }, change func(*v1alpha1.RemediationStrategySpec),
	fleet map[string]int) *draft {
	d := testDraft(0, 0)
	d.strategy.Stages = []v1alpha1.RolloutStage{{Name: "staging", Selector: byEnv("staging")},
		{Name: "prod", Selector: byEnv("prod")}}
	change(&d.strategy)
	var err error
	if d.stages, err = canary.ReadStages(&d.strategy); err != nil {
		t.Fatal(err)
	}
	for env, n := range fleet {
		var namespace *metav1.PartialObjectMetadata
		if env != "" {
			namespace = &metav1.PartialObjectMetadata{
				ObjectMeta: metav1.ObjectMeta{Name: env, Labels: map[string]string{"env": env}}}
		}
		for i := range n {
			m := &metav1.PartialObjectMetadata{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"brave": fmt.Sprint(i%3 == 0)}}}
			if i%5 == 0 {
				m.Labels[v1alpha1.LabelTier] = "critical"
			}
			if i%7 == 6 {
				m.Annotations = map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused}
			}
			d.sort(policy.Finding{APIVersion: "apps/v1", Kind: "Deployment", Namespace: env,
				Name: fmt.Sprintf("web-%02d", i),
				UID:  fmt.Sprintf("%s-%d", env, i)}, m, namespace, history.Fixes{}, &limits.Reach{})
		}
	}
	d.hash = planHash(d)
	d.order()
	return &d
}

// brave draws the canary from objects with a label that each third one has.
func brave(s *v1alpha1.RemediationStrategySpec) {
	s.Steps[0].Selector = &v1alpha1.TargetSelector{
		ObjectSelector: &v1alpha1.LabelSelector{MatchLabels: map[string]v1alpha1.LabelValue{"brave": "true"}}}
}

func TestBuildGoesStageByStage(t *testing.T) {
	d := stagedDraft(t, func(s *v1alpha1.RemediationStrategySpec) {
		s.Steps = []v1alpha1.RolloutStep{s.Steps[0], {Targets: intstr.FromString("100%")}}
	},
		map[string]int{"prod": 4, "staging": 3, "dev": 2, "": 1})
	rem, parts, err := d.build()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range parts[0].Targets {
		got = append(got, fmt.Sprintf("%d %s", target.Wave, target.Object.Namespace))
	}
	want := []string{"0 staging", "1 staging", "1 staging", "2 prod", "3 prod", "3 prod", "3 prod"}
	if diff := cmp.Diff(want, got[:7]); diff != "" {
		t.Errorf("targets by wave: -want +got\n%s", diff)
	}
	stages := []v1alpha1.PlannedStage{{Name: "staging"}, {Name: "prod", FirstWave: 2}, {Name: "others", FirstWave: 4}}
	if diff := cmp.Diff(stages, rem.Spec.Plan.Stages); diff != "" {
		t.Errorf("stages: -want +got\n%s", diff)
	}
	announced :=
		"10 targets of policy no-host-network in waves of [1 2 1 3 1 2]; staging [1 2]; prod [1 3]; others [1 2]"
	if d.announce(rem) != announced {
		t.Errorf("the plan is announced as %q, want %q", d.announce(rem), announced)
	}
}

func TestMaxTargetsLeavesTheRestForTheNextPlan(t *testing.T) {
	most := int32(4)
	d := stagedDraft(t, func(s *v1alpha1.RemediationStrategySpec) { s.MaxTargets = &most },
		map[string]int{"prod": 7, "staging": 3})
	rem, parts, err := d.build()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range parts[0].Targets {
		if target.SkipReason == "" {
			got = append(got, target.Object.Namespace)
		}
	}
	if diff := cmp.Diff([]string{"staging", "staging", "staging", "prod"}, got); diff != "" {
		t.Errorf("the first by the order of the rollout: -want +got\n%s", diff)
	}
	if text := d.announce(rem); !strings.HasPrefix(text, "4 of 9 targets of policy no-host-network") ||
		!strings.Contains(text, "the next plan (maxTargets)") {
		t.Errorf("the plan is announced as %q", text)
	}
}

func TestNoLeaderNamesTheSelectorAndTheStage(t *testing.T) {
	d := stagedDraft(t, func(s *v1alpha1.RemediationStrategySpec) {
		selector := byEnv("staging")
		s.Steps[0].Selector = &selector
	}, map[string]int{"prod": 4})
	if len(d.leaders()) != 0 {
		t.Fatalf("%d objects of prod may be a canary of staging", len(d.leaders()))
	}
	want := "no canary: steps[0].selector of the strategy (namespaces with env=staging) chooses none of the " +
		"violating objects of the first stage that has any, prod"
	if text := d.noLeader(); !strings.HasPrefix(text, want) {
		t.Errorf("want %q, got %q", want, text)
	}
}

// Whatever the fleet and the strategy: each object to fix that the plan has room
// for is in exactly one wave, in one of its stage's waves; stages come one after
// another; and the canary holds only objects that it may be drawn from.
func TestEveryTargetIsInOneWaveOfItsStage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fleet := map[string]int{}
		for _, env := range []string{"", "dev", "staging", "prod"} {
			fleet[env] = rapid.IntRange(0, 40).Draw(t, "objects in "+env)
		}
		d := stagedDraft(t, func(s *v1alpha1.RemediationStrategySpec) {
			s.Steps[0].Targets = intstr.Parse(rapid.SampledFrom([]string{"1", "4", "10%", "100%"}).Draw(t, "canary"))
			if rapid.Bool().Draw(t, "a brave canary") {
				brave(s)
			}
			if rapid.Bool().Draw(t, "no stages") {
				s.Stages = nil
			}
			if most := rapid.Int32Range(0, 60).Draw(t, "maxTargets"); most > 0 {
				s.MaxTargets = &most
			}
		}, fleet)
		leaders := len(d.eligible)
		if leaders > 0 {
			leaders = len(d.leaders())
		}
		if leaders == 0 {
			return // no plan is made
		}
		d.toFront(rapid.Permutation(d.leaders()).Draw(t, "healthy ones")[:rapid.IntRange(1, leaders).Draw(t, "chosen")])
		rem, parts, err := d.build()
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, d, rem, parts)
	})
}

func checkPlan(t *rapid.T, d *draft, rem *v1alpha1.Remediation, parts []*v1alpha1.RemediationSlice) {
	var targets []v1alpha1.Target
	for _, part := range parts {
		targets = append(targets, part.Targets...)
	}
	perWave, waves := make([]int32, len(rem.Spec.Plan.Waves)), map[string][]int32{}
	toFix := 0
	for i, target := range targets {
		if target.SkipReason == "" {
			toFix++
		}
		perWave[target.Wave]++
		waves[target.Object.UID] = append(waves[target.Object.UID], target.Wave)
		if i > 0 && target.Wave < targets[i-1].Wave {
			t.Fatalf("wave %d stands behind wave %d", target.Wave, targets[i-1].Wave)
		}
		if target.Wave == 0 && target.ExcludedFromCanary {
			t.Fatalf("%s mustn't be the canary", target.Object.Name)
		}
	}
	if diff := cmp.Diff(canary.Targets(rem.Spec.Plan.Waves), perWave); diff != "" || toFix > d.most() ||
		int(rem.Spec.Plan.Targets) != len(targets) {
		t.Fatalf("%d targets to fix, at most %d, spec.targets %d; waves: -want +got\n%s", toFix, d.most(),
			rem.Spec.Plan.Targets, diff)
	}
	for i, c := range d.eligible {
		got := waves[c.object.UID]
		switch {
		case i >= d.size() && len(got) != 0:
			t.Fatalf("%s is in the plan, but has no room in it", c.object.UID)
		case i < d.size() && len(got) != 1:
			t.Fatalf("%s is in the waves %v, want one", c.object.UID, got)
		case i < d.size() && stageName(rem.Spec.Plan.Stages, got[0]) != d.stages.Name(c.stage):
			t.Fatalf("%s of stage %q is in wave %d of %v", c.object.UID, d.stages.Name(c.stage), got[0],
				rem.Spec.Plan.Stages)
		}
	}
}

// stageName is the name of the stage that a wave belongs to.
func stageName(stages []v1alpha1.PlannedStage, wave int32) string {
	name := ""
	for _, s := range stages {
		if s.FirstWave <= wave {
			name = s.Name
		}
	}
	return name
}
