// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TestTheSchemaStoresNoDefaults: what people apply is what is stored, so that a tool which
// compares the two finds no difference, and a default isn't frozen into objects
// that never gave it.
func TestTheSchemaStoresNoDefaults(t *testing.T) {
	visit(t, func(path string, schema apiextensionsv1.JSONSchemaProps) {
		if schema.Default != nil && strings.Contains(path, ".spec") {
			t.Errorf("%s: the schema stores the default %s: resolve it where it is read (SetDefaults)", path,
				schema.Default.Raw)
		}
	})
}

// maxColumns is how many columns a terminal has room for beside the name.
const maxColumns = 7

// TestAKindHasAtMostSevenColumns: the rest is for kubectl get -o wide.
func TestAKindHasAtMostSevenColumns(t *testing.T) {
	kinds := definitions(t)
	if len(kinds) < 8 {
		t.Fatalf("found %d definitions", len(kinds))
	}
	for _, crd := range kinds {
		for _, version := range crd.Spec.Versions {
			narrow := 0
			for _, column := range version.AdditionalPrinterColumns {
				if column.Priority == 0 {
					narrow++
				}
			}
			if narrow == 0 || narrow > maxColumns {
				t.Errorf("%s has %d columns: give it one to %d, and the rest priority=1", crd.Spec.Names.Kind, narrow,
					maxColumns)
			}
		}
	}
}
