// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestTheCheckObjectsNamesWhatCannotBeRead(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	marked := map[string]string{v1alpha1.AnnotationMalformed: "soak: bad"}
	in := &Installation{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "good"}},
		&v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "bad", Annotations: marked}},
		&v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "worse", Annotations: marked}},
		&v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global", Annotations: marked}},
	).Build()}
	found := objects(t.Context(), in)
	if len(found) != 3 {
		t.Fatalf("found %+v, want three objects", found)
	}
	for i, name := range []string{"ClusterRegoPolicy bad", "Waiver shop/worse", "RemediationBreaker global"} {
		if found[i].Status != Fail || !strings.HasPrefix(found[i].Message, name+" isn't of the form") ||
			!strings.Contains(found[i].Message, "soak: bad") {
			t.Errorf("finding %d is %+v, want %s named", i, found[i], name)
		}
	}
	in.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "good"}}).Build()
	if found := objects(t.Context(), in); len(found) != 1 || found[0].Status != OK {
		t.Errorf("of sound objects it says %+v", found)
	}
}
