package webhook

import (
	"maps"
	"reflect"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// What admission never blocks, whatever the policies say, so that a bad policy
// can't take down the cluster or lock out whoever would mend it:
//
//   - subresources: status, scale, binding, eviction and the rest. The webhook
//     configuration doesn't name them, and the handler lets them through; but for
//     those of judgedSubresources, which change what a Pod runs
//   - leases, which keep nodes and leaders alive
//   - Evenkeel's own kinds, so that policies can always be mended
//   - Evenkeel's own rollbacks, known by its user and field manager together: they
//     bring back what was there, and must not be kept from it by the very policy
//     whose fix did harm
//   - updates that only take finalizers off an object that is being deleted
//   - objects in the exempt namespaces (the controller's own, kube-system and
//     kube-node-lease unless set otherwise): a namespaceSelector in the webhook
//     configuration leaves them out, so that they work while the webhook is down
//
// The API server itself never sends the webhook configurations.
const (
	leaseGroup = "coordination.k8s.io"
	leaseKind  = "Lease"
)

// neverJudged says why no policy may match a kind, or is empty.
func neverJudged(group, kind string) string {
	switch {
	case group == leaseGroup && kind == leaseKind:
		return "leases keep nodes and leaders alive, so admission never judges them"
	case group == v1alpha1.GroupVersion.Group:
		return "Evenkeel's own kinds are never judged, so that a bad policy can always be mended"
	default:
		return ""
	}
}

// exemptRequest says that a request passes without being judged.
func exemptRequest(r *policy.Request) bool {
	switch r.Operation {
	case policy.Create, policy.Update, policy.Delete:
	default:
		return true
	}
	return r.SubResource != "" && !slices.Contains(judgedSubresources(), r.SubResource) ||
		r.Judged() == nil ||
		neverJudged(r.Kind.Group, r.Kind.Kind) != "" ||
		onlyRemovesFinalizers(r)
}

// judgedSubresources are the subresources of Pods by which a container can be
// added (kubectl debug) or resized after the Pod was admitted.
func judgedSubresources() []string { return []string{"ephemeralcontainers", "resize"} }

// ownRollback says that the request is the manager's own undoing of a write. Its
// other writes are judged like everybody's.
func ownRollback(r *reviewRequest, self string) bool {
	return self != "" && r.UserInfo.Username == self && r.Options.FieldManager == v1alpha1.RollbackFieldManager
}

// ownFix says that the manager itself asks, for a fix that it has judged before.
// Unlike a rollback it is judged again, but see since.
func ownFix(r *reviewRequest, self string) bool {
	return self != "" && r.UserInfo.Username == self && r.Options.FieldManager == v1alpha1.FieldManager
}

// onlyRemovesFinalizers says that an update takes finalizers off an object that
// is being deleted and changes nothing else.
func onlyRemovesFinalizers(r *policy.Request) bool {
	if r.Operation != policy.Update || r.Object == nil || r.OldObject == nil {
		return false
	}
	before, after := metadataOf(r.OldObject), metadataOf(r.Object)
	if before["deletionTimestamp"] == nil || after["deletionTimestamp"] == nil {
		return false
	}
	return fewer(finalizers(before), finalizers(after)) &&
		reflect.DeepEqual(withoutBookkeeping(before), withoutBookkeeping(after)) &&
		reflect.DeepEqual(withoutMetadata(r.OldObject), withoutMetadata(r.Object))
}

func metadataOf(object map[string]any) map[string]any {
	metadata, _ := object["metadata"].(map[string]any)
	return metadata
}

// withoutBookkeeping drops the finalizers and what the API server changes by
// itself with every write.
func withoutBookkeeping(metadata map[string]any) map[string]any {
	rest := maps.Clone(metadata)
	for _, field := range []string{"finalizers", "managedFields", "resourceVersion", "generation"} {
		delete(rest, field)
	}
	return rest
}

func withoutMetadata(object map[string]any) map[string]any {
	rest := maps.Clone(object)
	delete(rest, "metadata")
	return rest
}

func finalizers(metadata map[string]any) map[string]bool {
	list, _ := metadata["finalizers"].([]any)
	set := make(map[string]bool, len(list))
	for _, f := range list {
		if name, ok := f.(string); ok {
			set[name] = true
		}
	}
	return set
}

// fewer says that after is a true subset of before.
func fewer(before, after map[string]bool) bool {
	for name := range after {
		if !before[name] {
			return false
		}
	}
	return len(after) < len(before)
}
