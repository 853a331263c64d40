// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	apivalidation "k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxChecked bounds the work of holding parameters against a schema, as the product of the
// bytes of both, the defaults that come to the parameters included: an enumeration of half a
// schema is compared with each item of a list.
const maxChecked = 64 << 20

// parametersField is where a policy's parameters lie.
const parametersField = "spec.parameters"

// check holds parameters against the schema, as the API server does an object.
func (s *schema) check(text []byte) field.ErrorList {
	path := field.NewPath("spec", "parameters")
	if s.size*len(text) > maxChecked {
		return field.ErrorList{field.TooLong(path, "", maxChecked/s.size)}
	}
	var whole map[string]any
	if err := json.Unmarshal(text, &whole); err != nil || whole == nil {
		return field.ErrorList{field.TypeInvalid(path, "", fmt.Sprintf("they must be an object: %v", err))}
	}
	if held := len(text) + s.defaults.added(whole); s.size*held > maxChecked {
		return field.ErrorList{field.Forbidden(path, fmt.Sprintf(
			"they are %d bytes long with the schema's defaults, and %d are the most for a schema of %d: give fewer "+
				"objects, or have the defaults shortened", held, maxChecked/s.size, s.size))}
	}
	whole = s.withDefaults(whole)
	found := apivalidation.ValidateCustomResource(path, whole, s.validator)
	found = append(found, listtype.ValidateListSetsAndMaps(path, s.structural, whole)...)
	// It takes away what it finds, so it comes last.
	unknown := pruning.PruneWithOptions(
		whole, s.structural, false, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, name := range unknown {
		found = append(found, field.Forbidden(path.Child(name), "the schema has no such field: check the spelling"))
	}
	return found
}

// withDefaults gives parameters the schema's defaults, in place.
func (s *schema) withDefaults(parameters map[string]any) map[string]any {
	defaulting.Default(parameters, s.structural)
	return parameters
}
