// SPDX-License-Identifier: Apache-2.0

package main

import "fmt"

// toSubresource is something sent to a subresource of an object, as far as Gatekeeper's webhook is asked about it
// by the configuration that its chart installs; nil where the kind has none. Of what is in no folder of the
// estate, such as Deployments and Nodes, a ConfigMap and a ClusterRole stand for one.
func (m *maker) toSubresource(object tree, again func(map[string]any) map[string]any) tree {
	switch kindOf(object) {
	case "Pod":
		return m.toPod(object, again)
	case "Service":
		if m.IntN(2) == 0 {
			return m.at("status", m.request("UPDATE", object, again(object), object))
		}
		return m.connect(object, "services", "proxy", tree{"kind": "ServiceProxyOptions", "path": "metrics"})
	case "ConfigMap":
		return m.scale(object)
	case "ClusterRole":
		return m.connect(object, "nodes", "proxy", tree{"kind": "NodeProxyOptions", "path": "logs/"})
	default:
		return nil
	}
}

func (m *maker) toPod(pod tree, again func(map[string]any) map[string]any) tree {
	switch m.IntN(7) {
	case 0:
		return m.at("ephemeralcontainers", m.request("UPDATE", pod, again(pod), pod))
	case 1:
		return m.at("resize", m.request("UPDATE", pod, again(pod), pod))
	case 2:
		return m.connect(pod, "pods", "attach", tree{"kind": "PodAttachOptions", "stdin": true, "container": "c0"})
	case 3:
		return m.connect(pod, "pods", "portforward", tree{"kind": "PodPortForwardOptions", "ports": []any{8080}})
	case 4:
		return m.connect(pod, "pods", "proxy", tree{"kind": "PodProxyOptions", "path": "admin"})
	case 5:
		return m.evict(pod)
	default:
		return m.connect(pod, "pods", "exec", tree{"kind": "PodExecOptions", "stdin": true, "tty": m.IntN(2) == 0,
			"container": fmt.Sprintf("c%d", m.IntN(3)), "command": []any{"sh", "-c", "id"}})
	}
}

// at has a request be one on a subresource.
func (m *maker) at(subresource string, request tree) tree {
	request["subResource"], request["requestSubResource"] = subresource, subresource
	return review(request)
}

// sentTo has a request be one that sends something of another kind to a subresource.
func (m *maker) sentTo(resource tree, subresource, operation string, of, sent, old tree) tree {
	r := m.request(operation, of, sent, old)
	group, version := groupVersion(sent)
	kind := tree{"group": group, "version": version, "kind": kindOf(sent)}
	r["kind"], r["requestKind"], r["resource"], r["requestResource"] = kind, kind, resource, resource
	return m.at(subresource, r)
}

func (m *maker) connect(of tree, plural, subresource string, options tree) tree {
	options["apiVersion"] = "v1"
	resource := tree{"group": "", "version": "v1", "resource": plural}
	return m.sentTo(resource, subresource, "CONNECT", of, options, nil)
}

// evict is an eviction, which bears labels now and then, as kubectl sends none and a program may.
func (m *maker) evict(pod tree) tree {
	metadata := tree{"name": metadataOf(pod)["name"], "namespace": metadataOf(pod)["namespace"]}
	if m.IntN(3) == 0 {
		metadata["labels"] = tree{"team": "red"}
	}
	return m.sentTo(tree{"group": "", "version": "v1", "resource": "pods"}, "eviction", "CREATE", pod,
		tree{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata,
			"deleteOptions": tree{"gracePeriodSeconds": 0}}, nil)
}

func (m *maker) scale(object tree) tree {
	of := []string{"deployments", "statefulsets", "replicasets"}[m.IntN(3)]
	scaled := func(replicas int) tree {
		return tree{"apiVersion": "autoscaling/v1", "kind": "Scale",
			"metadata": tree{"name": metadataOf(object)["name"], "namespace": metadataOf(object)["namespace"]},
			"spec":     tree{"replicas": replicas}, "status": tree{"replicas": 1, "selector": "app=web"}}
	}
	return m.sentTo(tree{"group": "apps", "version": "v1", "resource": of}, "scale", "UPDATE", object,
		scaled(m.IntN(5)), scaled(1))
}
