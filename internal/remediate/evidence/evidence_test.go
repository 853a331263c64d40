// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func now() time.Time { return time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC) }

// pod is one whose only container is in a state.
func pod(name string, s corev1.ContainerStatus) corev1.Pod {
	s.Name = "app"
	return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "shop", UID: types.UID("uid-" + name)},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{s}}}
}

func isReady(p corev1.Pod) corev1.Pod {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	return p
}

func waits(reason, message string) corev1.ContainerStatus {
	return corev1.ContainerStatus{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}}
}

func ended(reason string, code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code,
		Message: "password=hunter2"}}
}

func TestPodsTellWhyTheyAreNotReady(t *testing.T) {
	crashing := waits("CrashLoopBackOff", "back-off 5m0s restarting failed container=app pod=web-1_shop(1)")
	crashing.LastTerminationState, crashing.RestartCount = ended("Error", 1), 5
	unscheduled := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Status: corev1.PodStatus{
		Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled,
			Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"}}}}
	evicted := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory"}}
	initialized := pod("web-1", waits("PodInitializing", ""))
	initialized.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "done", Ready: true, State: ended("Completed", 0)}, {Name: "migrate", State: ended("Error", 2)}}
	pull := waits("ImagePullBackOff", `Back-off pulling image "registry/app:9"`)
	for name, tc := range map[string]struct {
		reason string
		pods   pods
		want   []string
	}{
		"an object that has none says nothing": {reason: "a ConfigMap runs nothing", pods: pods{none: true}},
		"ready ones are counted alone": {reason: "a Pod that is well isn't why",
			pods: pods{list: []corev1.Pod{isReady(pod("web-1", crashing))}, newest: true},
			want: []string{"1 of 1 Pod of its newest template ready"}},
		"a crash has its exit code and restarts, and no message of the program": {
			reason: "a termination message is what the program says, which may be anything",
			pods:   pods{list: []corev1.Pod{pod("web-1", crashing)}},
			want: []string{"0 of 1 Pod ready", "Pod web-1, container app: waiting: CrashLoopBackOff; " +
				"before that terminated: Error, exit code 1; 5 restarts"}},
		"one that was killed for its memory": {
			reason: "the limit that a fix sets is often too low",
			pods:   pods{list: []corev1.Pod{pod("web-1", corev1.ContainerStatus{State: ended("OOMKilled", 137)})}},
			want:   []string{"0 of 1 Pod ready", "Pod web-1, container app: terminated: OOMKilled, exit code 137"}},
		"an image that can't be pulled, of several Pods together": {
			reason: "a hundred Pods of one template have one problem", pods: pods{more: true,
				list: []corev1.Pod{pod("web-2", pull), pod("web-1", pull), isReady(pod("web-3", pull))}},
			want: []string{"1 of the first 3 Pods ready", "Pod web-1 and 1 more, container app: waiting: " +
				`ImagePullBackOff: Back-off pulling image "registry/app:9"`}},
		"what most Pods have comes first": {
			reason: "one may be another's fault",
			pods: pods{list: []corev1.Pod{pod("web-0", crashing), pod("web-1", pull),
				pod("web-2", pull)}},
			want: []string{"0 of 3 Pods ready", "Pod web-1 and 1 more, container app: waiting: ImagePullBackOff: " +
				`Back-off pulling image "registry/app:9"`,
				"Pod web-0, container app: waiting: CrashLoopBackOff; before that terminated: Error, exit code 1; " +
					"5 restarts"}},
		"an init container that fails is told, and not those that wait for it": {
			reason: "PodInitializing tells nothing", pods: pods{list: []corev1.Pod{initialized}},
			want: []string{"0 of 1 Pod ready", "Pod web-1, init container migrate: terminated: Error, exit code 2"}},
		"one that no node takes": {reason: "requests may be too high", pods: pods{list: []corev1.Pod{unscheduled}},
			want: []string{"0 of 1 Pod ready",
				"Pod web-1: not scheduled, Unschedulable: 0/3 nodes are available"}},
		"one that was evicted": {reason: "the kubelet says why", pods: pods{list: []corev1.Pod{evicted}},
			want: []string{"0 of 1 Pod ready", "Pod web-1: Failed, Evicted"}},
		"one that runs and isn't ready": {reason: "its probe fails", pods: pods{list: []corev1.Pod{pod("web-1",
			corev1.ContainerStatus{State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}})}},
			want: []string{"0 of 1 Pod ready", "Pod web-1, container app: running, not ready"}},
		"one that nobody has touched yet": {reason: "no status is an answer too",
			pods: pods{list: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}}},
			want: []string{"0 of 1 Pod ready", "Pod web-1: Pending, not ready"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.pods.tell()); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// warning is a Warning event of a Pod, so long after the write.
func warning(name, reason, note string, after time.Duration) eventsv1.Event {
	return eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.EventTypeWarning, Reason: reason,
		Note: note, ReportingController: "kubelet", Regarding: corev1.ObjectReference{Kind: "Pod", Name: "web-1"},
		DeprecatedLastTimestamp: metav1.NewTime(now().Add(after))}
}

