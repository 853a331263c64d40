// SPDX-License-Identifier: Apache-2.0

package policy

// Finding is one existing object that violates a policy, as the scan last saw it.
// Whoever acts on it must read the object again first.
type Finding struct {
	// APIVersion, Kind, Namespace, Name and UID name the object.
	APIVersion, Kind, Namespace, Name, UID string
	// ResourceVersion is the object's when it was judged.
	ResourceVersion string
	// Violations is the number of violations.
	Violations int
	// Message is the first violation's message.
	Message string
	// Fixable says that the policy offers at least one action for the object.
	Fixable bool
}
