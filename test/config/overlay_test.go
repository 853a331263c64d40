// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/cluster"
)

const systemNamespace = "evenkeel-system"

// overlay is an install as an administrator puts it together.
type overlay struct {
	// base is the install, and resources what stands beside it: folders of config/.
	base      string
	resources []string
	// components are folders of config/components.
	components []string
}

// String is the overlay's name in messages.
func (o overlay) String() string {
	return strings.Join(append(append([]string{o.base}, o.resources...), o.components...), " + ")
}

// folder writes the overlay's kustomization.
func (o overlay) folder() string {
	GinkgoHelper()
	dir, err := os.MkdirTemp(work, "overlay-")
	Expect(err).NotTo(HaveOccurred())
	resolved, err := filepath.EvalSymlinks(dir)
	Expect(err).NotTo(HaveOccurred())
	config, err := filepath.Rel(resolved, configFolder())
	Expect(err).NotTo(HaveOccurred())
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n"
	for _, resource := range append([]string{o.base}, o.resources...) {
		text += "  - " + filepath.Join(config, resource) + "\n"
	}
	if len(o.components) > 0 {
		text += "components:\n"
	}
	for _, component := range o.components {
		text += "  - " + filepath.Join(config, "components", component) + "\n"
	}
	Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600)).To(Succeed())
	return dir
}

// apply applies the overlay as the documentation says, and returns what kubectl
// said and warned of.
func (o overlay) apply(ctx context.Context) (said, warned string) {
	GinkgoHelper()
	said, warned, err := plane.Kubectl(ctx, "", "apply", "--server-side", "--validate=strict", "-k", o.folder())
	Expect(err).NotTo(HaveOccurred(), "apply %s", o)
	Expect(plane.AwaitKinds(ctx)).To(Succeed())
	return said, warned
}

// uninstall removes the overlay and waits until its namespace is gone. Each kind is read
// first, as the documentation says: one that nobody has read yet may take the API server five
// minutes to remove.
func (o overlay) uninstall(ctx context.Context) {
	GinkgoHelper()
	// By the names of the definitions that are there: asked for a category that isn't, kubectl
	// forgets the kinds that it knew, and can't delete objects of them by a file any more.
	defined := kubectl(ctx, "get", "crd", "--selector=app.kubernetes.io/part-of=evenkeel", "--output=name")
	if kinds := strings.Fields(strings.ReplaceAll(defined, "customresourcedefinition.apiextensions.k8s.io/", "")); len(
		kinds) > 0 {
		kubectl(ctx, "get", strings.Join(kinds, ","), "--all-namespaces")
	}
	kubectl(ctx, "delete", "--ignore-not-found", "--timeout=120s", "-k", o.folder())
}

// letGo lets plans go that no manager is left to end, as the documentation says.
func letGo(ctx context.Context) {
	GinkgoHelper()
	var plans v1alpha1.RemediationList
	if err := api.List(ctx, &plans); !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		Expect(err).NotTo(HaveOccurred())
	}
	for _, plan := range plans.Items {
		// Admission lets the finalizers of what is being deleted go while nobody answers.
		kubectl(ctx, "delete", "remediation", plan.Name, "--wait=false")
		if len(plan.Finalizers) == 0 {
			continue
		}
		kubectl(ctx, "patch", "remediation", plan.Name, "--type=merge", `--patch={"metadata":{"finalizers":null}}`)
	}
}

// objects are what the overlay makes.
func (o overlay) objects(ctx context.Context) []unstructured.Unstructured {
	GinkgoHelper()
	return build(ctx, o.folder())
}

// build runs kustomize on a folder.
func build(ctx context.Context, dir string) []unstructured.Unstructured {
	GinkgoHelper()
	var objects []unstructured.Unstructured
	for _, document := range strings.Split(kubectl(ctx, "kustomize", dir), "\n---\n") {
		var object unstructured.Unstructured
		Expect(yaml.Unmarshal([]byte(document), &object.Object)).To(Succeed(), dir)
		if len(object.Object) > 0 { // a component that only patches makes nothing by itself
			objects = append(objects, object)
		}
	}
	return objects
}

// configFolder is the folder of all manifests.
func configFolder() string {
	GinkgoHelper()
	root, err := cluster.Root()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(root, "config")
}

// gone says that an object doesn't exist.
func gone(ctx context.Context, object client.Object) bool {
	return apierrors.IsNotFound(api.Get(ctx, client.ObjectKeyFromObject(object), object))
}

// components are all that config/components holds.
func components() []string {
	GinkgoHelper()
	entries, err := os.ReadDir(filepath.Join(configFolder(), "components"))
	Expect(err).NotTo(HaveOccurred())
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// aggregates says which rule of the manager a role joins: "reader", "writer" or none.
func aggregates(role *rbacv1.ClusterRole) string {
	for _, to := range []string{"reader", "writer"} {
		if role.Labels["rbac.evenkeel.dev/aggregate-to-"+to] == "true" {
			return to
		}
	}
	return ""
}
