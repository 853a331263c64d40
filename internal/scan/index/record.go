// SPDX-License-Identifier: Apache-2.0

package index

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// MaxMessage bounds the text kept of a violation or an error, in bytes: the
// limit of status.scan.sample[].message.
const MaxMessage = 512

// Fault is what one policy found wrong with one object.
type Fault struct {
	// Tally is the policy's.
	Tally *Tally
	// Message is the first violation's, or the evaluation error's.
	Message string
	// Violations is their number.
	Violations int32
	// Fixable says that the policy has a fix for this object.
	Fixable bool
	// Failed says that the policy couldn't be evaluated to its end, or its fix
	// couldn't; violations that were found all the same are counted.
	Failed bool
	// Unknown says that it failed since what the policy looks up wasn't known at that moment.
	Unknown bool
	// Waived says that the object violates, and that it doesn't count; Violations
	// is 0.
	Waived bool
	// before is what is known from before of an object that couldn't be judged; the Index fills it in.
	before before
	// marked says that a mark stands in Message for the name of the object.
	marked bool
}

// compliance is the set of policies that an object complies with.
type compliance struct {
	tallies []*Tally
	// record is the one record of all objects that comply with everything.
	record Record
}

// Record is all that is kept of a judged object. It is immutable once it is in an Index. Most objects
// comply with everything that concerns them; those with the same policies share
// one record, and those that violate others alike share all but who they are.
type Record struct {
	*outcome
	// name is the object's, and packed its UID and resource version when it was judged; empty for a
	// compliant one.
	name, packed string
	// before is what is known from before by each of the faults, where one couldn't be judged; nil for complied.
	before *[]before
}

// kept is what the policy found wrong, as it is kept, and whether it concerns the object at all: as good for a
// comparison with that of the same object.
func (r *Record) kept(t *Tally) (f Fault, concerned bool) {
	if r == nil {
		return Fault{}, false
	}
	for i := range r.faults {
		if r.faults[i].Tally == t {
			return r.fault(i), true
		}
	}
	for _, c := range r.clean.tallies {
		if c == t {
			return Fault{}, true
		}
	}
	return Fault{}, false
}

// fault is the ith one as it is kept, with what is known from before.
func (r *Record) fault(i int) Fault {
	f := *r.faults[i]
	if r.before != nil {
		f.before = (*r.before)[i]
	}
	return f
}

// remember notes what is known from before by the ith fault.
func (r *Record) remember(i int, b before) {
	if r.before == nil {
		if b == complied {
			return
		}
		all := make([]before, len(r.faults))
		r.before = &all
	}
	(*r.before)[i] = b
}

// seen are the UID and the resource version of the object when it was judged.
func (r *Record) seen() (uid, resourceVersion string) { return unpack(r.packed) }

// sameUID says that a record is of the same object, and not of another of its name. A compliant one isn't known.
func (r *Record) sameUID(other *Record) bool { return packedUID(r.packed) == packedUID(other.packed) }

func (r *Record) tallies(visit func(*Tally)) {
	if r == nil {
		return
	}
	for _, t := range r.clean.tallies {
		visit(t)
	}
	for i := range r.faults {
		visit(r.faults[i].Tally)
	}
}

// Judged is one object on its way into the Index. It passes through a reflector
// as a runtime.Object, though it is none that any server knows.
type Judged struct {
	// Key is the object's, by KeyOf.
	Key string
	// Record is nil when no policy concerns the object.
	Record *Record
}

// GetObjectKind is there for runtime.Object.
func (*Judged) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject returns the same value: it is immutable.
func (j *Judged) DeepCopyObject() runtime.Object { return j }

// KeyOf names an object within its kind.
func KeyOf(namespace, name string) string { return namespace + "/" + name }

// SplitKey undoes KeyOf.
func SplitKey(key string) (namespace, name string) {
	namespace, name, _ = strings.Cut(key, "/")
	return namespace, name
}
