// SPDX-License-Identifier: Apache-2.0

package exempt

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
)

// jobTracking is the finalizer by which the Job controller counts each Pod once. It
// takes it off when the Pod has finished, which nobody deletes.
const jobTracking = "batch.kubernetes.io/job-tracking"

// maxFields bounds what a condition compares: no kind of object has more fields at
// its top, and no sane one more finalizers.
const maxFields = 64

// bookkeeping are the fields of metadata that the API server changes by itself with
// every write, and the finalizers.
func bookkeeping() []string {
	return []string{"finalizers", "managedFields", "resourceVersion", "generation"}
}

// finalizerExemptions are the updates that take finalizers off and change nothing
// else whatsoever. The first holds for Evenkeel's own kinds too.
func finalizerExemptions() []exemption {
	return []exemption{
		{
			name: "finalizers-of-a-deletion",
			what: "an UPDATE that only takes finalizers off an object that is being deleted",
			why:  "a deletion must be able to end",
			condition: func() string {
				return "request.operation == 'UPDATE' && object != null && oldObject != null && " +
					"has(object.metadata.deletionTimestamp) && has(oldObject.metadata.deletionTimestamp) && " +
					onlyFewerFinalizers()
			},
			holds: func(r *policy.Request) bool {
				_, only := takesFinalizersOff(r)
				return only && policy.Metadata(r.OldObject)["deletionTimestamp"] != nil &&
					policy.Metadata(r.Object)["deletionTimestamp"] != nil
			},
		},
		{
			name: "finalizer-of-a-job",
			what: "an UPDATE that only takes the finalizer `" + jobTracking + "` off a Pod",
			why:  "a Job must be able to finish; its Pods aren't being deleted",
			condition: func() string {
				return "request.operation == 'UPDATE' && request.kind.group == '' && request.kind.kind == 'Pod' && " +
					"object != null && oldObject != null && " + onlyFewerFinalizers() +
					" && oldObject.metadata.finalizers.all(f, f == '" + jobTracking +
					"' || has(object.metadata.finalizers) && f in object.metadata.finalizers)"
			},
			holds: func(r *policy.Request) bool {
				off, only := takesFinalizersOff(r)
				return only && r.Kind.Group == "" && r.Kind.Kind == "Pod" &&
					!slices.ContainsFunc(off, func(f string) bool { return f != jobTracking })
			},
		},
	}
}

// onlyFewerFinalizers is takesFinalizersOff in CEL. What is compared is bounded
// first, so that no object, however odd, exhausts the API server's budget: that
// would be an error.
func onlyFewerFinalizers() string {
	const bounded = "size(object) <= %[1]d && has(oldObject.metadata.finalizers) && " +
		"size(oldObject.metadata.finalizers) <= %[1]d && "
	const fewer = "(!has(object.metadata.finalizers) || size(object.metadata.finalizers) < " +
		"size(oldObject.metadata.finalizers) && object.metadata.finalizers.all(f, f in " +
		"oldObject.metadata.finalizers)) && "
	const sameMetadata = "object.metadata.all(k, k in [%[2]s] || k in oldObject.metadata && object.metadata[k] == " +
		"oldObject.metadata[k]) && oldObject.metadata.all(k, k in [%[2]s] || k in object.metadata) && "
	const sameRest = "object.all(k, k == 'metadata' || k in oldObject && object[k] == oldObject[k]) && " +
		"oldObject.all(k, k in object)"
	return fmt.Sprintf(bounded+fewer+sameMetadata+sameRest, maxFields, "'"+strings.Join(bookkeeping(), "', '")+"'")
}

// takesFinalizersOff says which finalizers an update takes off, and whether it
// changes nothing else.
func takesFinalizersOff(r *policy.Request) (off []string, only bool) {
	if r.Operation != policy.Update || r.Object == nil || r.OldObject == nil {
		return nil, false
	}
	before, after := policy.Metadata(r.OldObject), policy.Metadata(r.Object)
	was, is := finalizers(before), finalizers(after)
	if len(is) >= len(was) || len(was) > maxFields || len(r.Object) > maxFields {
		return nil, false // before anything takes longer by how many there are, as in CEL
	}
	for _, f := range was {
		if !slices.Contains(is, f) {
			off = append(off, f)
		}
	}
	added := slices.ContainsFunc(is, func(f string) bool { return !slices.Contains(was, f) })
	return off, !added && reflect.DeepEqual(withoutBookkeeping(before), withoutBookkeeping(after)) &&
		reflect.DeepEqual(withoutMetadata(r.OldObject), withoutMetadata(r.Object))
}

func withoutBookkeeping(metadata map[string]any) map[string]any {
	rest := maps.Clone(metadata)
	for _, field := range bookkeeping() {
		delete(rest, field)
	}
	return rest
}

func withoutMetadata(object map[string]any) map[string]any {
	rest := maps.Clone(object)
	delete(rest, "metadata")
	return rest
}

func finalizers(metadata map[string]any) []string {
	list, _ := metadata["finalizers"].([]any)
	var names []string
	for _, f := range list {
		if name, ok := f.(string); ok {
			names = append(names, name)
		}
	}
	return names
}
