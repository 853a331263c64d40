// SPDX-License-Identifier: Apache-2.0

package access

import "slices"

// Namespaces are those whose sources are accepted. A source makes policies of the
// whole cluster, so whoever may make one rules the cluster.
type Namespaces struct {
	// Own is the manager's, which is always accepted.
	Own string
	// Others are further ones; "*" stands for all.
	Others []string
}

// Has says whether the sources of a namespace are accepted.
func (n Namespaces) Has(namespace string) bool {
	return namespace == n.Own || slices.Contains(n.Others, namespace) || slices.Contains(n.Others, "*")
}
