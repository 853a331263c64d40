// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestVerificationPassesAWaivedObject(t *testing.T) {
	for want, until := range map[string]time.Time{
		"": fixtest.Now.Add(time.Hour), v1alpha1.ReasonStillViolating: fixtest.Now} {
		snapshot := fixtest.Waived(t, "owner", until)
		p := &Pass{Targets: &targets.Client{Mapper: meta.NewDefaultRESTMapper(nil),
			Clock: clocktesting.NewFakePassiveClock(fixtest.Now)}, Remediation: &v1alpha1.Remediation{},
			Snapshot: snapshot}
		p.Remediation.Spec.Plan.Policy.Name = "owner"
		got := ""
		if c := p.checkPolicy(t.Context(), fixtest.Widget(map[string]any{})); c != nil {
			got = c.Reason
			if !strings.Contains(c.Message, "no label owner") {
				t.Errorf("message %q", c.Message)
			}
		}
		if got != want {
			t.Errorf("with a waiver until %s verification says %q, want %q", until, got, want)
		}
	}
}
