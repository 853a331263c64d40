// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

func objects(ctx context.Context, in *Installation) []Finding {
	var found []Finding
	seen := 0
	for _, list := range []client.ObjectList{
		&v1alpha1.ClusterRegoPolicyList{}, &v1alpha1.RegoTemplateList{}, &v1alpha1.RemediationStrategyList{},
		&v1alpha1.WaiverList{}, &v1alpha1.ClusterWaiverList{}, &v1alpha1.PolicySourceList{},
		&v1alpha1.PolicyOverrideList{},
		&v1alpha1.RemediationList{}, &v1alpha1.RemediationSliceList{},
		&v1alpha1.RemediationBreakerList{},
	} {
		kind := strings.TrimSuffix(reflect.TypeOf(list).Elem().Name(), "List")
		if err := in.Client.List(ctx, list); err != nil {
			found = append(found, unread("objects of kind "+kind, err))
			continue
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			found = append(found, unread("objects of kind "+kind, err))
			continue
		}
		seen += len(items)
		for _, item := range items {
			if obj, is := item.(client.Object); is && v1alpha1.Malformed(obj) != "" {
				found = append(found, failed("correct it and apply it again, or delete it; the others aren't concerned",
					"%s %s isn't of the form of its kind, and counts for nothing: %s", kind,
					strings.TrimPrefix(client.ObjectKeyFromObject(obj).String(), "/"), v1alpha1.Malformed(obj)))
			}
		}
	}
	return orFine(found, "%s of the form of %s", prose.Are(seen, "object"),
		prose.Verb(seen, "its kind", "their kinds"))
}
