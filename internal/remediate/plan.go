package remediate

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// candidate is a violating object that a plan may hold.
type candidate struct {
	object   v1alpha1.ObjectReference
	critical bool
	// reason says why the object can't be mended; empty for eligible ones.
	reason, message string
}

// draft is a plan in the making.
type draft struct {
	policy   *v1alpha1.Policy
	strategy v1alpha1.RemediationStrategy
	revision string
	// plans are the policy's earlier plans, oldest first.
	plans []v1alpha1.Remediation
	// eligible are the objects to mend; ineligible ones are only reported.
	eligible, ineligible []candidate
	// waiting counts the objects that couldn't be mended by earlier plans and
	// whose next try is still to come.
	waiting int
	hash    string
}

// planHash identifies a plan. A rollout's hash also depends on the plan before
// it, so that the same drift, mended twice, makes two plans; a dry run's doesn't,
// so that the same targets aren't previewed twice.
func planHash(d draft) string {
	h := sha256.New()
	write := func(parts ...string) {
		for _, p := range parts {
			fmt.Fprintf(h, "%d:%s", len(p), p)
		}
	}
	write(string(d.policy.UID), d.revision, string(d.strategy.Mode))
	if d.strategy.Mode == v1alpha1.RemediationAutomatic && len(d.plans) > 0 {
		write(string(d.plans[len(d.plans)-1].UID))
	}
	var uids []string
	for _, c := range d.eligible {
		uids = append(uids, c.object.UID)
	}
	slices.Sort(uids)
	write(uids...)
	return hex.EncodeToString(h.Sum(nil))
}

// order puts the eligible objects into the order of the rollout.
func (d *draft) order() {
	list := make([]canary.Candidate, len(d.eligible))
	for i, c := range d.eligible {
		gvk := schema.FromAPIVersionAndKind(c.object.APIVersion, c.object.Kind)
		list[i] = canary.Candidate{Group: gvk.Group, Kind: gvk.Kind, Namespace: c.object.Namespace, Name: c.object.Name, Critical: c.critical}
	}
	ordered := make([]candidate, 0, len(list))
	for _, i := range canary.Order(d.hash, list) {
		ordered = append(ordered, d.eligible[i])
	}
	d.eligible = ordered
}

// build makes the API objects of the plan. Waves are counted over the eligible
// objects; those that are only reported come in the last wave, behind them.
func (d *draft) build() (*v1alpha1.Remediation, []*v1alpha1.RemediationSlice, error) {
	sizes, err := canary.Sizes(len(d.eligible), &d.strategy)
	if err != nil {
		return nil, nil, fmt.Errorf("policy %s, spec.remediation: %w", d.policy.Name, err)
	}
	waves := canary.Assign(len(d.eligible), sizes)
	targets := make([]v1alpha1.Target, 0, len(d.eligible)+len(d.ineligible))
	for i, c := range d.eligible {
		targets = append(targets, v1alpha1.Target{Object: c.object, Wave: waves[i]})
	}
	last := int32(len(sizes) - 1)
	if last > 0 { // a plan of a canary alone has no place for them; events tell of them
		for _, c := range d.ineligible {
			targets = append(targets, v1alpha1.Target{Object: c.object, Wave: last})
			sizes[last]++
		}
	}
	rem := &v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{Name: d.policy.Name + "-" + d.hash[:8], Finalizers: []string{v1alpha1.Finalizer},
			Labels: map[string]string{v1alpha1.LabelPolicy: d.policy.Name}},
		Spec: v1alpha1.RemediationSpec{
			Policy: v1alpha1.PlannedPolicy{Name: d.policy.Name, UID: string(d.policy.UID), Generation: d.policy.Generation,
				Revision: d.revision, Author: canary.Author(d.policy), Owner: d.policy.Spec.Owner, RunbookURL: d.policy.Spec.RunbookURL},
			PlanHash: d.hash, Strategy: d.strategy, Targets: int32(len(targets)), Waves: sizes},
	}
	parts := split(rem, targets)
	for _, slice := range parts {
		rem.Spec.Slices = append(rem.Spec.Slices, slice.Name)
	}
	return rem, parts, nil
}

// split puts targets into slices, at most MaxTargetsPerSlice each.
func split(rem *v1alpha1.Remediation, targets []v1alpha1.Target) []*v1alpha1.RemediationSlice {
	var parts []*v1alpha1.RemediationSlice
	for chunk := range slices.Chunk(targets, v1alpha1.MaxTargetsPerSlice) {
		parts = append(parts, &v1alpha1.RemediationSlice{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", rem.Name, len(parts)),
				Labels: map[string]string{v1alpha1.LabelPolicy: rem.Labels[v1alpha1.LabelPolicy], v1alpha1.LabelRemediation: rem.Name}},
			Spec: v1alpha1.RemediationSliceSpec{Remediation: rem.Name, Index: int32(len(parts)), Targets: chunk},
		})
	}
	return parts
}
