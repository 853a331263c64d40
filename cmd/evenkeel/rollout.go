package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

func newRolloutCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rollout",
		Short: "Watch rollouts, and say what you want of them",
		Long: `Rollout shows how violations are being put right, and lets a person pause,
resume, approve, reject, abort, undo or retry. NAME is a Remediation, or a policy: then
its latest plan is meant.`,
	}
	takesCommand(cmd)
	flags := takesCluster(cmd)
	cmd.AddCommand(newRolloutGetCommand(flags), newRolloutHistoryCommand(flags), newRolloutUndoCommand(flags))
	for _, word := range rolloutWords() {
		cmd.AddCommand(newRolloutWordCommand(flags, word))
	}
	return cmd
}

// findPlan reads the Remediation of that name, or the latest plan of the policy
// of that name.
func findPlan(ctx context.Context, c client.Reader, name string) (*v1alpha1.Remediation, error) {
	rem := &v1alpha1.Remediation{}
	err := c.Get(ctx, client.ObjectKey{Name: name}, rem)
	if err == nil {
		return rem, nil
	}
	if !apierrors.IsNotFound(err) {
		return nil, failure("read remediation "+name, err)
	}
	plans, err := listPlans(ctx, c, client.MatchingLabels{v1alpha1.LabelPolicy: name})
	if err != nil {
		return nil, err
	}
	if len(plans) == 0 {
		return nil, &noPlanError{name}
	}
	return &plans[len(plans)-1], nil
}

// noPlanError says that a name is neither a plan's nor that of a policy with one.
type noPlanError struct{ name string }

func (e *noPlanError) Error() string {
	return fmt.Sprintf("%q is neither a Remediation nor a policy that has one; see: evenkeel rollout get", e.name)
}

func (*noPlanError) ExitCode() int { return exitFailure }

// listPlans lists Remediations, the oldest first; one at work comes last.
func listPlans(ctx context.Context, c client.Reader, opts ...client.ListOption) ([]v1alpha1.Remediation, error) {
	list := &v1alpha1.RemediationList{}
	if err := c.List(ctx, list, opts...); err != nil {
		return nil, failure("list remediations", err)
	}
	slices.SortStableFunc(list.Items, func(a, b v1alpha1.Remediation) int {
		if a.Status.CompletedAt == nil != (b.Status.CompletedAt == nil) {
			if b.Status.CompletedAt == nil {
				return -1
			}
			return 1
		}
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	return list.Items, nil
}

// failure is an error of the cluster, with the mend where there is one.
func failure(what string, err error) error {
	switch {
	case apierrors.IsForbidden(err):
		err = fmt.Errorf("%w; ask for that right", err)
	case isMissingKind(err):
		err = fmt.Errorf("%w; Evenkeel's kinds aren't installed in this cluster: kubectl apply -k config/crd", err)
	case isUnanswered(err):
		err = fmt.Errorf("%w; Evenkeel's webhook doesn't answer, and has to record who asks for this: evenkeel doctor says what is wrong", err)
	}
	return &exitError{exitFailure, fmt.Errorf("%s: %w", what, err)}
}

// isMissingKind says whether an error means that the cluster doesn't serve the
// kind, whichever noticed: the API server, or discovery before it was asked.
func isMissingKind(err error) bool { return kube.Classify(err) == kube.Unserved }

// isUnanswered says whether the API server couldn't ask one of Evenkeel's own webhooks.
func isUnanswered(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook") && strings.Contains(err.Error(), ".evenkeel.dev\"")
}
