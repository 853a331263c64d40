// SPDX-License-Identifier: Apache-2.0

// Package rbac holds what guards the verbs of people's requests, and what warns of keys without effect, of this
// version.
package rbac

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
)

// Requests are the ValidatingAdmissionPolicies that ask for the verbs, and their
// bindings.
//
//go:embed requests_policy.yaml
var Requests []byte

// Keys are the ValidatingAdmissionPolicy that warns of annotations and labels without effect,
// and its binding.
//
//go:embed keys_policy.yaml
var Keys []byte

// AdmissionPolicies are the ValidatingAdmissionPolicies of a manifest of this version, and their bindings.
func AdmissionPolicies(text []byte) (policies []*admissionregistrationv1.ValidatingAdmissionPolicy,
	bindings []*admissionregistrationv1.ValidatingAdmissionPolicyBinding, err error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		raw := &unstructured.Unstructured{}
		if err := decoder.Decode(raw); errors.Is(err, io.EOF) {
			return policies, bindings, nil
		} else if err != nil {
			return nil, nil, fmt.Errorf("read the ValidatingAdmissionPolicies of this version: %w", err)
		}
		switch raw.GetKind() {
		case "ValidatingAdmissionPolicy":
			policy := &admissionregistrationv1.ValidatingAdmissionPolicy{}
			err, policies = runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, policy),
				append(policies, policy)
		case "ValidatingAdmissionPolicyBinding":
			binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}
			err, bindings = runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, binding),
				append(bindings, binding)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s %s: %w", raw.GetKind(), raw.GetName(), err)
		}
	}
}
