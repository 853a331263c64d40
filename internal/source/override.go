// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// override gives copies of the policies, changed by the overrides in order. What
// can't be overridden is a problem of a field of the PolicySource.
func override(policies []directory.Located, overrides []v1alpha1.SourceOverride) (
	[]directory.Located, []v1alpha1.SourceProblem) {
	changed := make([]directory.Located, len(policies))
	for i, p := range policies {
		changed[i] = directory.Located{Dir: p.Dir, Definition: p.Definition.DeepCopy()}
	}
	var found []v1alpha1.SourceProblem
	for i, o := range overrides {
		field := fmt.Sprintf("spec.overrides[%d]", i)
		found = append(found, unknownNames(field, o.Policies, policies)...)
		for _, p := range changed {
			if !concerns(o.Policies, p.Definition.Name) {
				continue
			}
			if err := change(&p.Definition.Spec, o); err != nil {
				found = append(found, problemAt(
					field+".parameters", 0, fmt.Sprintf("policy %s: %v: give a JSON object", p.Definition.Name, err)))
			}
		}
	}
	return changed, found
}

// unlessAdded has policies stay as they are in force, but those that an override concerns
// which is new: while another one is wrong, what it did before mustn't end for that.
func (c *content) unlessAdded(want []directory.Located, overrides []v1alpha1.SourceOverride) {
	added := slices.DeleteFunc(slices.Clone(overrides), func(o v1alpha1.SourceOverride) bool {
		return slices.ContainsFunc(c.overrides, func(old v1alpha1.SourceOverride) bool {
			return reflect.DeepEqual(o, old)
		})
	})
	for i := range min(len(want), len(c.inForce)) {
		name := want[i].Definition.Name
		if !slices.ContainsFunc(added, func(o v1alpha1.SourceOverride) bool { return concerns(o.Policies, name) }) {
			want[i] = c.inForce[i]
		}
	}
}

func concerns(globs []string, name string) bool {
	return len(globs) == 0 || slices.ContainsFunc(globs, func(glob string) bool {
		matched, err := path.Match(glob, name)
		return err == nil && matched
	})
}

// unknownNames finds names that no policy bears: whoever wrote one believes that
// something is overridden, and it isn't. A glob may match nothing.
func unknownNames(field string, names []string, policies []directory.Located) []v1alpha1.SourceProblem {
	var found []v1alpha1.SourceProblem
	for i, name := range names {
		known := slices.ContainsFunc(policies, func(p directory.Located) bool { return p.Definition.Name == name })
		if !known && !strings.ContainsAny(name, "*?") {
			found = append(found, problemAt(fmt.Sprintf("%s.policies[%d]", field, i), 0,
				fmt.Sprintf("the repository has no policy %q: correct the name, or remove it", name)))
		}
	}
	return found
}

func change(spec *v1alpha1.RegoPolicySpec, o v1alpha1.SourceOverride) error {
	if o.AdmissionAction != "" {
		spec.Admission.Action = o.AdmissionAction
	}
	if o.RemediationMode != "" {
		spec.Remediation.Mode = o.RemediationMode
	}
	if o.Parameters == nil {
		return nil
	}
	before := []byte("{}")
	if spec.Parameters != nil && len(spec.Parameters.Raw) > 0 {
		before = spec.Parameters.Raw
	}
	merged, err := jsonpatch.MergePatch(before, o.Parameters.Raw)
	if err != nil {
		return fmt.Errorf("merge the parameters: %w", err)
	}
	spec.Parameters = &apiextensionsv1.JSON{Raw: merged}
	return nil
}
