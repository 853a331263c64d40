// SPDX-License-Identifier: Apache-2.0

package strategy

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// careful is a strategy that the default isn't.
func careful() *v1alpha1.RemediationStrategy {
	return &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: "careful", UID: "one", Generation: 3},
		Spec: v1alpha1.RemediationStrategySpec{MaxInFlight: ptr.To(intstr.FromInt32(1)),
			Steps: []v1alpha1.RolloutStep{
				{Targets: intstr.FromInt32(1), Soak: &metav1.Duration{Duration: time.Hour}},
				{Targets: intstr.FromString("1%"), Soak: &metav1.Duration{Duration: time.Hour}}},
			Approval: v1alpha1.ApprovalStrategy{RequireDistinctApprover: true}}}
}

// following is a policy that refers to a strategy.
func following(name string) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	p.Spec.Remediation.AllowedActions = []v1alpha1.ActionType{v1alpha1.ActionScale}
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: name}
	return p
}

func TestAPolicyFollowsTheStrategyThatItNames(t *testing.T) {
	p, s := following("careful"), careful()
	got, problem := Resolve(p, s)
	if problem != nil {
		t.Fatal(problem)
	}
	want := careful().Spec
	want.SetDefaults()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the strategy in force (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(careful(), s); diff != "" {
		t.Errorf("the strategy itself was changed (-want +got):\n%s", diff)
	}
	s.Spec.Steps[0].Targets = intstr.FromString("100%")
	if got.Steps[0].Targets.IntVal != 1 {
		t.Error("the strategy's lists are shared: an edit would change it in place")
	}
	if following("careful").Spec.Remediation.Mode != p.Spec.Remediation.Mode {
		t.Error("the policy's mode was changed")
	}
}

// TestAReferenceThatLeadsNowhereRemediatesNothing: the defaults are less careful than what
// the reference stands for.
func TestAReferenceThatLeadsNowhereRemediatesNothing(t *testing.T) {
	cases := map[string]struct {
		named        func(*v1alpha1.RemediationStrategy) *v1alpha1.RemediationStrategy
		reason, says string
	}{
		"there is none of that name": {
			named:  func(*v1alpha1.RemediationStrategy) *v1alpha1.RemediationStrategy { return nil },
			reason: v1alpha1.ReasonStrategyNotFound, says: `there is no RemediationStrategy "careful"`},
		"it is being deleted": {
			named: func(s *v1alpha1.RemediationStrategy) *v1alpha1.RemediationStrategy {
				s.DeletionTimestamp = &metav1.Time{}
				return s
			}, reason: v1alpha1.ReasonStrategyNotFound, says: `RemediationStrategy "careful" is being deleted`},
		"it is another one": {
			named: func(s *v1alpha1.RemediationStrategy) *v1alpha1.RemediationStrategy {
				s.Name = "other"
				return s
			}, reason: v1alpha1.ReasonStrategyNotFound},
		"what is stored can't be read": {
			named: func(s *v1alpha1.RemediationStrategy) *v1alpha1.RemediationStrategy {
				s.Annotations, s.Spec = map[string]string{v1alpha1.AnnotationMalformed: "soak: 1 day"},
					v1alpha1.RemediationStrategySpec{}
				return s
			}, reason: v1alpha1.ReasonStrategyInvalid, says: "soak: 1 day"},
		"it was written while admission was away, and can't be meant": {
			named: func(s *v1alpha1.RemediationStrategy) *v1alpha1.RemediationStrategy {
				s.Spec.Windows = []v1alpha1.MaintenanceWindow{
					{Schedule: "0 0 30 2 *", Duration: metav1.Duration{Duration: time.Hour}}}
				return s
			}, reason: v1alpha1.ReasonStrategyInvalid, says: "spec.windows[0]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := following("careful")
			_, problem := Resolve(p, tc.named(careful()))
			if problem == nil || problem.Reason != tc.reason || !strings.Contains(problem.Message, tc.says) {
				t.Fatalf("got %+v, want %s with %q", problem, tc.reason, tc.says)
			}
			if mode := p.Spec.Remediation.Mode; mode != v1alpha1.RemediationDisabled {
				t.Errorf("its mode is %s", mode)
			}
		})
	}
}

// TestAPolicyThatNamesNoneFollowsTheDefault: the object of that name, or else the built-in one.
func TestAPolicyThatNamesNoneFollowsTheDefault(t *testing.T) {
	p := following("careful")
	p.Spec.Remediation.StrategyRef = nil
	if name := Named(p); name != v1alpha1.DefaultStrategy {
		t.Fatalf("it follows %q", name)
	}
	var want v1alpha1.RemediationStrategySpec
	want.SetDefaults()
	got, problem := Resolve(p, nil)
	if diff := cmp.Diff(want, got); diff != "" || problem != nil {
		t.Errorf("without an object: %v (-want +got):\n%s", problem, diff)
	}
	object := careful()
	object.Name = v1alpha1.DefaultStrategy
	got, problem = Resolve(p, object)
	if problem != nil || got.MaxInFlight.IntVal != 1 || !got.Approval.RequireDistinctApprover {
		t.Errorf("with an object: %+v, %v", got, problem)
	}
	object.DeletionTimestamp = &metav1.Time{}
	if _, problem = Resolve(p, object); problem == nil || p.Spec.Remediation.Mode != v1alpha1.RemediationDisabled {
		t.Errorf("while the object is being deleted: mode %s, %v", p.Spec.Remediation.Mode, problem)
	}
}
