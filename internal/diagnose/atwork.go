// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// working is whether a manager is at work, or why that isn't known.
type working struct {
	yes bool
	err error
}

// atWork says whether a manager keeps what is reported up to date: one that leads, or one outside the cluster that
// answers without leading. An error says why that isn't known. It is found out once a run.
func (in *Installation) atWork(ctx context.Context) (bool, error) {
	if in.working == nil {
		yes, err := in.askAtWork(ctx)
		if ctx.Err() != nil {
			return yes, err // it says nothing of the installation
		}
		in.working = &working{yes, err}
	}
	return in.working.yes, in.working.err
}

func (in *Installation) askAtWork(ctx context.Context) (bool, error) {
	_, fresh, err := in.lease(ctx)
	if err == nil || !apierrors.IsNotFound(err) {
		return fresh, err
	}
	if in.outside(ctx) == "" {
		return false, nil
	}
	_, _, err = in.send(ctx)
	if f, bad := refusal(err); bad && f.Status == Unknown {
		return false, err
	}
	return err == nil, nil
}

// outdated is what there is to say of what a manager has reported, if none keeps it up to date, or nobody knows whether
// one does; nil if one does. are is "they are" or "that is", of what is reported.
func (in *Installation) outdated(ctx context.Context, reported, are string) []Finding {
	switch works, err := in.atWork(ctx); {
	case err != nil:
		return []Finding{unread(reported+"; whether "+are+" kept up to date", err)}
	case !works:
		return []Finding{warned("see the checks manager, leader and admission",
			"last reported: %s; but no manager is running: what has changed since isn't seen", reported)}
	}
	return nil
}

// reported is the findings on so many objects whose status a manager writes, or one that all is well, if that is kept
// up to date.
func (in *Installation) reported(ctx context.Context, found []Finding, objects int, format string,
	args ...any) []Finding {
	if len(found) == 0 && objects > 0 {
		found = in.outdated(ctx, fmt.Sprintf(format, args...), "that is")
	}
	return orFine(found, format, args...)
}
