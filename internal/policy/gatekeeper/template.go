// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// constraintTemplate is what of a ConstraintTemplate counts, by Gatekeeper's names
// (frameworks/constraint/pkg/apis/templates/v1).
type constraintTemplate struct {
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		CRD struct {
			Spec struct {
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
				Validation struct {
					LegacySchema *bool                            `json:"legacySchema"`
					Schema       *apiextensionsv1.JSONSchemaProps `json:"openAPIV3Schema"`
				} `json:"validation"`
			} `json:"spec"`
		} `json:"crd"`
		Targets []target `json:"targets"`
	} `json:"spec"`
}

type target struct {
	Target string   `json:"target"`
	Rego   string   `json:"rego"`
	Libs   []string `json:"libs"`
	Code   []struct {
		Engine string          `json:"engine"`
		Source json.RawMessage `json:"source"`
	} `json:"code"`
	// Operations are those on which Gatekeeper's webhook evaluates it; none for all. Its audit does in any case.
	Operations []v1alpha1.Operation `json:"operations"`
}

// source is the Rego of a template.
type source struct {
	Rego    string   `json:"rego"`
	Version string   `json:"version"`
	Libs    []string `json:"libs"`
}

const admissionTarget = "admission.k8s.gatekeeper.sh"

// Gatekeeper's engines.
const (
	regoEngine = "Rego"
	celEngine  = "K8sNativeValidation"
)

// rego finds the Rego of a template; the error says why there is none to take.
func (t *constraintTemplate) rego() (source, error) {
	if len(t.Spec.Targets) != 1 || t.Spec.Targets[0].Target != admissionTarget {
		return source{}, fmt.Errorf("spec.targets must be the one target %s", admissionTarget)
	}
	one := t.Spec.Targets[0]
	if one.Rego != "" {
		return source{Rego: one.Rego, Libs: one.Libs, Version: "v0"}, nil
	}
	engines := []string{}
	for _, code := range one.Code {
		engines = append(engines, code.Engine)
		if code.Engine != regoEngine {
			continue
		}
		found := source{}
		if err := json.Unmarshal(code.Source, &found); err != nil {
			return source{}, fmt.Errorf("spec.targets[0].code of engine Rego can't be read: %w", err)
		}
		if found.Version == "" {
			found.Version = "v0"
		}
		return found, nil
	}
	return source{}, fmt.Errorf("it has no Rego, only %s: write its rule in Rego, see docs/write-a-policy.md",
		strings.Join(engines, ", "))
}

// operations are those on which Gatekeeper's webhook evaluates the template; nil for all, as where it has several
// targets (frameworks/constraint/pkg/client, templateClient.MatchesOperation).
func (t *constraintTemplate) operations() []v1alpha1.Operation {
	if len(t.Spec.Targets) != 1 || len(t.Spec.Targets[0].Operations) == 0 ||
		slices.Contains(t.Spec.Targets[0].Operations, everything) {
		return nil
	}
	return t.Spec.Targets[0].Operations
}

// besideCEL says that Gatekeeper evaluates CEL instead of the Rego that the policies have; empty where there is none.
// Of a template's engines it takes the one that it was started with first (frameworks/constraint/pkg/client,
// driverForTemplate).
func (t *constraintTemplate) besideCEL() string {
	for _, one := range t.Spec.Targets {
		for _, code := range one.Code {
			if code.Engine == celEngine {
				return "it has CEL (" + celEngine + ") beside its Rego, and Gatekeeper evaluates the CEL, unless it " +
					"runs with --enable-k8s-native-validation=false; its policies have the Rego: look whether both " +
					"say the same"
			}
		}
	}
	return ""
}

// legacy says that parameters may hold what the schema doesn't name: legacySchema, which versions before v1 have by
// default (frameworks/constraint/pkg/apis/templates).
func (t *constraintTemplate) legacy() bool {
	if set := t.Spec.CRD.Spec.Validation.LegacySchema; set != nil {
		return *set
	}
	_, version, _ := strings.Cut(t.APIVersion, "/")
	return version != "v1"
}

// foreign says what the Rego uses that there is in Gatekeeper only, and what to do instead.
func foreign(used facts.Mentions) []string {
	var refused []string
	for _, f := range []struct {
		found bool
		why   string
	}{
		{used.Refers("external_data"), "its Rego calls external_data: Evenkeel's rules reach no network; put what it " +
			"asks for into parameters, or leave this one with Gatekeeper"},
		{used.Key("_unstable"), "its Rego reads input.review._unstable: use input.review.namespaceObject"},
		{slices.ContainsFunc([]string{"deny", "warn", "remediation"}, used.Rule),
			"its Rego has a rule deny, warn or remediation, which Evenkeel would take for results: rename it"},
	} {
		if f.found {
			refused = append(refused, f.why)
		}
	}
	return refused
}

// undefinedThere says what the Rego reads that there is in Evenkeel only; none for nothing.
func undefinedThere(used facts.Mentions) []string {
	var read []string
	for _, key := range []string{"object", "pod", "request"} {
		if used.Refers("input", key) {
			read = append(read, "input."+key)
		}
	}
	if len(read) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("its Rego reads or may read %s, undefined in Gatekeeper, which gives a rule "+
		"input.review and input.parameters alone: what depends on that is judged otherwise", strings.Join(read, ", "))}
}

// modules are the rule's, the template's own first, with what they look up and what stands in their way.
func (t *constraintTemplate) modules(s source, known []syncedKind) (modules []v1alpha1.RegoLibrary, looks lookups,
	refused []string) {
	name := strings.ToLower(t.Metadata.Name)
	modules = []v1alpha1.RegoLibrary{{Name: name + ".rego", Source: s.Rego}}
	for i, lib := range s.Libs {
		modules = append(modules, v1alpha1.RegoLibrary{Name: fmt.Sprintf("%s-lib-%d.rego", name, i+1), Source: lib})
	}
	used, err := facts.MentionsOf(modules, v1alpha1.RegoVersion(s.Version))
	if err != nil {
		return modules, lookups{}, nil // newRule says why it doesn't compile
	}
	refused = foreign(used)
	if used.Refers("data", "inventory") {
		if looks = t.references(used, known); looks.why != "" {
			refused = append(refused, looks.why)
		}
	}
	looks.notes = append(looks.notes, undefinedThere(used)...)
	return modules, looks, refused
}
