// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"fmt"
	"path"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// maxParallel is how many policies of a source are written at a time.
const maxParallel = 8

// applier writes the policies of one revision.
type applier struct {
	client   client.Client
	owner    owner
	revision string
}

// apply writes what the plan asks for. Every policy is tried first, so that one
// which is refused keeps all others from being written; then all are written, and
// only then what left the repository is removed: after a crash at any point the
// next pass does what is left.
func (a *applier) apply(ctx context.Context, p *changes) error {
	if err := a.each(p.write, func(want directory.Located) error { return a.try(ctx, want) }); err != nil {
		return err
	}
	if err := a.each(p.write, func(want directory.Located) error { return a.write(ctx, want) }); err != nil {
		return err
	}
	return a.prune(ctx, p.remove)
}

// each does the same with every policy, and gives one failure for all.
func (a *applier) each(policies []directory.Located, do func(directory.Located) error) error {
	results := make([]error, len(policies))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, p := range policies {
		group.Go(func() error {
			results[i] = do(p)
			return nil
		})
	}
	_ = group.Wait() // the results hold the errors
	var refused []v1alpha1.SourceProblem
	for i, err := range results {
		switch {
		case err == nil:
		case refuses(err):
			p := policies[i]
			refused = append(refused,
				problemAt(fileOf(p), 0, fmt.Sprintf("policy %s is refused: %v", p.Definition.Name, err)))
		default:
			return err
		}
	}
	if len(refused) > 0 {
		return withProblems(v1alpha1.ReasonRefused, refused)
	}
	return nil
}

// refuses says that it is the policy which the API server or its admission doesn't
// want, and not who writes it, or when.
func refuses(err error) bool {
	switch kube.Classify(err) {
	case kube.Invalid:
		return true
	case kube.Forbidden:
		return kube.DeniedByAdmission(err)
	default:
		return false
	}
}

func fileOf(p directory.Located) string {
	return path.Join(p.Dir, path.Base(p.Definition.Spec.Rego.File))
}

func (a *applier) try(ctx context.Context, want directory.Located) error {
	_, err := a.send(ctx, want, client.DryRunAll)
	return err
}

// write applies one policy, and takes away what others have put into its spec.
func (a *applier) write(ctx context.Context, want directory.Located) error {
	applied, err := a.send(ctx, want)
	if err != nil {
		return err
	}
	return a.takeOver(ctx, applied, want)
}

func (a *applier) send(ctx context.Context, want directory.Located, opts ...client.ApplyOption) (
	*unstructured.Unstructured, error) {
	object, err := manifest(want, a.owner, a.revision)
	if err != nil {
		return nil, err
	}
	opts = append(opts, client.FieldOwner(v1alpha1.SourceFieldManager), client.ForceOwnership)
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), opts...); err != nil {
		return nil, fmt.Errorf("apply policy %s: %w", want.Definition.Name, err)
	}
	return object, nil
}

// takeOver replaces the spec as a whole where applying has left more in it: lists
// are merged there, and what somebody else has added stays.
func (a *applier) takeOver(ctx context.Context, applied *unstructured.Unstructured, want directory.Located) error {
	var live v1alpha1.ClusterRegoPolicy
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, &live); err != nil {
		return fmt.Errorf("read policy %s: %w", applied.GetName(), err)
	}
	same, err := sameSpec(&live.Spec, &want.Definition.Spec)
	if err != nil || same {
		return err
	}
	spec, err := authored(&want.Definition.Spec)
	if err != nil {
		return err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": live.UID},
		{"op": "replace", "path": "/spec", "value": spec},
	})
	if err != nil {
		return fmt.Errorf("encode policy %s: %w", live.Name, err)
	}
	if err := a.client.Patch(ctx, &live, client.RawPatch(types.JSONPatchType, patch),
		client.FieldOwner(v1alpha1.SourceFieldManager)); err != nil {
		return fmt.Errorf("replace the spec of policy %s: %w", live.Name, err)
	}
	return nil
}
