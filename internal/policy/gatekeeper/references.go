// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// requiresSync is the annotation of a ConstraintTemplate with the kinds that its Rego looks up
// (gatekeeper's docs, "Replicating Data"): a list of requirements, each a list of kinds of which any does.
const requiresSync = "metadata.gatekeeper.sh/requires-sync-data"

// requirement is one alternative of a requirement.
type requirement struct {
	Groups   []string `json:"groups"`
	Versions []string `json:"versions"`
	Kinds    []string `json:"kinds"`
}

// syncedKind is a kind that Gatekeeper's Config has replicated.
type syncedKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// synced are the kinds that a Config or SyncSet names.
func synced(object map[string]any) []syncedKind {
	var read struct {
		Spec struct {
			Sync struct {
				SyncOnly []syncedKind `json:"syncOnly"`
			} `json:"sync"`
			GVKs []syncedKind `json:"gvks"`
		} `json:"spec"`
	}
	raw, err := json.Marshal(object)
	if err != nil || json.Unmarshal(raw, &read) != nil {
		return nil
	}
	return append(read.Spec.Sync.SyncOnly, read.Spec.GVKs...)
}

// lookups are the kinds that a template's Rego looks up, what to know of them, and what stands in the way.
type lookups struct {
	kinds []v1alpha1.ReferencedKind
	notes []string
	why   string
}

// references are the kinds that a template's Rego looks up: those that its text names, and where it doesn't tell all
// of them those that its annotation requires, else those that Gatekeeper replicates.
func (t *constraintTemplate) references(used facts.Mentions, known []syncedKind) (looks lookups) {
	looked, told := used.Lookups("inventory")
	looked, notes := withoutSuperseded(looked)
	if !told {
		if looks = t.untold(known); looks.why != "" {
			return looks
		}
	}
	if len(looks.kinds) == 0 && (!told || len(looked) == 0) {
		return lookups{why: "its Rego looks other objects up in data.inventory, and its text doesn't tell of which " +
			"kinds: give Gatekeeper's Config with spec.sync too, or add the annotation " + requiresSync}
	}
	looks.kinds = together(looks.kinds, looked)
	if slices.ContainsFunc(looks.kinds, func(k v1alpha1.ReferencedKind) bool { return isSecret(k.APIGroup, k.Kind) }) {
		return lookups{why: "its Rego looks Secrets up, which no policy of Evenkeel's may: leave this one with " +
			"Gatekeeper"}
	}
	looks.notes = append(looks.notes, notes...)
	return looks
}

// withoutSuperseded are the kinds without those that Kubernetes has removed, where the Rego names another version or
// group of the same kind: a reference to what isn't served would keep the policy from being evaluated, and in
// Gatekeeper such a lookup only finds nothing.
func withoutSuperseded(looked []policy.GroupVersionKind) (left []policy.GroupVersionKind, notes []string) {
	gone := facts.Superseded(looked)
	for _, k := range looked {
		switch {
		case slices.Contains(gone, k):
			notes = append(notes, fmt.Sprintf("what its Rego looks up of %s in %s/%s is left out: Kubernetes doesn't "+
				"serve it any more, and nothing is found there", k.Kind, k.Group, k.Version))
			continue
		case facts.Removed(k):
			notes = append(notes, fmt.Sprintf("its Rego looks up %s of %s/%s, which Kubernetes doesn't serve any "+
				"more: its policies can't be evaluated; have it look up what is served", k.Kind, k.Group, k.Version))
		}
		left = append(left, k)
	}
	return left, notes
}

func isSecret(group, kind string) bool { return group == "" && kind == "Secret" }

// untold are the kinds that Rego may mean which doesn't tell them. What Gatekeeper replicates is for all templates, so
// that Secrets among that are hardly meant by this one.
func (t *constraintTemplate) untold(known []syncedKind) (looks lookups) {
	if annotation := t.Metadata.Annotations[requiresSync]; annotation != "" {
		kinds, err := required(annotation)
		if err != nil {
			return lookups{why: fmt.Sprintf("its annotation %s can't be read: %v", requiresSync, err)}
		}
		return lookups{kinds: kinds}
	}
	for _, k := range known {
		if isSecret(k.Group, k.Kind) {
			looks.notes = []string{"Secrets are left out of what its Rego may look up, though Gatekeeper's Config " +
				"names them: no policy of Evenkeel's may; leave the template with Gatekeeper if it means them"}
			continue
		}
		looks.kinds = append(looks.kinds, v1alpha1.ReferencedKind{APIGroup: k.Group, Version: k.Version, Kind: k.Kind})
	}
	return looks
}

// together are kinds and those that Rego names, whose versions count, sorted, each once.
func together(kinds []v1alpha1.ReferencedKind, looked []policy.GroupVersionKind) []v1alpha1.ReferencedKind {
	for _, k := range looked {
		kinds = slices.DeleteFunc(kinds, func(r v1alpha1.ReferencedKind) bool {
			return r.APIGroup == k.Group && r.Kind == k.Kind && r.Version == ""
		})
		kinds = append(kinds, v1alpha1.ReferencedKind{APIGroup: k.Group, Version: k.Version, Kind: k.Kind})
	}
	slices.SortFunc(kinds, func(a, b v1alpha1.ReferencedKind) int {
		return cmp.Or(cmp.Compare(a.APIGroup, b.APIGroup), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Version, b.Version))
	})
	return slices.CompactFunc(kinds, func(a, b v1alpha1.ReferencedKind) bool {
		return a.APIGroup == b.APIGroup && a.Kind == b.Kind && a.Version == b.Version
	})
}

// required reads the annotation. Of each requirement the kind is taken that is served today: the group
// extensions went with Kubernetes 1.22. Of several versions it is the one that the cluster prefers.
func required(annotation string) ([]v1alpha1.ReferencedKind, error) {
	text := strings.TrimSpace(annotation)
	var inner string
	if json.Unmarshal([]byte(strings.ReplaceAll(text, "\n", " ")), &inner) == nil {
		text = inner
	}
	text = strings.Trim(text, "\" \n")
	var requirements [][]requirement
	if err := json.Unmarshal([]byte(text), &requirements); err != nil {
		return nil, err
	}
	var kinds []v1alpha1.ReferencedKind
	for _, alternatives := range requirements {
		served := slices.DeleteFunc(slices.Clone(alternatives), func(r requirement) bool {
			return slices.Equal(r.Groups, []string{"extensions"})
		})
		if len(served) == 0 {
			served = alternatives
		}
		for _, group := range served[:min(1, len(served))] {
			kinds = append(kinds, group.kinds()...)
		}
	}
	return kinds, nil
}

func (r *requirement) kinds() (kinds []v1alpha1.ReferencedKind) {
	version := ""
	if len(r.Versions) == 1 {
		version = r.Versions[0]
	}
	for _, group := range r.Groups {
		for _, kind := range r.Kinds {
			if group != "extensions" || len(r.Groups) == 1 {
				kinds = append(kinds, v1alpha1.ReferencedKind{APIGroup: group, Version: version, Kind: kind})
			}
		}
	}
	return kinds
}
