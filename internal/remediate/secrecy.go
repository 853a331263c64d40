package remediate

import (
	"context"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// keepSecrets refuses a fix whose record would hold the values of a Secret.
func keepSecrets(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	if a.object.GroupVersionKind().Group == "" && a.object.GetKind() == "Secret" {
		return a.failed(v1alpha1.ReasonSensitive, "a Secret's values mustn't be recorded, and a write that isn't recorded can't be undone: mend it by hand")
	}
	return nil
}
