// SPDX-License-Identifier: Apache-2.0

package live

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

// Digest is of what a policy is made of: the spec of its constraint but its enforcementAction, which people change,
// the spec of the constraint's template, if there is one, what Gatekeeper's Config exempts from both admission and
// audit, and what else decides of it (gatekeeper.Estate).
func (s *Source) Digest(c *Constraint) string {
	asked := map[string]any{}
	spec, _, _ := unstructured.NestedMap(c.Object.Object, "spec")
	delete(spec, "enforcementAction")
	asked["constraint"] = spec
	var object map[string]any
	if template := s.Template(c); template != nil {
		object = template.Object
		asked["template"] = object["spec"]
	}
	if s.estate == nil {
		s.estate = gatekeeper.NewEstate(s.Documents, s.Options())
	}
	if inputs := s.estate.Inputs(c.Object.Object, object); len(inputs) > 0 {
		asked["inputs"] = inputs
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

// Stale says that a policy was made of an older constraint, of an older template of it or of other exemptions, kinds,
// operations or replicated data than there are now, so that what it finds says nothing of the constraint; nil where it
// was made of all as they are. A policy that doesn't say what it was made of is stale too,
// and none where Gatekeeper's webhook is gone.
func (s *Source) Stale(p *v1alpha1.ClusterRegoPolicy, c *Constraint) error {
	if s.Unasked {
		return nil // what it would be made of now isn't known
	}
	if made := p.Annotations[v1alpha1.AnnotationMigratedDigest]; made != "" && made == s.Digest(c) {
		return nil
	}
	unsaid := ""
	if len(s.Unsaid) > 0 {
		unsaid = fmt.Sprintf(", once the API groups %s say again which kinds they serve", strings.Join(s.Unsaid, ", "))
	}
	return fmt.Errorf("policy %s was made of an older constraint: %s, its ConstraintTemplate, Gatekeeper's Config or "+
		"SyncSets, what its webhook is asked about or which of its kinds are served have changed since: run evenkeel "+
		"migrate gatekeeper apply again%s", p.Name, c.ID(), unsaid)
}
