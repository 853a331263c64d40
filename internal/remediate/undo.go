package remediate

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// revert undoes recorded writes, in the order given. For each it succeeds when
//   - the object holds our values: the inverse patch is sent, guarded on them;
//   - the object holds the old values: the write never came, or is undone already;
//   - the object is gone.
//
// Values that are neither were set by somebody else since: they are left alone,
// and the target ends as RevertConflict. An API error leaves the target as it is
// for another try, without limit. Records are saved after each batch; a crash
// before that is harmless, since the object itself tells what was undone.
func (p *pass) revert(ctx context.Context, batch []int) error {
	for _, i := range batch {
		rec := *p.book.record(i)
		obj, side, err := p.locate(ctx, p.book.target(i).Object, rec.Write)
		switch {
		case kube.Classify(err) == kube.Gone || side == sideReplaced:
			p.book.set(i, p.ended(rec, v1alpha1.TargetSkipped, v1alpha1.ReasonGone, "the object was deleted; nothing of ours is left to undo"))
		case err != nil:
			p.book.set(i, p.notYet(rec, err))
		case side == sideBefore:
			p.book.set(i, p.ended(rec, v1alpha1.TargetReverted, rec.Reason, cause(rec)))
		case side == sideAfter:
			p.book.set(i, p.undo(ctx, obj, rec))
		default:
			p.book.set(i, p.conflict(rec))
		}
	}
	return p.saver(ctx)
}

// undo sends the inverse patch, and believes only what the server answers.
func (p *pass) undo(ctx context.Context, obj *unstructured.Unstructured, rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	fields, err := action.FromRecordFields(rec.Write.Fields)
	if err != nil {
		return p.notYet(rec, fmt.Errorf("the record can't be read: %w", err))
	}
	keys, err := action.FromRecordOps(rec.Write.Keys)
	if err != nil {
		return p.notYet(rec, fmt.Errorf("the record can't be read: %w", err))
	}
	inverse := action.Inverse(obj.Object, keys, fields)
	if _, err := action.Apply(obj.Object, []policy.Action{{Type: policy.ActionPatch, Ops: inverse}}); err != nil {
		// The values are ours, but a list was reordered around them.
		return p.conflict(rec)
	}
	result, err := p.targets.patch(ctx, obj, inverse,
		client.FieldOwner(v1alpha1.RollbackFieldManager))
	switch kube.Classify(err) {
	case kube.OK:
	case kube.Gone:
		return p.ended(rec, v1alpha1.TargetSkipped, v1alpha1.ReasonGone, "the object was deleted; nothing of ours is left to undo")
	case kube.Conflict, kube.Invalid, kube.Forbidden, kube.Transient:
		return p.notYet(rec, err)
	}
	digest, err := action.DigestAfter(action.Observe(result.Object, fields))
	if err != nil || digest != rec.Write.DigestBefore {
		return p.ended(rec, v1alpha1.TargetRevertConflict, v1alpha1.ReasonConflict,
			"the API server stored other values than those that were there before: compare the record with the object")
	}
	return p.ended(rec, v1alpha1.TargetReverted, rec.Reason, cause(rec))
}

// notYetUndone separates why a write is undone from why it isn't undone yet.
const notYetUndone = "; not undone yet: "

// notYet leaves a write for another try, and keeps why it is to be undone.
func (p *pass) notYet(rec v1alpha1.TargetRecord, err error) v1alpha1.TargetRecord {
	rec.Message = truncate(cause(rec)+notYetUndone+err.Error(), 1024)
	next := metav1.NewMicroTime(p.targets.clock.Now().Add(p.targets.backoff(rec.Attempts)))
	rec.Attempts++
	rec.NextAttemptAt = &next
	return rec
}

// cause is why a write is undone.
func cause(rec v1alpha1.TargetRecord) string {
	text, _, _ := strings.Cut(rec.Message, notYetUndone)
	return text
}

func (p *pass) conflict(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	return p.ended(rec, v1alpha1.TargetRevertConflict, v1alpha1.ReasonConflict,
		"somebody else has changed the same fields since our write: theirs are kept; compare the record with the object")
}

func (p *pass) ended(rec v1alpha1.TargetRecord, state v1alpha1.TargetState, reason, message string) v1alpha1.TargetRecord {
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt = state, reason, truncate(message, 1024), nil
	if state == v1alpha1.TargetReverted && rec.Write != nil {
		write := *rec.Write
		now := metav1.NewMicroTime(p.targets.clock.Now())
		write.RevertedAt = &now
		rec.Write = &write
	}
	return rec
}
