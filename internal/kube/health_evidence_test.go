// SPDX-License-Identifier: Apache-2.0

package kube_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/internal/kube"
)

func TestHealthNeedsEvidence(t *testing.T) {
	custom := func(status map[string]any) map[string]any {
		return map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "status": status,
			"metadata": map[string]any{"name": "x", "generation": int64(2)}}
	}
	of := func(apiVersion, kind string) map[string]any {
		return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": "x"}}
	}
	conditions := func(kinds ...string) map[string]any {
		var list []any
		for _, k := range kinds {
			list = append(list, map[string]any{"type": k, "status": "True"})
		}
		return map[string]any{"conditions": list}
	}
	cases := map[string]struct {
		reason string
		object map[string]any
		want   kube.Health
	}{
		"A custom resource without a status tells nothing": {reason: "kstatus calls it current all the same",
			object: of("example.com/v1", "Widget"), want: kube.Unknown},
		"A phase is nothing that kstatus reads": {
			reason: "it may say Broken", object: custom(map[string]any{"phase": "Broken"}), want: kube.Unknown},
		"Conditions of other types tell nothing": {
			reason: "kstatus doesn't read Healthy", object: custom(conditions("Healthy", "Synced")),
			want: kube.Unknown},
		"Conditions that can't be read tell nothing": {
			reason: "a list of texts", object: custom(map[string]any{"conditions": []any{}}), want: kube.Unknown},
		"A condition Ready tells": {
			reason: "kstatus reads it", object: custom(conditions("Synced", "Ready")), want: kube.Current},
		"An observed generation tells": {reason: "its controller has seen the change",
			object: custom(map[string]any{"observedGeneration": int64(2)}), want: kube.Current},
		"An old observed generation is in progress": {
			reason: "its controller lags behind", object: custom(map[string]any{"observedGeneration": int64(1)}),
			want: kube.InProgress},
		"A Role is all there is to it": {
			reason: "nothing runs for it", object: of("rbac.authorization.k8s.io/v1", "Role"), want: kube.Current},
		"A NetworkPolicy is all there is to it": {reason: "nothing tells whether it is in force",
			object: of("networking.k8s.io/v1", "NetworkPolicy"), want: kube.Current},
		"A ServiceAccount is all there is to it": {
			reason: "it is data", object: of("v1", "ServiceAccount"), want: kube.Current},
		"A kind of a data-only kind's name in another group": {
			reason: "somebody's own Role", object: of("example.com/v1", "Role"), want: kube.Unknown},
		"A group below Kubernetes' domain is a custom one": {
			reason: "a definition installs it", object: of("gateway.networking.k8s.io/v1", "Gateway"),
			want: kube.Unknown},
		"A Namespace has a phase, which kstatus doesn't read": {
			reason: "a rule of its own tells it", object: of("v1", "Namespace"), want: kube.Unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, message, err := kube.HealthOf(&unstructured.Unstructured{Object: tc.object})
			if err != nil {
				t.Fatal(err)
			}
			if got != tc.want || (got == kube.Unknown) != (len(message) > 0 && got == kube.Unknown) {
				t.Errorf("%s\nHealthOf: want %s, got %s: %q", tc.reason, tc.want, got, message)
			}
			if kube.ParseHealth(got.String()) != got {
				t.Errorf("ParseHealth doesn't read back %s", got)
			}
		})
	}
}
