package remediate

import (
	"context"

	"evenkeel.dev/evenkeel/internal/kube"
)

// checkRecovered looks at an object whose write was undone: it must be as well as
// it was before the write. No answer is never a yes.
func (p *pass) checkRecovered(ctx context.Context, i int) *Check {
	rec := p.book.record(i)
	obj, err := p.targets.read(ctx, p.book.target(i).Object)
	switch {
	case kube.Classify(err) == kube.Gone, err == nil && obj.GetDeletionTimestamp() != nil, rec.Write == nil:
		return &Check{CheckPassed, "", "nothing of it is left that could recover"}
	case err != nil:
		return &Check{CheckWaiting, "", "the object couldn't be read: " + err.Error()}
	}
	return asWellAsBefore(p.rem.Spec.Plan.Strategy, obj, kube.ParseHealth(rec.Write.HealthBefore))
}
