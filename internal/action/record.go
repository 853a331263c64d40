// SPDX-License-Identifier: Apache-2.0

package action

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// ToRecordOps converts operations to their form in the API.
func ToRecordOps(ops []policy.PatchOp) ([]v1alpha1.PatchOperation, error) {
	out := make([]v1alpha1.PatchOperation, 0, len(ops))
	for _, op := range ops {
		rec := v1alpha1.PatchOperation{Op: op.Op, Path: op.Path, From: op.From}
		if NeedsValue(op.Op) {
			value, err := toJSON(op.Value)
			if err != nil {
				return nil, err
			}
			rec.Value = value
		}
		out = append(out, rec)
	}
	return out, nil
}

// FromRecordOps is the inverse of ToRecordOps.
func FromRecordOps(recs []v1alpha1.PatchOperation) ([]policy.PatchOp, error) {
	out := make([]policy.PatchOp, 0, len(recs))
	for _, rec := range recs {
		value, has, err := fromJSON(rec.Value)
		if err != nil {
			return nil, err
		}
		out = append(out, policy.PatchOp{Op: rec.Op, Path: rec.Path, From: rec.From, Value: value, HasValue: has ||
			NeedsValue(rec.Op)})
	}
	return out, nil
}

// ToRecordFields converts fields to their form in the API.
func ToRecordFields(fields []Field) ([]v1alpha1.FieldChange, error) {
	out := make([]v1alpha1.FieldChange, 0, len(fields))
	for _, f := range fields {
		rec := v1alpha1.FieldChange{Path: f.Path}
		var err error
		if f.HasBefore {
			if rec.Before, err = toJSON(f.Before); err != nil {
				return nil, err
			}
		}
		if f.HasAfter {
			if rec.After, err = toJSON(f.After); err != nil {
				return nil, err
			}
		}
		out = append(out, rec)
	}
	return out, nil
}

// FromRecordFields is the inverse of ToRecordFields.
func FromRecordFields(recs []v1alpha1.FieldChange) ([]Field, error) {
	out := make([]Field, 0, len(recs))
	for _, rec := range recs {
		f := Field{Path: rec.Path}
		var err error
		if f.Before, f.HasBefore, err = fromJSON(rec.Before); err != nil {
			return nil, err
		}
		if f.After, f.HasAfter, err = fromJSON(rec.After); err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

func toJSON(value any) (*apiextensionsv1.JSON, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode a value: %w", err)
	}
	return &apiextensionsv1.JSON{Raw: raw}, nil
}

func fromJSON(value *apiextensionsv1.JSON) (any, bool, error) {
	if value == nil {
		return nil, false, nil
	}
	var out any
	if err := utiljson.Unmarshal(value.Raw, &out); err != nil {
		return nil, false, fmt.Errorf("decode a value: %w", err)
	}
	return out, true, nil
}
