// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/prose"
)

// shownEvents is how many events of an object are told.
const shownEvents = 5

// recorder is what Evenkeel reports events on objects as.
const recorder = "evenkeel"

// Event is what Evenkeel has recorded at the object for whoever may read its namespace alone. Whoever may write
// events there could have written it too.
type Event struct {
	At      time.Time `json:"at"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
}

// maxEvents is how many events of an object are read: whoever may write some may write many.
const maxEvents = 200

// eventSkew is how far ahead the clock of whoever recorded an event may be. Of times further to come none is told:
// they would stand before all others.
const eventSkew = 5 * time.Minute

// events finds what was recorded at the object up to now, the latest first.
func (e *Explanation) events(ctx context.Context, reader client.Reader, now time.Time) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("v1")
	list.SetKind("EventList")
	err := reader.List(ctx, list, client.InNamespace(cmp.Or(e.Object.Namespace, "default")),
		client.MatchingFields{"involvedObject.uid": e.Object.UID}, client.Limit(maxEvents))
	if err != nil {
		return e.mayBeMissing("events", err)
	}
	for i := range list.Items {
		event := &corev1.Event{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, event); err != nil ||
			event.ReportingController != recorder {
			continue
		}
		at := event.EventTime.Time
		if event.Series != nil {
			at = event.Series.LastObservedTime.Time
		}
		if at.After(now.Add(eventSkew)) {
			continue
		}
		e.Events = append(e.Events, Event{At: at, Reason: prose.OneLine(event.Reason),
			Message: prose.OneLine(event.Message)})
	}
	slices.SortStableFunc(e.Events, func(a, b Event) int { return b.At.Compare(a.At) })
	e.Events = e.Events[:min(len(e.Events), shownEvents)]
	return nil
}

func (e *Explanation) drawEvents(d *drawing) {
	if len(e.Events) == 0 {
		return
	}
	d.section("Events, which anyone who may write events here could have written too")
	for _, event := range e.Events {
		d.add("  %s  %s: %s", event.At.UTC().Format(time.RFC3339), event.Reason, event.Message)
	}
}
