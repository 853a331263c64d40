// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/internal/kube"
)

// workload is an object of a kind with a spec and a status in JSON.
func workload(t *testing.T, apiVersion, kind, spec, status string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{
		Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "x"}}}
	for field, text := range map[string]string{"spec": spec, "status": status} {
		var value map[string]any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		obj.Object[field] = value
	}
	return obj
}

func TestWorkloadsThatKeepTheirOldPods(t *testing.T) {
	cases := map[string]struct{ reason, apiVersion, kind, spec, says string }{
		"A StatefulSet with OnDelete": {"kstatus calls it current at once", "apps/v1", "StatefulSet",
			`{"updateStrategy":{"type":"OnDelete"}}`, "OnDelete"},
		"A StatefulSet with a partition": {"the Pods below it stay", "apps/v1", "StatefulSet",
			`{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":5}}}`, "partition 5"},
		"A StatefulSet with partition 0": {"every Pod is replaced", "apps/v1", "StatefulSet",
			`{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}}`, ""},
		"A StatefulSet": {"every Pod is replaced", "apps/v1", "StatefulSet", `{}`, ""},
		"A DaemonSet with OnDelete": {
			"its Pods stay", "apps/v1", "DaemonSet", `{"updateStrategy":{"type":"OnDelete"}}`, "OnDelete"},
		"A DaemonSet": {"every Pod is replaced", "apps/v1", "DaemonSet", `{}`, ""},
		"A paused Deployment": {"its Pods stay", "apps/v1", "Deployment", `{"paused":true}`,
			"paused"},
		"A Deployment": {"every Pod is replaced", "apps/v1", "Deployment",
			`{"paused":false}`, ""},
		"A ReplicaSet": {"it replaces none", "apps/v1", "ReplicaSet", `{}`,
			"replaces no Pod"},
		"A ReplicationController": {"it replaces none", "v1", "ReplicationController", `{}`,
			"replaces no Pod"},
		"A CronJob": {"kstatus calls every one current", "batch/v1", "CronJob", `{}`,
			"schedule"},
		"Somebody's own kind of a well-known name": {"its controller may do anything", "example.com/v1",
			"StatefulSet", `{"updateStrategy":{"type":"OnDelete"}}`, ""},
		"A kind without Pods": {"nothing runs", "v1", "ConfigMap", `{}`, ""},
		"A strategy that can't be read says nothing": {"the API server lets none in", "apps/v1", "StatefulSet",
			`{"updateStrategy":"x"}`, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := kube.KeepsOldPods(workload(t, tc.apiVersion, tc.kind, tc.spec, `{}`))
			if (got == "") != (tc.says == "") || !strings.Contains(got, tc.says) {
				t.Errorf("%s\nKeepsOldPods: want %q in it, got %q", tc.reason, tc.says, got)
			}
		})
	}
}

// Ready Pods of an older template prove nothing of the template as it is.
func TestPodsOfAnOlderTemplateProveNothing(t *testing.T) {
	cases := map[string]struct {
		kind, spec, status string
		proves             bool
		says               string
	}{
		"All Pods of a StatefulSet are new": {
			"StatefulSet", `{"replicas":3}`, `{"readyReplicas":3,"updatedReplicas":3}`, true, ""},
		"Two of three are old": {
			"StatefulSet", `{"replicas":3}`, `{"readyReplicas":3,"updatedReplicas":1}`, false,
			"1 of 3 Pods run its template"},
		"All Pods of a StatefulSet are old": {"StatefulSet", `{"replicas":3}`, `{"readyReplicas":3}`, false,
			"0 of 3 Pods run its template"},
		"One of a Deployment is old": {
			"Deployment", `{"replicas":2}`, `{"readyReplicas":2,"updatedReplicas":1}`, false, "1 of 2"},
		"A Deployment has one Pod by default": {"Deployment", `{}`, `{"readyReplicas":1}`, false, "0 of 1"},
		"All Pods of a DaemonSet are new": {
			"DaemonSet", `{}`, `{"numberReady":2,"desiredNumberScheduled":2,"updatedNumberScheduled":2}`, true, ""},
		"One Pod of a DaemonSet is old": {
			"DaemonSet", `{}`, `{"numberReady":2,"desiredNumberScheduled":2,"updatedNumberScheduled":1}`, false,
			"1 of 2"},
		"None is ready": {
			"DaemonSet", `{}`, `{"desiredNumberScheduled":2,"updatedNumberScheduled":2}`, false, "no ready replica"},
		"A ReplicaSet has no old and new Pods": {"ReplicaSet", `{"replicas":2}`, `{"readyReplicas":2}`, true, ""},
		"A kind without Pods proves by itself": {"Ingress", `{}`, `{}`, true, ""},
		"A number that isn't one counts as none": {
			"Deployment", `{"replicas":1}`, `{"readyReplicas":1,"updatedReplicas":"1"}`, false, "0 of 1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			proves, why := kube.ProvesHealth(workload(t, "apps/v1", tc.kind, tc.spec, tc.status))
			if proves != tc.proves || !strings.Contains(why, tc.says) {
				t.Errorf("ProvesHealth: want %t with %q, got %t: %s", tc.proves, tc.says, proves, why)
			}
		})
	}
}

func TestInTemplate(t *testing.T) {
	for pointer, want := range map[string]bool{"/spec/template": true, "/spec/template/metadata/labels/a": true,
		"/spec/jobTemplate/spec/template/spec": true,
		"/spec":                                true, "": true, "/": true, "/spec/replicas": false,
		"/metadata/labels/a": false,
		"/spec/templates":    false, "/spec/templateName": false} {
		if got := kube.InTemplate(pointer); got != want {
			t.Errorf("InTemplate(%q): want %t, got %t", pointer, want, got)
		}
	}
}
