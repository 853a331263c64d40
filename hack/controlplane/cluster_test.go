// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestVersionOfClientAndServerAreThePinnedOne(t *testing.T) {
	var version struct {
		Client struct{ GitVersion string } `json:"clientVersion"`
		Server struct{ GitVersion string } `json:"serverVersion"`
	}
	out := kubectl(t, tests.instance("shared"), "", "version", "-o", "json")
	if err := json.Unmarshal([]byte(out), &version); err != nil {
		t.Fatalf("kubectl version: %v\n%s", err, out)
	}
	const want = "v1.36.3"
	if version.Client.GitVersion != want || version.Server.GitVersion != want {
		t.Errorf("client %s, server %s, want %s for both", version.Client.GitVersion, version.Server.GitVersion, want)
	}
	if pins := must(t, "versions"); !strings.Contains(pins, "kubernetes "+want+"\n") {
		t.Errorf("versions: got %q, want kubernetes %s in it", pins, want)
	}
}

func TestNodesHaveRoomForHundredsOfPods(t *testing.T) {
	got := kubectl(t, tests.instance("shared"), "", "get", "nodes",
		"-o",
		`jsonpath={range .items[*]}{.metadata.name} {.status.allocatable.cpu} {.status.allocatable.memory} {.status.allocatable.pods}{"\n"}{end}`)
	want := "node-1 64 256Gi 2k\nnode-2 64 256Gi 2k\nnode-3 64 256Gi 2k\n"
	if got != want {
		t.Errorf("nodes:\n%swant:\n%s", got, want)
	}
}

func TestWorkloads(t *testing.T) {
	const job = `
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  completions: 2
  template:
    spec:
      restartPolicy: Never
      initContainers: [{name: before, image: tool}]
      containers: [{name: main, image: tool}]
`
	cases := map[string]struct {
		reason   string
		manifest string
		wait     []string
	}{
		"an ordinary deployment becomes available": {
			reason:   "the fake kubelet makes its pods Ready",
			manifest: deployment("good", "example.test/app:1", "tier: web"),
			wait:     []string{"--for=condition=Available", "deployment/good"},
		},
		"a deployment with the label never stops progressing": {
			reason:   "its pods run but aren't Ready before the deadline",
			manifest: deployment("labelled", "example.test/app:1", "kwok.evenkeel.dev/ready: never"),
			wait:     []string{"--for=condition=Progressing=False", "deployment/labelled"},
		},
		"a deployment with an unready tag stops progressing": {
			reason:   "the tag of its image asks for the failure",
			manifest: deployment("tagged", "example.test/app:unready", "tier: web"),
			wait:     []string{"--for=condition=Progressing=False", "deployment/tagged"},
		},
		"a deployment with an unready image path stops progressing": {
			reason:   "a part of the path of its image asks for the failure",
			manifest: deployment("pathed", "example.test/unready/app:1", "tier: web"),
			wait:     []string{"--for=condition=Progressing=False", "deployment/pathed"},
		},
		"a job completes": {
			reason:   "pods of a Job end well by themselves",
			manifest: job,
			wait:     []string{"--for=condition=Complete", "job/job"},
		},
	}
	shared := tests.instance("shared")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kubectl(t, shared, tc.manifest, "apply", "-f", "-")
			kubectl(t, shared, "", append([]string{"wait", "--timeout=30s"}, tc.wait...)...)
		})
	}
}

func TestPodThatMustNotBeReadyRunsAllTheSame(t *testing.T) {
	shared := tests.instance("shared")
	kubectl(t, shared, deployment("never", "example.test/app:1", "kwok.evenkeel.dev/ready: never"), "apply", "-f", "-")
	kubectl(t, shared, "", "wait", "--timeout=30s", "--for=condition=Progressing=False", "deployment/never")
	got := kubectl(t, shared, "", "get", "pods", "-l", "app=never",
		"-o",
		`jsonpath={range .items[*]}{.status.phase} {.status.conditions[?(@.type=="Ready")].status} {.status.conditions[?(@.type=="Ready")].reason} {.status.containerStatuses[0].ready}{"\n"}{end}`)
	want := strings.Repeat("Running False ContainersNotReady false\n", 2)
	if got != want {
		t.Errorf("pods:\n%swant:\n%s", got, want)
	}
}

func TestReadinessFollowsTheLabel(t *testing.T) {
	shared := tests.instance("shared")
	kubectl(t, shared, "", "run", "switched", "--image=example.test/app:1")
	for _, step := range []struct{ label, ready string }{
		{"kwok.evenkeel.dev/ready=yes", "True"},
		{"kwok.evenkeel.dev/ready=never", "False"},
		{"kwok.evenkeel.dev/ready-", "True"},
	} {
		kubectl(t, shared, "", "label", "--overwrite", "pod", "switched", step.label)
		kubectl(t, shared, "", "wait", "--timeout=20s", "--for=condition=Ready="+step.ready, "pod/switched")
	}
	kubectl(t, shared, "", "delete", "pod", "switched", "--timeout=20s")
}
