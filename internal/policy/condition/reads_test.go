// SPDX-License-Identifier: Apache-2.0

package condition

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

func TestManagedFieldsAreDecodedWhereAnExpressionMayReadThem(t *testing.T) {
	for expression, reads := range map[string]bool{
		`request.userInfo.username != "ann"`:                              false,
		`object.spec.replicas > 1`:                                        false,
		`object.spec != oldObject.spec`:                                   false,
		`oldObject == null || null != object`:                             false,
		`has(object.metadata) && has(object.metadata.labels)`:             false,
		`object.metadata.labels.exists(l, l == "managedFields")`:          false,
		`object.metadata.name.startsWith("a") && object.kind == "Pod"`:    false,
		`object["spec"].replicas > 1`:                                     true,
		`object.metadata["labels"].a == "b"`:                              true,
		`object.metadata.managedFields.size() > 1`:                        true,
		`!has(oldObject.metadata.managedFields)`:                          true,
		`oldObject.metadata == object.metadata`:                           true,
		`object == oldObject`:                                             true,
		`[object].all(o, o.metadata.managedFields.size() > 1)`:            true,
		`object.metadata.exists(k, k == "managedFields")`:                 true,
		`{"o": object}.o.metadata.managedFields.size() > 1`:               true,
		`dyn(object).metadata.managedFields.size() > 1`:                   true,
		`(true ? object : oldObject).metadata.managedFields.size() == 1`:  true,
		`"managedFields" in object.metadata`:                              true,
		`object.exists(k, object[k] != "")`:                               true,
		`[1].all(x, x == 2) || object.metadata.managedFields.size() == 1`: true,
	} {
		decoded := false
		r := update()
		r.ManagedFields = &policy.ManagedFields{}
		for _, object := range []tree{r.Object, r.OldObject} {
			r.ManagedFields.Add(object, func() ([]any, error) {
				decoded = true
				return []any{}, nil
			})
		}
		set, err := Compile(conditions(expression))
		if err != nil {
			t.Errorf("%s: %v", expression, err)
			continue
		}
		if _, _ = set.Match(t.Context(), r); decoded != reads {
			t.Errorf("%s: decoded is %t", expression, decoded)
		}
	}
}
