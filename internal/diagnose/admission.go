// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/internal/kube"
)

// slowAdmission is how long a request through the webhook may take until somebody
// should know.
const slowAdmission = time.Second

// admission sends two dry runs through the webhook: what is sound must pass, with who made it filled in, and what isn't
// must be refused.
func admission(ctx context.Context, in *Installation) []Finding {
	p, took, err := in.send(ctx)
	if f, bad := refusal(err); bad {
		return []Finding{f}
	}
	if !p.signed() {
		return []Finding{unasked(p.unsigned, p.signer)}
	}
	switch err := in.Client.Create(ctx, p.unsound, client.DryRunAll); {
	case err == nil:
		return []Finding{unasked(p.passed, p.judge)}
	case !strings.Contains(err.Error(), p.judge):
		return []Finding{unread("whether the webhook judges", err)}
	}
	took = took.Round(time.Millisecond)
	if took > slowAdmission {
		return []Finding{warned("see the manager's CPU, and the metric evenkeel_admission_duration_seconds",
			"the webhook answers and judges%s, but took %s", p.judges, took)}
	}
	return []Finding{fine("the webhook answers and judges%s; a request through it took %s", p.judges, took)}
}

func refusal(err error) (Finding, bool) {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return Finding{}, false
	case errors.As(err, &status) && strings.Contains(err.Error(), "failed calling webhook"):
		return failed("see the checks manager, webhooks and certificate; to unblock the cluster meanwhile, see "+
			"docs/troubleshoot.md",
			"the API server can't reach the webhook: %v", err), true
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "admission webhook"):
		return failed("see the manager's log", "admission refuses what is sound: %v", err), true
	case kube.DeniedByAdmission(err): // a role that grants overrides of some policies only
		return Finding{Status: Unknown, Do: "ask for the permission, or let somebody run this who has it",
			Message: fmt.Sprintf("whether admission answers couldn't be checked: %v", err)}, true
	default:
		return unread("whether admission answers", err), true
	}
}
