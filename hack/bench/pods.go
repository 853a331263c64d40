// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// podRules are rules of Gatekeeper that each match a Pod: as long, and asking as much, as those of a public library.
// Their parameters are in JSON, by the rule's name.
//
//go:embed pods
var podRules embed.FS

// expressionRules are rules that a CEL expression can say as well: each is there in Rego and in CEL, and finds its own
// name.
//
//go:embed pairs
var expressionRules embed.FS

// writePodRules writes a ConstraintTemplate and a constraint for each rule, for Pods of the given namespaces, or of
// all. It says how many there are.
func writePodRules(file string, namespaces ...string) (int, error) {
	raw, err := podRules.ReadFile("pods/parameters.json")
	if err != nil {
		return 0, err
	}
	var parameters map[string]any
	if err := json.Unmarshal(raw, &parameters); err != nil {
		return 0, fmt.Errorf("pods/parameters.json: %w", err)
	}
	return writeRules(file, podRules, "pods", parameters, namespaces...)
}

func writeRules(file string, from embed.FS, dir string, parameters map[string]any,
	namespaces ...string) (count int, err error) {
	rules, err := filesOf(from, dir, ".rego")
	if err != nil {
		return 0, err
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		for _, object := range podRule(name, rules[name], parameters[name], namespaces) {
			raw, err := json.Marshal(object)
			if err != nil {
				return 0, err
			}
			fmt.Fprintf(&text, "---\n%s\n", raw)
		}
	}
	return len(rules), os.WriteFile(file, text.Bytes(), 0o600)
}

// filesOf are the texts of a folder's files that end so, by the rest of their names.
func filesOf(from embed.FS, dir, end string) (map[string]string, error) {
	files, err := from.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, f := range files {
		name, meant := strings.CutSuffix(f.Name(), end)
		if !meant {
			continue
		}
		text, err := from.ReadFile(path.Join(dir, f.Name()))
		if err != nil {
			return nil, err
		}
		texts[name] = string(text)
	}
	return texts, nil
}

func podRule(name, rego string, parameters any, namespaces []string) []map[string]any {
	kind := strings.ToUpper(name[:1]) + name[1:]
	match := map[string]any{"kinds": []any{map[string]any{"apiGroups": []any{""}, "kinds": []any{"Pod"}}}}
	if len(namespaces) > 0 {
		match["namespaces"] = namespaces
	}
	spec := map[string]any{"match": match}
	if parameters != nil {
		spec["parameters"] = parameters
	}
	return []map[string]any{
		{"apiVersion": "templates.gatekeeper.sh/v1", "kind": "ConstraintTemplate",
			"metadata": map[string]any{"name": name},
			"spec": map[string]any{
				"crd": map[string]any{"spec": map[string]any{"names": map[string]any{"kind": kind},
					"validation": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
						"x-kubernetes-preserve-unknown-fields": true}}}},
				"targets": []any{map[string]any{"target": "admission.k8s.gatekeeper.sh", "rego": rego}}}},
		{"apiVersion": "constraints.gatekeeper.sh/v1beta1", "kind": kind, "metadata": map[string]any{"name": name},
			"spec": spec},
	}
}

