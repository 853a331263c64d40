// SPDX-License-Identifier: Apache-2.0

package rbac_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/config/rbac"
)

// Whoever is on call looks at an installation, and is told to ask for this role where they may not: it grants each
// admission policy by its name.
func TestOperatorsMayReadEachAdmissionPolicyThatIsShipped(t *testing.T) {
	text, err := os.ReadFile("operator_role.yaml")
	if err != nil {
		t.Fatal(err)
	}
	granted := map[string][]string{}
	for _, document := range documents(t, text) {
		role := &rbacv1.ClusterRole{}
		if err := yaml.Unmarshal(document, role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if role.Name == "evenkeel-operator" && slices.Contains(rule.Verbs, "get") {
					granted[resource] = append(granted[resource], rule.ResourceNames...)
				}
			}
		}
	}
	for _, document := range append(documents(t, rbac.Requests), documents(t, rbac.Keys)...) {
		shipped := &metav1.PartialObjectMetadata{}
		if err := yaml.Unmarshal(document, shipped); err != nil {
			t.Fatal(err)
		}
		resource := map[string]string{"ValidatingAdmissionPolicy": "validatingadmissionpolicies",
			"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings"}[shipped.Kind]
		if resource == "" || !slices.Contains(granted[resource], shipped.Name) {
			t.Errorf("evenkeel-operator doesn't grant to get %s %s", shipped.Kind, shipped.Name)
		}
	}
}

func documents(t *testing.T, text []byte) (out [][]byte) {
	t.Helper()
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, document)
	}
}
