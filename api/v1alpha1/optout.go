// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// OptsOut says whether an object, or a namespace for the objects in it, opts out of remediation at a time. An
// opt-out ends when the end that it names has come; an end that can't be read keeps it on.
func OptsOut(obj metav1.Object, now time.Time) bool {
	end, _ := OptOutEnd(obj)
	return asksOut(obj) && (end.IsZero() || now.Before(end))
}

func asksOut(obj metav1.Object) bool {
	return obj.GetAnnotations()[AnnotationRemediation] == RemediationPaused
}

// OptOutEnd is when an opt-out ends, or has ended; zero for none, for one without an end, and, with an error, for
// one whose end can't be read.
func OptOutEnd(obj metav1.Object) (time.Time, error) {
	text, there := obj.GetAnnotations()[AnnotationPausedUntil]
	if !there || !asksOut(obj) {
		return time.Time{}, nil
	}
	end, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("the annotation %s must be a time such as 2027-01-07T08:00:00Z: it is %.64q, "+
			"and the opt-out goes on until that is corrected", AnnotationPausedUntil, text)
	}
	return end.UTC(), nil
}

// OptOutText is the opt-out of an object that opts out, and until when.
func OptOutText(obj metav1.Object) string {
	text := "the annotation " + AnnotationRemediation + ": " + RemediationPaused
	switch end, err := OptOutEnd(obj); {
	case err != nil:
		return text + ", without an end: " + err.Error()
	case !end.IsZero():
		text += ", until " + end.Format(time.RFC3339)
	}
	if slip := MisspelledOptOut(obj); slip != "" {
		text += "; " + slip
	}
	return text
}

// IneffectiveOptOut says why an object doesn't opt out though it seems meant to, and what to do;
// empty when nothing seems meant, or the opt-out has ended as it was meant to.
func IneffectiveOptOut(obj metav1.Object) string {
	right := fmt.Sprintf("the annotation %s must be %q to keep remediation off", AnnotationRemediation,
		RemediationPaused)
	if value, there := obj.GetAnnotations()[AnnotationRemediation]; there && value != RemediationPaused {
		return fmt.Sprintf("%s, and any other value has no effect: it is %.64q", right, value)
	}
	if value, there := obj.GetLabels()[AnnotationRemediation]; there && !asksOut(obj) {
		return fmt.Sprintf("%s, and a label of that name has no effect: its value is %.64q", right, value)
	}
	if value, there := obj.GetAnnotations()[AnnotationPausedUntil]; there && !asksOut(obj) {
		return fmt.Sprintf("%s, and %s has no effect without it: it is %.64q", right, AnnotationPausedUntil, value)
	}
	return ""
}

// MisspelledOptOut says which key of an object is written much like those of an opt-out and is none of Evenkeel's, so
// that it has no effect; empty for none. config/rbac/keys_policy.yaml says it to anyone who writes one.
func MisspelledOptOut(obj metav1.Object) string {
	for _, sort := range []struct {
		noun  string
		keys  map[string]string
		known []string
	}{
		{"annotation", obj.GetAnnotations(), []string{AnnotationRemediation, AnnotationPausedUntil}},
		{"label", obj.GetLabels(), []string{AnnotationRemediation, LabelRemediation}},
	} {
		for _, key := range slices.Sorted(maps.Keys(sort.keys)) {
			// Whatever begins so is taken for an opt-out's.
			near := strings.HasPrefix(key, strings.TrimSuffix(AnnotationRemediation, "ion"))
			if !near || slices.Contains(sort.known, key) {
				continue
			}
			meant := AnnotationRemediation
			if strings.Contains(key, "until") {
				meant = AnnotationPausedUntil
			}
			return fmt.Sprintf("Evenkeel knows no %s %s, so that it has no effect; did you mean the annotation %s?",
				sort.noun, key, meant)
		}
	}
	return ""
}

// DoubtfulOptOut says what anyone who writes an opt-out should know: that it has no effect, that its end can't be
// read, or that it has ended already; empty when there is nothing to say.
func DoubtfulOptOut(obj metav1.Object, now time.Time) string {
	if why := cmp.Or(IneffectiveOptOut(obj), MisspelledOptOut(obj)); why != "" {
		return why
	}
	switch end, err := OptOutEnd(obj); {
	case err != nil:
		return err.Error()
	case !end.IsZero() && !now.Before(end):
		return EndedOptOut(end)
	}
	return ""
}

// EndedOptOut says that an opt-out has ended, and what would keep remediation off again.
func EndedOptOut(end time.Time) string {
	return fmt.Sprintf("the opt-out ended at %s by the annotation %s: set a later time, or remove it to opt out for "+
		"good", end.Format(time.RFC3339), AnnotationPausedUntil)
}

// OptOutCommand is the command by which an object opts out of remediation, to be pasted into a shell: names of
// some kinds may hold anything but a slash and a percent sign.
func (r ObjectReference) OptOutCommand() string {
	kind := schema.FromAPIVersionAndKind(r.APIVersion, r.Kind)
	resource := strings.ToLower(kind.Kind)
	if kind.Group != "" {
		resource += "." + kind.Version + "." + kind.Group
	}
	command := fmt.Sprintf("kubectl annotate %s %s %s=%s", resource, quoted(r.Name), AnnotationRemediation,
		RemediationPaused)
	if r.Namespace != "" {
		command += " -n " + quoted(r.Namespace)
	}
	return command
}

// quoted is a word for a shell, in single quotes unless it needs none.
func quoted(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-._:", r)
	}
	if word != "" && !strings.HasPrefix(word, "-") &&
		strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
