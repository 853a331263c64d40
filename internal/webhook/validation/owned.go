// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

const endpointDeletion = "deletion"

// DeletionHandler warns whoever deletes a policy that a PolicySource keeps: in seconds it is there again. It never
// refuses anything.
type DeletionHandler struct {
	serving.Base
	// Reader reads the source, which may be suspended, or on its way out.
	Reader client.Reader
	// Self is the user that the API server knows the manager as, which deletes what left the repository.
	Self string
}

// ServeHTTP answers the AdmissionReview of a policy's deletion. A source that isn't read in time counts as one that
// keeps the policy: whoever deletes is warned all the same, and not kept waiting.
func (h *DeletionHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointDeletion, h.answer)
}

func (h *DeletionHandler) answer(ctx context.Context, req *policy.Request) serving.Response {
	source := sourceOf(req, h.Self)
	if req.Operation != policy.Delete || source == nil {
		return serving.Allow()
	}
	src := &v1alpha1.PolicySource{}
	keeps := fit("this deletion won't last: PolicySource %s keeps policy %s as in its repository", source.String(),
		req.Name)
	then := "makes it again within seconds, with nobody's override"
	switch err := h.Reader.Get(ctx, *source, src); {
	case apierrors.IsNotFound(err), err == nil && !src.DeletionTimestamp.IsZero():
		return serving.Allow()
	case err == nil && src.Spec.Suspend:
		then = "makes it again once it is no more suspended"
	}
	return serving.Allow(append(inWarnings(keeps+", and "+then, keeps, "this deletion won't last: the source "+then),
		inStead(req.Name, source)...)...)
}

// restoredBySource warns whoever changes the spec of a policy that a PolicySource keeps: in
// seconds it is as in the repository again, and whoever is on call must not rely on it. A
// warning each, for each has but so many bytes: what happens, and what to do.
func restoredBySource(req *policy.Request, self string) []string {
	source := sourceOf(req, self)
	if req.Operation != policy.Update || source == nil {
		return nil
	}
	keeps := fit("this change won't last: PolicySource %s keeps policy %s as in its repository", source.String(),
		req.Name)
	const then = "restores it within seconds unless it is suspended"
	return append(inWarnings(keeps+", and "+then, keeps, "this change won't last: the source "+then),
		inStead(req.Name, source)...)
}

// sourceOf is the PolicySource that keeps a policy as it was; nil for none, and for what the manager itself writes.
func sourceOf(req *policy.Request, self string) *client.ObjectKey {
	if req.OldObject == nil || req.UserInfo.Username == self {
		return nil
	}
	labels := (&unstructured.Unstructured{Object: req.OldObject}).GetLabels()
	namespace, name := labels[v1alpha1.LabelSourceNamespace], labels[v1alpha1.LabelSourceName]
	if namespace == "" || name == "" {
		return nil
	}
	return &client.ObjectKey{Namespace: namespace, Name: name}
}

// inStead is what does last, a warning each: neither is cut for the other.
func inStead(name string, source *client.ObjectKey) []string {
	return []string{
		fit("in an emergency: evenkeel policy override %s --enforcement Warn --for 2h --reason REASON", name),
		fit("to last: change it in Git, or by spec.overrides of PolicySource %s", source.String())}
}
