// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"encoding/json"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TakesReason gives a command the flag --reason.
func TakesReason(cmd *cobra.Command, reason *string) {
	cmd.Flags().StringVar(reason, "reason", "", "why, for the record")
}

// Spec is the change by which a person asks something of a plan or a breaker, with
// the reason. A reason that stood there before was given for something else.
func Spec(field string, value any, reason string) map[string]any {
	spec := map[string]any{field: value, "reason": nil}
	if reason != "" {
		spec["reason"] = reason
	}
	return map[string]any{"spec": spec}
}

// SpecUntil is the same for what ends by itself when the field named end says; without an end it lasts, whatever
// the object said before.
func SpecUntil(field string, value any, end string, until *metav1.Time, reason string) map[string]any {
	change := Spec(field, value, reason)
	change["spec"].(map[string]any)[end] = until
	return change
}

// Patch merges a change into an object. A CustomResourceDefinition that is older than this program refuses it.
func Patch(ctx context.Context, c client.Client, obj client.Object, change map[string]any) error {
	raw, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, raw), client.FieldOwner("evenkeel-cli"),
		client.FieldValidation(metav1.FieldValidationStrict))
}

// NewToken is a token that was never asked for before.
func NewToken() string { return time.Now().UTC().Format(time.RFC3339Nano) }
