// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// maxMessage bounds the text kept of a violation or an error, in bytes: the
// limit of status.scan.sample[].message.
const maxMessage = 512

// fault is what one policy found wrong with one object.
type fault struct {
	tally *tally
	// message is the first violation's, or the evaluation error's.
	message    string
	violations int32
	fixable    bool
	// failed says that the policy couldn't be evaluated to its end, or its fix
	// couldn't; violations that were found all the same are counted.
	failed bool
	// waived says that the object violates, and that it doesn't count; violations
	// is 0.
	waived bool
}

// compliance is the set of policies that an object complies with. All objects
// with the same set share it.
type compliance struct {
	tallies []*tally
	// record is the one record of all objects that comply with everything.
	record record
}

// record is all that is kept of a judged object. It is immutable. Most objects
// comply with everything that concerns them; those with the same policies share
// one record.
type record struct {
	clean  *compliance
	faults []fault
	// uid and resourceVersion are the object's when it was judged; empty for a
	// compliant one.
	uid, resourceVersion string
}

func newCompliance(tallies []*tally) *compliance {
	c := &compliance{tallies: tallies}
	c.record.clean = c
	return c
}

// faultOf is what the policy found wrong, and whether it concerns the object at all.
func (r *record) faultOf(t *tally) (f fault, concerned bool) {
	if r == nil {
		return fault{}, false
	}
	for i := range r.faults {
		if r.faults[i].tally == t {
			return r.faults[i], true
		}
	}
	for _, c := range r.clean.tallies {
		if c == t {
			return fault{}, true
		}
	}
	return fault{}, false
}

// tallies calls visit for every policy that concerns the object.
func (r *record) tallies(visit func(*tally)) {
	if r == nil {
		return
	}
	for _, t := range r.clean.tallies {
		visit(t)
	}
	for i := range r.faults {
		visit(r.faults[i].tally)
	}
}

// judged is one object on its way into the Index. It passes through a reflector
// as a runtime.Object, though it is none that any server knows.
type judged struct {
	key string
	// record is nil when no policy concerns the object.
	record *record
}

// GetObjectKind is there for runtime.Object.
func (*judged) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the same value: it is immutable.
func (j *judged) DeepCopyObject() runtime.Object { return j }

// keyOf names an object within its kind.
func keyOf(namespace, name string) string { return namespace + "/" + name }

func splitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}
