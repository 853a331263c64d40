// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/prose"
)

// MaxProposal bounds the proposal of one target; the limit of the schema.
const MaxProposal = 4096

// RespectOwnership leaves objects alone that a controller makes, or that a tool
// keeps in step with a source of its own unless the strategy says to fix those.
// Their owners get the fix as a proposal.
func RespectOwnership(ctx context.Context, a *Attempt) *v1alpha1.TargetRecord {
	if action.ReachOwned(a.decision.Actions) {
		return nil // an eviction is the controller's own way, and asks it for another Pod
	}
	if kube.Owned(a.Object) {
		return a.leaveToOwner(ctx)
	}
	manager, managed := a.Targets.Tools.ManagedBy(a.Object)
	if !managed || a.Plan.Rollout.ManagedObjects == v1alpha1.ManagedRemediate {
		return nil
	}
	return a.propose(ctx, a.Skipped(v1alpha1.ReasonManaged,
		fmt.Sprintf("%s manages this object and would undo the fix: fix it at its source", manager)))
}

// leaveToOwner says at which object a controller's object is to be fixed.
func (a *Attempt) leaveToOwner(ctx context.Context) *v1alpha1.TargetRecord {
	lineage, err := kube.RootOf(ctx, &a.Targets.Owners, a.Object)
	if err != nil {
		return a.FromError(err)
	}
	made := fmt.Sprintf("%s is made by %s: ", a.Target.Object.String(), lineage)
	root, known := lineage.Top()
	if !known || lineage.Stopped != "" {
		return a.propose(ctx, a.Skipped(v1alpha1.ReasonOwned, made+"it must be fixed there; "+lineage.Stopped))
	}
	verdict, judged, err := a.judgedAt(ctx, root)
	if err != nil {
		return a.FromError(err)
	}
	if judged {
		return a.Skipped(v1alpha1.ReasonOwned, made+verdict)
	}
	a.Owner = &root
	where := "fix the " + kube.KindOf(root)
	if manager, managed := a.Targets.Tools.ManagedBy(lineage.Root); managed {
		where = fmt.Sprintf("%s manages the %s: fix it at its source", manager, kube.KindOf(root))
	}
	return a.propose(ctx, a.Skipped(v1alpha1.ReasonOwned, made+where))
}

// judgedAt says what the same policy says of an object's root, if it judges it.
func (a *Attempt) judgedAt(ctx context.Context, root v1alpha1.ObjectReference) (
	verdict string, judged bool, err error) {
	if !JudgesKind(a.Snapshot.Definition(a.Plan.Policy.Name), root) {
		return "", false, nil
	}
	obj, err := a.Targets.Read(ctx, root)
	if err != nil {
		return "", false, client.IgnoreNotFound(err)
	}
	result, matched, err := a.Targets.Judge(ctx, a.Snapshot, a.Plan.Policy.Name, obj)
	switch {
	case err != nil:
		return "", false, err
	case !matched:
		return "", false, nil
	case result.Err == nil && len(result.Enforced()) == 0:
		return fmt.Sprintf("the policy finds nothing wrong with the %s, whose controller replaces what it made",
			kube.KindOf(root)), true, nil
	default:
		return fmt.Sprintf("the same policy judges the %s, and it is fixed there", kube.KindOf(root)), true, nil
	}
}

// JudgesKind says whether a policy concerns objects of a reference's kind.
func JudgesKind(p *v1alpha1.ClusterRegoPolicy, ref v1alpha1.ObjectReference) bool {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	return p != nil && slices.Contains(match.Kinds(p), match.GroupKind{Group: gvk.Group, Kind: gvk.Kind})
}

// propose adds the fix to the record of an object that is left alone. A fix that
// can't be computed is told in the message; nothing is written either way.
func (a *Attempt) propose(ctx context.Context, rec *v1alpha1.TargetRecord) *v1alpha1.TargetRecord {
	why := ""
	if failed := ComputeFix(ctx, a); failed != nil {
		why = failed.Message
	} else if diff, err := action.Propose(a.Target.Object.String(), a.Object.Object, a.Patched, a.Steps,
		MaxProposal); err != nil {
		why = err.Error()
	} else {
		rec.Proposal = diff
	}
	if why != "" {
		rec.Message = prose.Shorten(rec.Message+"; no fix can be proposed: "+why, 1024)
	}
	return rec
}
