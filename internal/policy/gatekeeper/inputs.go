// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"encoding/json"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/internal/manifest"
)

// Estate is what beside a constraint and its template decides of what their policy is made.
type Estate struct {
	kinds  kindSet
	asked  asked
	synced []syncedKind
}

// NewEstate finds it among documents.
func NewEstate(documents []manifest.Document, opts Options) *Estate {
	e := &Estate{asked: readAsked(documents, opts.Operations),
		kinds: kindSet{known: known(BuiltIn(), kindsDefined(documents), opts.Kinds)}}
	if opts.Served {
		e.kinds = kindSet{known: known(opts.Kinds, kindsDefined(documents)), served: true, unsaid: opts.Unsaid}
	}
	for i := range documents {
		switch groupOf(documents[i].Object) {
		case "config.gatekeeper.sh", "syncset.gatekeeper.sh":
			e.synced = append(e.synced, synced(documents[i].Object)...)
		}
	}
	return e
}

// format is of how policies are made: it changes when the same objects become other policies.
const format = 3

// Inputs are those that count for a constraint and its template, nil for none, by name, so that a policy that was made
// of others can be told: what of the constraint's match the policy names, the operations that it is asked about, and
// what Gatekeeper replicates for a template that looks it up.
func (e *Estate) Inputs(object, template map[string]any) map[string]any {
	out := map[string]any{"format": format}
	if c, err := readConstraint(object); err == nil {
		asked := &e.asked
		if t, err := readTemplate(template); err == nil {
			asked = asked.narrowed(t.operations())
		}
		r := c.Match.reach(e.kinds, asked, false)
		ops, _ := asked.operations(r.kinds, r.subresources)
		out["match"], out["operations"], out["refused"], out["fails"] = c.Match, ops, r.refused, e.asked.fails
	}
	spec, err := json.Marshal(template["spec"])
	if err != nil || !strings.Contains(string(spec), "inventory") {
		return out
	}
	out["synced"] = e.synced
	out["required"], _, _ = unstructured.NestedString(template, "metadata", "annotations", requiresSync)
	return out
}
