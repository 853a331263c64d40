// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/prose"
)

// InForce are the policies in force, as far as they are known.
type InForce struct {
	// Snapshot are those that can be asked; nil: none could be read, and what they say isn't known.
	Snapshot *catalog.Snapshot
	// LeftOut are the names of those that can't be, as they are written.
	LeftOut []string
	// NotLookedUp says of policies by their names which kinds the manager can't look up.
	NotLookedUp map[string]string
	// Unread says what is missing, and why.
	Unread []string
}

// Explain tells all that is known of an object as it was read. namespace is its
// Namespace; nil for a cluster-scoped object, and where it may not be read. tools finds who
// manages it. What may not be read is told in Unread; it errs when the cluster can't be asked.
func Explain(ctx context.Context, reader client.Reader, inForce InForce, object,
	namespace *unstructured.Unstructured, tools kube.Tools, now time.Time) (*Explanation, error) {
	snapshot := inForce.Snapshot
	e := &Explanation{Object: v1alpha1.ObjectReference{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(),
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: string(object.GetUID())},
		PoliciesLeftOut: inForce.LeftOut, NamespaceUnknown: object.GetNamespace() != "" && namespace == nil}
	e.OptOut, e.Deleting = optOut(object, namespace, now), deleting(object)
	if mark, marked := action.MarkOf(object.Object); marked {
		e.LastRemediation = prose.Shorten(prose.OneLine(mark), maxFix)
	}
	if e.OptOut == "" {
		e.IneffectiveOptOut = ineffectiveOptOut(object, namespace, now)
	}
	if e.PoliciesUnknown = snapshot == nil; !e.PoliciesUnknown {
		e.judge(ctx, snapshot, object, namespace, now)
	}
	for i := range e.Policies {
		e.Policies[i].NotLookedUp = inForce.NotLookedUp[e.Policies[i].Policy]
	}
	if err := e.owners(ctx, reader, object, tools); err != nil {
		return nil, err
	}
	if err := e.plans(ctx, reader); err != nil {
		return nil, err
	}
	if err := e.breakers(ctx, reader, now); err != nil {
		return nil, err
	}
	e.because(snapshot)
	if err := e.events(ctx, reader, now); err != nil {
		return nil, err
	}
	e.next()
	e.Unread = append(e.Unread, inForce.Unread...)
	return e, nil
}

// optOut says who keeps remediation off an object, and until when.
func optOut(object, namespace *unstructured.Unstructured, now time.Time) string {
	switch {
	case v1alpha1.OptsOut(object, now):
		return "the object has " + v1alpha1.OptOutText(object)
	case namespace != nil && v1alpha1.OptsOut(namespace, now):
		return "its namespace has " + v1alpha1.OptOutText(namespace)
	default:
		return ""
	}
}

// ineffectiveOptOut says why nothing keeps remediation off an object though somebody seems to
// have meant it, or did once.
func ineffectiveOptOut(object, namespace *unstructured.Unstructured, now time.Time) string {
	if why := v1alpha1.DoubtfulOptOut(object, now); why != "" || namespace == nil {
		return why
	}
	if why := v1alpha1.DoubtfulOptOut(namespace, now); why != "" {
		return "of its namespace, " + why
	}
	return ""
}

// deleting says what keeps an object that is being deleted.
func deleting(object *unstructured.Unstructured) string {
	finalizers := object.GetFinalizers()
	switch {
	case object.GetDeletionTimestamp() == nil:
		return ""
	case len(finalizers) == 0:
		return "its own end"
	default:
		return prose.OneLine("its finalizers: " + strings.Join(finalizers, ", "))
	}
}

// maxFix is how much of a fix is told.
const maxFix = 400

// follow tells which strategy the policy follows, or why it can't.
func (v *Verdict) follow(ref *v1alpha1.StrategyReference, problem *strategy.Problem) {
	if ref != nil {
		v.Strategy = ref.Name
	}
	if problem != nil {
		v.Unresolved = problem.Message
	}
}

// NotLookedUp is what the manager says of the kinds that a policy's rules can't look up; empty for nothing.
func NotLookedUp(p *v1alpha1.ClusterRegoPolicy) string {
	known := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReferencesKnown)
	if known == nil || known.Status == metav1.ConditionTrue {
		return ""
	}
	return prose.OneLine(known.Reason + ": " + known.Message)
}

