// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/check"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// hostPIDs forbids Pods the host's processes, and looks for an owner reference where each of them has to be.
const hostPIDs = `package p

import rego.v1

deny contains sprintf("hostPID, of %s", [owner]) if {
	input.pod.spec.hostPID
	owner := concat(",", [o.name | some o in object.get(input.object.metadata, "ownerReferences", [])])
}

remediation contains {"action": "patch", "ops": [{"op": "remove", "path": "/spec/hostPID"}]} if {
	input.object.spec.hostPID
}
`

// ofOwner is a manifest with the controller that it names; with none for an empty kind.
func ofOwner(apiVersion, kind, name, ownerVersion, ownerKind, owner string) string {
	text := fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", apiVersion, kind, name)
	if ownerKind != "" {
		text += fmt.Sprintf("  ownerReferences:\n  - {apiVersion: %s, kind: %s, name: %q, uid: \"1\", "+
			"controller: true}\n", ownerVersion, ownerKind, owner)
	}
	if kind == "Pod" {
		return text + "spec: {hostPID: true}\n"
	}
	return text + "spec: {template: {spec: {hostPID: true}}}\n"
}

func hostPIDsInForce(t *testing.T) *catalog.Snapshot {
	t.Helper()
	return inForce(t, []*v1alpha1.ClusterRegoPolicy{
		aPolicy("networks", hostNetworks, "Pod"), aPolicy("pids", hostPIDs, "Pod")})
}

const hostNetworks = `package p

import rego.v1

deny contains "hostNetwork" if input.pod.spec.hostNetwork
`

// warnsOfIPC only warns.
const warnsOfIPC = `package p

import rego.v1

warn contains "hostIPC" if input.pod.spec.hostIPC
`

// TestOnlyAnOwnerThatIsThereAnswers: anybody may write an owner reference into a manifest.
func TestOnlyAnOwnerThatIsThereAnswers(t *testing.T) {
	pod := ofOwner("v1", "Pod", "p", "apps/v1", "ReplicaSet", "x")
	replicaSet := ofOwner("apps/v1", "ReplicaSet", "x", "apps/v1", "Deployment", "d")
	with := func(text, field string) string { return strings.ReplaceAll(text, "hostPID: true", field) }
	owner := ofOwner("apps/v1", "ReplicaSet", "x", "", "", "")
	within := func(namespace, text string) string {
		return strings.Replace(text, "metadata:\n", "metadata:\n  namespace: "+namespace+"\n", 1)
	}
	tests := map[string]struct {
		reason, text string
		want         []string
	}{
		"alone": {"nothing else is judged in its place", pod, []string{"Pod default/p: hostPID, of x"}},
		"beside its owner": {"one finding for both", pod + ofOwner("apps/v1", "ReplicaSet", "x", "", "", ""),
			[]string{"ReplicaSet default/x: hostPID, of "}},
		"three of a workload": {"the uppermost answers",
			pod + replicaSet + ofOwner("apps/v1", "Deployment", "d", "", "", ""),
			[]string{"Deployment default/d: hostPID, of "}},
		"beside an owner whose owner isn't there": {"that one answers for itself", pod + replicaSet,
			[]string{"ReplicaSet default/x: hostPID, of d"}},
		"beside one of another namespace": {"it isn't the owner",
			pod + within("shop", ofOwner("apps/v1", "ReplicaSet", "x", "", "", "")),
			[]string{"Pod default/p: hostPID, of x", "ReplicaSet shop/x: hostPID, of "}},
		"beside one of another name": {"it isn't the owner",
			pod + ofOwner("apps/v1", "ReplicaSet", "other", "", "", ""),
			[]string{"Pod default/p: hostPID, of x", "ReplicaSet default/other: hostPID, of "}},
		"beside one of another group": {"it isn't the owner",
			pod + ofOwner("x.io/v1", "ReplicaSet", "x", "", "", ""),
			[]string{"Pod default/p: hostPID, of x"}},
		"beside one whose name is to be made up": {"nobody knows it yet",
			ofOwner("v1", "Pod", "p", "apps/v1", "ReplicaSet", "") + strings.Replace(
				ofOwner("apps/v1", "ReplicaSet", "x", "", "", ""), "  name:", "  generateName:", 1),
			[]string{"Pod default/p: hostPID, of ", "ReplicaSet default/x*: hostPID, of "}},
		"beside a clean owner": {"nothing is said of that one", pod + with(owner, "hostPID: false"),
			[]string{"Pod default/p: hostPID, of x"}},
		"beside an owner that violates another policy": {"it answers for that one alone",
			with(pod, "hostPID: true, hostNetwork: true") + with(owner, "hostNetwork: true"),
			[]string{"Pod default/p: hostPID, of x", "ReplicaSet default/x networks: hostNetwork"}},
		"between a clean owner and what it owns": {"each answers for what it has itself",
			pod + replicaSet + with(ofOwner("apps/v1", "Deployment", "d", "", "", ""), "hostPID: false"),
			[]string{"ReplicaSet default/x: hostPID, of d"}},
		"below a clean one of three": {"the uppermost doesn't make it",
			pod + with(replicaSet, "hostPID: false") + ofOwner("apps/v1", "Deployment", "d", "", "", ""),
			[]string{"Pod default/p: hostPID, of x", "Deployment default/d: hostPID, of "}},
		"its own owner": {"it answers for itself", ofOwner("v1", "Pod", "p", "v1", "Pod", "p"),
			[]string{"Pod default/p: hostPID, of p"}},
		"owners of one another": {"none of them answers for another",
			ofOwner("v1", "Pod", "p", "v1", "Pod", "q") + ofOwner("v1", "Pod", "q", "v1", "Pod", "p"),
			[]string{"Pod default/p: hostPID, of q", "Pod default/q: hostPID, of p"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, line := range lines(judged(t, hostPIDsInForce(t), tc.text, check.Options{})) {
				_, line, _ = strings.Cut(line, " ")
				got = append(got, strings.Replace(line, " pids:", ":", 1))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAFixIsShownWithoutTheOwner(t *testing.T) {
	report := judged(t, hostPIDsInForce(t), ofOwner("v1", "Pod", "p", "apps/v1", "ReplicaSet", "x"),
		check.Options{Fix: true})
	if len(report.Results) != 1 || !strings.Contains(report.Results[0].Fix, "-  hostPID: true") {
		t.Errorf("results %+v, want one with its fix", report.Results)
	}
}

func TestAWarningIsGivenOnceOfAWorkload(t *testing.T) {
	text := strings.ReplaceAll(ofOwner("v1", "Pod", "p", "apps/v1", "ReplicaSet", "x")+
		ofOwner("apps/v1", "ReplicaSet", "x", "", "", ""), "hostPID", "hostIPC")
	policies := inForce(t, []*v1alpha1.ClusterRegoPolicy{aPolicy("warns", warnsOfIPC, "Pod")})
	report := judged(t, policies, text, check.Options{})
	if len(report.Results) != 1 || report.Results[0].Title() != "ReplicaSet default/x" {
		t.Errorf("results %+v, want that of the owner", report.Results)
	}
}
