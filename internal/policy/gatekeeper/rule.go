// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/template"
)

// rule is a ConstraintTemplate as a RegoTemplate.
type rule struct {
	of *constraintTemplate
	// refused says why there is none; empty when there is.
	refused []string
	// notes are what to know of it.
	notes    []string
	made     *v1alpha1.RegoTemplate
	compiled *template.Template
	// references are the kinds that it looks up.
	references []v1alpha1.ReferencedKind
	// schema is that of the constraints' parameters, by which the API server prunes them and
	// fills in defaults; nil where it does neither.
	schema *parameterSchema
}

// newRule makes the RegoTemplate of a ConstraintTemplate; known are the kinds that Gatekeeper replicates, and untold
// says that it isn't known whether its webhook is asked about deletions.
func newRule(t *constraintTemplate, known []syncedKind, untold bool) *rule {
	r := &rule{of: t}
	if len(validation.IsDNS1123Subdomain(t.Metadata.Name)) > 0 {
		r.refuse(fmt.Sprintf("the name %q can't be a template's, nor a ConstraintTemplate's in a cluster: it must be "+
			"a lower-case DNS subdomain; rename the template", t.Metadata.Name))
		return r
	}
	source, err := t.rego()
	if err != nil {
		r.refused = []string{err.Error()}
		return r
	}
	modules, looks, refused := t.modules(source, known)
	r.references, r.notes = looks.kinds, looks.notes
	if !slices.Contains([]string{string(v1alpha1.RegoV0), string(v1alpha1.RegoV1)}, source.Version) {
		refused = append(refused, fmt.Sprintf("its version %q isn't known: give v0 or v1", source.Version))
	}
	if r.refused = refused; len(refused) > 0 {
		return r
	}
	if note := t.besideCEL(); note != "" {
		r.notes = append(r.notes, note)
	}
	if untold && slices.ContainsFunc(modules, func(m v1alpha1.RegoLibrary) bool {
		return strings.Contains(m.Source, `"DELETE"`)
	}) {
		r.notes = append(r.notes, "its Rego names the operation DELETE, and its policies are asked about CREATE and "+
			"UPDATE alone, as Gatekeeper's webhook is by default: where yours is asked about deletions, give its "+
			"ValidatingWebhookConfiguration too, or --operations")
	}
	r.made = &v1alpha1.RegoTemplate{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "RegoTemplate"},
		ObjectMeta: metav1.ObjectMeta{Name: t.Metadata.Name},
		Spec: v1alpha1.RegoTemplateSpec{Rego: v1alpha1.RegoSource{
			Version: v1alpha1.RegoVersion(source.Version), File: modules[0].Name, Main: modules[0].Source,
			Libraries: modules[1:], StrictBuiltinErrors: ptr.To(false)}},
	}
	given := t.Spec.CRD.Spec.Validation.Schema
	if t.legacy() {
		given = opened(given, true)
	}
	r.schema = newParameterSchema(given)
	if err := r.compile(given); err != nil {
		r.refused, r.made = []string{fmt.Sprintf("its Rego doesn't hold: %v", err)}, nil
	} else if !r.compiled.TakenByGatekeeper() {
		r.refuse("its Rego doesn't compile in Gatekeeper either, which enforces nothing of it: no element of " +
			"violation is an object with a msg: give it as violation[{\"msg\": msg}]")
	}
	return r
}

func (r *rule) refuse(why string) { r.refused, r.made = append(r.refused, why), nil }

// compile compiles the rule, with the schema as it stands if a RegoTemplate can have it, open where it says no types if
// it can have that, and else with none.
func (r *rule) compile(given *apiextensionsv1.JSONSchemaProps) error {
	var unfit *template.SchemaError
	var err error
	for _, props := range []*apiextensionsv1.JSONSchemaProps{given, opened(given, false), nil} {
		r.made.Spec.ParameterSchema = nil
		if props != nil {
			text, err := json.Marshal(props)
			if err != nil {
				return fmt.Errorf("the schema of its parameters can't be written: %w", err)
			}
			r.made.Spec.ParameterSchema = &v1alpha1.ParameterSchema{OpenAPIV3Schema: apiextensionsv1.JSON{Raw: text}}
		}
		if r.compiled, err = template.Compile(r.made); !errors.As(err, &unfit) {
			break
		}
	}
	if err != nil {
		return err
	}
	if given != nil && r.made.Spec.ParameterSchema == nil {
		r.notes = append(r.notes, "policies may give any parameters: a RegoTemplate can't have its schema, "+
			strings.ReplaceAll(unfit.Error(), "\n", "; "))
	}
	return nil
}

// opened is a schema for parameters, which are an object, that lets in whatever stands where it says no type, and into
// all objects too what it doesn't name where they are open, as Gatekeeper has them by a legacy schema
// (frameworks/constraint/pkg/schema, AddPreserveUnknownFields).
func opened(given *apiextensionsv1.JSONSchemaProps, objects bool) *apiextensionsv1.JSONSchemaProps {
	if given == nil {
		return nil
	}
	props := given.DeepCopy()
	open(props, objects)
	if props.Type == "" {
		props.Type = "object"
	}
	return props
}

func open(props *apiextensionsv1.JSONSchemaProps, objects bool) {
	if props.Type == "" && !props.XIntOrString || objects && props.Type == "object" {
		props.XPreserveUnknownFields = ptr.To(true)
	}
	openItems(props, objects)
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		open(props.AdditionalProperties.Schema, objects)
	}
	for name, property := range props.Properties {
		open(&property, objects)
		props.Properties[name] = property
	}
}

func openItems(props *apiextensionsv1.JSONSchemaProps, objects bool) {
	if objects && props.Type == "array" && props.Items == nil {
		props.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &apiextensionsv1.JSONSchemaProps{}}
	}
	if props.Items != nil && props.Items.Schema != nil {
		open(props.Items.Schema, objects)
	}
}