// wholePod is the nth Pod with all that one in production has. Where bad says so, once in so many times, it departs
// from the rules.
func wholePod(n int, bad func(of int) bool) map[string]any {
	var containers []any
	for i := range 3 {
		containers = append(containers, container(i, bad))
	}
	spec := map[string]any{
		"containers": containers, "initContainers": []any{container(3, bad)},
		"serviceAccountName": "web", "automountServiceAccountToken": bad(8), "restartPolicy": "Always",
		"dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler", "terminationGracePeriodSeconds": 30,
		"securityContext": map[string]any{"runAsNonRoot": true, "fsGroup": choose(bad(6), 5000, 2000),
			"seccompProfile": map[string]any{"type": choose(bad(6), "Unconfined", "RuntimeDefault")},
			"sysctls": []any{map[string]any{"value": "1",
				"name": choose(bad(6), "kernel.msgmax", "net.ipv4.tcp_syncookies")}}},
		"volumes": []any{
			map[string]any{"name": "config", "configMap": map[string]any{"name": "web"}},
			map[string]any{"name": "cache", "emptyDir": map[string]any{}},
			map[string]any{"name": "logs",
				"hostPath": map[string]any{"path": choose(bad(5), "/etc", "/run/agent/logs")}}},
		"tolerations": []any{
			map[string]any{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"},
			map[string]any{"key": choose(bad(6), "node-role.kubernetes.io/control-plane", "example.com/spot"),
				"operator": "Exists", "effect": "NoSchedule"}},
		"priorityClassName": choose(bad(6), "system", "high"),
		"hostPID":           bad(10), "hostNetwork": bad(10),
	}
	labels := map[string]any{"app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop",
		"team": choose(bad(5), "nobody", "red"), "pod-template-hash": "6b9f8c7d55"}
	annotations := map[string]any{"example.com/owner": "jane@example.com",
		"example.com/runbook":               choose(bad(5), "none", "https://runbooks.example.com/web"),
		"kubectl.kubernetes.io/restartedAt": "2026-01-07T08:00:00Z"}
	if bad(4) {
		delete(labels, "app.kubernetes.io/part-of")
		delete(annotations, "example.com/owner")
	}
	return map[string]any{"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": map[string]any{
		"name": fmt.Sprintf("web-6b9f8c7d55-%05d", n), "namespace": "shop", "labels": labels,
		"annotations": annotations, "uid": fmt.Sprintf("0b2a7f6e-0000-4000-8000-%012d", n),
		"creationTimestamp": "2026-01-07T08:00:00Z", "managedFields": managedFields(40),
		"ownerReferences": []any{map[string]any{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6b9f8c7d55",
			"uid": "5b2a7f6e-0000-4000-8000-000000000001", "controller": true, "blockOwnerDeletion": true}}}}
}

// container is the ith of a Pod.
func container(i int, bad func(of int) bool) map[string]any {
	var env []any
	for v := range 12 {
		env = append(env, map[string]any{"name": fmt.Sprintf("SETTING_%d", v),
			"value": fmt.Sprintf("a value of the usual length, the %dth", v)})
	}
	if bad(5) {
		env = append(env, map[string]any{"name": "DB_PASSWORD", "value": "hunter2"})
	}
	probe := map[string]any{"httpGet": map[string]any{"path": "/healthz", "port": "http"}, "periodSeconds": 10}
	c := map[string]any{
		"name": fmt.Sprintf("c%d", i),
		"image": choose(bad(4), "docker.io/library/nginx",
			"registry.example.com/shop/web@sha256:"+strings.Repeat("0a", 32)),
		"args": []any{"--listen=:8080", "--log-level=info", "--config=/etc/web/config.yaml"},
		"env":  env, "livenessProbe": probe, "readinessProbe": probe,
		"ports": []any{map[string]any{"name": "http", "containerPort": choose(bad(5), 80, 8080+i), "protocol": "TCP"}},
		"resources": map[string]any{
			"limits": map[string]any{"cpu": choose(bad(5), "4", "1"), "memory": choose(bad(5), "8Gi", "512Mi"),
				"ephemeral-storage": "1Gi"},
			"requests": map[string]any{"cpu": "500m", "memory": "256Mi"}},
		"securityContext": map[string]any{"allowPrivilegeEscalation": bad(4), "privileged": bad(6),
			"readOnlyRootFilesystem": !bad(4), "runAsUser": choose(bad(5), 0, 1000), "runAsGroup": 1000,
			"capabilities": map[string]any{"drop": []any{choose(bad(5), "CHOWN", "ALL")}}},
		"volumeMounts": []any{map[string]any{"name": "config", "mountPath": "/etc/web", "readOnly": true},
			map[string]any{"name": "cache", "mountPath": "/var/cache/web"}},
		"imagePullPolicy": "IfNotPresent", "terminationMessagePath": "/dev/termination-log",
	}
	if bad(6) {
		delete(c, "resources")
		delete(c, "readinessProbe")
	}
	return c
}

// managedFields name so many entries of the environment.
func managedFields(entries int) []any {
	fields := map[string]any{}
	for i := range entries {
		fields[fmt.Sprintf("k:{\"name\":\"SETTING_%d\"}", i)] = map[string]any{".": map[string]any{},
			"f:name": map[string]any{}, "f:value": map[string]any{}}
	}
	return []any{map[string]any{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1",
		"time": "2026-01-07T08:00:00Z", "fieldsType": "FieldsV1",
		"fieldsV1": map[string]any{"f:spec": map[string]any{"f:containers": fields}}}}
}

func choose(first bool, a, b any) any {
	if first {
		return a
	}
	return b
}

// departures is how many places there are in which a Pod may depart from the rules.
func departures() int {
	places := 0
	wholePod(0, func(int) bool { places++; return false })
	return places
}

// podIn is a Pod as a controller makes it, in a namespace. The nth departs from the rules in the nth of the places; Pod
// 0 doesn't.
func podIn(namespace string, n int) ([]byte, error) {
	place := 0
	return asController(namespace, wholePod(n, func(int) bool { place++; return place == n }))
}

// asController is a Pod as a controller sends it.
func asController(namespace string, pod map[string]any) ([]byte, error) {
	spec, _ := pod["spec"].(map[string]any)
	initial, _ := spec["initContainers"].([]any)
	for _, c := range initial { // one with probes is a sidecar, or the Pod isn't valid
		if sidecar, is := c.(map[string]any); is {
			sidecar["restartPolicy"] = "Always"
		}
	}
	metadata, _ := pod["metadata"].(map[string]any)
	metadata["namespace"] = namespace
	for _, field := range []string{"uid", "creationTimestamp", "managedFields"} { // which the API server gives
		delete(metadata, field)
	}
	return json.Marshal(pod)
}
