// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

func sources(ctx context.Context, in *Installation) []Finding {
	list := &v1alpha1.PolicySourceList{}
	if err := in.Client.List(ctx, list); err != nil {
		return []Finding{unread("policy sources", err)}
	}
	var found []Finding
	for _, s := range list.Items {
		ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		switch {
		case s.Spec.Suspend:
			found = append(found, warned("", "source %s/%s is suspended: its policies stay as they are", s.Namespace,
				s.Name))
		case ready == nil:
			found = append(found, warned("if it stays, see the check leader", "source %s/%s hasn't been read yet",
				s.Namespace, s.Name))
		case ready.Status != metav1.ConditionTrue:
			found = append(found, failed("kubectl -n "+s.Namespace+" describe policysource "+s.Name,
				"source %s/%s: %s: %s", s.Namespace, s.Name, ready.Reason, ready.Message))
		case s.Overdue(in.Clock.Now()) > 0:
			found = append(found, failed("see the checks manager and leader",
				"source %s/%s was to be asked again %s ago, and hasn't been", s.Namespace, s.Name,
				duration.HumanDuration(s.Overdue(in.Clock.Now()))))
		case s.Late(in.Clock.Now()) > lateSource:
			found = append(found, warned("look again in a moment; if it stays, see the checks manager and leader",
				"source %s/%s is late: it was to be asked again %s ago, and was read %s", s.Namespace, s.Name,
				duration.HumanDuration(s.Late(in.Clock.Now())), readAgo(&s, in.Clock.Now())))
		}
	}
	return in.reported(ctx, found, len(list.Items), "%s read%s", prose.Are(len(list.Items), "source"),
		oldestRead(list.Items, in.Clock.Now()))
}

// lateSource is how late a repository may be asked again before a look says so: a sync that is under way takes a
// moment.
const lateSource = 15 * time.Second

func readAgo(s *v1alpha1.PolicySource, now time.Time) string {
	if s.Status.LastFetchedTime == nil {
		return "never"
	}
	return duration.HumanDuration(now.Sub(s.Status.LastFetchedTime.Time)) + " ago"
}

// oldestRead says of the source whose repository has answered least lately how long ago that was.
func oldestRead(list []v1alpha1.PolicySource, now time.Time) string {
	var oldest *v1alpha1.PolicySource
	for i := range list {
		at := list[i].Status.LastFetchedTime
		if at != nil && (oldest == nil || at.Before(oldest.Status.LastFetchedTime)) {
			oldest = &list[i]
		}
	}
	if oldest == nil {
		return ""
	}
	return fmt.Sprintf(", least lately %s/%s, %s", oldest.Namespace, oldest.Name, readAgo(oldest, now))
}
