// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/prose"
)

// The bounds of the check opt-outs: lists hold metadata only, and what lies beyond a bound is named as not looked at.
const (
	optOutPage     = 500
	maxOptOutsKind = 5000 // objects of one kind
	maxOptOutsTold = 10   // objects named
	optOutTime     = 10 * time.Second
)

// optOuts names namespaces, and objects of the kinds that policies remediate, that seem meant to opt out of
// remediation and don't, or until a time that can't be read: admission warned of it once, and maybe nobody saw it.
func optOuts(ctx context.Context, in *Installation) []Finding {
	list, found := in.policyList(ctx)
	if found != nil {
		return found
	}
	within, cancel := context.WithTimeout(ctx, optOutTime)
	defer cancel()
	l := optOutLook{in: in, beyond: in.keyWarnings(ctx)}
	for _, kind := range remediatedKinds(list) {
		l.lookAt(within, kind)
	}
	return l.findings(within)
}

// remediatedKinds are Namespace, whose opt-out counts for all in it, and the kinds that policies with a
// remediation judge, each once.
func remediatedKinds(list []v1alpha1.ClusterRegoPolicy) []schema.GroupKind {
	kinds := []schema.GroupKind{{Kind: "Namespace"}}
	for i := range list {
		if list[i].Spec.Remediation.Mode == v1alpha1.RemediationDisabled || v1alpha1.Malformed(&list[i]) != "" {
			continue
		}
		for _, k := range match.StandingKinds(&list[i]) {
			if kind := (schema.GroupKind{Group: k.Group, Kind: k.Kind}); !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// optOutLook is what looking for opt-outs without effect has found so far.
type optOutLook struct {
	in   *Installation
	seen int
	// doubtful are the objects whose opt-out has no effect, or no end that can be read.
	doubtful []*metav1.PartialObjectMetadata
	beyond   []Finding
	late     []string
}

// lookAt goes through the objects of one kind, page by page. A kind that isn't served has none.
func (l *optOutLook) lookAt(ctx context.Context, kind schema.GroupKind) {
	mapping, err := l.in.Mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return
	}
	if err != nil {
		l.unread(ctx, kind, err)
		return
	}
	page := &metav1.PartialObjectMetadataList{}
	for looked := 0; ; {
		page.SetGroupVersionKind(mapping.GroupVersionKind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := l.in.Client.List(ctx, page, client.Limit(optOutPage), client.Continue(page.Continue)); err != nil {
			l.unread(ctx, kind, err)
			return
		}
		for i := range page.Items {
			page.Items[i].SetGroupVersionKind(mapping.GroupVersionKind)
			l.judge(&page.Items[i])
		}
		looked += len(page.Items)
		if page.Continue == "" {
			return
		}
		if looked >= maxOptOutsKind {
			l.beyond = append(l.beyond, warned("check one of them: evenkeel explain KIND NAME -n NAMESPACE",
				"of kind %s only the first %d objects were checked for opt-outs without effect", kind, looked))
			return
		}
	}
}

// unread tells of a kind that couldn't be looked at, or wasn't any more when the check's time was over.
func (l *optOutLook) unread(ctx context.Context, kind schema.GroupKind, err error) {
	if ctx.Err() != nil {
		l.late = append(l.late, kind.String())
		return
	}
	l.beyond = append(l.beyond, skipped("opt-outs of kind "+kind.String(), err, "admission warns the user who writes "+
		"one without effect"))
}

func (l *optOutLook) judge(m *metav1.PartialObjectMetadata) {
	l.seen++
	if _, err := v1alpha1.OptOutEnd(m); err != nil || v1alpha1.IneffectiveOptOut(m) != "" ||
		v1alpha1.MisspelledOptOut(m) != "" {
		l.doubtful = append(l.doubtful, m.DeepCopy())
	}
}

func tell(m *metav1.PartialObjectMetadata) Finding {
	place := strings.TrimPrefix(client.ObjectKeyFromObject(m).String(), "/")
	ref := v1alpha1.ObjectReference{APIVersion: m.APIVersion, Kind: m.Kind, Namespace: m.Namespace, Name: m.Name}
	if _, err := v1alpha1.OptOutEnd(m); err != nil {
		return warned("correct the time, or remove that annotation", "%s %s opts out without an end: %v", m.Kind, place,
			err)
	}
	if why := v1alpha1.IneffectiveOptOut(m); why != "" {
		return warned(ref.OptOutCommand()+" --overwrite, or take it away", "%s %s doesn't opt out: %s", m.Kind, place,
			why)
	}
	return warned("write the annotation that was meant, and take that key away", "%s %s: %s", m.Kind, place,
		v1alpha1.MisspelledOptOut(m))
}

// copied says whether an object has its opt-out from its controller, as a ReplicaSet has the annotations of its
// Deployment: there it is to be corrected. seen are the doubtful objects by UID; of others the cluster is asked.
func (l *optOutLook) copied(ctx context.Context, m *metav1.PartialObjectMetadata,
	seen map[types.UID]*metav1.PartialObjectMetadata) bool {
	ref := metav1.GetControllerOf(m)
	if ref == nil {
		return false
	}
	owner, is := seen[ref.UID]
	if !is {
		owner = &metav1.PartialObjectMetadata{}
		owner.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
		if l.in.Client.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: ref.Name}, owner) != nil ||
			owner.UID != ref.UID {
			return false
		}
		seen[ref.UID] = owner
	}
	for _, name := range []string{v1alpha1.AnnotationRemediation, v1alpha1.AnnotationPausedUntil} {
		if value, set := m.Annotations[name]; set && value != owner.Annotations[name] {
			return false
		}
		if value, set := m.Labels[name]; set && value != owner.Labels[name] {
			return false
		}
	}
	return true
}

func (l *optOutLook) findings(ctx context.Context) []Finding {
	seen := map[types.UID]*metav1.PartialObjectMetadata{}
	for _, m := range l.doubtful {
		if m.UID != "" {
			seen[m.UID] = m
		}
	}
	var found []Finding
	more := 0
	for _, m := range l.doubtful {
		ref := metav1.GetControllerOf(m)
		// Beyond what is told, no further controller is asked for.
		known := ref != nil && seen[ref.UID] != nil
		switch {
		case (known || len(found) < maxOptOutsTold) && l.copied(ctx, m, seen):
		case len(found) < maxOptOutsTold:
			found = append(found, tell(m))
		default:
			more++
		}
	}
	if more > 0 {
		found = append(found, warned("", "%s without effect, or without an end that can be read",
			prose.Count(more, "more opt-out")))
	}
	found = append(found, l.beyond...)
	if len(l.late) > 0 {
		found = append(found, warned("check one object: evenkeel explain KIND NAME -n NAMESPACE",
			"within %s these kinds weren't checked in full for opt-outs without effect: %s", optOutTime,
			strings.Join(l.late, ", ")))
	}
	return l.orAllHaveEffect(found)
}

// orAllHaveEffect is the findings, with one that all is well if nothing is wrong among what was looked at.
func (l *optOutLook) orAllHaveEffect(found []Finding) []Finding {
	if Worst(found) != OK {
		return found
	}
	return append(found, fine("each opt-out among %s has effect, of namespaces and of kinds that are remediated",
		prose.Count(l.seen, "object")))
}
