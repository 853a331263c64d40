// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestWhatMayNotBeReadIsTold: an author who may read a part tries policies with that part.
func TestWhatMayNotBeReadIsTold(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	known := &v1alpha1.ClusterRegoPolicy{}
	known.Name = "known"
	answering := func(refuses func(client.ObjectList) error) client.Client {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(known).WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList,
				opts ...client.ListOption) error {
				if err := refuses(list); err != nil {
					return err
				}
				return c.List(ctx, list, opts...)
			}}).Build()
	}
	forbidden := apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("regotemplates").GroupResource(), "",
		errors.New(`User "robin" cannot list resource "regotemplates" in API group "evenkeel.dev" at the cluster scope`))

	set := &policySet{}
	refused, err := set.addInForce(t.Context(), answering(func(list client.ObjectList) error {
		if _, isTemplates := list.(*v1alpha1.RegoTemplateList); isTemplates {
			return forbidden
		}
		return nil
	}))
	if err != nil || len(refused) != 1 || !strings.Contains(refused[0].Error(), "list templates: ") {
		t.Errorf("refused %v, error %v; want the templates", refused, err)
	}
	if len(set.policies) != 1 || set.policies[0].Name != "known" {
		t.Errorf("policies %v, want the one that may be read", set.policies)
	}

	down := errors.New("connection refused")
	silent := answering(func(client.ObjectList) error { return down })
	if _, err := (&policySet{}).addInForce(t.Context(), silent); !errors.Is(
		err, down) {
		t.Errorf("error %v, want that nobody answers", err)
	}
}

// TestExplainNamesAllThatMayNotBeRead: whoever asks for a permission asks once for all.
func TestExplainNamesAllThatMayNotBeRead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), corev1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	refused := func(verb, group, resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: group, Resource: resource}, "", fmt.Errorf(
			"User %q cannot %s resource %q in API group %q at the cluster scope", "robin", verb, resource, group))
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			switch list.(type) {
			case *v1alpha1.ClusterRegoPolicyList:
				return refused("list", "evenkeel.dev", "clusterregopolicies")
			case *v1alpha1.RegoTemplateList:
				return refused("list", "evenkeel.dev", "regotemplates")
			}
			return nil
		},
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return refused("get", "", "namespaces")
		}}).Build()

	inForce, err := (&explainOptions{}).inForce(t.Context(), c)
	if err != nil || inForce.Snapshot != nil || len(inForce.Unread) != 2 {
		t.Fatalf("in force %+v, error %v; want no policies and two refusals", inForce, err)
	}
	namespace, unread, err := namespaceOf(t.Context(), c, "shop")
	if err != nil || namespace != nil || len(unread) != 1 {
		t.Fatalf("namespace %v, unread %v, error %v; want a refusal", namespace, unread, err)
	}
	said := strings.Join(append(inForce.Unread, unread...), "\n")
	for _, want := range []string{"what the policies say isn't known: list policies: ",
		"what the policies say isn't known: list templates: ", "read namespace shop: "} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if n := strings.Count(said, "ask for that permission: ClusterRole evenkeel-viewer grants it"); n != 3 {
		t.Errorf("%d of 3 lines name the role:\n%s", n, said)
	}
	if namespace, unread, err = namespaceOf(t.Context(), c, ""); namespace != nil || unread != nil || err != nil {
		t.Errorf("a cluster-scoped object: %v, %v, %v", namespace, unread, err)
	}
}

// TestOnlyWhatIsTriedMustCompile: what is in force beside it is somebody else's.
func TestOnlyWhatIsTriedMustCompile(t *testing.T) {
	orphan := &v1alpha1.ClusterRegoPolicy{}
	orphan.Name = "orphan"
	orphan.Spec.TemplateRef = &v1alpha1.TemplateReference{Name: "nowhere"}
	other := orphan.DeepCopy()
	other.Name = "other"
	var left []string
	choice := policyChoice{tried: []*v1alpha1.ClusterRegoPolicy{other},
		leftOut: func(err error) { left = append(left, err.Error()) }}
	if _, err := choice.enforce(&policySet{policies: []*v1alpha1.ClusterRegoPolicy{orphan}}); err != nil ||
		len(left) != 1 || !strings.Contains(left[0], "policy orphan: ") {
		t.Errorf("error %v, left out %v; want the one in force left out", err, left)
	}
	if _, err := choice.enforce(&policySet{policies: []*v1alpha1.ClusterRegoPolicy{other}}); err == nil {
		t.Error("the one that is tried is left out without an error")
	}
}

// TestWhatIsExplainedIsByTheRest: one policy of another team that doesn't compile, and a waiver that waives nothing,
// take from nobody what the others say.
func TestWhatIsExplainedIsByTheRest(t *testing.T) {
	fine, broken := &v1alpha1.ClusterRegoPolicy{}, &v1alpha1.ClusterRegoPolicy{}
	fine.Name, broken.Name = "fine", "broken"
	fine.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
	broken.Spec.Match = fine.Spec.Match
	fine.Spec.Rego.Main = "package p\n\ndeny contains \"x\"\n"
	broken.Spec.Rego.Main = "package p\n\ndeny contains {{\n"
	unreadable := &v1alpha1.Waiver{}
	unreadable.Namespace, unreadable.Name = "shop", "unreadable"
	unreadable.Spec.Match.Names = []string{"{"}
	set := &policySet{waivers: []v1alpha1.AnyWaiver{unreadable}}
	set.add(fine, broken)

	got, err := enforceWhatCan(set)
	if err != nil {
		t.Fatal(err)
	}
	if asked := sortedNames(got.Snapshot.Policies()); len(asked) != 1 || asked[0] != "fine" {
		t.Errorf("asked are %v, want fine", asked)
	}
	if len(got.LeftOut) != 1 || got.LeftOut[0] != "broken" {
		t.Errorf("left out are %v, want broken", got.LeftOut)
	}
	said := strings.Join(got.Unread, "\n")
	for _, want := range []string{"left out, for it can't be in force as it is written: policy broken: ",
		"left out, for it can't be in force as it is written: waiver shop/unreadable: "} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	if len(got.Unread) != 2 {
		t.Errorf("it isn't one line for each:\n%s", said)
	}
}