func TestEventsAreToldTheLastFirst(t *testing.T) {
	normal, ours := warning("n", "Pulled", "", 0), warning("o", "RemediationReverted", "undone", 0)
	normal.Type, ours.ReportingController = corev1.EventTypeNormal, own
	series := warning("s", "BackOff", "Back-off restarting failed container", -time.Hour)
	series.Series = &eventsv1.EventSeries{Count: 9, LastObservedTime: metav1.NewMicroTime(now().Add(9 * time.Second))}
	for name, tc := range map[string]struct {
		reason string
		events []eventsv1.Event
		want   []string
	}{
		"none": {reason: "nothing is told"},
		"those since the write, one text once": {reason: "three Pods of a template say the same",
			events: []eventsv1.Event{warning("a", "FailedMount", `secret "tls" not found`, time.Second),
				warning("b", "FailedMount", `secret "tls" not found`, 2*time.Second), series,
				warning("c", "FailedCreate", "exceeded quota", -time.Hour)},
			want: []string{"Warning of Pod web-1: BackOff: Back-off restarting failed container",
				`Warning of Pod web-1: FailedMount: secret "tls" not found`}},
		"neither normal ones nor our own": {reason: "they tell what was done, and not why it failed",
			events: []eventsv1.Event{normal, ours}},
		"four at most": {reason: "the status is bounded", events: []eventsv1.Event{
			warning("a", "A", "", 1), warning("b", "B", "", 2), warning("c", "C", "", 3), warning("d", "D", "", 4),
			warning("e", "E", "", 5)},
			want: []string{"Warning of Pod web-1: E", "Warning of Pod web-1: D", "Warning of Pod web-1: C",
				"Warning of Pod web-1: B"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tellEvents(tc.events, now())); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

// What a program says, or is called with, may hold any secret.
func TestNothingIsKeptOfWhatAProgramSays(t *testing.T) {
	for reason, notes := range map[string]map[string]string{
		"Unhealthy": {
			"Liveness probe failed: token=hunter2": "Liveness probe failed",
			"Readiness probe failed: HTTP probe failed with statuscode: 500": "" +
				"Readiness probe failed: status code 500",
			"Readiness probe failed: x HTTP probe failed with statuscode: hunt2": "Readiness probe failed",
			`Startup probe failed: Get "http://10.0.0.1/?k=hunter2": dial tcp 10.0.0.1:80: connect: connection refused`: "" +
				"Startup probe failed: connection refused",
			`Liveness probe failed: Get "http://10.0.0.1/?k=hunter2": context deadline exceeded`: "" +
				"Liveness probe failed: no answer in time",
			"Readiness probe errored and resulted in unknown state: hunter2": "" +
				"Readiness probe errored and resulted in unknown state",
		},
		"FailedPostStartHook": {"Exec lifecycle hook ([sh]) failed, message: hunter2": ""},
		"FailedPreStopHook":   {"hunter2": ""},
		"Failed": {
			`Error: OCI runtime create failed: exec: "hunter2": not found`: "Error: OCI runtime create failed: exec: …",
			`Error: secret "db" not found`:                                 `Error: secret "db" not found`,
		},
	} {
		for text, want := range notes {
			if got := note(eventsv1.Event{Reason: reason, Note: text}); got != want {
				t.Errorf("%s: %s\nwant %q, got %q", reason, text, want, got)
			}
		}
	}
	hook := pod("web-1", waits("PostStartHookError", "Exec lifecycle hook failed: hunter2"))
	hook.Spec.Containers = []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "P", Value: "hunter2"}}}}
	hook.Status.ContainerStatuses[0].LastTerminationState = ended("Error", 1)
	if told := fmt.Sprint(pods{list: []corev1.Pod{hook}}.tell()); strings.Contains(told, "hunter2") {
		t.Errorf("a secret is told: %s", told)
	}
}

func TestEvidenceIsBounded(t *testing.T) {
	long := strings.Repeat("ä\n", 4000)
	found := pods{}
	var events []eventsv1.Event
	for i := range maxPods {
		found.list = append(found.list, pod(fmt.Sprintf("web-%d-%s", i, long[:200]), waits("ErrImagePull",
			fmt.Sprint(i)+long)))
		events = append(events, warning(fmt.Sprint(i), fmt.Sprint("R", i), long, 0))
	}
	lines := append(found.tell(), tellEvents(events, now())...)
	size := maxUnread
	for _, line := range lines {
		size += len(line)
		if strings.ContainsAny(line, "\n\r") || !utf8.ValidString(line) {
			t.Errorf("not one line of text: %q", line)
		}
	}
	if len(lines) > v1alpha1.MaxFindings || size > 2<<10 {
		t.Errorf("%d findings of %d bytes", len(lines), size)
	}
	if want := "and 96 more problems of Pods"; lines[1+maxProblems] != want {
		t.Errorf("want %q, got %q", want, lines[1+maxProblems])
	}
}

func TestMergeKeepsOneEntryATarget(t *testing.T) {
	of := func(uids ...string) (out []v1alpha1.FailureEvidence) {
		for _, uid := range uids {
			uid, note, _ := strings.Cut(uid, "=")
			out = append(out, v1alpha1.FailureEvidence{Object: v1alpha1.ObjectReference{UID: uid}, Unread: note})
		}
		return out
	}
	for name, tc := range map[string]struct{ kept, found, want []v1alpha1.FailureEvidence }{
		"nothing was found":               {of("a"), nil, of("a")},
		"a target that failed once more":  {of("a=old", "b"), of("a=new"), of("b", "a=new")},
		"the newest where room is scarce": {of("a", "b", "c", "d"), of("e", "f"), of("b", "c", "d", "e", "f")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Merge(tc.kept, tc.found)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
