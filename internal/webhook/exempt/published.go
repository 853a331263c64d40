// SPDX-License-Identifier: Apache-2.0

package exempt

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
)

// publication is an object whose content is the cluster's own, written by one of
// the controller manager's controllers.
type publication struct {
	controller, group, kind, name string
}

func published() []publication {
	return []publication{
		{controller: "root-ca-cert-publisher", kind: "ConfigMap", name: "kube-root-ca.crt"},
		{controller: "service-account-controller", kind: "ServiceAccount", name: "default"},
		{controller: "bootstrap-signer", kind: "ConfigMap", name: "cluster-info"},
	}
}

func (p publication) holds(r *policy.Request) bool {
	return r.UserInfo.Username == kubeSystem+p.controller && r.Kind.Group == p.group && r.Kind.Kind == p.kind &&
		r.Name == p.name
}

func publishedCondition() string {
	var each []string
	for _, p := range published() {
		each = append(each, fmt.Sprintf("%s && has(request.name) && request.kind.group == '%s' && request.kind.kind "+
			"== '%s' && request.name == '%s'",
			isUser(kubeSystem+p.controller), p.group, p.kind, p.name))
	}
	return strings.Join(each, " || ")
}
