// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
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
	rego.Metadata
	custom custom
}

// line is that of a key written with dots, or of the nearest one above it.
func (m *metadata) line(key string) int { return m.RowOf(pathElement.FindAllString(key, -1)...) }

// decodeCustom reads what is below custom, strictly. It reports false when the
// values can't be read at all.
func (m *metadata) decodeCustom(found *problems) bool {
	readable := true
	for _, misfit := range Decode(any(m.Custom), &m.custom) {
		key := strings.TrimSuffix("custom."+misfit.Path, ".")
		if !misfit.Unknown {
			readable = false
			found.add(m.File, m.line(key), "%s: %s", key, misfit.Message)
			continue
		}
		found.add(m.File, m.line(key), "unknown METADATA key %s: %s", key,
			strings.NewReplacer("did you mean ", "did you mean custom.", "it is now ", "it is now custom.").
				Replace(misfit.Message))
	}
	return readable
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
