// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubeevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
)

// A plan whose record is gone keeps its finalizer, so that it can't vanish unseen:
// who is told to delete it must also be told how to let go of that.
func TestAPlanWithoutItsRecordSaysHowToLetItGo(t *testing.T) {
	c := &Controller{clock: clocktesting.NewFakePassiveClock(time.Unix(1, 0)),
		events: escalate.NewRecorder(kubeevents.NewFakeRecorder(1))}
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "web-1a2b3c4d"}}
	c.stuck(rem, errors.New("slice web-1a2b3c4d-0 of the plan doesn't exist"))
	for _, part := range []string{
		"slice web-1a2b3c4d-0 of the plan doesn't exist: ",
		"kubectl delete remediation web-1a2b3c4d --wait=false;",
		`kubectl patch remediation web-1a2b3c4d --type=merge -p '{"metadata":{"finalizers":null}}'`,
	} {
		if !strings.Contains(rem.Status.Message, part) {
			t.Errorf("the message has no %q: %s", part, rem.Status.Message)
		}
	}
}
