// SPDX-License-Identifier: Apache-2.0

package source

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The role of the people on call lets them patch a source, and admission has that be for a look alone: whoever is
// refused a suspension isn't sent to ask for that role.
func TestWhoMayNotChangeASourceIsToldWhatWouldDo(t *testing.T) {
	sources := schema.GroupResource{Group: "evenkeel.dev", Resource: "policysources"}
	cases := map[string]struct {
		err       error
		says, not string
	}{
		"who may not patch it": {apierrors.NewForbidden(sources, "rules", fmt.Errorf(
			`User "dana" cannot patch resource "policysources" in API group "evenkeel.dev" in the namespace "x"`)),
			"ask for the permissions to patch and update policysources", "evenkeel-operator"},
		"who may only patch it": {apierrors.NewForbidden(sources, "rules", errors.New(
			"ValidatingAdmissionPolicy 'evenkeel-sources' denied request: that needs the verb update")),
			"that needs the verb update", "ask for"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := unchanged("rules", tc.err).Error()
			if !strings.HasPrefix(got, "change policy source rules: ") || !strings.Contains(got, tc.says) ||
				strings.Contains(got, tc.not) {
				t.Errorf("it says %q, want %q, and not %q", got, tc.says, tc.not)
			}
		})
	}
}
