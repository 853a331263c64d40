// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// maxRead is how many Warning events of one object are read, and maxEvents how many of all are told.
	maxRead, maxEvents = 50, 4
	// skew is how far the clocks of nodes may be behind.
	skew = time.Minute
)

// own is what Evenkeel reports its events as, which tell what it did, and not why.
const own = "evenkeel"

// eventsOf lists the Warning events of objects. Those of cluster-scoped ones lie in the namespace default.
func eventsOf(ctx context.Context, reader client.Reader, namespace string, uids []string) ([]eventsv1.Event, error) {
	var all []eventsv1.Event
	for _, uid := range uids {
		list := &eventsv1.EventList{}
		err := reader.List(ctx, list, client.InNamespace(cmp.Or(namespace, metav1.NamespaceDefault)),
			client.Limit(maxRead), client.MatchingFields{"regarding.uid": uid, "type": corev1.EventTypeWarning})
		if err != nil {
			return all, err
		}
		all = append(all, list.Items...)
	}
	return all, nil
}

// tellEvents says what Warning events there were since a time, the last first. One text is told once.
func tellEvents(events []eventsv1.Event, since time.Time) []string {
	events = slices.DeleteFunc(slices.Clone(events), func(e eventsv1.Event) bool {
		return e.ReportingController == own || e.Type != corev1.EventTypeWarning || lastSeen(e).Before(since.Add(-skew))
	})
	slices.SortStableFunc(events, func(a, b eventsv1.Event) int {
		return cmp.Or(lastSeen(b).Compare(lastSeen(a)), strings.Compare(a.Name, b.Name))
	})
	var lines []string
	known := map[string]bool{}
	for _, e := range events {
		text := e.Reason + ": " + note(e)
		if known[text] || len(lines) == maxEvents {
			continue
		}
		known[text] = true
		lines = append(lines, finding("Warning of %s %s: %s", e.Regarding.Kind,
			prose.Shorten(e.Regarding.Name, maxName), strings.TrimSuffix(text, ": ")))
	}
	return lines
}

// lastSeen is when an event happened last.
func lastSeen(e eventsv1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.DeprecatedLastTimestamp.IsZero():
		return e.DeprecatedLastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// answered begins what the kubelet says of a probe that was answered with a failure.
const answered = "HTTP probe failed with statuscode:"

// note is an event's text without what a program may have said, or was called with: probes and hooks pass their
// output on, and a container that can't be started its command.
func note(e eventsv1.Event) string {
	switch e.Reason {
	case "FailedPostStartHook", "FailedPreStopHook":
		return ""
	case "Failed":
		if before, _, found := strings.Cut(e.Note, "exec: "); found {
			return before + "exec: …"
		}
	case "Unhealthy", "ProbeWarning":
		return ofProbe(e.Note)
	}
	return e.Note
}

// ofProbe keeps of a probe's failure the status code, or that nobody answered.
func ofProbe(text string) string {
	which, output, _ := strings.Cut(text, ":")
	code := strings.Fields(strings.TrimPrefix(strings.TrimSpace(output), answered))
	switch {
	case strings.HasPrefix(strings.TrimSpace(output), answered) && len(code) > 0:
		return which + ": status code " + code[0]
	case strings.Contains(output, "connection refused"):
		return which + ": connection refused"
	case strings.Contains(output, "context deadline exceeded"):
		return which + ": no answer in time"
	}
	return which
}
