// SPDX-License-Identifier: Apache-2.0

package suite_test

import (
	"strings"
	"testing"
)

// shells turns the policy on hats into one on shells, with examples of them.
func shells(resource string) []string {
	pass := "\n- name: clean\n  subresource: {resource: " + resource + ", namespace: b, name: web}\n" +
		"  userInfo: {username: ann, groups: [allowed]}\n  object: {kind: PodExecOptions, apiVersion: v1, data: " +
		"{hat: top}}\n  expect: {violations: []}\n"
	refuse := "\n- name: violating\n  subresource: {resource: " + resource + ", namespace: b, name: web}\n" +
		"  object: {kind: PodExecOptions, apiVersion: v1, data: {hat: top}}\n  expect: {violations: [hat top]}\n"
	return []string{
		"#   severity: Low", "#   severity: Low\n#   admission: {operations: [CONNECT]}",
		"kinds: [ConfigMap]", "kinds: [Pod]\n#         subresources: [exec]",
		"	not input.object.data.hat in allowed\n",
		"	not input.object.data.hat in allowed\n	not \"allowed\" in " +
			"object.get(input, [\"request\", \"userInfo\", \"groups\"], [])\n",
		clean, pass, violating, refuse,
		` if not input.object.data.scarf`, ` if input.object.data.fixable`,
		"count(hats.remediation) == 1 with input.object.data.hat as \"top\"",
		"count(hats.remediation) == 1 with input.object.data.fixable as true",
	}
}

func TestExamplesOfSubresources(t *testing.T) {
	if report := run(t, hats(shells("pods/exec")...), "."); !report.OK() {
		t.Errorf("a shell and who asks for it can be examples: %v", report.Failures)
	}
	report := run(t, hats(shells("pods/status")...), ".")
	if report.OK() || !strings.Contains(
		report.Failures[0].Got, `"pods/status" is no subresource that policies judge: write for example pods/exec`) {
		t.Errorf("failures %v", report.Failures)
	}
}
