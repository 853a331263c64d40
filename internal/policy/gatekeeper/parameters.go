// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
)

// parameterSchema is the schema by which the API server stores parameters.
type parameterSchema struct{ structural *schema.Structural }

// newParameterSchema is nil for no schema, and for one that isn't structural, by which the API
// server neither prunes nor fills in defaults.
func newParameterSchema(given *apiextensionsv1.JSONSchemaProps) *parameterSchema {
	internal := &apiextensions.JSONSchemaProps{}
	if given == nil || apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		opened(given, false), internal, nil) != nil {
		return nil
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		return nil
	}
	return &parameterSchema{structural}
}

// parameters are a constraint's as the API server gives them to Gatekeeper: without fields
// that the schema hasn't. Its defaults are filled in where the RegoTemplate has no schema that
// does so.
func (r *rule) parameters(given map[string]any) (*apiextensionsv1.JSON, []string, error) {
	stored := runtime.DeepCopyJSON(given)
	if stored == nil {
		stored = map[string]any{}
	}
	var notes []string
	if r.schema != nil {
		unknown := pruning.PruneWithOptions(stored, r.schema.structural, false,
			schema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
		if len(unknown) > 0 {
			notes = append(notes, "the template's schema has no parameters "+strings.Join(unknown, ", ")+
				": the API server drops them, so they are left out")
		}
		defaulting.PruneNonNullableNullsWithoutDefaults(stored, r.schema.structural)
		if r.made.Spec.ParameterSchema == nil {
			defaulting.Default(stored, r.schema.structural)
		}
	}
	raw, err := json.Marshal(stored)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.parameters can't be written: %w", err)
	}
	return &apiextensionsv1.JSON{Raw: raw}, notes, nil
}
