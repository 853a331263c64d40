// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// GrantCommand is the command that grants the controller what the policies in force need and it lacks, in the whole
// cluster. It adds: what the roles of its names grant already stays.
const GrantCommand = "evenkeel rbac --in-force --existing | kubectl apply -f -"

// LacksPermissions says that the controller lacks rules, which are written as they stand in a ClusterRole, and how
// they are added. role is "reader" or "writer", which the controller's aggregated roles are named for.
func LacksPermissions(role, rules string) string {
	return "the controller lacks permissions; " + AddPermissions(role, rules)
}

// AddPermissions says how rules are added to what the controller may do.
func AddPermissions(role, rules string) string {
	return "run: " + GrantCommand + "; or add to a ClusterRole labelled rbac.evenkeel.dev/aggregate-to-" + role +
		`: "true": ` + rules
}
