// SPDX-License-Identifier: Apache-2.0

package exempt

import "evenkeel.dev/evenkeel/api/v1alpha1"

// anyKind stands for every kind of a group.
const anyKind = "*"

// exemptKind is a kind that admission never judges.
type exemptKind struct {
	group, kind string
	// why is for people, as what follows "admission never judges it: ".
	why string
	// unmatched says that a policy can't match the kind at all; others the scan
	// judges all the same.
	unmatched bool
}

// exemptKinds are what nodes, certificates and identities live by. Whoever can
// write one of them administers the cluster, or is a part of it, or writes what
// changes nothing.
func exemptKinds() []exemptKind {
	const joins = "without it no node joins or comes back, and so nothing that could answer"
	const asks = "it is a question, not an object: the nodes and the manager itself ask it before they can start"
	return []exemptKind{
		{group: v1alpha1.GroupVersion.Group, kind: anyKind, unmatched: true,
			why: "Evenkeel's own kinds are never judged, so that a bad policy can always be fixed"},
		{group: "coordination.k8s.io", kind: "Lease", unmatched: true, why: "leases keep nodes and leaders alive"},
		{group: "authentication.k8s.io", kind: anyKind, unmatched: true, why: asks},
		{group: "authorization.k8s.io", kind: anyKind, unmatched: true, why: asks},
		{group: "", kind: "Node", why: joins},
		{group: "storage.k8s.io", kind: "CSINode", why: joins},
		{group: "storage.k8s.io", kind: "VolumeAttachment",
			why: "without it no Pod with a volume comes back on another node"},
		{group: "certificates.k8s.io", kind: "CertificateSigningRequest", why: joins},
		{group: "", kind: "Event", why: "it says what happened, and changes nothing"},
		{group: "events.k8s.io", kind: "Event", why: "it says what happened, and changes nothing"},
	}
}

// NeverAsked says why admission never judges a kind, or is empty.
func NeverAsked(group, kind string) string {
	for _, k := range exemptKinds() {
		if k.group == group && (k.kind == kind || k.kind == anyKind) {
			return k.why
		}
	}
	return ""
}

// NeverMatched says why no policy may match a kind, or is empty.
func NeverMatched(group, kind string) string {
	for _, k := range exemptKinds() {
		if k.unmatched && k.group == group && (k.kind == kind || k.kind == anyKind) {
			return k.why
		}
	}
	return ""
}
