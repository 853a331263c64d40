package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// TestManifests runs in order: what builds is looked at, then applied.
func TestManifests(t *testing.T) {
	c := startCluster(t)
	t.Run("every kustomization builds", func(t *testing.T) { everyKustomizationBuilds(t, c) })
	t.Run("no role of the manager has a wildcard", func(t *testing.T) { noWildcards(t, c) })
	t.Run("the API server accepts the default install and the samples", func(t *testing.T) { installs(t, c) })
	t.Run("the base may read workloads and change none", func(t *testing.T) { leastPrivilege(t, c) })
	t.Run("the component write-workloads grants patch and no more", func(t *testing.T) { writeWorkloads(t, c) })
	t.Run("the component evict-pods grants evictions and no more", func(t *testing.T) { evictPods(t, c) })
}

func everyKustomizationBuilds(t *testing.T, c *cluster) {
	var dirs []string
	err := filepath.WalkDir(filepath.Join(root, "config"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == "kustomization.yaml" {
			dirs = append(dirs, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"crd", "rbac", "manager", "webhook", "default", "self-signed", "samples",
		"components/write-workloads", "components/write-networking", "components/write-cert-manager", "components/evict-pods"} {
		if !slices.Contains(dirs, filepath.Join(root, "config", want)) {
			t.Errorf("config/%s has no kustomization.yaml", want)
		}
	}
	for _, dir := range dirs {
		for _, object := range build(t, c, dir) {
			if object.GetName() == "" || object.GetKind() == "" {
				t.Errorf("%s makes an object without kind or name: %v", dir, object.Object)
			}
			if ns := object.GetNamespace(); ns != "" && ns != "evenkeel-system" {
				t.Errorf("%s makes %s %s in namespace %s, want evenkeel-system", dir, object.GetKind(), object.GetName(), ns)
			}
		}
	}
}

// build runs kustomize on a folder.
func build(t *testing.T, c *cluster, dir string) []unstructured.Unstructured {
	t.Helper()
	var objects []unstructured.Unstructured
	for _, document := range strings.Split(c.must(t, "kustomize", dir), "\n---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatalf("%s: %v", dir, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
	if len(objects) == 0 {
		t.Errorf("%s makes nothing", dir)
	}
	return objects
}

func noWildcards(t *testing.T, c *cluster) {
	roles := 0
	objects := append(build(t, c, filepath.Join(root, "config", "default")), build(t, c, filepath.Join(root, "config", "components", "write-workloads"))...)
	for _, object := range objects {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		roles++
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			if all := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs); slices.Contains(all, "*") {
				t.Errorf("%s %s has a rule with a wildcard: %v", object.GetKind(), object.GetName(), rule)
			}
		}
	}
	if roles == 0 {
		t.Error("no role was looked at")
	}
}

func installs(t *testing.T, c *cluster) {
	c.must(t, "apply", "--server-side", "-k", filepath.Join(root, "config", "crd"))
	c.must(t, "wait", "--for=condition=Established", "--timeout=30s", "crd",
		"policies.evenkeel.dev", "remediations.evenkeel.dev", "remediationslices.evenkeel.dev", "circuitbreakers.evenkeel.dev")
	c.must(t, "apply", "--server-side", "-k", filepath.Join(root, "config", "default"))
	c.must(t, "apply", "--server-side", "-k", filepath.Join(root, "config", "samples"))
	// The fake nodes run any image: what is proved here is that the pods are let
	// in (Pod Security "restricted", priority, quota) and fit the nodes.
	c.must(t, "rollout", "status", "deployment/evenkeel", "--namespace=evenkeel-system", "--timeout=60s")
}

func leastPrivilege(t *testing.T, c *cluster) {
	eventually(t, "the aggregated reader may list deployments", func() bool {
		return c.may(t, "list", "deployments.apps", "--all-namespaces")
	})
	for _, tc := range []struct {
		right []string
		want  bool
	}{
		{right: []string{"watch", "pods", "--all-namespaces"}, want: true},
		{right: []string{"create", "remediations.evenkeel.dev"}, want: true},
		{right: []string{"patch", "circuitbreakers.evenkeel.dev", "--subresource=status"}, want: true},
		{right: []string{"update", "policies.evenkeel.dev"}, want: false},
		{right: []string{"update", "policies.evenkeel.dev", "--subresource=status"}, want: true},
		{right: []string{"patch", "deployments.apps", "--namespace=default"}, want: false},
		{right: []string{"delete", "pods", "--namespace=default"}, want: false},
		{right: []string{"get", "secrets", "--namespace=default"}, want: false},
		{right: []string{"update", "secrets", "--namespace=evenkeel-system"}, want: true},
		{right: []string{"update", "leases.coordination.k8s.io", "--namespace=kube-system"}, want: false},
		{right: []string{"create", "events.events.k8s.io", "--namespace=default"}, want: true},
		{right: []string{"update", "validatingwebhookconfigurations.admissionregistration.k8s.io/evenkeel"}, want: true},
		{right: []string{"update", "validatingwebhookconfigurations.admissionregistration.k8s.io/other"}, want: false},
		{right: []string{"update", "mutatingwebhookconfigurations.admissionregistration.k8s.io/evenkeel"}, want: true},
		{right: []string{"update", "mutatingwebhookconfigurations.admissionregistration.k8s.io/other"}, want: false},
		{right: []string{"create", "remediationapprovals.evenkeel.dev"}, want: false},
		{right: []string{"update", "remediationapprovals.evenkeel.dev"}, want: false},
		{right: []string{"update", "remediationapprovals.evenkeel.dev", "--subresource=status"}, want: true},
	} {
		if got := c.may(t, tc.right...); got != tc.want {
			t.Errorf("may %v: %v, want %v", tc.right, got, tc.want)
		}
	}
}

func writeWorkloads(t *testing.T, c *cluster) {
	c.addComponent(t, "write-workloads")
	eventually(t, "the aggregated writer may patch deployments", func() bool {
		return c.may(t, "patch", "deployments.apps", "--namespace=default")
	})
	for _, verb := range []string{"create", "update", "delete"} {
		if c.may(t, verb, "deployments.apps", "--namespace=default") {
			t.Errorf("may %s deployments, but a fix is a patch", verb)
		}
	}
}

func evictPods(t *testing.T, c *cluster) {
	c.addComponent(t, "evict-pods")
	eventually(t, "the aggregated writer may evict pods", func() bool {
		return c.may(t, "create", "pods", "--subresource=eviction", "--namespace=default")
	})
	for _, verb := range []string{"create", "patch", "update", "delete"} {
		if c.may(t, verb, "pods", "--namespace=default") {
			t.Errorf("may %s pods, but is to evict them only", verb)
		}
	}
}

// addComponent applies the default install with a component.
func (c *cluster) addComponent(t *testing.T, name string) {
	t.Helper()
	overlay := t.TempDir()
	config, err := filepath.Abs(filepath.Join(root, "config"))
	if err != nil {
		t.Fatal(err)
	}
	relative, err := filepath.Rel(overlay, config)
	if err != nil {
		t.Fatal(err)
	}
	text := "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [" + relative +
		"/default]\ncomponents: [" + relative + "/components/" + name + "]\n"
	if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c.must(t, "apply", "--server-side", "-k", overlay)
}
