// SPDX-License-Identifier: Apache-2.0

package review

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

func TestOwnRollbacksPass(t *testing.T) {
	const self = "system:serviceaccount:evenkeel-system:evenkeel"
	cases := map[string]struct {
		reason, user, fieldManager string
		allowed                    bool
	}{
		"The manager may bring a violation back when it undoes its own write": {
			reason: "a rollback must never be blocked", user: self, fieldManager: v1alpha1.RollbackFieldManager,
			allowed: true,
		},
		"The manager's other writes are judged like everybody's": {
			reason: "a fix must not violate", user: self, fieldManager: v1alpha1.FieldManager,
		},
		"Nobody else passes by the field manager's name": {
			reason: "everybody can send that name", user: "mallory", fieldManager: v1alpha1.RollbackFieldManager,
		},
		"Nobody passes without a user": {
			reason: "an empty name isn't the manager's", user: "", fieldManager: v1alpha1.RollbackFieldManager,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, v1alpha1.FailurePolicyFail,
				webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)))
			h.Self = self
			review := webhooktest.Review("UPDATE", webhooktest.Deployment("web", true),
				webhooktest.Deployment("web", false))
			review = webhooktest.Set(review, tc.user, "request", "userInfo", "username")
			review = webhooktest.Set(review, tree{"fieldManager": tc.fieldManager}, "request", "options")
			if got := webhooktest.Ask(t, h, review); got.Allowed != tc.allowed {
				t.Errorf("%s: want allowed %t, got %+v", tc.reason, tc.allowed, got)
			}
		})
	}
}
