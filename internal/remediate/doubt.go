package remediate

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/seal"
)

// doubtful says whether a plan of a policy isn't proven to be ours, and tells why:
// until somebody has looked at it and deleted it, no other is made.
func (p *Planner) doubtful(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy) (bool, error) {
	if p.doubt == nil {
		return false, nil
	}
	err := p.doubt(ctx, pol.Name)
	if !errors.Is(err, seal.ErrUnproven) {
		return false, err
	}
	p.notPlanned(ctx, pol, err.Error())
	return true, nil
}

// doubtIn looks for plans that aren't proven, past every cache.
func doubtIn(reader client.Reader, keys seal.Keys) func(context.Context, string) error {
	return func(ctx context.Context, policyName string) error {
		return seal.Doubt(ctx, reader, keys, client.MatchingLabels{v1alpha1.LabelPolicy: policyName})
	}
}
