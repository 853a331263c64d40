// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"encoding/json"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/internal/webhook/names"
)

// annotationApplied holds, on each webhook configuration, what its entries were
// narrowed to when they were written last, without what others have added.
// On: ValidatingWebhookConfiguration, MutatingWebhookConfiguration. By: the manager.
const annotationApplied = "evenkeel.dev/applied-selectors"

// hook is what narrows a webhook of either configuration, to read and to change.
type hook struct {
	name                string
	namespaces, objects **metav1.LabelSelector
	conditions          *[]admissionregistrationv1.MatchCondition
}

func validatingHooks(list []admissionregistrationv1.ValidatingWebhook) []hook {
	out := make([]hook, 0, len(list))
	for i := range list {
		w := &list[i]
		out = append(out, hook{w.Name, &w.NamespaceSelector, &w.ObjectSelector, &w.MatchConditions})
	}
	return out
}

func mutatingHooks(list []admissionregistrationv1.MutatingWebhook) []hook {
	out := make([]hook, 0, len(list))
	for i := range list {
		w := &list[i]
		out = append(out, hook{w.Name, &w.NamespaceSelector, &w.ObjectSelector, &w.MatchConditions})
	}
	return out
}

func (h hook) entry() entry {
	return entry{Name: h.name, Namespaces: *h.namespaces, Objects: *h.objects, Conditions: *h.conditions,
		Own: h.name != names.WebhookFail && h.name != names.WebhookIgnore}
}

// narrowed is an entry to which others have added something.
type narrowed struct {
	webhook string
	added   additions
}

func (n narrowed) String() string { return n.webhook + ": " + n.added.String() }

// adopt keeps in the entries that are wanted what others have added to those that
// are there, as far as it only narrows them.
func adopt(now, wanted []hook, applied []entry) []narrowed {
	var out []narrowed
	for _, w := range wanted {
		for _, n := range now {
			if n.name != w.name {
				continue
			}
			is, want := n.entry(), w.entry()
			added := addedTo(&is, lastApplied(applied, &is), &want)
			if added.None() {
				continue
			}
			*w.namespaces = joined(want.Namespaces, is.Namespaces, added.Namespaces)
			*w.objects = joined(want.Objects, is.Objects, added.Objects)
			*w.conditions = append(want.Conditions, added.Conditions...)
			out = append(out, narrowed{webhook: w.name, added: added})
		}
	}
	return out
}

// lastApplied is what an entry was narrowed to when it was written last. Where that
// isn't known, all of it is taken for ours.
func lastApplied(applied []entry, is *entry) *entry {
	for i := range applied {
		if applied[i].Name == is.Name {
			return &applied[i]
		}
	}
	return is
}

// appliedOf reads the annotation; nothing when it isn't there or can't be read.
func appliedOf(annotations map[string]string) []entry {
	var out []entry
	if err := json.Unmarshal([]byte(annotations[annotationApplied]), &out); err != nil {
		return nil
	}
	return out
}

// appliedText is the annotation for the entries that are wanted.
func appliedText(wanted []hook) (string, error) {
	entries := make([]entry, 0, len(wanted))
	for _, w := range wanted {
		entries = append(entries, w.entry())
	}
	text, err := json.Marshal(entries)
	if err != nil {
		return "", fmt.Errorf("encoding the selectors of the webhook configuration: %w", err)
	}
	return string(text), nil
}

// Narrowings tells what others have added to the entries of the two configurations
// so that some requests aren't judged, as the annotations have it.
func Narrowings(validating *admissionregistrationv1.ValidatingWebhookConfiguration,
	mutating *admissionregistrationv1.MutatingWebhookConfiguration) []string {
	var out []string
	look := func(hooks []hook, annotations map[string]string) {
		applied := appliedOf(annotations)
		for _, h := range hooks {
			is := h.entry()
			before := lastApplied(applied, &is)
			if added := addedTo(&is, before, before); !added.None() {
				out = append(out, narrowed{webhook: h.name, added: added}.String())
			}
		}
	}
	look(validatingHooks(validating.Webhooks), validating.Annotations)
	look(mutatingHooks(mutating.Webhooks), mutating.Annotations)
	return out
}
