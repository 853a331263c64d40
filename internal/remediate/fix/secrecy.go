// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

// KeepSecrets refuses a fix of a Secret whose record would hold a value: one that
// touches data, stringData or kubectl's copy of them, or that carries a value
// elsewhere. A write that can't be recorded can't be undone.
func KeepSecrets(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	if !policy.IsSecret(a.Object.Object) {
		return nil
	}
	secrets := policy.SecretsOf(a.Object.Object, a.Patched)
	if slices.ContainsFunc(a.Writes, func(w *Write) bool { return w.tells(secrets) }) {
		return a.Failed(v1alpha1.ReasonSensitive,
			"the record of this fix would hold values of the Secret, and a write that isn't recorded "+
				"can't be undone: fix it by hand, or let the fix touch labels, annotations, type or immutable only")
	}
	return nil
}

// tells says whether the record of a write would tell a Secret's value.
func (w *Write) tells(secrets policy.Secrets) bool {
	ops := slices.Concat(w.Ops, w.Keys)
	return secrets.In(w.Object) ||
		slices.ContainsFunc(ops, func(op policy.PatchOp) bool {
			return tellsSecret(secrets, op.Value, op.Path, op.From)
		}) ||
		slices.ContainsFunc(w.Fields, func(f action.Field) bool {
			return tellsSecret(secrets, []any{f.Before, f.After}, f.Path)
		})
}

// tellsSecret says whether what is recorded of a change would tell a Secret's
// value: by the places that it names, or by a value that it carries.
func tellsSecret(secrets policy.Secrets, value any, places ...string) bool {
	return slices.ContainsFunc(places, policy.SecretPlace) || secrets.In(value)
}
