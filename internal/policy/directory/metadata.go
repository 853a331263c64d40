// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/annotation"
	"evenkeel.dev/evenkeel/internal/prose"
)

// custom is what METADATA may hold below custom. The keys of match, admission and
// remediation are the API's own.
type custom struct {
	ID          string                     `json:"id"`
	Severity    v1alpha1.Severity          `json:"severity"`
	Match       v1alpha1.Match             `json:"match"`
	Admission   v1alpha1.Admission         `json:"admission"`
	Parameters  *apiextensionsv1.JSON      `json:"parameters"`
	Remediation v1alpha1.PolicyRemediation `json:"remediation"`
}

// metadata is the METADATA of one policy's package.
type metadata struct {
	annotation.Metadata
	custom custom
}

// line is that of a key written with dots, or of the nearest one above it.
func (m *metadata) line(key string) int { return m.RowOf(pathElement.FindAllString(key, -1)...) }

// remedyOf says what to write instead of a key that isn't known.
func remedyOf(key string) string {
	now, renamed := map[string]string{
		"custom.enforcement":   "custom.admission.action",
		"custom.failurePolicy": "custom.admission.failurePolicy",
		"custom.ratchet": "custom.admission.existingViolations (Allow for true, " +
			"Deny for false)",
		"custom.match.operations":                          "custom.admission.operations",
		"custom.match.exemptUsers":                         "custom.admission.exempt.users",
		"custom.match.exemptGroups":                        "custom.admission.exempt.groups",
		"custom.match.labelSelector":                       "custom.match.objectSelector",
		"custom.remediation.maxConcurrent":                 "custom.remediation.maxInFlight",
		"custom.remediation.breaker.failureRatio":          "custom.remediation.breaker.failurePercent",
		"custom.remediation.canary.selector.labelSelector": "custom.remediation.canary.selector.objectSelector",
	}[key]
	if renamed {
		return "it is " + now + " now"
	}
	at, name := key[:strings.LastIndex(key, ".")+1], key[strings.LastIndex(key, ".")+1:]
	if near := prose.Nearest(name, keysBeside(key)); near != "" {
		return "remove it, or correct its spelling; did you mean " + at + near + "?"
	}
	return "remove it, or correct its spelling"
}

var (
	pathElement  = regexp.MustCompile(`[^.\[\]]+`)
	unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)
)

// decodeCustom reads what is below custom, strictly. It reports false when the
// values can't be read at all.
func (m *metadata) decodeCustom(found *problems) bool {
	text, err := json.Marshal(m.Custom)
	if err != nil {
		found.add(m.File, m.line("custom"), "custom can't be written as JSON: %v", err)
		return false
	}
	unknown, err := kjson.UnmarshalStrict(text, &m.custom)
	for _, problem := range unknown {
		key := "custom"
		if field := unknownField.FindStringSubmatch(problem.Error()); field != nil {
			key += "." + field[1]
		}
		found.add(m.File, m.line(key), "unknown METADATA key %s: %s", key, remedyOf(key))
	}
	if err == nil {
		return true
	}
	key := "custom" + unreadable(m.Custom, func(part any) bool {
		text, err := json.Marshal(part)
		return err != nil || json.Unmarshal(text, &custom{}) != nil
	})
	found.add(m.File, m.line(key), "%s can't be read: %v", key, err)
	return false
}

// unreadable is the path, such as ".remediation.windows[0].duration", of the value
// for which a whole that holds nothing else can't be read: not every decoder's
// error says where it happened.
func unreadable(value any, fails func(any) bool) string {
	switch v := value.(type) {
	case map[string]any:
		if fails(map[string]any{}) {
			return "" // it should be no map at all
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			within := func(part any) bool { return fails(map[string]any{key: part}) }
			if within(v[key]) {
				return "." + key + unreadable(v[key], within)
			}
		}
	case []any:
		if fails([]any{}) {
			return "" // nor a list
		}
		for i := range v {
			within := func(part any) bool { return fails([]any{part}) }
			if within(v[i]) {
				return fmt.Sprintf("[%d]", i) + unreadable(v[i], within)
			}
		}
	}
	return ""
}

// owner is the first organization; empty when none is named.
func (m *metadata) owner() string {
	if len(m.Organizations) == 0 {
		return ""
	}
	return strings.TrimSpace(m.Organizations[0])
}

// runbook is the first related resource, if it is a web address.
func (m *metadata) runbook() string {
	if len(m.RelatedResources) == 0 {
		return ""
	}
	ref := m.RelatedResources[0].Ref
	if !strings.HasPrefix(ref, "https://") && !strings.HasPrefix(ref, "http://") {
		return ""
	}
	return ref
}

// spec is the policy's, without its Rego, as it was authored.
func (m *metadata) spec() v1alpha1.RegoPolicySpec {
	return v1alpha1.RegoPolicySpec{
		Title:       strings.TrimSpace(m.Title),
		Description: strings.TrimSpace(m.Description),
		Owner:       m.owner(),
		Severity:    m.custom.Severity,
		RunbookURL:  m.runbook(),
		Match:       m.custom.Match,
		Admission:   m.custom.Admission,
		Parameters:  m.custom.Parameters,
		Remediation: m.custom.Remediation,
	}
}
