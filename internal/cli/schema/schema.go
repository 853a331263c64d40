// SPDX-License-Identifier: Apache-2.0

// Package schema checks Evenkeel's own objects in files as the API server checks them when they are applied: by the
// schemas of their CustomResourceDefinitions, with the rules in CEL, and by the names that objects may have.
package schema

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/config/crd"
)

// Checker checks objects. What it needs of a kind is made when the first object of it is checked. It is for one
// goroutine; the zero value is ready.
type Checker struct {
	definitions map[string]*apiextensionsv1.CustomResourceDefinition
	kinds       map[string]*checks
}

// checks are those of one kind.
type checks struct {
	structural *structuralschema.Structural
	schema     validation.SchemaValidator
	rules      *cel.Validator
}

// Check says what the API server wouldn't take of an object, each with its field; nothing of one that isn't Evenkeel's.
// The error is that this program's own schemas can't be used.
func (c *Checker) Check(ctx context.Context, object map[string]any) (field.ErrorList, error) {
	kind, _ := object["kind"].(string)
	if object["apiVersion"] != v1alpha1.GroupVersion.String() {
		return nil, nil
	}
	by, err := c.of(kind)
	if err != nil || by == nil {
		return nil, err
	}
	wrong := misnamed(object)
	object = by.created(object)
	wrong = append(wrong, validation.ValidateCustomResource(nil, object, by.schema)...)
	wrong = append(wrong, listtype.ValidateListSetsAndMaps(nil, by.structural, object)...)
	if len(wrong) > 0 {
		return wrong, nil
	}
	wrong, _ = by.rules.Validate(ctx, nil, by.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return wrong, nil
}

// created is an object as the API server checks it when it is created: without a status, which it drops; with a name in
// place of a generateName; and where a field is null that can't be, without the field.
func (c *checks) created(object map[string]any) map[string]any {
	object = runtime.DeepCopyJSON(object)
	delete(object, "status")
	if metadata, ok := object["metadata"].(map[string]any); ok && metadata["name"] == nil {
		if prefix, _ := metadata["generateName"].(string); prefix != "" {
			metadata["name"] = prefix + "xxxxx"
		}
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(object, c.structural)
	defaulting.Default(object, c.structural)
	return object
}

// misnamed says that no object may have the name, or no namespace. One without a name is left to what it is read for.
func misnamed(object map[string]any) (wrong field.ErrorList) {
	metadata, _ := object["metadata"].(map[string]any)
	for _, named := range []struct {
		by    string
		check func(string) []string
	}{{"name", utilvalidation.IsDNS1123Subdomain}, {"namespace", utilvalidation.IsDNS1123Label}} {
		name, _ := metadata[named.by].(string)
		if reasons := named.check(name); name != "" && len(reasons) > 0 {
			wrong = append(wrong, field.Invalid(field.NewPath("metadata", named.by), name, reasons[0]))
		}
	}
	return wrong
}

// of are the checks of a kind; nil for one that isn't Evenkeel's.
func (c *Checker) of(kind string) (*checks, error) {
	if known, made := c.kinds[kind]; made {
		return known, nil
	}
	if c.definitions == nil {
		all, err := crd.Definitions()
		if err != nil {
			return nil, err
		}
		c.definitions, c.kinds = map[string]*apiextensionsv1.CustomResourceDefinition{}, map[string]*checks{}
		for _, d := range all {
			c.definitions[d.Spec.Names.Kind] = d
		}
	}
	made, err := checksOf(c.definitions[kind])
	if err != nil {
		return nil, fmt.Errorf("use the schema of %s: %w", kind, err)
	}
	c.kinds[kind] = made
	return made, nil
}

func checksOf(d *apiextensionsv1.CustomResourceDefinition) (*checks, error) {
	if d == nil {
		return nil, nil //nolint:nilnil // a kind that this version doesn't have is checked by nothing
	}
	for _, v := range d.Spec.Versions {
		if v.Name != v1alpha1.GroupVersion.Version || v.Schema == nil {
			continue
		}
		internal := &apiextensions.JSONSchemaProps{}
		err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema,
			internal, nil)
		if err != nil {
			return nil, err
		}
		structural, err := structuralschema.NewStructural(internal)
		if err != nil {
			return nil, err
		}
		schema, _, err := validation.NewSchemaValidator(internal)
		if err != nil {
			return nil, err
		}
		return &checks{structural, schema, cel.NewValidator(structural, true, celconfig.PerCallLimit)}, nil
	}
	return nil, nil //nolint:nilnil // as above
}
