package webhook

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

// retryAfter is when whoever was turned away may try again, in seconds. Clients
// built on client-go do so by themselves.
const retryAfter = 1

// answerUnread answers for an object that couldn't be read. A policy that would
// refuse a violation refuses, of either class: what nobody judged may hold one, and
// whoever writes an object decides how hard it is to read. failurePolicy Ignore is
// for a webhook that doesn't answer; this one does.
func (h *Handler) answerUnread(ctx context.Context, review *intake.Review) (response, string) {
	req := review.Request
	if req.Namespace != "" {
		// Where the namespace isn't known, every policy that selects by it counts.
		if namespace, err := h.Namespaces.Get(ctx, req.Namespace); err == nil {
			req.NamespaceObject = namespace
		}
	}
	var refusing, others []*v1alpha1.ClusterRegoPolicy
	for _, p := range h.Judge().Concerning(req) {
		switch {
		case Class(p) != h.Class:
		case p.Spec.Admission.Action == v1alpha1.AdmissionDeny:
			refusing = append(refusing, p)
		case p.Spec.Admission.Action == v1alpha1.AdmissionWarn:
			others = append(others, p)
		}
	}
	outcome := outcomePassed
	resp := response{UID: req.UID, Allowed: len(refusing) == 0, AuditAnnotations: unreadNotes(review, refusing, others)}
	if !resp.Allowed {
		outcome = outcomeRefused
		resp.Status = unreadStatus(review, unreadDenial(review, refusing))
	}
	for i, p := range others {
		if i == maxWarnings {
			break
		}
		resp.Warnings = append(resp.Warnings, prose.Shorten(fmt.Sprintf("not judged: policy %s: %s", p.Name, review.Unread), maxWarningBytes))
	}
	h.Metrics.unreadReview(h.endpoint(), review.Unread.Reason, outcome)
	h.Log.Info("An object couldn't be read, so it wasn't judged", "endpoint", h.endpoint(), "kind", req.Kind.Kind, "namespace", req.Namespace,
		"name", req.Name, "user", req.UserInfo.Username, "outcome", outcome, "reason", review.Unread.Error())
	return resp, decisionUnread
}

// unreadDenial names the policies that would have had to judge the object.
func unreadDenial(review *intake.Review, refusing []*v1alpha1.ClusterRegoPolicy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is refused because it can't be judged: %s. It would have to be by", describe(review.Request), review.Unread)
	for i, p := range refusing {
		if i == maxViolationLines {
			fmt.Fprintf(&b, "\nand %d more", len(refusing)-i)
			break
		}
		line := fmt.Sprintf("policy %s (%s): %s", p.Name, p.Spec.Severity, policy.OneLine(p.Spec.Title))
		b.WriteString("\n- " + prose.Shorten(line, maxLineBytes))
	}
	if review.Unread.Reason.Passing() {
		b.WriteString("\nTry again in a moment.")
	} else {
		b.WriteString("\nMake the object smaller or simpler, or ask for a Waiver that covers it by name.")
	}
	return b.String()
}

// unreadStatus is the status of a refusal: try again, or never as it is.
func unreadStatus(review *intake.Review, message string) *metav1.Status {
	if !review.Unread.Reason.Passing() {
		return refusal(http.StatusRequestEntityTooLarge, metav1.StatusReasonRequestEntityTooLarge, message)
	}
	status := refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, message)
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
	return status
}

// unreadNotes are for the audit log, like those of a verdict.
func unreadNotes(review *intake.Review, lists ...[]*v1alpha1.ClusterRegoPolicy) map[string]string {
	notes := map[string]string{}
	for _, list := range lists {
		for _, p := range list {
			notes[p.Name] = "not judged: " + string(review.Unread.Reason)
		}
	}
	if len(notes) == 0 {
		return nil
	}
	return notes
}
