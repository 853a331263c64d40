// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Digest is of what a policy is made of: the spec of its constraint but its enforcementAction, which a switch changes,
// the spec of the constraint's template, if there is one, and what Gatekeeper's Config exempts from both admission and
// audit.
func (s *Source) Digest(c *Constraint) string {
	asked := map[string]any{}
	spec, _, _ := unstructured.NestedMap(c.Object.Object, "spec")
	delete(spec, "enforcementAction")
	asked["constraint"] = spec
	if template := s.Template(c); template != nil {
		asked["template"] = template.Object["spec"]
	}
	if len(s.everywhere) > 0 {
		asked["exempt"] = s.everywhere
	}
	raw, err := json.Marshal(asked)
	if err != nil {
		return "" // what was read as JSON is JSON again
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// Stale says that a policy was made of an older constraint, of an older template of it or of other exemptions than
// there are now, so that what it finds says nothing of the constraint; nil where it was made of all as they are. A
// policy that doesn't say what it was made of is stale too.
func (s *Source) Stale(p *v1alpha1.ClusterRegoPolicy, c *Constraint) error {
	if made := p.Annotations[v1alpha1.AnnotationMigratedDigest]; made != "" && made == s.Digest(c) {
		return nil
	}
	return fmt.Errorf("policy %s was made of an older constraint: %s, its ConstraintTemplate or the exemptions of "+
		"Gatekeeper's Config have changed since: run evenkeel migrate gatekeeper apply again", p.Name, c.ID())
}
