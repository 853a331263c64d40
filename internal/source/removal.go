// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// alwaysRemovable is how many policies a percentage always lets go: a small source
// may rename one, and retire another.
const alwaysRemovable = 2

// mayRemove is how many of so many policies one sync may remove.
func mayRemove(src *v1alpha1.PolicySource, held int) int {
	limit := intstr.FromString(v1alpha1.DefaultSourceMaxRemoved)
	if src.Spec.MaxRemoved != nil {
		limit = *src.Spec.MaxRemoved
	}
	if limit.Type == intstr.Int {
		return limit.IntValue()
	}
	share, err := intstr.GetScaledValueFromIntOrPercent(&limit, held, false)
	if err != nil {
		return 0 // the schema allows no such value
	}
	return max(share, alwaysRemovable)
}

// tooManyRemoved refuses a revision by which most policies would go; nil when it
// may be taken. An empty one that the spec allows has been thought of.
func tooManyRemoved(src *v1alpha1.PolicySource, p *plan, revision string) *failure {
	if !prunes(src) || len(p.remove) <= mayRemove(src, p.held) || p.empty && src.Spec.AllowEmpty ||
		accepts(src, revision) {
		return nil
	}
	var names []string
	for _, r := range p.remove {
		names = append(names, r.Name)
	}
	return stalled(v1alpha1.ReasonTooManyRemoved,
		"revision %s would remove %d of %d policies, and spec.maxRemoved lets %d go at once, so nothing was changed: "+
			"put them back, or correct spec.path, include and exclude; if it is meant, %s (%s)",
		revision, len(p.remove), p.held, mayRemove(src, p.held), acceptance(src, revision),
		naming("it would remove ", names))
}

// orphans says that the policies of a deleted source stay, and why, for people.
func orphans(src *v1alpha1.PolicySource) (why string, stay bool) {
	switch {
	case src.Spec.DeletionPolicy != v1alpha1.DeletionDelete:
		return fmt.Sprintf("spec.deletionPolicy: %s", v1alpha1.DeletionOrphan), true
	case !prunes(src):
		return "spec.prune: false", true
	case src.Spec.Suspend:
		return "spec.suspend: true", true
	}
	return "", false
}
