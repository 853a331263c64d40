package gatekeeper

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// constraintTemplate is what of a ConstraintTemplate counts, by Gatekeeper's names
// (frameworks/constraint/pkg/apis/templates/v1).
type constraintTemplate struct {
	Metadata struct {
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
					Schema *apiextensionsv1.JSONSchemaProps `json:"openAPIV3Schema"`
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
}

// source is the Rego of a template.
type source struct {
	Rego    string   `json:"rego"`
	Version string   `json:"version"`
	Libs    []string `json:"libs"`
}

const admissionTarget = "admission.k8s.gatekeeper.sh"

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
		if code.Engine != "Rego" {
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
	return source{}, fmt.Errorf("it has no Rego, only %s: write its rule in Rego, see docs/write-a-policy.md", strings.Join(engines, ", "))
}

// foreign are things that Rego may use in Gatekeeper only, with what to do instead.
func foreign() []struct {
	sign *regexp.Regexp
	mend string
} {
	return []struct {
		sign *regexp.Regexp
		mend string
	}{
		{regexp.MustCompile(`\bdata\s*(\.\s*inventory\b|\[\s*"inventory"\s*\])`), "its Rego reads data.inventory: Evenkeel's rules see no other objects; leave this one with Gatekeeper"},
		{regexp.MustCompile(`\bexternal_data\s*\(`), "its Rego calls external_data: Evenkeel's rules reach no network; put what it asks for into parameters, or leave this one with Gatekeeper"},
		{regexp.MustCompile(`\b_unstable\b`), "its Rego reads input.review._unstable: use input.review.namespaceObject"},
		{regexp.MustCompile(`(?m)^(deny|warn|remediation)\b`), "its Rego has a rule deny, warn or remediation, which Evenkeel would take for results: rename it"},
	}
}

var comment = regexp.MustCompile(`(?m)(^|\s)#.*$`)

// modules are the rule's, the template's own first.
func (t *constraintTemplate) modules(s source) ([]v1alpha1.RegoLibrary, []string) {
	name := strings.ToLower(t.Metadata.Name)
	modules := []v1alpha1.RegoLibrary{{Name: name + ".rego", Source: s.Rego}}
	for i, lib := range s.Libs {
		modules = append(modules, v1alpha1.RegoLibrary{Name: fmt.Sprintf("%s-lib-%d.rego", name, i+1), Source: lib})
	}
	var refused []string
	text := comment.ReplaceAllString(s.Rego+"\n"+strings.Join(s.Libs, "\n"), "")
	for _, f := range foreign() {
		if f.sign.MatchString(text) {
			refused = append(refused, f.mend)
		}
	}
	return modules, refused
}
