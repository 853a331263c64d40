// SPDX-License-Identifier: Apache-2.0

package check

import (
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Request asks for a verdict on the subject as it is.
func (s *Subject) Request(now time.Time) *policy.Request { return s.requestOf(s.Object, now) }

// requestOf asks for a verdict on the subject as object.
func (s *Subject) requestOf(object map[string]any, now time.Time) *policy.Request {
	r := policy.NewAudit(object, s.Namespace, now)
	r.Beside, r.OwnerAbsent = s.Beside, s.OwnerAbsent
	return r
}

// owners are objects by what owner references say of them, and their namespace.
type owners map[ownerName]map[string]any

type ownerName struct {
	kind            policy.GroupKind
	namespace, name string
}

// ownersIn are the objects of subjects that have a name.
func ownersIn(subjects []Subject) owners {
	all := owners{}
	for i := range subjects {
		object := subjects[i].Object
		if name := text(object, "metadata", "name"); name != "" {
			all[ownerName{kindOf(object), text(object, "metadata", "namespace"), name}] = object
		}
	}
	return all
}

// lacksOwner says that no other of the objects can answer for the object: the controller that it names isn't among
// them, or is one that names the object in turn.
func (o owners) lacksOwner(object map[string]any) bool {
	seen := map[ownerName]bool{}
	for owner := o.ownerOf(object); owner != (ownerName{}); owner = o.ownerOf(o[owner]) {
		if seen[owner] {
			return true
		}
		seen[owner] = true
	}
	return len(seen) == 0
}

// ownerOf is the controller of the object that is among the objects; empty where none is.
func (o owners) ownerOf(object map[string]any) ownerName {
	owner, _ := match.ControllerOf(object)
	name := ownerName{owner.GroupKind(), text(object, "metadata", "namespace"), owner.Name}
	if o[name] == nil {
		return ownerName{}
	}
	return name
}
