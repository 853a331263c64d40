// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// maxParallel is how many objects of a source are written at a time.
const maxParallel = 8

// applier writes the policies and strategies of one revision.
type applier struct {
	client   client.Client
	owner    owner
	revision string
}

// apply writes what the plan asks for. Every object is tried first, so that one
// which is refused keeps all others from being written; then all are written, and
// only then what left the repository is removed: after a crash at any point the
// next pass does what is left.
func (a *applier) apply(ctx context.Context, p *changes) error {
	if err := a.each(p.write, func(want object) error { return a.try(ctx, want) }); err != nil {
		return err
	}
	if err := a.each(p.write, func(want object) error { return a.write(ctx, want) }); err != nil {
		return err
	}
	return a.prune(ctx, p.remove)
}

// each does the same with every object, and gives one failure for all.
func (a *applier) each(objects []object, do func(object) error) error {
	results := make([]error, len(objects))
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i, p := range objects {
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
			refused = append(refused,
				problemAt(objects[i].file, 0, fmt.Sprintf("%s is refused: %v", objects[i], err)))
		default:
			return err
		}
	}
	if len(refused) > 0 {
		return withProblems(v1alpha1.ReasonRefused, refused)
	}
	return nil
}

// refuses says that it is the object which the API server or its admission doesn't
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

func (a *applier) try(ctx context.Context, want object) error {
	_, err := a.send(ctx, want, client.DryRunAll)
	return err
}

// write applies one object, and takes away what others have put into its spec.
func (a *applier) write(ctx context.Context, want object) error {
	applied, err := a.send(ctx, want)
	if err != nil {
		return err
	}
	return a.takeOver(ctx, applied, want)
}

func (a *applier) send(ctx context.Context, want object, opts ...client.ApplyOption) (
	*unstructured.Unstructured, error) {
	object, err := manifest(want, a.owner, a.revision)
	if err != nil {
		return nil, err
	}
	opts = append(opts, client.FieldOwner(v1alpha1.SourceFieldManager), client.ForceOwnership)
	if err := a.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), opts...); err != nil {
		return nil, fmt.Errorf("apply %s: %w", want, err)
	}
	return object, nil
}

// takeOver replaces the spec as a whole where applying has left more in it: lists
// are merged there, and what somebody else has added stays.
func (a *applier) takeOver(ctx context.Context, applied *unstructured.Unstructured, want object) error {
	live := want.kind.empty()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, live); err != nil {
		return fmt.Errorf("read %s: %w", want, err)
	}
	same, err := sameSpec(specOf(live), want.spec)
	if err != nil || same {
		return err
	}
	spec, err := authored(want.spec)
	if err != nil {
		return err
	}
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": live.GetUID()},
		{"op": "replace", "path": "/spec", "value": spec},
	})
	if err != nil {
		return fmt.Errorf("encode %s: %w", want, err)
	}
	if err := a.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch),
		client.FieldOwner(v1alpha1.SourceFieldManager)); err != nil {
		return fmt.Errorf("replace the spec of %s: %w", want, err)
	}
	return nil
}
