// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// Inventory keeps the objects that policies refer to.
type Inventory interface {
	// Tables are those of some references. The error, a policy.UnknownReferenceError, says which of them isn't known,
	// and why: what isn't known must not pass for what isn't there.
	Tables(references []inventory.Reference) (*inventory.Joined, error)
	// Shows says with an error that what is kept of a reference may be older than a resourceVersion of one of
	// its kind's objects.
	Shows(reference inventory.Reference, resourceVersion string) error
	// Unknown are those of some references whose objects aren't known, with why.
	Unknown(references []inventory.Reference) []inventory.Unknown
}

// noInventory keeps nothing.
type noInventory struct{}

var errNoInventory = errors.New("match.references can't be looked up here: no other objects are known")

// Tables are never known.
func (noInventory) Tables([]inventory.Reference) (*inventory.Joined, error) {
	return nil, errNoInventory
}

// Shows says that nothing is known.
func (noInventory) Shows(inventory.Reference, string) error { return errNoInventory }

// Unknown are none: nobody is told who looks nothing up in a cluster.
func (noInventory) Unknown([]inventory.Reference) []inventory.Unknown { return nil }

// withInventory is the input with what the policy's rules may look up.
func (s *Snapshot) withInventory(input *rego.Input, compiled *rego.Compiled, r *policy.Request) (*rego.Input, error) {
	references := compiled.References()
	if len(references) == 0 {
		return input, nil
	}
	tables, err := s.inventory.Tables(references)
	if err != nil {
		return nil, err
	}
	if len(r.Beside)+len(r.Without) == 0 {
		return input.WithInventory(tables.View()), nil
	}
	view, err := tables.With(r.Beside, r.Without)
	if err != nil {
		return nil, err
	}
	return input.WithInventory(view), nil
}

// LooksUp says whether the rules of a policy look other objects up.
func (s *Snapshot) LooksUp(name string) bool { return len(s.ReferencesOf(name)) > 0 }

// Referring are the policies whose rules look objects of some kinds up, by name.
func (s *Snapshot) Referring(kinds ...schema.GroupKind) []string {
	var out []string
	for name := range s.entries {
		if slices.ContainsFunc(s.ReferencesOf(name), func(r inventory.Reference) bool {
			return slices.ContainsFunc(kinds, func(kind schema.GroupKind) bool { return refersTo(&r, kind) })
		}) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// Shows says with an error that what a policy looks up may be older than some objects as they were
// read: a verdict now could miss what has been written since.
func (s *Snapshot) Shows(name string, objects ...*unstructured.Unstructured) error {
	for _, r := range s.ReferencesOf(name) {
		for _, object := range objects {
			if !refersTo(&r, object.GroupVersionKind().GroupKind()) {
				continue
			}
			if err := s.shows(r, object); err != nil {
				return fmt.Errorf("match.references: %s: %w", r.String(), err)
			}
		}
	}
	return nil
}

// shows asks one reference. Of an object that its selector leaves out, its watch tells nothing but that.
func (s *Snapshot) shows(r inventory.Reference, object *unstructured.Unstructured) error {
	if r.Selects(object.GetLabels()) {
		return s.inventory.Shows(r, object.GetResourceVersion())
	}
	tables, err := s.inventory.Tables([]inventory.Reference{r})
	if err != nil {
		return err
	}
	if tables.Holds(object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName()) {
		return errStillChosen
	}
	return nil
}

var errStillChosen = errors.New("its watch hasn't shown yet that the selector leaves an object out that was changed")

// Selects says whether all references of a policy to an object's kind select the object, so that their watches tell of
// each of its changes.
func (s *Snapshot) Selects(name string, object *unstructured.Unstructured) bool {
	return !slices.ContainsFunc(s.ReferencesOf(name), func(r inventory.Reference) bool {
		return refersTo(&r, object.GroupVersionKind().GroupKind()) && !r.Selects(object.GetLabels())
	})
}

func refersTo(r *inventory.Reference, kind schema.GroupKind) bool {
	return r.Group == kind.Group && r.Kind == kind.Kind
}

// Holds says whether the rules of a policy find an object by its kind, namespace and name: whatever has been deleted
// is found until the watch has shown that. The error is that it isn't known.
func (s *Snapshot) Holds(name string, object v1alpha1.ObjectReference) (bool, error) {
	kind := schema.FromAPIVersionAndKind(object.APIVersion, object.Kind).GroupKind()
	var references []inventory.Reference
	for _, r := range s.ReferencesOf(name) {
		if refersTo(&r, kind) {
			references = append(references, r)
		}
	}
	if len(references) == 0 {
		return false, nil
	}
	tables, err := s.inventory.Tables(references)
	if err != nil {
		return false, err
	}
	return tables.Holds(kind, object.Namespace, object.Name), nil
}

// Knows says with an error which of all that a policy looks up isn't known, and why: while it isn't, the policy judges
// no object.
func (s *Snapshot) Knows(name string) error {
	references := s.ReferencesOf(name)
	if len(references) == 0 {
		return nil
	}
	_, err := s.inventory.Tables(references)
	return err
}

// Seeing is the same catalog where the objects that policies refer to are other ones: those of files, say.
func (s *Snapshot) Seeing(others Inventory) *Snapshot {
	own := *s
	own.inventory = others
	return &own
}

// References are what all policies in force, and those that wait for it, refer to, each once by its key.
func (s *Snapshot) References() map[string]inventory.Reference {
	out := map[string]inventory.Reference{}
	for name, e := range s.entries {
		for _, r := range s.ReferencesOf(name) {
			out[r.Key()] = r
		}
		if e.ahead != nil {
			for _, r := range e.ahead.compiled.References() {
				out[r.Key()] = r
			}
		}
	}
	return out
}

// ReferencesOf are those of one policy; none when it is unknown or has never compiled. They are shared:
// read them only.
func (s *Snapshot) ReferencesOf(name string) []inventory.Reference {
	if e, ok := s.entries[name]; ok && e.compiled != nil {
		return e.compiled.References()
	}
	return nil
}
