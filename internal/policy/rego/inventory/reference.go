// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Reference is a kind that rules may look up, with all that is kept of its objects. Policies
// whose references are equal share what is kept.
type Reference struct {
	Group, Kind string
	// Version is empty for the one that the cluster prefers; so it is only where the rules name none.
	Version string
	// Selector chooses objects by their labels.
	Selector labels.Selector
	// Fields are what is kept of each object besides its identity; none means all.
	Fields []string
}

// ReferenceOf is the reference that a policy makes. The fields are those that its rules may read,
// where it names none itself; nil means all.
func ReferenceOf(k *v1alpha1.ReferencedKind, fields []string) (Reference, error) {
	selector := labels.Everything()
	if k.Selector != nil {
		var err error
		if selector, err = k.Selector.Selector(); err != nil {
			return Reference{}, fmt.Errorf("the selector of the reference to %s: %w", k.Kind, err)
		}
	}
	if len(k.Fields) > 0 {
		fields = k.Fields
	}
	fields = slices.Clone(fields)
	slices.Sort(fields)
	return Reference{Group: k.APIGroup, Version: k.Version, Kind: k.Kind, Selector: selector,
		Fields: slices.Compact(fields)}, nil
}

// Key tells references apart that keep different things.
func (r *Reference) Key() string {
	return strings.Join([]string{r.Group, r.Version, r.Kind, r.Selector.String(), strings.Join(r.Fields, ",")}, "\x00")
}

// Selects says that objects with such labels are kept.
func (r *Reference) Selects(of map[string]string) bool { return r.Selector.Matches(labels.Set(of)) }

// String is the kind as messages name it.
func (r *Reference) String() string {
	name := r.Kind
	if r.Version != "" || r.Group != "" {
		name += "." + strings.Trim(r.Version+"."+r.Group, ".")
	}
	return name
}
