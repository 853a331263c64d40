// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/prose"
)

// read reads a rollout with all that is shown of it; what may not be read is named in it.
func (v *viewer) read(ctx context.Context, name string) (display.Rollout, error) {
	r, err := v.readPlan(ctx, name)
	if err != nil {
		return r, err
	}
	breakers := &v1alpha1.RemediationBreakerList{}
	switch err := v.client.List(ctx, breakers); {
	case apierrors.IsForbidden(err):
		r.BreakersUnknown = true
		r.Unread = append(r.Unread, refusal("list circuit breakers", err))
	case err != nil:
		return r, connect.Failure("list circuit breakers", err)
	}
	for _, cb := range breakers.Items {
		if r.CoveredBy(&cb) {
			r.Breakers = append(r.Breakers, cb)
		}
	}
	return r, nil
}

// readPlan reads a plan with its slices. One that isn't made yet is left out, and so is one that may not be read, which
// is named: what it holds isn't known.
func (v *viewer) readPlan(ctx context.Context, name string) (display.Rollout, error) {
	r := display.Rollout{Remediation: &v1alpha1.Remediation{}, Now: time.Now(), Shown: v.shown}
	if err := v.client.Get(ctx, client.ObjectKey{Name: name}, r.Remediation); err != nil {
		return r, connect.Failure("read remediation "+name, err)
	}
	var first error
	names, refused := r.Remediation.Spec.Plan.Slices, 0
	for _, slice := range names {
		s := v1alpha1.RemediationSlice{}
		switch err := v.client.Get(ctx, client.ObjectKey{Name: slice}, &s); {
		case err == nil:
			r.Slices = append(r.Slices, s)
		case apierrors.IsForbidden(err):
			if refused++; first == nil {
				first = err
			}
		case !apierrors.IsNotFound(err):
			return r, connect.Failure("read slice "+slice, err)
		}
	}
	if refused > 0 {
		r.TargetsUnknown = true
		r.Unread = append(r.Unread, refusal(fmt.Sprintf("read %d of %d %s, which hold its targets", refused,
			len(names), prose.Plural(len(names), "slice")), first))
	}
	return r, nil
}

func refusal(what string, err error) string {
	return prose.OneLine(connect.Failure(what, err).Error())
}

// passes tells what may not be read and goes on without it; any other error stays one.
func (v *viewer) passes(what string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		fmt.Fprintf(v.errors, "whether another plan follows isn't known: %s\n", refusal(what, err))
		return nil
	case client.IgnoreNotFound(err) != nil:
		return connect.Failure(what, err)
	}
	return nil
}
