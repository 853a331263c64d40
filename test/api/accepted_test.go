// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
)

// TestTheAPIServerTakesTheDefinitions: above all, it estimates what the rules in CEL cost, and refuses a kind whose
// rules could cost too much.
func TestTheAPIServerTakesTheDefinitions(t *testing.T) {
	for _, kind := range definitions(t) {
		definition := kind.DeepCopy()
		apiextensionsv1.SetDefaults_CustomResourceDefinition(definition)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&definition.Spec)
		var internal apiextensions.CustomResourceDefinition
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(
			definition, &internal, nil); err != nil {
			t.Fatal(err)
		}
		for _, err := range validation.ValidateCustomResourceDefinition(t.Context(), &internal) {
			t.Errorf("%s: %v", kind.Name, err)
		}
	}
}
