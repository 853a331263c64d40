// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ConditionReferencesKnown is on a ClusterRegoPolicy with match.references: True while the leader knows the objects
// of all kinds that the rules may reference, and False while the rules count as not evaluated because it doesn't.
// Another replica may know more or less for a while: each watches for itself. Absent without references.
const ConditionReferencesKnown = "ReferencesKnown"

// Reasons of a ClusterRegoPolicy's condition Ready with match.references.
const (
	// ReasonReferencesUnknown: the rule can't be evaluated, so that failurePolicy decides: the objects of some kind
	// that it references aren't known. The condition ReferencesKnown gives the reason. The manager tries again.
	ReasonReferencesUnknown = "ReferencesUnknown"
)

// Reasons of a ClusterRegoPolicy's condition ReferencesKnown, besides ReasonNotServed and ReasonTooLarge.
// ReasonNotServed: the API server doesn't serve some kind. ReasonTooLarge: what is kept of some kind doesn't fit into
// --reference-max-memory.
const (
	// ReasonListed: the objects of all kinds that are referred to are listed, and watched.
	ReasonListed = "Listed"
	// ReasonNotListed: the objects of some kind aren't listed yet.
	ReasonNotListed = "NotListed"
	// ReasonForbidden: the manager may not read some kind.
	ReasonForbidden = "Forbidden"
	// ReasonStale: nothing has been heard of some kind for longer than --reference-max-staleness.
	ReasonStale = "Stale"
	// ReasonListFailed: some kind can't be listed or watched, for another reason, which the message gives.
	ReasonListFailed = "ListFailed"
)
