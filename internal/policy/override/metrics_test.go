// SPDX-License-Identifier: Apache-2.0

package override

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestTheMetricEndsWithTheOverride(t *testing.T) {
	clock, registry := clocktesting.NewFakePassiveClock(at(time.Hour)), prometheus.NewRegistry()
	all := func(now time.Time, each func(string, *Override)) {
		if in := InForce(softened(), Policy{UID: "1", Declared: v1alpha1.AdmissionDeny}, now); in != nil {
			each("p", in)
		}
	}
	if err := RegisterMetrics(registry, all, clock); err != nil {
		t.Fatal(err)
	}
	const want = `# HELP evenkeel_policy_overridden 1 while a person has overridden the policy's enforcement, with ` +
		`what admission does in place of what it declares. Labels: policy, declared, action.
# TYPE evenkeel_policy_overridden gauge
evenkeel_policy_overridden{action="Warn",declared="Deny",policy="p"} 1
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	clock.SetTime(at(2 * time.Hour))
	if err := testutil.GatherAndCompare(registry, strings.NewReader("")); err != nil {
		t.Error(err)
	}
}
