// SPDX-License-Identifier: Apache-2.0

package output

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestNamesArePrintedOfListsToo(t *testing.T) {
	plan := func(name string) v1alpha1.Remediation {
		rem := v1alpha1.Remediation{}
		rem.Name = name
		return rem
	}
	one := plan("a")
	cases := map[string]struct {
		object runtime.Object
		want   string
	}{
		"one object": {&one, "remediation.evenkeel.dev/a\n"},
		"a list": {&v1alpha1.RemediationList{Items: []v1alpha1.Remediation{one, plan("b")}},
			"remediation.evenkeel.dev/a\nremediation.evenkeel.dev/b\n"},
		"a list of nothing": {&v1alpha1.RemediationList{}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := (&Flag{Format: Name}).Objects(&out, tc.object, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("names (-want +got)\n%s", diff)
			}
		})
	}
}
