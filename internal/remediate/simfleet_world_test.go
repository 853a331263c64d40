// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// doing is what a step is about.
type doing struct{ rollout.Intent }

// prepares says whether fixes are computed in it.
func (d doing) prepares() bool { return len(d.Write)+len(d.Preview) > 0 }

// undoes says whether a target's write is undone in it.
func (d doing) undoes(i int) bool { return slices.Contains(d.Revert, i) }

// simBreakers count outcomes, and ask real breakers where there are any.
type simBreakers struct{ sim *simulation }

func (b *simBreakers) Record(ctx context.Context, rem *v1alpha1.Remediation, outcomes []rollout.Outcome) error {
	s := b.sim
	if err := s.alive(); err != nil {
		return err
	}
	if s.breakers != nil {
		if err := s.breakers.Record(ctx, rem, outcomes); err != nil {
			return err
		}
	}
	for _, o := range outcomes {
		if _, known := s.counted[o.Key]; known {
			continue
		}
		s.counted[o.Key] = o
		s.told = append(s.told, o)
		if err := s.effect(); err != nil {
			return err
		}
	}
	return nil
}

func (b *simBreakers) Admit(ctx context.Context, rem *v1alpha1.Remediation, namespaces map[string]bool) (
	rollout.Gate, error) {
	if b.sim.breakers == nil {
		return rollout.Gate{}, nil
	}
	return b.sim.breakers.Admit(ctx, rem, namespaces)
}

func (b *simBreakers) HeldBy(ctx context.Context, rem *v1alpha1.Remediation) (bool, error) {
	if b.sim.breakers == nil {
		return false, nil
	}
	return b.sim.breakers.HeldBy(ctx, rem)
}

func (b *simBreakers) Release(ctx context.Context, rem *v1alpha1.Remediation) error {
	if b.sim.breakers == nil {
		return nil
	}
	return b.sim.breakers.Release(ctx, rem)
}

// simPolicy wants spec.ours to be set, and offers to set it.
type simPolicy struct{ sim *simulation }

func (p simPolicy) Definition(name string) *v1alpha1.ClusterRegoPolicy {
	pol := &v1alpha1.ClusterRegoPolicy{}
	pol.Name = name
	return pol
}

func (p simPolicy) Revision(string) (string, bool) {
	return p.sim.rem.Spec.Plan.Policy.Revision, true
}

func (p simPolicy) LooksUp(string) bool { return false }

func (p simPolicy) Referring(...schema.GroupKind) []string { return nil }

func (p simPolicy) Shows(string, ...*unstructured.Unstructured) error { return nil }

func (p simPolicy) Selects(string, *unstructured.Unstructured) bool { return true }

func (p simPolicy) Holds(string, v1alpha1.ObjectReference) (bool, error) { return false, nil }

func (p simPolicy) Knows(string) error { return nil }

func (p simPolicy) EvaluateOne(_ context.Context, name string, r *policy.Request) (catalog.Result, bool) {
	res := catalog.Result{Definition: p.Definition(name)}
	res.Policy = name
	value, _, _ := unstructured.NestedString(r.Object, "spec", "ours")
	exempt, _, _ := unstructured.NestedBool(r.Object, "spec", "exempt")
	stubborn, _, _ := unstructured.NestedBool(r.Object, "spec", "stubborn")
	if !exempt && value == valueBefore || stubborn {
		res.Violations = []policy.Violation{{Message: "the field isn't set"}}
		res.Actions = []policy.Action{
			{Type: policy.ActionPatch,
				Ops: []policy.PatchOp{{Op: "replace", Path: "/spec/ours", Value: valueAfter, HasValue: true}}}}
	}
	return res, true
}

func (p simPolicy) Evaluate(ctx context.Context, r *policy.Request) []catalog.Result {
	res, _ := p.EvaluateOne(ctx, p.sim.rem.Spec.Plan.Policy.Name, r)
	return []catalog.Result{res}
}

// askAgain is the gate as it is right before the writes of a batch, whose intents are
// persisted: by then objects may have opted out, and people closed the gate.
func (s *simulation) askAgain(context.Context) (rollout.Gate, error) {
	for _, i := range s.intends.Write {
		obj := s.objects[i]
		if s.stored(i).State != v1alpha1.TargetIntent {
			continue
		}
		if obj.ShutBetween > 0 {
			s.shutUntil, obj.ShutBetween = s.clock.Now().Add(obj.ShutBetween), 0
		}
		obj.left = obj.left || obj.LeavesBetween
	}
	return s.shut(), s.alive()
}

// shut is the gate that has closed right before a write.
func (s *simulation) shut() rollout.Gate {
	return rollout.Gate{Closed: s.clock.Now().Before(s.shutUntil), Reason: v1alpha1.ReasonBreakerOpen,
		Message: "a person has thrown the kill switch"}
}

// namespace is where the API server has the object: each opts out by a Namespace of its
// own, which, unlike an annotation of the object, doesn't keep a late write from it.
func (o *simObject) namespace() string { return o.ref.Namespace + "." + o.ref.Name }

// optedOut says whether the object's namespace wants no remediation by now.
func (o *simObject) optedOut(s *simulation) bool {
	return o.left || o.Skips == v1alpha1.ReasonOptOut || o.OptsOutAt > 0 && s.since() >= o.OptsOutAt
}

// seen is an object of the cluster as the API server's answers show it.
func (o *simObject) seen(s *simulation) *unstructured.Unstructured {
	spec := map[string]any{"ours": o.value, "exempt": o.Skips == v1alpha1.ReasonAlreadyClean,
		"stubborn": o.Refuses == v1alpha1.ReasonFixIneffective}
	for field, value := range map[string]string{"extra": o.extra, "more": o.more} {
		if value != "" {
			spec[field] = value
		}
	}
	out := &unstructured.Unstructured{Object: map[string]any{"spec": spec, "status": o.status()}}
	out.SetAPIVersion(o.ref.APIVersion)
	out.SetKind(o.ref.Kind)
	out.SetNamespace(o.namespace())
	out.SetName(o.ref.Name)
	out.SetUID(types.UID(o.ref.UID))
	out.SetResourceVersion(fmt.Sprint(o.version))
	out.SetGeneration(int64(o.version))
	if o.Skips == v1alpha1.ReasonManaged {
		out.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "Helm"})
		out.SetAnnotations(map[string]string{"meta.helm.sh/release-name": "shop"})
	}
	if o.mark != "" {
		annotations := out.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.AnnotationLastRemediation] = o.mark
		out.SetAnnotations(annotations)
	}
	return out
}

// status is that of a workload with one Pod.
func (o *simObject) status() map[string]any {
	status := map[string]any{"observedGeneration": int64(o.version)}
	counts := []string{"replicas", "updatedReplicas", "readyReplicas", "availableReplicas"}
	switch o.ref.Kind {
	case "StatefulSet":
		counts = append(counts, "currentReplicas")
		status["currentRevision"], status["updateRevision"] = "1", "1"
	case "DaemonSet":
		counts = []string{"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled",
			"numberAvailable", "numberReady"}
	}
	for _, count := range counts {
		status[count] = int64(1)
	}
	conditions := []any{map[string]any{"type": "Available", "status": "True"}}
	if o.Sick {
		conditions = append(conditions, map[string]any{"type": "Stalled", "status": "True", "message": "crash loop"})
	} else if o.Stuck {
		conditions = append(conditions,
			map[string]any{"type": "Reconciling", "status": "True", "message": "waits for a node"})
	}
	status["conditions"] = conditions
	return status
}
