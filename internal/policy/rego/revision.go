// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// revisionLength is in hexadecimal digits: 64 bits, short enough for names and
// labels, long enough that two revisions of one policy never meet.
const revisionLength = 16

// Revision identifies all of a policy that can change a verdict or a fix: name,
// Rego version, modules, match, what of admission says which requests are judged,
// and parameters. Two policies that differ only in
// how they are enforced, described or rolled out have the same revision.
func Revision(p *v1alpha1.ClusterRegoPolicy) string {
	defaulted := p.DeepCopy()
	defaulted.SetDefaults()
	content := struct {
		Name       string
		Version    v1alpha1.RegoVersion
		Modules    []v1alpha1.RegoLibrary
		Match      v1alpha1.Match
		Operations []v1alpha1.Operation
		Exempt     v1alpha1.Exemptions
		Parameters string
		// A policy without conditions keeps the revision that it had before there were any.
		MatchConditions []v1alpha1.MatchCondition `json:",omitempty"`
		// Nor does one whose built-in functions are strict, as all were once.
		LenientBuiltins bool `json:",omitempty"`
	}{
		Name:       defaulted.Name,
		Version:    defaulted.Spec.Rego.Version,
		Modules:    defaulted.Spec.Rego.Modules(),
		Match:      defaulted.Spec.Match,
		Operations: defaulted.Spec.Admission.Operations,
		Exempt:     defaulted.Spec.Admission.Exempt,
		Parameters: canonicalParameters(defaulted),

		MatchConditions: defaulted.Spec.Admission.MatchConditions,
		LenientBuiltins: !defaulted.Spec.Rego.Strict(),
	}
	// Marshalling can't fail: strings, booleans and label selectors only.
	text, _ := json.Marshal(content) //nolint:errchkjson // see above
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:revisionLength]
}

// canonicalParameters writes the parameters with sorted keys and no blanks. Text
// that isn't JSON stands for itself: Compile refuses it.
func canonicalParameters(p *v1alpha1.ClusterRegoPolicy) string {
	value, err := parameters(p)
	if err != nil {
		return string(p.Spec.Parameters.Raw)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return string(p.Spec.Parameters.Raw)
	}
	return string(text)
}

// parameters reads spec.parameters, an empty object when unset. Numbers stay as
// written.
func parameters(p *v1alpha1.ClusterRegoPolicy) (any, error) {
	if p.Spec.Parameters == nil || len(p.Spec.Parameters.Raw) == 0 {
		return map[string]any{}, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(p.Spec.Parameters.Raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("spec.parameters isn't JSON: %w", err)
	}
	if value == nil {
		return map[string]any{}, nil
	}
	return value, nil
}
