// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"
	"errors"
	"time"

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

// notComposed is the end of a draft that couldn't be composed. Records of an ended plan that
// aren't proven are told: no other plan is made until somebody has deleted that one.
func (p *Planner) notComposed(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, err error) (time.Duration, error) {
	if !errors.Is(err, seal.ErrUnproven) {
		return 0, err
	}
	p.notPlanned(ctx, pol, err.Error()+
		". Compare what it says with the objects, then delete that plan: no other is made before")
	return p.interval, nil
}

// UnprovenIn looks for plans that aren't proven, past every cache.
func UnprovenIn(reader client.Reader, keys seal.Keys) func(context.Context, string) error {
	return func(ctx context.Context, policyName string) error {
		return seal.Doubt(ctx, reader, keys, client.MatchingLabels{v1alpha1.LabelPolicy: policyName})
	}
}
