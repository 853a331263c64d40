// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// CreateTemplate creates a template; it goes with the spec.
func (r *Rig) CreateTemplate(ctx context.Context, t *v1alpha1.RegoTemplate) {
	GinkgoHelper()
	r.CleanUpTemplate(t.Name)
	Expect(r.API.Create(ctx, t)).To(Succeed())
}

// CleanUpTemplate removes a template with the spec, if there is one.
func (r *Rig) CleanUpTemplate(name string) {
	DeferCleanup(func(ctx context.Context) {
		t := &v1alpha1.RegoTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
		// The manager that would let go of it may be dead.
		free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
		Expect(client.IgnoreNotFound(r.API.Delete(ctx, t.DeepCopy()))).To(Succeed())
		Expect(client.IgnoreNotFound(r.API.Patch(ctx, t, free))).To(Succeed())
	})
}

// Template reads a template.
func (r *Rig) Template(ctx context.Context, name string) *v1alpha1.RegoTemplate {
	GinkgoHelper()
	t := &v1alpha1.RegoTemplate{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(r.Get(ctx, t)).To(Succeed())
	return t
}
