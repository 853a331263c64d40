// SPDX-License-Identifier: Apache-2.0

package exempt

import (
	"slices"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// What admission never blocks, whatever the policies say, so that a bad policy, or
// a manager that is away, can't take down the cluster or lock out whoever would fix
// it:
//
//   - some kinds (kinds.go) and the subresources that aren't judged: the
//     webhook configuration doesn't name them
//   - objects in the exempt namespaces (the controller's own, kube-system and
//     kube-node-lease unless set otherwise): a namespaceSelector in the webhook
//     configuration leaves them out
//   - the requests of exemptions(): match conditions in the webhook configuration
//     leave them out
//   - Evenkeel's own rollbacks, known by its user and field manager together: the very
//     policy whose fix did harm must not keep them from undoing it
//
// All but the last hold while nobody answers, because the API server doesn't even
// ask. The handler lets the same requests through, should it be asked all the same.
// docs/exemptions.md is generated from these lists. The API server itself never
// sends the webhook configurations.

// exemption is a sort of request that passes without being judged, whoever judges.
type exemption struct {
	// name is the condition's in the webhook configuration.
	name string
	// what and why are for people.
	what, why string
	// condition says in CEL which requests are meant. It must never give an error: by
	// one, the API server would skip a webhook that fails open.
	condition func() string
	// holds says the same in Go.
	holds func(*policy.Request) bool
}

// Request says that a request passes without being judged.
func Request(r *policy.Request) bool {
	switch r.Operation {
	case policy.Create, policy.Update, policy.Delete, policy.Connect:
	default:
		return true
	}
	_, judged := policy.SubresourceOf(r)
	return r.SubResource != "" && !judged && !slices.Contains(JudgedSubresources(), r.SubResource) ||
		NeverAsked(r.Kind.Group, r.Kind.Kind) != "" ||
		object(r)
}

// object decides by the objects. Of those that weren't read it isn't known that something is missing.
func object(r *policy.Request) bool {
	if r.Judged() == nil {
		return !r.Partial
	}
	return slices.ContainsFunc(exemptions(), func(e exemption) bool { return e.holds(r) })
}

// JudgedSubresources are the subresources of Pods by which a container can be
// added (kubectl debug) or resized after the Pod was admitted.
func JudgedSubresources() []string { return []string{match.EphemeralContainers, "resize"} }
