// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/request"
	"evenkeel.dev/evenkeel/internal/prose"
)

// newOverride is an override as it is asked for. It belongs to its policy, and goes with it.
func newOverride(p *v1alpha1.ClusterRegoPolicy, action v1alpha1.AdmissionAction, until time.Time,
	reason string) *v1alpha1.PolicyOverride {
	return &v1alpha1.PolicyOverride{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy", Name: p.Name, UID: p.UID}}},
		Spec: v1alpha1.PolicyOverrideSpec{PolicyUID: string(p.UID), AdmissionAction: action,
			ExpirationTime: metav1.NewTime(until.UTC().Truncate(time.Second)), Reason: reason},
	}
}

// write makes an override, or has the one that is there say what is asked for now. One that is too old for the end that
// is asked for is replaced.
func write(ctx context.Context, c client.Client, asked *v1alpha1.PolicyOverride) (*v1alpha1.PolicyOverride, error) {
	stored := &v1alpha1.PolicyOverride{}
	err := c.Get(ctx, client.ObjectKeyFromObject(asked), stored)
	if err == nil && asked.Spec.ExpirationTime.Sub(stored.CreationTimestamp.Time) > v1alpha1.MaxOverride {
		err = c.Delete(ctx, stored, client.Preconditions{UID: &stored.UID})
	}
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	stored = asked.DeepCopy()
	err = c.Create(ctx, stored, client.FieldOwner("evenkeel-cli"))
	if !apierrors.IsAlreadyExists(err) {
		return stored, err
	}
	stored = &v1alpha1.PolicyOverride{ObjectMeta: metav1.ObjectMeta{Name: asked.Name}}
	return stored, request.Patch(ctx, c, stored, map[string]any{
		"metadata": map[string]any{"ownerReferences": asked.OwnerReferences},
		"spec": map[string]any{"policyUID": asked.Spec.PolicyUID, "admissionAction": asked.Spec.AdmissionAction,
			"expirationTime": asked.Spec.ExpirationTime, "reason": asked.Spec.Reason},
	})
}

// lost says what the API server has dropped of what was asked for; empty for nothing. A
// CustomResourceDefinition of another version drops fields without a word, and a manager of
// an earlier one records nobody.
func lost(asked, stored *v1alpha1.PolicyOverride) string {
	switch by := stored.Asked(); {
	case stored.Spec.PolicyUID != asked.Spec.PolicyUID || stored.Spec.AdmissionAction != asked.Spec.AdmissionAction ||
		!stored.Spec.ExpirationTime.Equal(&asked.Spec.ExpirationTime):
		return "the API server has dropped fields of PolicyOverride " + asked.Name
	case by == nil:
		return "admission has recorded nobody who asks for PolicyOverride " + asked.Name
	}
	return ""
}

// How long the manager may take to go by an override, and how often that is looked at.
const (
	confirmWithin = 15 * time.Second
	confirmEvery  = 200 * time.Millisecond
)

// confirmed waits until the manager says that it goes by an override as it was stored.
func confirmed(ctx context.Context, c client.Reader, stored *v1alpha1.PolicyOverride) error {
	generation, said, changed := stored.Generation, "", false
	looks := func(ctx context.Context) (bool, error) {
		now := &v1alpha1.PolicyOverride{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(stored), now); err != nil {
			return false, err
		}
		active := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionActive)
		if now.Status.ObservedGeneration < generation || active == nil {
			return false, nil
		}
		said = prose.OneLine(active.Reason + ": " + active.Message)
		changed = now.Generation > generation
		return active.Status == metav1.ConditionTrue || changed, nil
	}
	if wait.PollUntilContextTimeout(ctx, confirmEvery, confirmWithin, true, looks) == nil {
		if changed {
			return command.Exit(command.ExitFailed, fmt.Errorf("somebody else has changed PolicyOverride %s "+
				"meanwhile, and that counts (%s): kubectl get policyoverride %s", stored.Name, said, stored.Name))
		}
		return nil
	}
	if said == "" {
		said = "the leader hasn't processed it; evenkeel doctor says why"
	}
	return command.Exit(command.ExitFailed, fmt.Errorf("PolicyOverride %s is stored, and the manager hasn't confirmed "+
		"it within %s (%s)", stored.Name, confirmWithin, said))
}

// ended waits until the manager enforces a policy as it declares, or the policy is gone.
func ended(ctx context.Context, c client.Reader, name string) error {
	looks := func(ctx context.Context) (bool, error) {
		p := &v1alpha1.ClusterRegoPolicy{}
		err := c.Get(ctx, client.ObjectKey{Name: name}, p)
		gone := apierrors.IsNotFound(err)
		return gone || !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionOverridden),
			client.IgnoreNotFound(err)
	}
	if wait.PollUntilContextTimeout(ctx, confirmEvery, confirmWithin, true, looks) == nil {
		return nil
	}
	return command.Exit(command.ExitFailed, fmt.Errorf("PolicyOverride %s is deleted, and the manager hasn't "+
		"confirmed it within %s; evenkeel doctor says why", name, confirmWithin))
}
