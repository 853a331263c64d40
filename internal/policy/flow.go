// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

const (
	serviceAccount = "system:serviceaccount:"
	clusterOwn     = serviceAccount + "kube-system:"
)

// Flow is the client in whose name a long evaluation waits for its turns. A client that may create ServiceAccounts
// in a namespace, or act as them, has any number of users, so the ServiceAccounts of a namespace are one client.
// Requests of the cluster's own components, and the scan, which has no user, serve many, so each namespace of theirs
// is one client.
func Flow(r *Request) string {
	user := r.UserInfo.Username
	if rest, ok := strings.CutPrefix(user, serviceAccount); ok && !strings.HasPrefix(user, clusterOwn) {
		namespace, _, _ := strings.Cut(rest, ":")
		return serviceAccount + namespace
	}
	if user == "" || strings.HasPrefix(user, "system:") {
		return user + " in " + r.Namespace
	}
	return user
}
