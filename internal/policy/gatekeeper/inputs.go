// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"encoding/json"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
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
		e.kinds = kindSet{known: known(opts.Kinds, kindsDefined(documents)), served: true}
	}
	for i := range documents {
		switch groupOf(documents[i].Object) {
		case "config.gatekeeper.sh", "syncset.gatekeeper.sh":
			e.synced = append(e.synced, synced(documents[i].Object)...)
		}
	}
	return e
}

// Inputs are those that count for a constraint and its template, nil for none, by name, so that a policy that was made
// of others can be told: the kinds that there are for one that leaves them open, and those that aren't served for one
// that names them; the operations where they aren't CREATE and UPDATE; and what Gatekeeper replicates for a template
// that looks it up.
func (e *Estate) Inputs(object, template map[string]any) map[string]any {
	out := map[string]any{}
	if kinds := e.kindsOf(object); len(kinds) > 0 {
		out["kinds"] = kinds
	}
	var ops []v1alpha1.Operation
	for _, op := range []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationUpdate,
		v1alpha1.OperationDelete, v1alpha1.OperationConnect} {
		if e.asked.about(op) {
			ops = append(ops, op)
		}
	}
	if !slices.Equal(ops, orDefault(nil)) {
		out["operations"] = ops
	}
	spec, err := json.Marshal(template["spec"])
	if err != nil || !strings.Contains(string(spec), "inventory") {
		return out
	}
	out["synced"] = e.synced
	out["required"], _, _ = unstructured.NestedString(template, "metadata", "annotations", requiresSync)
	return out
}

// kindsOf are the kinds that a policy of a constraint depends on, sorted.
func (e *Estate) kindsOf(object map[string]any) (kinds []string) {
	c, err := readConstraint(object)
	if err != nil {
		return nil
	}
	if c.Match.open() {
		for _, k := range e.kinds.known {
			kinds = append(kinds, k.String()+" "+k.Scope)
		}
		slices.Sort(kinds)
		return kinds
	}
	meant, _, _ := c.Match.meant(e.kinds.known, true)
	stored, _ := withoutSent(meant)
	for _, k := range stored {
		if e.kinds.served && e.kinds.unserved(k) {
			kinds = append(kinds, k.String())
		}
	}
	slices.Sort(kinds)
	return kinds
}
