// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestAConstraintKeepsWhatOthersWroteInIt marks a constraint, has it yield for a reason, and enforce again: of its
// annotations only Evenkeel's come and go.
func TestAConstraintKeepsWhatOthersWroteInIt(t *testing.T) {
	resource := schema.GroupVersionResource{Group: "constraints.gatekeeper.sh", Version: "v1beta1", Resource: "teamed"}
	c := constraintAt(time.Time{}, map[string]any{})
	c.Resource = resource
	c.Object.SetAPIVersion(resource.GroupVersion().String())
	setEnforcement(c.Object, "deny")
	others := map[string]string{"kubernetes.io/change-cause": "theirs"}
	c.Object.SetAnnotations(others)
	l := &Live{Objects: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{resource: "TeamedList"}), Of: c, PolicyName: "services", Cause: "4711"}
	if err := l.Objects.(*fake.FakeDynamicClient).Tracker().Create(resource, c.Object, ""); err != nil {
		t.Fatal(err)
	}
	with := func(more map[string]string) map[string]string {
		for key, value := range others {
			more[key] = value
		}
		return more
	}
	for _, step := range []struct {
		do     func(context.Context, *Constraint) error
		action string
		want   map[string]string
	}{
		{func(ctx context.Context, c *Constraint) error { return l.MarkConstraint(ctx, c, "run 1") }, "deny",
			with(map[string]string{v1alpha1.AnnotationHandover: "run 1"})},
		{func(ctx context.Context, c *Constraint) error { return l.Yield(ctx, c, "services") }, dryRun,
			with(map[string]string{v1alpha1.AnnotationEnforcedBy: "services",
				v1alpha1.AnnotationEnforcementAction: "deny", v1alpha1.AnnotationSwitchReason: "4711"})},
		{func(ctx context.Context, c *Constraint) error {
			l.Cause = "Gatekeeper is being upgraded"
			return l.Restore(ctx, c)
		}, "deny", with(map[string]string{v1alpha1.AnnotationSwitchReason: "Gatekeeper is being upgraded"})},
		{func(ctx context.Context, c *Constraint) error {
			l.Cause = ""
			return l.Yield(ctx, c, "services")
		}, dryRun, with(map[string]string{v1alpha1.AnnotationEnforcedBy: "services",
			v1alpha1.AnnotationEnforcementAction: "deny"})},
		{l.Restore, "deny", others},
		{func(ctx context.Context, c *Constraint) error { return l.MarkConstraint(ctx, c, "") }, "deny", others},
	} {
		before, err := l.Constraint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := step.do(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		now, err := l.Constraint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(step.want, now.Object.GetAnnotations()); diff != "" || now.Enforcement() != step.action {
			t.Errorf("enforcementAction %q, want %q; %s", now.Enforcement(), step.action, diff)
		}
	}
}
