// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// maxFinding bounds a finding, in bytes. With the numbers below a target has less than 2 KiB.
	maxFinding = 200
	// maxName leaves room for what is said of a Pod.
	maxName = 63
	// maxProblems is how many of the Pods' problems are told.
	maxProblems = 4
)

// tell says what is wrong with Pods; those with the same problem stand together.
func (p pods) tell() []string {
	if p.none {
		return nil
	}
	well, with := 0, map[string][]string{}
	for i := range p.list {
		pod := &p.list[i]
		if ready(pod) {
			well++
			continue
		}
		for _, problem := range problems(pod) {
			with[problem] = append(with[problem], pod.Name)
		}
	}
	for _, names := range with {
		slices.Sort(names)
	}
	told := slices.SortedFunc(maps.Keys(with), func(a, b string) int {
		return cmp.Or(len(with[b])-len(with[a]), strings.Compare(with[a][0], with[b][0]), strings.Compare(a, b))
	})
	lines := []string{p.count(well)}
	for _, problem := range told[:min(len(told), maxProblems)] {
		others := ""
		if n := len(with[problem]) - 1; n > 0 {
			others = fmt.Sprintf(" and %d more", n)
		}
		lines = append(lines, finding("Pod %s%s%s", prose.Shorten(with[problem][0], maxName), others, problem))
	}
	if more := len(told) - maxProblems; more > 0 {
		lines = append(lines, finding("and %d more %s of Pods", more, prose.Plural(more, "problem")))
	}
	return lines
}

// count says how many Pods are ready.
func (p pods) count(well int) string {
	of, all := "", ""
	if p.newest {
		of = " of its newest template"
	}
	if p.more {
		all = "the first "
	}
	return finding("%d of %s%d %s%s ready", well, all, len(p.list), prose.Plural(len(p.list), "Pod"), of)
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// problems are what keeps a Pod from being ready, each to be read after the Pod's name.
func problems(pod *corev1.Pod) []string {
	var out []string
	if pod.Status.Reason != "" {
		out = append(out, fmt.Sprintf(": %s, %s", pod.Status.Phase, pod.Status.Reason))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			out = append(out, fmt.Sprintf(": not scheduled, %s: %s", c.Reason, c.Message))
		}
	}
	out = append(out, of("init container", pod.Status.InitContainerStatuses)...)
	out = append(out, of("container", pod.Status.ContainerStatuses)...)
	if len(out) == 0 {
		out = append(out, fmt.Sprintf(": %s, not ready", cmp.Or(pod.Status.Phase, corev1.PodPending)))
	}
	return out
}

// of are the problems of those containers that aren't ready.
func of(sort string, containers []corev1.ContainerStatus) []string {
	var out []string
	for _, s := range containers {
		if what := trouble(s); what != "" && !s.Ready {
			out = append(out, fmt.Sprintf(", %s %s: %s", sort, s.Name, what))
		}
	}
	return out
}

// trouble is what a container that isn't ready waits for, how it ended, and how often it was started again.
// What it has written itself (the termination message) isn't told.
func trouble(s corev1.ContainerStatus) string {
	var parts []string
	switch waiting, ended := s.State.Waiting, s.State.Terminated; {
	case waiting != nil && waiting.Reason == "PodInitializing":
		return "" // its init containers say why
	case waiting != nil:
		parts = append(parts, "waiting: "+cmp.Or(waiting.Reason, "no reason given")+said(waiting))
	case ended != nil:
		parts = append(parts, "terminated: "+exit(ended))
	case s.State.Running != nil:
		parts = append(parts, "running, not ready")
	}
	if last := s.LastTerminationState.Terminated; last != nil {
		parts = append(parts, "before that terminated: "+exit(last))
	}
	if n := int(s.RestartCount); n > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", n, prose.Plural(n, "restart")))
	}
	return strings.Join(parts, "; ")
}

// exit is how a container ended.
func exit(t *corev1.ContainerStateTerminated) string {
	how := fmt.Sprintf("%s, exit code %d", cmp.Or(t.Reason, "no reason given"), t.ExitCode)
	if t.Signal != 0 {
		how += fmt.Sprintf(", signal %d", t.Signal)
	}
	return how
}

// said is what the kubelet says of a container that can't be started. Of other reasons it says nothing more, or
// what the program has said.
func said(waiting *corev1.ContainerStateWaiting) string {
	if waiting.Message == "" || !slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName",
		"ErrImageNeverPull", "CreateContainerConfigError"}, waiting.Reason) {
		return ""
	}
	return ": " + waiting.Message
}
