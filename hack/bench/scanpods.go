// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// What differs between the Pods of a cluster stands in their text as marks, which are replaced as a Pod is sent.
const (
	podMark         = "@pod@"
	tokenMark       = "@token@"
	applicationMark = "@application@"
	namespaceMark   = "@namespace@"
	uidMark         = "@uid@"
	versionMark     = "@version@"
)

const (
	// replicas are the Pods of one application: their names, their UIDs and the names of their token's volumes differ,
	// and nothing else.
	replicas = 30
	// scanNamespaces is how many namespaces the Pods live in.
	scanNamespaces = 50
	// rulesBroken is how many rules a violating Pod violates.
	rulesBroken = 10
)

// clusterPods are the Pods of a cluster. They are generated as they are asked for, the same ones each time.
type clusterPods struct {
	count int
	// every is which of them violate: each, or each hundredth; 0 for none.
	every            int
	clean, violating []piece
}

// piece is some text of a Pod, and the mark that follows it.
type piece struct{ text, mark string }

// newClusterPods has count Pods, of which each every-th violates ten rules.
func newClusterPods(count, every int) (*clusterPods, error) {
	p := &clusterPods{count: count, every: every}
	for _, of := range []struct {
		pieces *[]piece
		broken bool
	}{{&p.clean, false}, {&p.violating, true}} {
		raw, err := json.Marshal(scanPod(of.broken))
		if err != nil {
			return nil, err
		}
		*of.pieces = pieces(string(raw))
	}
	return p, nil
}

func pieces(text string) (out []piece) {
	marks := []string{podMark, tokenMark, applicationMark, namespaceMark, uidMark, versionMark}
	for text != "" {
		first, found := len(text), ""
		for _, m := range marks {
			if at := strings.Index(text, m); at >= 0 && at < first {
				first, found = at, m
			}
		}
		out = append(out, piece{text[:first], found})
		text = text[first+len(found):]
	}
	return out
}

// Len is how many there are.
func (p *clusterPods) Len() int { return p.count }

// Append appends the nth Pod in the order of namespaces and names, as a list of the API server has them.
func (p *clusterPods) Append(to []byte, n int) []byte {
	application, namespace := n/replicas, n*scanNamespaces/p.count
	parts := p.clean
	if p.every > 0 && n%p.every == p.every-1 {
		parts = p.violating
	}
	for i := range parts {
		to = append(to, parts[i].text...)
		switch parts[i].mark {
		case podMark:
			to = fmt.Appendf(to, "web-%05d-6b9f8c7d55-%05d", application, n)
		case tokenMark:
			to = fmt.Appendf(to, "kube-api-access-%05d", n)
		case applicationMark:
			to = fmt.Appendf(to, "web-%05d", application)
		case namespaceMark:
			to = fmt.Appendf(to, "pay-%02d", namespace)
		case uidMark:
			to = fmt.Appendf(to, "%08x-6f3c-4b7a-9c2e-%012x", uint32(n)*2654435761, n)
		case versionMark:
			to = strconv.AppendInt(to, int64(100_000+n), 10)
		}
	}
	return to
}

// scanPod is a Pod of a cluster with its status, with marks. A broken one violates ten rules.
func scanPod(broken bool) map[string]any {
	pod := wholePod(0, func(int) bool { return false })
	metadata, _ := pod["metadata"].(map[string]any)
	metadata["name"], metadata["namespace"], metadata["uid"] = podMark, namespaceMark, uidMark
	metadata["resourceVersion"], metadata["managedFields"] = versionMark, managedFields(30)
	labels, _ := metadata["labels"].(map[string]any)
	labels["app.kubernetes.io/name"] = "web"
	labels["app.kubernetes.io/instance"] = applicationMark
	spec, _ := pod["spec"].(map[string]any)
	containers, _ := spec["containers"].([]any)
	for i, c := range containers {
		container, _ := c.(map[string]any)
		container["name"] = fmt.Sprintf("%s-c%d", applicationMark, i)
		container["image"] = "registry.example.com/shop/" + applicationMark + "@sha256:" + strings.Repeat("0a", 32)
	}
	if broken {
		breakRules(spec, containers[0])
	}
	mountToken(spec, tokenMark)
	pod["status"] = podStatus(containers)
	return pod
}

// breakRules makes a Pod violate ten rules. The messages of four name the Pod, those of four a container, which has the
// name of its application; one names the namespace, and one is the same for all.
func breakRules(spec map[string]any, first any) {
	container, _ := first.(map[string]any)
	security, _ := container["securityContext"].(map[string]any)
	security["privileged"], security["readOnlyRootFilesystem"] = true, false
	security["runAsUser"], security["allowPrivilegeEscalation"] = 0, true
	container["env"] = append(container["env"].([]any),
		map[string]any{"name": "DB_PASSWORD", "value": "hunter2"})
	delete(container, "readinessProbe")
	spec["automountServiceAccountToken"], spec["hostPID"], spec["priorityClassName"] = true, true, "system"
	spec["tolerations"] = []any{map[string]any{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists",
		"effect": "NoSchedule"}}
}

// podStatus is the status of a Pod that runs.
func podStatus(containers []any) map[string]any {
	at := "2026-01-07T08:00:07Z"
	var conditions, states []any
	for _, of := range []string{"PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady",
		"PodScheduled"} {
		conditions = append(conditions, map[string]any{"type": of, "status": "True", "lastProbeTime": nil,
			"lastTransitionTime": at, "observedGeneration": 1})
	}
	for _, c := range containers {
		container, _ := c.(map[string]any)
		states = append(states, map[string]any{"name": container["name"], "image": container["image"],
			"imageID": container["image"], "containerID": "containerd://" + strings.Repeat("5e", 32), "ready": true,
			"started": true, "restartCount": 0, "state": map[string]any{"running": map[string]any{"startedAt": at}},
			"lastState": map[string]any{}, "volumeMounts": container["volumeMounts"],
			"resources": container["resources"]})
	}
	return map[string]any{"phase": "Running", "conditions": conditions, "containerStatuses": states,
		"hostIP": "10.0.12.7", "hostIPs": []any{map[string]any{"ip": "10.0.12.7"}}, "podIP": "10.128.3.44",
		"podIPs": []any{map[string]any{"ip": "10.128.3.44"}}, "qosClass": "Burstable", "startTime": at}
}
