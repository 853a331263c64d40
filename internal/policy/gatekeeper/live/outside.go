// SPDX-License-Identifier: Apache-2.0

package live

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Outside reads what Gatekeeper's audit lists and the policy wasn't asked of, to tell what is gone from what the policy
// doesn't concern. It needs get on it; what can't be read is said in Unread. Nothing is read where not everything that
// the policy concerns was.
func (o *Own) Outside(ctx context.Context, objects dynamic.Interface, served []*metav1.APIResourceList, audit *Audit) {
	if len(o.Unread) > 0 || audit.Unknown != "" {
		return
	}
	o.Unconcerned = map[ObjectKey]time.Time{}
	asked := map[ObjectKey]bool{}
	for _, f := range audit.Findings {
		if _, judged := o.Written[f.ObjectKey]; judged || asked[f.ObjectKey] {
			continue
		}
		asked[f.ObjectKey] = true
		r, known := resourceOf(match.GroupKind{Group: f.Group, Kind: f.Kind}, served, "")
		if !known {
			continue
		}
		found, err := objects.Resource(r).Namespace(f.Namespace).Get(ctx, f.Name, metav1.GetOptions{})
		switch {
		case err == nil:
			o.Unconcerned[f.ObjectKey] = changed(found)
		case !apierrors.IsNotFound(err):
			o.Unread = append(o.Unread, fmt.Sprintf("%s, which Gatekeeper's audit found, can't be read: %v",
				f.ObjectKey, err))
		}
	}
}
