// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
)

func TestAPlanTellsWhyTheObjectFailed(t *testing.T) {
	ref := func(name string) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: name,
			UID: name}
	}
	rem, part := &v1alpha1.Remediation{}, &v1alpha1.RemediationSlice{Targets: []v1alpha1.Target{{Object: ref("web")}}}
	rem.Status.Evidence = []v1alpha1.FailureEvidence{{Object: ref("api"), Findings: []string{"of another object"}},
		{Object: ref("web"), Findings: []string{"Pod web-1,\ncontainer app: terminated: Error, exit code 1"},
			Unread: "Warning events: forbidden"}}
	e := &Explanation{Object: ref("web")}
	e.within(rem, part)
	want := []string{"Pod web-1, container app: terminated: Error, exit code 1",
		"evidence couldn't be read: Warning events: forbidden"}
	if diff := cmp.Diff(want, e.Plans[0].Evidence); diff != "" {
		t.Errorf("evidence (-want +got)\n%s", diff)
	}
	drawn := strings.Join(e.Draw(display.Style{}), "\n")
	if !strings.Contains(drawn, "    seen before anything was undone:\n      "+strings.Join(want, "\n      ")) {
		t.Errorf("it isn't drawn:\n%s", drawn)
	}
}
