// SPDX-License-Identifier: Apache-2.0

package intake

import (
	"net/http"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
)

const (
	serviceAccount = "system:serviceaccount:"
	clusterOwn     = serviceAccount + "kube-system:"
)

// flow is who shares in the capacity for a request. Whoever may make ServiceAccounts
// in a namespace has as many users as they like, so those of a namespace are one.
// What the cluster itself does is done on behalf of many, so there each namespace
// is one.
func flow(r *policy.Request) string {
	user := r.UserInfo.Username
	if rest, ok := strings.CutPrefix(user, serviceAccount); ok && !strings.HasPrefix(user, clusterOwn) {
		namespace, _, _ := strings.Cut(rest, ":")
		return serviceAccount + namespace
	}
	if strings.HasPrefix(user, "system:") {
		return user + " in " + r.Namespace
	}
	return user
}

// peer is the address that a request comes from.
func peer(r *http.Request) string { return host(r.RemoteAddr) }
