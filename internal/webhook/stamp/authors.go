// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"evenkeel.dev/evenkeel/internal/authors"
	"evenkeel.dev/evenkeel/internal/policy"
)

// everybody is the record of all who have changed a policy's spec: what was recorded
// before, with whoever makes the request if it changes the spec. What the request
// itself says of it counts for nothing.
func (s Field) everybody(r *policy.Request) (value any, set bool) {
	generation := int64(0)
	before := authors.Record{}
	if r.Operation != policy.Create {
		generation = generationOf(r.OldObject)
		before = authors.Read(marks(r.OldObject, "annotations"), marks(r.OldObject, "labels"), generation)
	}
	is := before
	if s.acts(r) {
		is = before.Changed(r.UserInfo.Username, generation+1)
	}
	is.Source = is.Source || authors.Read(nil, marks(r.Object, "labels"), 0).Source
	if _, recorded := dig(r.OldObject, s.past); !recorded && !s.acts(r) && !is.Source {
		return nil, false // an earlier version has kept the last author alone: so be it until a change
	}
	return is.String(), true
}

// generationOf is the generation of an object's spec. The API server counts it up at
// each change of the spec, but after admission.
func generationOf(object map[string]any) int64 {
	metadata := policy.Metadata(object)
	deleting := metadata["deletionTimestamp"] != nil
	switch n := metadata["generation"].(type) {
	case int64:
		return authors.Generation(n, deleting)
	case float64:
		return authors.Generation(int64(n), deleting)
	}
	return 0
}

func marks(object map[string]any, field string) map[string]string {
	out := map[string]string{}
	fields, _ := policy.Metadata(object)[field].(map[string]any)
	for key, value := range fields {
		if text, ok := value.(string); ok {
			out[key] = text
		}
	}
	return out
}
