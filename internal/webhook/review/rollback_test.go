// SPDX-License-Identifier: Apache-2.0

package review

import (
	"cmp"
	"context"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/rollback"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

// proofs answers each question alike, for as long as it may.
type proofs struct{ err error }

func (p proofs) Check(ctx context.Context, _ *policy.Request) error { return cmp.Or(ctx.Err(), p.err) }

func TestOwnRollbacksPass(t *testing.T) {
	const self = "system:serviceaccount:evenkeel-system:evenkeel"
	cases := map[string]struct {
		reason, user, fieldManager string
		unproven                   error
		allowed                    bool
	}{
		"The manager may bring a violation back when it undoes its own write": {
			reason: "a rollback must never be blocked", user: self, fieldManager: v1alpha1.RollbackFieldManager,
			allowed: true,
		},
		"What no record holds is judged like any other, though the manager's name is on it": {
			reason: "a name and a field manager prove nothing", user: self, fieldManager: v1alpha1.RollbackFieldManager,
			unproven: rollback.ErrNotRecorded,
		},
		"While the records can't be read, a rollback is judged like any other": {
			reason: "it is tried again", user: self, fieldManager: v1alpha1.RollbackFieldManager,
			unproven: context.DeadlineExceeded,
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
			h.Self, h.Rollbacks = self, proofs{tc.unproven}
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
