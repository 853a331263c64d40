// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// pages serves the objects 0 to total-1, as many at a time as are asked for.
type pages struct {
	total   int
	failAt  int
	failure error
	asked   []int64
}

func (p *pages) List(_ context.Context, opts metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	p.asked = append(p.asked, opts.Limit)
	var first int
	if opts.Continue != "" {
		if _, err := fmt.Sscan(opts.Continue, &first); err != nil {
			return nil, err
		}
	}
	if p.failure != nil && first >= p.failAt {
		return nil, p.failure
	}
	out := &unstructured.UnstructuredList{}
	out.SetResourceVersion("42")
	last := min(p.total, first+int(opts.Limit))
	for i := first; i < last; i++ {
		u := unstructured.Unstructured{}
		u.SetName(fmt.Sprint(i))
		out.Items = append(out.Items, u)
	}
	if last < p.total {
		out.SetContinue(fmt.Sprint(last))
	}
	return out, nil
}

func (*pages) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, errors.New("not asked for")
}

func TestListJudged(t *testing.T) {
	expired := apierrors.NewResourceExpired("too old")
	cases := map[string]struct {
		reason string
		pages  pages
		asked  []int64
		items  int
		err    error
	}{
		"pages are read to the last": {
			reason: "each page is judged and dropped before the next",
			pages:  pages{total: 5}, asked: []int64{2, 2, 2}, items: 5,
		},
		"an empty list is a list": {
			reason: "none is a result too",
			asked:  []int64{2},
		},
		"a list that expires on its way fails as a whole": {
			reason: "half a list would look like deletions",
			pages:  pages{total: 5, failAt: 2, failure: expired}, asked: []int64{2, 2}, err: expired,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			judge := func(obj any) (*unstructured.Unstructured, error) {
				return obj.(*unstructured.Unstructured), nil
			}
			got, err := listJudged(t.Context(), &tc.pages, 2, judge)
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s: error is %v, want %v", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.asked, tc.pages.asked); diff != "" {
				t.Errorf("%s: limits asked for (-want +got):\n%s", tc.reason, diff)
			}
			if tc.err != nil {
				return
			}
			list := got.(*metainternalversion.List)
			if len(list.Items) != tc.items || list.ResourceVersion != "42" {
				t.Errorf("%s: %d items at version %q, want %d at 42", tc.reason, len(list.Items), list.ResourceVersion,
					tc.items)
			}
		})
	}
}

func TestProblem(t *testing.T) {
	deployment := schema.GroupResource{Group: "apps", Resource: "deployments"}
	widget := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	cases := map[string]struct {
		reason string
		err    KindError
		want   string
	}{
		"forbidden gives the rule to add": {
			reason: "it can be pasted into a ClusterRole",
			err: KindError{Kind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Resource: deployment,
				Err: apierrors.NewForbidden(deployment, "", nil)},
			want: "Deployment of group apps may not be read: run: evenkeel rbac --in-force --existing | kubectl " +
				"apply -f -; or add to a ClusterRole labelled rbac.evenkeel.dev/aggregate-to-reader: \"true\": " +
				`{apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list", "watch"]}`,
		},
		"a kind without a resource": {
			reason: "its CRD isn't there",
			err:    KindError{Kind: widget, Err: &meta.NoKindMatchError{GroupKind: widget}},
			want: "Widget of group example.com isn't served by this cluster: install its CustomResourceDefinition, " +
				"or take the kind out of spec.match.kinds; it is looked for again by itself",
		},
		"a version that isn't served": {
			reason: "another one may be",
			err: KindError{Kind: widget, Version: "v1beta1", Err: &meta.NoKindMatchError{GroupKind: widget},
				Field: ReferencesField},
			want: "Widget of group example.com isn't served by this cluster in version v1beta1: install its " +
				"CustomResourceDefinition, or name a version that is served, as kubectl api-versions lists them, in " +
				"the rules and in spec.match.references; it is looked for again by itself",
		},
		"a kind whose CRD was deleted": {
			reason: "discovery was read before that",
			err:    KindError{Kind: widget, Err: apierrors.NewNotFound(schema.GroupResource{}, "")},
			want: "Widget of group example.com isn't served by this cluster: install its CustomResourceDefinition, " +
				"or take the kind out of spec.match.kinds; it is looked for again by itself",
		},
		"a kind that can't be listed": {
			reason: "a review, for example, is never stored",
			err: KindError{Kind: schema.GroupKind{Kind: "Binding"},
				Err: apierrors.NewMethodNotSupported(schema.GroupResource{Resource: "bindings"}, "list")},
			want: "Binding of the core group can't be listed, so only admission can judge it: " +
				"take the kind out of spec.match.kinds, or into a policy of its own",
		},
		"a watch that broke off": {
			reason: "old results may be out of date until the list ends",
			err:    KindError{Kind: schema.GroupKind{Kind: "ConfigMap"}, Err: ErrWatchEnded},
			want: "ConfigMap of the core group is being relisted, since its watch broke off: wait for the list " +
				"to end",
		},
		"anything else is tried again": {
			reason: "a time-out, say",
			err:    KindError{Kind: schema.GroupKind{Kind: "ConfigMap"}, Err: errors.New("timeout")},
			want: "ConfigMap of the core group can't be listed or watched: timeout; it is tried again by itself, " +
				"check that the API server answers for this kind",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.err.Error()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
