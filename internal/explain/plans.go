// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
)

// plans finds the plans that hold the object, in the slices that still stand.
func (e *Explanation) plans(ctx context.Context, reader client.Reader) error {
	e.Plans = []Touch{}
	plans := &v1alpha1.RemediationList{}
	if err := reader.List(ctx, plans); err != nil {
		e.PlansUnknown = true
		return e.mayBeMissing("remediations", err)
	}
	parts := &v1alpha1.RemediationSliceList{}
	if err := reader.List(ctx, parts); err != nil {
		e.PlansUnknown = true
		return e.mayBeMissing("remediation slices", err)
	}
	slices.SortStableFunc(plans.Items, func(a, b v1alpha1.Remediation) int {
		return b.CreationTimestamp.Compare(a.CreationTimestamp.Time)
	})
	for i := range plans.Items {
		for _, part := range parts.Items {
			if part.Remediation == plans.Items[i].Name {
				e.within(&plans.Items[i], &part)
			}
		}
	}
	return nil
}

// within finds the object among the targets of a slice.
func (e *Explanation) within(rem *v1alpha1.Remediation, part *v1alpha1.RemediationSlice) {
	for i, target := range part.Targets {
		if !samePlace(target.Object, e.Object) {
			continue
		}
		rec := v1alpha1.TargetRecord{State: v1alpha1.TargetPending}
		if i < len(part.Records) {
			rec = part.Records[i]
		}
		t := Touch{Plan: rem.Name, Policy: rem.Spec.Plan.Policy.Name,
			Phase: rem.Phase(), Wave: target.Wave, Owner: rem.Spec.Plan.Policy.Owner,
			Runbook: rem.Spec.Plan.Policy.RunbookURL,
			State:   cmp.Or(rec.State, v1alpha1.TargetPending), Reason: cmp.Or(rec.Reason, target.SkipReason),
			Message: prose.OneLine(rec.Message), Proposal: preview.TextOf(part, rec.Proposal),
			Limits:     rem.Spec.Plan.Limits,
			SameObject: target.Object.UID == e.Object.UID, waits: rem.Status.Message,
			blocks: rem.Status.BlocksReplanning()}
		if rec.Wave != nil {
			t.Wave = *rec.Wave
		}
		for _, w := range rec.Preceding {
			t.add(w)
		}
		if rec.Write != nil {
			t.add(*rec.Write)
			t.At, t.UndoneAt = at(rec.Write.AppliedTime), at(rec.Write.RevertedTime)
		}
		for _, line := range rem.Status.EvidenceOf(target.Object.UID).Lines() {
			t.Evidence = append(t.Evidence, prose.OneLine(line))
		}
		e.Plans = append(e.Plans, t)
	}
}

// because says of each plan why its policy changes objects, in the policy's own words.
func (e *Explanation) because(snapshot *catalog.Snapshot) {
	if snapshot == nil {
		return
	}
	for i := range e.Plans {
		if p := snapshot.Definition(e.Plans[i].Policy); p != nil {
			e.Plans[i].Title = strings.TrimRight(prose.OneLine(p.Spec.Title), ". ")
			e.Plans[i].Why = prose.ShortenCharacters(prose.OneLine(p.Spec.Description), maxFix)
		}
	}
}

// samePlace compares the places of two objects: versions of a kind are the same
// kind, and an object made again is known by its name.
func samePlace(a, b v1alpha1.ObjectReference) bool {
	kindOf := func(o v1alpha1.ObjectReference) schema.GroupKind {
		return schema.FromAPIVersionAndKind(o.APIVersion, o.Kind).GroupKind()
	}
	return a.Name == b.Name && a.Namespace == b.Namespace && kindOf(a) == kindOf(b)
}

// add tells one write.
func (t *Touch) add(w v1alpha1.WriteRecord) {
	if len(w.Fields) == 0 && w.Action != "" {
		what := string(w.Action)
		if w.Object != nil {
			what += " " + w.Object.Kind + " " + w.Object.Name
		}
		t.Changes = append(t.Changes, Change{What: what})
	}
	for _, f := range w.Fields {
		t.Changes = append(t.Changes, Change{What: f.Path, Before: text(f.Before), After: text(f.After)})
	}
}

func text(value *apiextensionsv1.JSON) string {
	if value == nil {
		return ""
	}
	return string(value.Raw)
}

func at(t *metav1.MicroTime) *time.Time {
	if t == nil {
		return nil
	}
	out := t.UTC()
	return &out
}
