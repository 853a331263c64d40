// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// staleError says that what was seen is too old to be relied on. How old that is it doesn't say: what changes with time
// alone would have each status that holds it be written again and again.
type staleError struct{ err error }

func (e *staleError) Error() string {
	return fmt.Sprintf("nothing has been heard of its objects for longer than --reference-max-staleness: %v", e.err)
}

func (e *staleError) Unwrap() error { return e.err }

// Unknown are those of some references whose objects aren't known, with why. What it says changes only with the
// reasons; States has a value then.
func (s *Store) Unknown(references []inventory.Reference) (out []inventory.Unknown) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range references {
		u := inventory.Unknown{Reason: v1alpha1.ReasonNotListed, Err: errNotListed, Pending: true}
		if f := s.followers[references[i].Key()]; f != nil {
			u = f.unknown()
		}
		if u.Reference = references[i]; u.Err != nil {
			out = append(out, u)
		}
	}
	return out
}

func (f *follower) unknown() inventory.Unknown {
	_, err := f.table()
	if err == nil {
		return inventory.Unknown{}
	}
	return inventory.Unknown{Reason: reasonOf(err), Err: err, Pending: errors.Is(err, errNotListed) && !f.tried()}
}

func reasonOf(err error) string {
	switch {
	case errors.Is(err, errNotListed):
		return v1alpha1.ReasonNotListed
	case errors.As(err, new(*TooLargeError)):
		return v1alpha1.ReasonTooLarge
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return v1alpha1.ReasonNotServed
	case apierrors.IsForbidden(err):
		return v1alpha1.ReasonForbidden
	case errors.As(err, new(*staleError)):
		return v1alpha1.ReasonStale
	default:
		return v1alpha1.ReasonListFailed
	}
}

// States has a value after it has changed what is known, or why something isn't.
func (s *Store) States() <-chan struct{} { return s.states }

// review tells when why the kind isn't known has changed, or that it is.
func (f *follower) review() {
	reason := f.unknown().Reason
	f.mu.Lock()
	changed := !f.reviewed || f.told != reason
	f.reviewed, f.told = true, reason
	f.mu.Unlock()
	if !changed {
		return
	}
	for _, told := range []chan struct{}{f.store.states, f.store.reviewed} {
		select {
		case told <- struct{}{}:
		default:
		}
	}
}
