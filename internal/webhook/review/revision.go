// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"maps"

	appsv1 "k8s.io/api/apps/v1"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// earlier is the StatefulSet as it was when it had the template of the ControllerRevision
// that the Pod bears; nil when there is none. While a StatefulSet is updated, and below its
// partition for as long as that stands, its controller makes a Pod that has gone anew from
// the template of before, which other workloads keep in an object of their own.
func (m *maker) earlier(ctx context.Context, r *policy.Request, owner match.Owner, workload map[string]any) (
	map[string]any, error) {
	labels, _ := policy.Metadata(r.Object)["labels"].(map[string]any)
	name, _ := labels[appsv1.ControllerRevisionHashLabelKey].(string)
	if name == "" || owner.GroupKind() != (policy.GroupKind{Group: appsv1.GroupName, Kind: "StatefulSet"}) {
		return nil, nil
	}
	revision, err := m.workloads.Get(
		ctx, match.Owner{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: "ControllerRevision", Name: name},
		r.Namespace)
	if err != nil || revision == nil {
		return nil, err
	}
	if of, controlled := match.ControllerOf(revision); !controlled || of.UID != owner.UID {
		return nil, nil
	}
	data, _ := revision["data"].(map[string]any)
	spec, _ := data["spec"].(map[string]any)
	template, _ := spec["template"].(map[string]any)
	if template == nil {
		return nil, nil
	}
	was := maps.Clone(workload)
	was["spec"] = withField(workload["spec"], "template", template)
	return was, nil
}

func withField(object any, field string, value any) map[string]any {
	fields, _ := object.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, fields)
	out[field] = value
	return out
}
