// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// action is what the process was doing, as events.k8s.io wants it said.
const action = "CompareEngines"

// announce records at a policy that it is left to topdown.
func announce(to recorder, p *rego.Compiled, parts []string, digest string) {
	definition := p.Policy()
	to.Eventf(&corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy",
		Name: definition.Name, UID: definition.UID, ResourceVersion: definition.ResourceVersion}, nil,
		corev1.EventTypeWarning, v1alpha1.EventEnginesDiffer, action,
		"revision %s: the compiled engine and topdown, OPA's own, gave different verdicts of the same object (%s; "+
			"digest %s); topdown judges this revision from now on in the process that saw it; report it with the "+
			"policy's Rego",
		p.Revision(), strings.Join(parts, ", "), digest)
}
