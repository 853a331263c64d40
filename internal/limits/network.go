// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func networkPolicy() schema.GroupKind {
	return schema.GroupKind{Group: "networking.k8s.io", Kind: "NetworkPolicy"}
}

// network judges the kinds that decide where traffic goes. before is nil for an
// object that is created.
func (j *judged) network(before, after map[string]any) {
	b, a := asMap(before["spec"]), asMap(after["spec"])
	switch {
	case j.kind == networkPolicy():
		// Policies add up: one more that lets nothing through only narrows.
		closed := before == nil && len(asList(a["ingress"])) == 0 && len(asList(a["egress"])) == 0
		j.unless(closed || isEqual(b, a), "/spec", ClassNetwork)
	case j.kind == schema.GroupKind{Kind: "Service"}:
		j.service(before, after)
	case j.kind.Group == "networking.k8s.io", j.kind.Group == "gateway.networking.k8s.io",
		j.kind.Group == "networking.istio.io":
		j.unless(isEqual(b, a), "/spec", ClassNetwork)
		j.unless(isEqual(before["status"], after["status"]), "/status", ClassNetwork)
	}
}

// service lets a fix stop exposing a Service, and not begin to, nor lead its
// traffic elsewhere.
func (j *judged) service(before, after map[string]any) {
	b, a := asMap(before["spec"]), asMap(after["spec"])
	j.unless(isEqual(before["status"], after["status"]), "/status", ClassNetwork)
	for _, key := range []string{"externalName", "loadBalancerIP", "loadBalancerClass", "loadBalancerSourceRanges",
		"externalTrafficPolicy",
		"selector", "publishNotReadyAddresses", "clusterIP", "clusterIPs"} {
		if before != nil {
			j.unless(isEqual(b[key], a[key]), "/spec/"+key, ClassNetwork)
		}
	}
	j.unless(within(asList(a["externalIPs"]), asList(b["externalIPs"])), "/spec/externalIPs", ClassNetwork)
	exposed := slices.Contains([]any{"NodePort", "LoadBalancer", "ExternalName"}, a["type"])
	j.unless(isEqual(b["type"], a["type"]) || !exposed, "/spec/type", ClassNetwork)
}
