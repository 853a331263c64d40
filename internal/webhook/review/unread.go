// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// answerUnread answers for an object that couldn't be read. A policy that would
// refuse a violation refuses, of either class: what nobody judged may hold one, and
// whoever writes an object decides how hard it is to read. failurePolicy Ignore is
// for a webhook that doesn't answer; this one does.
func (h *Handler) answerUnread(ctx context.Context, review *serving.Review) (serving.Response, string) {
	req := review.Request
	if req.Namespace != "" {
		// Where the namespace isn't known, every policy that selects by it counts.
		if namespace, err := h.Namespaces.Get(ctx, req.Namespace); err == nil {
			req.NamespaceObject = namespace
		}
	}
	var refusing, others []*v1alpha1.ClusterRegoPolicy
	judge := h.Judge()
	for _, p := range judge.Concerning(req) {
		switch action := actionOf(judge, p, req.Now); {
		case serving.Class(p) != h.Class:
		case action == v1alpha1.AdmissionDeny:
			refusing = append(refusing, p)
		case action == v1alpha1.AdmissionWarn:
			others = append(others, p)
		}
	}
	outcome := serving.OutcomePassed
	resp := serving.Response{UID: req.UID, Allowed: len(refusing) == 0,
		AuditAnnotations: unreadNotes(review, refusing, others)}
	if !resp.Allowed {
		outcome = serving.OutcomeRefused
		resp.Status = serving.UnreadStatus(review, unreadDenial(review, refusing))
	}
	for i, p := range others {
		if i == serving.MaxWarnings {
			break
		}
		resp.Warnings = append(resp.Warnings,
			prose.Shorten(fmt.Sprintf("not judged: policy %s: %s", p.Name, review.Unread), serving.MaxWarningBytes))
	}
	h.Metrics.Unread(h.endpoint(), review.Unread.Reason, outcome)
	h.Log.Info("An object couldn't be read, so it wasn't judged", "endpoint", h.endpoint(), "kind", req.Kind.Kind,
		"namespace", req.Namespace,
		"name", req.Name, "user", req.UserInfo.Username, "outcome", outcome, "reason", review.Unread.Error())
	return resp, serving.DecisionUnread
}

func actionOf(judge Judge, p *v1alpha1.ClusterRegoPolicy, now time.Time) v1alpha1.AdmissionAction {
	if o := judge.Override(p.Name, now); o != nil {
		return o.Action
	}
	return p.Spec.Admission.Action
}

func unreadDenial(review *serving.Review, refusing []*v1alpha1.ClusterRegoPolicy) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is refused because it can't be judged: %s. It would have to be by",
		serving.Describe(review.Request), review.Unread)
	for i, p := range refusing {
		if i == serving.MaxViolationLines {
			fmt.Fprintf(&b, "\nand %d more", len(refusing)-i)
			break
		}
		line := fmt.Sprintf("policy %s (%s): %s", p.Name, p.Spec.Severity, prose.OneLine(p.Spec.Title))
		b.WriteString("\n- " + prose.Shorten(line, serving.MaxLineBytes))
	}
	if review.Unread.Reason.Passing() {
		b.WriteString("\nTry again in a moment.")
	} else {
		b.WriteString("\nMake the object smaller or simpler, or ask for a Waiver that covers it by name.")
	}
	return b.String()
}

func unreadNotes(review *serving.Review, lists ...[]*v1alpha1.ClusterRegoPolicy) map[string]string {
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
