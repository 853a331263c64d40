// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// TestAReferenceWithoutAVersionSeesThePreferredOne refers to a kind without a version and, as another policy may, with
// one that the cluster doesn't prefer.
func TestAReferenceWithoutAVersionSeesThePreferredOne(t *testing.T) {
	widgets := map[schema.GroupVersionResource]string{}
	var served []*metav1.APIResourceList
	var objects []runtime.Object
	for _, version := range []string{"v1", "v1beta1"} {
		widgets[schema.GroupVersionResource{Group: "example.com", Version: version, Resource: "widgets"}] = "WidgetList"
		served = append(served, &metav1.APIResourceList{GroupVersion: "example.com/" + version,
			APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Namespaced: true}}})
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/" + version, "kind": "Widget",
			"metadata": map[string]any{"namespace": "shop", "name": "a"}}})
	}
	walk := &Walk{Client: fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), widgets, objects...),
		Discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{Resources: served}}}
	references := map[string]inventory.Reference{}
	for _, version := range []string{"", "v1beta1"} {
		references[version] = inventory.Reference{Group: "example.com", Version: version, Kind: "Widget",
			Selector: labels.Everything()}
	}
	found, err := walk.Referenced(t.Context(), references)
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"": "v1", "v1beta1": "v1beta1"} {
		tables, err := found.Tables([]inventory.Reference{references[version]})
		if err != nil {
			t.Fatal(err)
		}
		data := tables.View().Data.String()
		if strings.Count(data, `"Widget"`) < 1 || strings.Count(data, `"example.com/`) != 2 ||
			!strings.Contains(data, fmt.Sprintf("\"example.com/%s\"", want)) {
			t.Errorf("version %q sees %s, want %s alone", version, data, want)
		}
	}
}
