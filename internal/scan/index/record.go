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
	// Waived says that the object violates, and that it doesn't count; Violations
	// is 0.
	Waived bool
}

// Compliance is the set of policies that an object complies with. All objects
// with the same set share it.
type Compliance struct {
	tallies []*Tally
	// record is the one record of all objects that comply with everything.
	record Record
}

// Record is all that is kept of a judged object. It is immutable. Most objects
// comply with everything that concerns them; those with the same policies share
// one record.
type Record struct {
	clean  *Compliance
	faults []Fault
	// uid and resourceVersion are the object's when it was judged; empty for a
	// compliant one.
	uid, resourceVersion string
}

// NewCompliance makes the set; the caller sees to it that it is made once for all objects with the same.
func NewCompliance(tallies []*Tally) *Compliance {
	c := &Compliance{tallies: tallies}
	c.record.clean = c
	return c
}

// Everything is the record of an object that complies with everything that concerns it.
func (c *Compliance) Everything() *Record { return &c.record }

// Except is the record of an object that complies but for the faults. uid and
// resourceVersion are the object's as it was judged.
func (c *Compliance) Except(faults []Fault, uid, resourceVersion string) *Record {
	return &Record{clean: c, faults: faults, uid: uid, resourceVersion: resourceVersion}
}

// FaultOf is what the policy found wrong, and whether it concerns the object at all.
func (r *Record) FaultOf(t *Tally) (f Fault, concerned bool) {
	if r == nil {
		return Fault{}, false
	}
	for i := range r.faults {
		if r.faults[i].Tally == t {
			return r.faults[i], true
		}
	}
	for _, c := range r.clean.tallies {
		if c == t {
			return Fault{}, true
		}
	}
	return Fault{}, false
}

// tallies calls visit for every policy that concerns the object.
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
