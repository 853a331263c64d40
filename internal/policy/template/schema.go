// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	kjson "sigs.k8s.io/json"

	apivalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// maxSchema is the longest schema, in bytes.
const maxSchema = 64 << 10

// at is where a template's schema lies.
const at = "spec.parameterSchema.openAPIV3Schema"

// schema says which parameters fit; nil lets all. It is immutable.
type schema struct {
	size       int
	structural *structuralschema.Structural
	defaults   *defaults
	validator  apivalidation.SchemaValidator
}

// newSchema reads a schema, and refuses what a CustomResourceDefinition couldn't have
// either.
func newSchema(given *v1alpha1.ParameterSchema) (*schema, error) {
	if given == nil {
		return nil, nil //nolint:nilnil // a nil schema lets all
	}
	size := len(given.OpenAPIV3Schema.Raw)
	if size > maxSchema {
		return nil, refused("it is %d bytes long: make it %d at most", size, maxSchema)
	}
	internal, err := read(given.OpenAPIV3Schema.Raw)
	if err != nil {
		return nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	if err != nil {
		return nil, refused("it isn't structural: %v", err)
	}
	if why := notForParameters(structural); why != "" {
		return nil, refused("%s", why)
	}
	bounded, err := boundedDefaults(structural, size)
	if err != nil {
		return nil, err
	}
	if found := validation.ValidateCustomResourceDefinition(context.Background(), definitionOf(internal)); len(
		found) > 0 {
		return nil, &SchemaError{Problems: told(found, ofTemplate)}
	}
	validator, _, err := apivalidation.NewSchemaValidator(internal)
	if err != nil {
		return nil, refused("nothing can be held against it: %v", err)
	}
	return &schema{size: size, structural: structural, defaults: bounded, validator: validator}, nil
}

// boundedDefaults reads the defaults of a schema, which must be possible to hold against it.
func boundedDefaults(s *structuralschema.Structural, size int) (*defaults, error) {
	d, found := defaultsOf(field.NewPath("spec", "parameterSchema", "openAPIV3Schema"), s)
	if len(found) > 0 {
		return nil, &SchemaError{Problems: told(found, func(path string) string { return path })}
	}
	if total := d.total(); total*size > maxChecked {
		return nil, refused(
			"its defaults are %d bytes long, and %d are the most for a schema of %d: shorten them, or the schema",
			total, maxChecked/size, size)
	}
	return d, nil
}

func read(text []byte) (*apiextensions.JSONSchemaProps, error) {
	var props apiextensionsv1.JSONSchemaProps
	unknown, err := kjson.UnmarshalStrict(text, &props)
	if err == nil && len(unknown) > 0 {
		err = unknown[0]
	}
	if err != nil {
		return nil, refused("it isn't an OpenAPI v3 schema: %v", err)
	}
	if props.Type != "object" {
		return nil, refused("its type is %q: parameters are an object, so set type: object", props.Type)
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		&props, internal, nil); err != nil {
		return nil, refused("it can't be read: %v", err)
	}
	return internal, nil
}

func refused(format string, args ...any) error {
	return &SchemaError{Problems: []Problem{{Field: at, Message: fmt.Sprintf(format, args...)}}}
}

// notForParameters says what of a schema parameters can't have: expressions, whose checking
// takes long, patterns, which the library keeps for ever once it has held anything against
// them, thousands of instructions each, and whole objects of Kubernetes.
func notForParameters(s *structuralschema.Structural) (why string) {
	refuse := func(validation *structuralschema.ValueValidation, rules int, embedded bool) bool {
		switch {
		case rules > 0:
			why = "x-kubernetes-validations can't be used: say it in the rule, which sees input.parameters"
		case validation != nil && validation.Pattern != "":
			why =
				"pattern can't be used: say it in the rule, by regex.match of input.parameters, or list what may be " +
					"given in enum"
		case embedded:
			why = "x-kubernetes-embedded-resource can't be used: take an object with " +
				"x-kubernetes-preserve-unknown-fields"
		}
		return false
	}
	(&structuralschema.Visitor{
		Structural: func(s *structuralschema.Structural) bool {
			return refuse(s.ValueValidation, len(s.XValidations), s.XEmbeddedResource)
		},
		NestedValueValidation: func(v *structuralschema.NestedValueValidation) bool {
			return refuse(&v.ValueValidation, len(v.ValidationExtensions.XValidations), false)
		},
	}).Visit(s)
	return why
}

// definitionOf is a CustomResourceDefinition with the schema, by which the library judges it.
func definitionOf(s *apiextensions.JSONSchemaProps) *apiextensions.CustomResourceDefinition {
	const group, plural, kind, version = "parameters.evenkeel.dev", "parameters", "Parameters", "v1"
	return &apiextensions.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + group},
		Spec: apiextensions.CustomResourceDefinitionSpec{
			Group: group, Version: version, Scope: apiextensions.ClusterScoped,
			Names: apiextensions.CustomResourceDefinitionNames{
				Plural: plural, Singular: plural, Kind: kind, ListKind: kind + "List"},
			Versions: []apiextensions.CustomResourceDefinitionVersion{
				{Name: version, Served: true, Storage: true}},
			Validation: &apiextensions.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensions.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensions.JSONSchemaProps{plural: *s}}},
			Conversion:            &apiextensions.CustomResourceConversion{Strategy: apiextensions.NoneConverter},
			PreserveUnknownFields: ptr.To(false),
		},
		Status: apiextensions.CustomResourceDefinitionStatus{StoredVersions: []string{version}},
	}
}

// ofTemplate is the path of a field of definitionOf as it is in the template.
func ofTemplate(path string) string {
	_, within, _ := strings.Cut(path, "properties[parameters]")
	return at + within
}

// complete gives parameters the schema's defaults. The problems say why they don't fit it.
func (s *schema) complete(given *apiextensionsv1.JSON) (*apiextensionsv1.JSON, []Problem) {
	text := []byte("{}")
	if given != nil && len(given.Raw) > 0 {
		text = given.Raw
	}
	if found := s.check(text); len(found) > 0 {
		return nil, told(found, func(path string) string { return path })
	}
	// Numbers stay as written.
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var whole map[string]any
	if err := decoder.Decode(&whole); err != nil {
		return nil, []Problem{{Field: parametersField, Message: fmt.Sprintf("they can't be read: %v", err)}}
	}
	completed, err := json.Marshal(s.withDefaults(whole))
	if err != nil {
		return nil, []Problem{{Field: parametersField, Message: fmt.Sprintf("they can't be written: %v", err)}}
	}
	return &apiextensionsv1.JSON{Raw: completed}, nil
}
