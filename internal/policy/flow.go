// SPDX-License-Identifier: Apache-2.0

package policy

import "strings"

const (
	serviceAccount = "system:serviceaccount:"
	clusterOwn     = serviceAccount + "kube-system:"
)

// Flow is who shares in the memory and the processor for a request. Whoever may make ServiceAccounts
// in a namespace, or act as them, has as many users as they like, so those of a namespace are one.
// What the cluster itself does, and the scan, which no user asks, is done on behalf of many, so there each
// namespace is one.
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
