// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// maxName is the most characters that the name of a policy may have.
	maxName = 52
	// hashLength is how many digits of a hash tell shortened names apart.
	hashLength = 8
)

// name is the constraint's own. Where another policy has it, the kind stands before it; one that is too
// long then is its beginning with a hash of kind and name. Renamed says so of such a one. A policy that stands for the
// constraint already keeps its name.
func (m *migration) name(kind, name string) (is, renamed string, err error) {
	if reasons := validation.IsDNS1123Subdomain(name); len(reasons) > 0 {
		return name, "", fmt.Errorf("the name %q can't be a policy's, nor a constraint's in a cluster: it must be a "+
			"lower-case DNS subdomain; rename the constraint", name)
	}
	if m.names[kind+"/"+name] {
		return name, "", fmt.Errorf("two constraints of kind %s are named %s: leave one of them out", kind, name)
	}
	short := shortened(kind, name)
	candidates := []string{name, strings.ToLower(kind) + "-" + name, short}
	kept := m.opts.Names[kind+"/"+name]
	if kept != "" {
		candidates = []string{kept}
	}
	reserved := slices.Collect(maps.Values(m.opts.Names))
	i := slices.IndexFunc(candidates, func(candidate string) bool {
		return !m.names[candidate] && (candidate == kept || !slices.Contains(reserved, candidate)) &&
			len(candidate) <= maxName &&
			len(validation.IsDNS1123Subdomain(candidate)) == 0
	})
	switch {
	case i < 0:
		return name, "", fmt.Errorf("other policies have the names %s already: rename the constraint",
			strings.Join(candidates, ", "))
	case candidates[i] == short:
		renamed = fmt.Sprintf("its name is shortened, with a hash of kind and name: a policy's has at most %d "+
			"characters, and the policy's description keeps the whole", maxName)
	}
	return candidates[i], renamed, nil
}

// shortened is a name of at most maxName characters that no other kind and name come to.
func shortened(kind, name string) string {
	sum := sha256.Sum256([]byte(kind + "/" + name))
	kept := strings.TrimRight(name[:min(len(name), maxName-1-hashLength)], ".-")
	return kept + "-" + hex.EncodeToString(sum[:])[:hashLength]
}

// keepName has a policy's description keep what its constraint is called.
func keepName(p *v1alpha1.ClusterRegoPolicy, kind, name string) {
	of := fmt.Sprintf("Migrated from the constraint %s/%s.", kind, name)
	if p.Spec.Description != "" {
		of = prose.ShortenCharacters(p.Spec.Description, maxDescription-len(of)-2) + "\n\n" + of
	}
	p.Spec.Description = of
}
