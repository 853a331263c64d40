// SPDX-License-Identifier: Apache-2.0

package policy

import "errors"

// UnknownReferenceError says that a policy can't be evaluated now, since the objects of a kind that its rules look up
// aren't known: not listed yet, not heard of for too long, too large, or not served. It passes without a change of the
// policy or of the object that is judged.
type UnknownReferenceError struct {
	// Kind is the kind as messages name it.
	Kind string
	// Err is why its objects aren't known.
	Err error
}

// Error names the kind and why it isn't known.
func (e *UnknownReferenceError) Error() string {
	return "match.references: " + e.Kind + ": " + e.Err.Error()
}

// Unwrap is why its objects aren't known.
func (e *UnknownReferenceError) Unwrap() error { return e.Err }

// LookupUnknown says whether an error is that what rules look up isn't known.
func LookupUnknown(err error) bool {
	unknown := (*UnknownReferenceError)(nil)
	return errors.As(err, &unknown)
}
