// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// remediates is a policy that judges ConfigMaps and Widgets, which nobody serves.
func remediates(mode v1alpha1.RemediationMode) *v1alpha1.ClusterRegoPolicy {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	p.Spec.Remediation.Mode = mode
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{
		{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}},
		{APIGroups: []string{"example.com"}, Kinds: []string{"Widget"}}}
	return p
}

func annotated(name, value string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name,
		Annotations: map[string]string{v1alpha1.AnnotationRemediation: value}}
}

func controller(name, value string) *corev1.ConfigMap {
	c := &corev1.ConfigMap{ObjectMeta: annotated(name, value)}
	c.UID = types.UID("uid-" + name)
	return c
}

// made has a controller, as a ReplicaSet has its Deployment.
func made(name, by, value string) *corev1.ConfigMap {
	c := controller(name, value)
	c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: by,
		UID: types.UID("uid-" + by), Controller: ptr.To(true)}}
	return c
}

func configMaps(n int, value string) (objects []client.Object) {
	for i := range n {
		objects = append(objects, &corev1.ConfigMap{ObjectMeta: annotated(fmt.Sprintf("c-%d", i), value)})
	}
	return objects
}

// kindsServed serves Namespaces and ConfigMaps.
func kindsServed() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Version: "v1"}})
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, meta.RESTScopeRoot)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	return mapper
}

// ofConfigMaps changes how lists of ConfigMaps are answered.
func ofConfigMaps(answer func(*metav1.PartialObjectMetadataList) error) interceptor.Funcs {
	return interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
		opts ...client.ListOption) error {
		if page, is := list.(*metav1.PartialObjectMetadataList); is && page.Kind == "ConfigMapList" {
			return answer(page)
		}
		return c.List(ctx, list, opts...)
	}}
}

func TestOptOutsWithoutEffectAreNamed(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))
	endless := ofConfigMaps(func(page *metav1.PartialObjectMetadataList) error {
		page.Items, page.Continue = make([]metav1.PartialObjectMetadata, optOutPage), "more"
		return nil
	})
	cases := map[string]struct {
		reason  string
		mode    v1alpha1.RemediationMode
		objects []client.Object
		answers interceptor.Funcs
		status  Status
		says    []string // of each finding
	}{
		"an object": {mode: v1alpha1.RemediationManual, objects: configMaps(1, "off"), status: Warn,
			says: []string{
				`ConfigMap shop/c-0 doesn't opt out: the annotation evenkeel.dev/remediation must be "paused"`}},
		"a namespace": {"it counts whatever policies do", v1alpha1.RemediationDisabled,
			[]client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{
				v1alpha1.AnnotationRemediation: "paused"}}}}, interceptor.Funcs{}, Warn,
			[]string{"Namespace shop doesn't opt out"}},
		"one with effect": {mode: v1alpha1.RemediationManual, objects: configMaps(1, "paused"), status: OK,
			says: []string{"among 1 object has effect"}},
		"of a kind that nothing remediates": {"it would keep nothing off", v1alpha1.RemediationDisabled,
			configMaps(1, "off"), interceptor.Funcs{}, OK, []string{"among 0 objects has effect"}},
		"of a controller and, copied, of what it makes": {"where it was written, it is to be corrected",
			v1alpha1.RemediationManual, []client.Object{controller("c", "off"), made("c-1", "c", "off"),
				made("c-2", "c", "off")}, interceptor.Funcs{}, Warn, []string{"ConfigMap shop/c doesn't opt out"}},
		"of what a controller makes, and another than the controller's": {"it was written there",
			v1alpha1.RemediationManual, []client.Object{controller("c", "paused"), made("c-1", "c", "off")},
			interceptor.Funcs{}, Warn, []string{"ConfigMap shop/c-1 doesn't opt out"}},
		"many": {"a flood of them hides the other checks", v1alpha1.RemediationDryRun, configMaps(14, "off"),
			interceptor.Funcs{}, Warn, append(make([]string, 10), "4 more opt-outs")},
		"an end that can't be read": {"it never ends", v1alpha1.RemediationManual, []client.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c",
				Annotations: map[string]string{v1alpha1.AnnotationRemediation: "paused",
					v1alpha1.AnnotationPausedUntil: "soon"}}}},
			interceptor.Funcs{}, Warn, []string{"ConfigMap shop/c opts out without an end: "}},
		"an end with a slip": {"it was meant to end", v1alpha1.RemediationManual, []client.Object{
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c",
				Annotations: map[string]string{v1alpha1.AnnotationRemediation: "paused",
					"evenkeel.dev/remediation-until": "2027-01-07T08:00:00Z"}}}},
			interceptor.Funcs{}, Warn, []string{"ConfigMap shop/c: Evenkeel knows no annotation " +
				"evenkeel.dev/remediation-until, so that it has no effect; did you mean"}},
		"a kind that may not be read": {"what wasn't looked at is never fine", v1alpha1.RemediationManual, nil,
			ofConfigMaps(func(*metav1.PartialObjectMetadataList) error { return forbidden }), Unknown,
			[]string{"opt-outs of kind ConfigMap couldn't be checked"}},
		"a kind that the person may not read": {"whoever wrote one was warned of it", v1alpha1.RemediationManual, nil,
			ofConfigMaps(func(*metav1.PartialObjectMetadataList) error {
				return refused("", "configmaps", "list")
			}), OK, []string{"not checked: opt-outs of kind ConfigMap (you may not list configmaps); admission warns",
				"each opt-out among 0 objects has effect"}},
		"too many to look at": {"it is bounded", v1alpha1.RemediationManual, nil, endless, Warn,
			[]string{"of kind ConfigMap only the first 5000 objects"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, clientgoscheme.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			in := &Installation{Mapper: kindsServed(), Client: fake.NewClientBuilder().WithScheme(scheme).
				WithObjects(append(tc.objects, remediates(tc.mode))...).WithInterceptorFuncs(tc.answers).Build()}
			found := optOuts(t.Context(), in)
			if len(found) != len(tc.says) || Worst(found) != tc.status {
				t.Fatalf("%s: found %+v, want %d of at worst %s", tc.reason, found, len(tc.says), tc.status)
			}
			for i, want := range tc.says {
				if !strings.Contains(found[i].Message, want) {
					t.Errorf("%s: finding %d is %q, want %q", tc.reason, i, found[i].Message, want)
				}
			}
		})
	}
}

func TestKindsThatTheTimeDidntSufficeForAreNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := optOutLook{in: &Installation{Mapper: kindsServed(), Client: fake.NewClientBuilder().WithInterceptorFuncs(
		ofConfigMaps(func(*metav1.PartialObjectMetadataList) error { return ctx.Err() })).Build()}}
	l.lookAt(ctx, schema.GroupKind{Kind: "ConfigMap"})
	found := l.findings(ctx)
	if len(found) != 1 || found[0].Status != Warn || !strings.Contains(found[0].Message, "weren't checked in full") ||
		!strings.HasSuffix(found[0].Message, ": ConfigMap") {
		t.Errorf("found %+v", found)
	}
}

func TestTheCommandOfAnOptOutWithoutEffectReplacesIt(t *testing.T) {
	l := optOutLook{}
	m := &metav1.PartialObjectMetadata{ObjectMeta: annotated("web", "off")}
	m.SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"})
	l.judge(m)
	want := "kubectl annotate deployment.v1.apps web evenkeel.dev/remediation=paused -n shop --overwrite, "
	if found := l.findings(t.Context()); !strings.HasPrefix(found[0].Do, want) {
		t.Errorf("it says to do %q, want %q", found[0].Do, want)
	}
}
