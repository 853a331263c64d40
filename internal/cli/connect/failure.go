// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/permissions"
)

// Failure is an error of the cluster, with the fix where there is one.
func Failure(what string, err error) error {
	switch advice := permissions.Advice(err); {
	case advice != "":
		err = fmt.Errorf("%w; %s", err, advice)
	case apierrors.IsUnauthorized(err):
		err = fmt.Errorf("the API server doesn't take your credentials (%w): they are wrong, or have expired; log in "+
			"again, or see what kubectl config view --minify names", err)
	case IsMissingKind(err):
		err = fmt.Errorf("%w; Evenkeel's kinds aren't installed in this cluster: kubectl apply -k config/crd", err)
	case isUnanswered(err):
		err = fmt.Errorf("%w; Evenkeel's webhook doesn't answer, and has to record who asks for this: evenkeel doctor "+
			"says what is wrong", err)
	}
	return command.Exit(command.ExitFailure, fmt.Errorf("%s: %w", what, err))
}

// IsMissingKind says whether an error means that the cluster doesn't serve the
// kind, whichever noticed: the API server, or discovery before it was asked.
func IsMissingKind(err error) bool { return kube.Classify(err) == kube.Unserved }

// isUnanswered says whether the API server couldn't ask one of Evenkeel's own webhooks.
func isUnanswered(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook") &&
		strings.Contains(err.Error(), ".evenkeel.dev\"")
}