// judge asks every policy that concerns the object, now.
func (e *Explanation) judge(ctx context.Context, snapshot *catalog.Snapshot, object,
	namespace *unstructured.Unstructured, now time.Time) {
	var within map[string]any
	if namespace != nil {
		within = namespace.Object
	}
	e.Policies = []Verdict{}
	for _, r := range snapshot.Evaluate(ctx, policy.NewAudit(object.Object, within, now)) {
		strategy := r.Definition.Spec.Remediation.DeepCopy()
		strategy.SetDefaults()
		v := Verdict{Policy: r.Policy, Severity: r.Definition.Spec.Severity,
			Enforcement: r.Action(),
			Mode:        strategy.Mode, Managed: snapshot.Follows(r.Policy).ManagedObjects, Verdict: Clean}
		if r.Override != nil {
			v.Override = r.Override.String()
		}
		v.follow(strategy.StrategyRef, snapshot.Unresolved(r.Policy))
		for _, one := range r.Violations {
			v.Messages = append(v.Messages, one.Text())
		}
		v.take(r)
		if e.NamespaceUnknown && snapshot.DependsOnNamespace(r.Policy) {
			v.Verdict, v.Messages = Unknown, []string{"it depends on the object's Namespace, which couldn't be read"}
		}
		if v.Verdict != Unknown && len(r.Violations) > 0 && len(r.Actions) > 0 {
			v.Fix = action.Describe(r.Actions, maxFix)
		}
		e.Policies = append(e.Policies, v)
	}
}

// take takes the verdict over from what the policy gave.
func (v *Verdict) take(r catalog.Result) {
	switch {
	case r.Err != nil:
		v.Verdict, v.Messages = Unjudged, append([]string{prose.OneLine(r.Err.Error())}, v.Messages...)
	case len(r.Violations) > 0 && r.Waived != nil:
		v.Verdict, v.Waiver, v.WaivedUntil = Waived, r.Waived.Ref()+": "+r.Waived.Reason, &r.Waived.ExpirationTime
	case len(r.Violations) > 0:
		v.Verdict = Violates
	}
}

// owners follows the object to its root, and asks whose both are.
func (e *Explanation) owners(ctx context.Context, reader client.Reader, object *unstructured.Unstructured,
	tools kube.Tools) error {
	lineage, err := kube.RootOf(ctx, reader, object)
	if err != nil {
		return fmt.Errorf("find the owners of %s %s: %w", e.Object.Kind, e.Object.Name, err)
	}
	e.Owners, e.OwnersEnd = lineage.Owners, lineage.Stopped
	if m, managed := tools.ManagedBy(object); managed {
		e.ManagedBy = m.String()
	} else if lineage.Root != nil {
		if m, managed := tools.ManagedBy(lineage.Root); managed {
			e.ManagedBy = m.String()
		}
	}
	return nil
}

// mayBeMissing tells what the reader may not read, instead of an error.
func (e *Explanation) mayBeMissing(what string, err error) error {
	if advice := permissions.Advice(err); advice != "" {
		e.Unread = append(e.Unread, what+": "+err.Error()+"; "+advice)
		return nil
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", what, err)
	}
	return nil
}

// breakers finds those that keep writes to the object from beginning.
func (e *Explanation) breakers(ctx context.Context, reader client.Reader, now time.Time) error {
	list := &v1alpha1.RemediationBreakerList{}
	if err := reader.List(ctx, list); err != nil {
		return e.mayBeMissing("circuit breakers", err)
	}
	for _, cb := range list.Items {
		state, text := cb.Status.State, cb.Status.Message
		if cb.Spec.ForcedOpen(now) {
			state = v1alpha1.BreakerOpen
			text = fmt.Sprintf("a person holds it open%s (%s)", v1alpha1.UntilText(cb.Spec.ForcedOpenUntilTime),
				cb.ForcedBy())
		}
		if state == "" || state == v1alpha1.BreakerClosed || !e.covered(cb.Spec.Scope) {
			continue
		}
		e.Breakers = append(e.Breakers,
			Breaker{Name: cb.Name, State: state, Message: text, policy: cb.Spec.Scope.Policy})
	}
	return nil
}

// covered says whether a breaker's scope concerns the object, by one of its policies.
func (e *Explanation) covered(scope v1alpha1.BreakerScope) bool {
	return (scope.Namespace == "" || scope.Namespace == e.Object.Namespace) && (scope.Policy == "" ||
		slices.ContainsFunc(e.Policies, func(v Verdict) bool { return v.Policy == scope.Policy }))
}
