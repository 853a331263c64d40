// SPDX-License-Identifier: Apache-2.0

package match

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// Waiver says which objects a Waiver or ClusterWaiver covers. It is immutable and safe
// for concurrent use.
type Waiver struct {
	// home is the one namespace covered; empty for a ClusterWaiver, which covers any.
	home       string
	kinds      []GroupKind
	names      []*regexp.Regexp
	namespaces []*regexp.Regexp
	// byObject is nil when there is no selector.
	byObject labels.Selector
}

// NewWaiver prepares the match of a waiver. Its error names the field.
func NewWaiver(w v1alpha1.AnyWaiver) (*Waiver, error) {
	match := w.Covered()
	prepared := &Waiver{}
	if _, everywhere := w.(*v1alpha1.ClusterWaiver); !everywhere {
		prepared.home = w.GetNamespace()
		if prepared.home == "" {
			return nil, errors.New(
				"metadata.namespace: a Waiver covers objects of its own namespace: name it, or make a ClusterWaiver")
		}
	}
	if len(match.Kinds) > 0 {
		if err := checkKinds(match.Kinds); err != nil {
			return nil, err
		}
		for i := range match.Kinds {
			if len(match.Kinds[i].Subresources) > 0 {
				return nil, fmt.Errorf("spec.match.kinds[%d].subresources: a waiver for a kind covers its "+
					"subresources: leave them out", i)
			}
		}
		prepared.kinds = kindsIn(match.Kinds)
	}
	var err error
	if prepared.names, err = nameGlobs("spec.match.names", match.Names); err != nil {
		return nil, err
	}
	if prepared.namespaces, err = globs("spec.match.namespaces", match.Namespaces); err != nil {
		return nil, err
	}
	if prepared.byObject, err = selector("spec.match.objectSelector", match.ObjectSelector); err != nil {
		return nil, err
	}
	return prepared, nil
}

// Covers says that the waiver covers the object that the request judges. At
// admission that is the object as it would be, so that a label taken off ends the
// waiver. Labels that weren't read waive nothing, and neither do those of what is sent to a subresource, which whoever
// sends it chooses.
func (e *Waiver) Covers(r *policy.Request) bool {
	_, sent := policy.SubresourceOf(r)
	return e.coversNamespace(r) &&
		(len(e.kinds) == 0 || slices.Contains(e.kinds, r.Concerned())) &&
		(len(e.names) == 0 || anyMatches(e.names, nameOf(r))) &&
		(e.byObject == nil || !r.Partial && !sent && e.byObject.Matches(labelsOf(r.Judged())))
}

func (e *Waiver) coversNamespace(r *policy.Request) bool {
	if e.home != "" {
		// Admission says of a Namespace that it lives in itself; it doesn't.
		return !isNamespace(r) && r.Namespace == e.home
	}
	if len(e.namespaces) == 0 {
		return true
	}
	namespace, inNamespace := namespaceOf(r)
	return inNamespace && anyMatches(e.namespaces, namespace)
}

// nameOf is the object's name. A request may lack it while the server is
// generating one, when the object may have it already.
func nameOf(r *policy.Request) string {
	if r.Name != "" {
		return r.Name
	}
	name, _ := metadata(r.Judged())["name"].(string)
	return name
}

// nameGlobs prepares patterns of object names, which may hold more than those of
// namespaces: dots, colons, capitals.
func nameGlobs(field string, patterns []string) ([]*regexp.Regexp, error) {
	wildcards := strings.NewReplacer(`\*`, ".*", `\?`, ".")
	prepared := make([]*regexp.Regexp, 0, len(patterns))
	for _, pattern := range patterns {
		if pattern == "" || strings.ContainsFunc(pattern, neverInNames) {
			return nil, fmt.Errorf(
				"%s: %q can't match a name: leave out \"/\", \"%%\", brackets and spaces; the wildcards are * and ?",
				field, pattern)
		}
		compiled, err := regexp.Compile("^" + wildcards.Replace(regexp.QuoteMeta(pattern)) + "$")
		if err != nil {
			return nil, fmt.Errorf("%s: %q: %w", field, pattern, err)
		}
		prepared = append(prepared, compiled)
	}
	return prepared, nil
}

// neverInNames are the characters that no object's name holds (path segment
// names of Kubernetes), and those that other glob dialects know as wildcards.
func neverInNames(r rune) bool {
	return strings.ContainsRune(`/%[]{}\`, r) || unicode.IsSpace(r) || unicode.IsControl(r)
}
