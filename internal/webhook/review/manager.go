// SPDX-License-Identifier: Apache-2.0

package review

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// ownFix says that the manager itself asks, for a fix that it has judged before.
// Unlike a rollback it is judged again, but see since.
func ownFix(r *serving.Review, self string) bool {
	return self != "" && r.UserInfo.Username == self && r.FieldManager() == v1alpha1.FieldManager
}
