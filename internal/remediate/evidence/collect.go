// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
)

// within is the longest that collecting may hold up a rollback, of all targets together.
const within = 5 * time.Second

// maxUnread bounds, in bytes, what is told of that which couldn't be read.
const maxUnread = 240

// Subject is a target whose verification failed.
type Subject struct {
	Target v1alpha1.ObjectReference
	// Of is whose Pods are looked at: the target, or what makes another Pod for an evicted one.
	Of v1alpha1.ObjectReference
	// Since is when the write was decided; what happened before says nothing of it.
	Since time.Time
}

// SubjectOf is whose Pods and events tell why a target failed after a write.
func SubjectOf(target v1alpha1.ObjectReference, write *v1alpha1.WriteRecord) Subject {
	s := Subject{Target: target, Of: target}
	if write == nil {
		return s
	}
	if write.Controller != nil {
		s.Of = *write.Controller
	}
	if write.IntentTime != nil {
		s.Since = write.IntentTime.Time
	}
	return s
}

// Collect looks at the first few subjects. It gives no entry for an object that has no Pods and no events,
// and no error: what couldn't be read, or not in time, is told in the entry.
func Collect(ctx context.Context, reader client.Reader, subjects []Subject,
	now time.Time) []v1alpha1.FailureEvidence {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	subjects = subjects[:min(len(subjects), v1alpha1.MaxEvidence)]
	all := make([]v1alpha1.FailureEvidence, len(subjects))
	var looks sync.WaitGroup
	for i, s := range subjects {
		looks.Go(func() { all[i] = collect(ctx, reader, s, now) })
	}
	looks.Wait()
	var kept []v1alpha1.FailureEvidence
	for _, e := range all {
		if len(e.Findings) > 0 || e.Unread != "" {
			kept = append(kept, e)
		}
	}
	return kept
}

// Merge puts new evidence in place of what is kept of the same targets. Where there is no room for all, the
// newest stays.
func Merge(kept, found []v1alpha1.FailureEvidence) []v1alpha1.FailureEvidence {
	var out []v1alpha1.FailureEvidence
	for _, e := range kept {
		if (&v1alpha1.RemediationStatus{Evidence: found}).EvidenceOf(e.Object.UID) == nil {
			out = append(out, e)
		}
	}
	out = append(out, found...)
	return out[max(len(out)-v1alpha1.MaxEvidence, 0):]
}

// collect looks at one subject.
func collect(ctx context.Context, reader client.Reader, s Subject, now time.Time) v1alpha1.FailureEvidence {
	e := v1alpha1.FailureEvidence{Object: s.Target, CollectedTime: metav1.NewMicroTime(now)}
	var unread []string
	failed := func(what string, err error) {
		if ctx.Err() != nil {
			unread = append(unread, fmt.Sprintf("%s: no answer within %s", what, within))
		} else {
			unread = append(unread, fmt.Sprintf("%s: %v", what, err))
		}
	}
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(schema.FromAPIVersionAndKind(s.Of.APIVersion, s.Of.Kind))
	err := reader.Get(ctx, client.ObjectKey{Namespace: s.Of.Namespace, Name: s.Of.Name}, obj)
	if err != nil && kube.Classify(err) != kube.Gone {
		failed("the object", err)
	}
	uids := []string{s.Of.UID}
	if err == nil {
		found, err := podsOf(ctx, reader, obj)
		if err != nil {
			failed("its Pods", err)
		} else {
			e.Findings = found.tell()
		}
		uids = append(uids, found.about()...)
	}
	events, err := eventsOf(ctx, reader, s.Of.Namespace, uids)
	if err != nil {
		failed("Warning events", err)
	}
	e.Findings = append(e.Findings, tellEvents(events, s.Since)...)
	e.Unread = prose.Shorten(prose.OneLine(strings.Join(unread, "; ")), maxUnread)
	return e
}

// finding is a line that fits.
func finding(format string, args ...any) string {
	return prose.Shorten(prose.OneLine(fmt.Sprintf(format, args...)), maxFinding)
}

// isPod says whether an object is a Pod itself.
func isPod(obj *unstructured.Unstructured) bool {
	return obj.GroupVersionKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Pod").GroupKind()
}
