package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

// maxProblemLines bounds the message about a refused policy or waiver.
const maxProblemLines = 20

const endpointPolicy = "policy"

// PolicyHandler refuses policies that couldn't work, when they are written, so
// that whoever writes one learns at once what is wrong and where.
type PolicyHandler struct {
	// Reviews reads them, within its bounds.
	Reviews *intake.Reader
	Checker *PolicyChecker
	// Turns lets few policies be compiled at once; nil lets all. A flood of them leaves
	// the processors to other requests, and whoever has sent the fewest comes first.
	Turns *rego.Lane
	// Reach is what fixes may write.
	Reach limits.Reach
	// Floors is how careful every strategy must be at the least.
	Floors limits.Floors
	// Strategy is the RemediationStrategy of a name; nil when there is none.
	Strategy func(name string) *v1alpha1.RemediationStrategy
	Metrics  *Metrics
	Clock    clock.PassiveClock
	Log      logr.Logger
}

// ServeHTTP answers the AdmissionReview of a policy.
func (h *PolicyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	own := ownKind{reviews: h.Reviews, endpoint: endpointPolicy, answer: h.answer, metrics: h.Metrics, clock: h.Clock, log: h.Log}
	own.serve(w, r)
}

// ownKind serves the reviews of one of Evenkeel's own kinds.
type ownKind struct {
	reviews  *intake.Reader
	endpoint string
	answer   func(context.Context, *policy.Request) (resp response, decision string)
	metrics  *Metrics
	clock    clock.PassiveClock
	log      logr.Logger
}

func (o *ownKind) serve(w http.ResponseWriter, r *http.Request) {
	start := o.clock.Now()
	review, err := read(r.Context(), o.reviews, w, r, budget(r, DefaultTimeout), start)
	if err != nil {
		serveBadReview(w, err)
		o.metrics.answered(o.endpoint, nil, decisionBad, o.clock.Since(start))
		return
	}
	defer review.Done()
	req := review.Request
	resp, decision := o.judge(r.Context(), review)
	o.metrics.answered(o.endpoint, req, decision, o.clock.Since(start))
	if err := writeResponse(w, resp); err != nil {
		o.log.Error(err, "An admission request stays unanswered", "endpoint", o.endpoint, "name", req.Name)
	}
}

// judge refuses what can't be read: these kinds fail closed.
func (o *ownKind) judge(ctx context.Context, review *intake.Review) (response, string) {
	if review.Unread == nil {
		return o.answer(ctx, review.Request)
	}
	o.metrics.unreadReview(o.endpoint, review.Unread.Reason, outcomeRefused)
	o.log.Info("An object of Evenkeel's own couldn't be read, so it is refused", "endpoint", o.endpoint, "name", review.Name, "reason", review.Unread.Error())
	return response{UID: review.UID, Status: unreadStatus(review, describe(review.Request)+" is refused because it can't be checked: "+review.Unread.Error())}, decisionUnread
}

// ruleToCheck reads a policy or a template whose rule is to be compiled, once its turn has
// come; end gives the turn back. It is nil when the answer stands already: nothing of the
// rule changes, or the review is refused.
func ruleToCheck(ctx context.Context, turns *rego.Lane, req *policy.Request, kind string, into any) (resp response, decision string, end func()) {
	resp = response{UID: req.UID, Allowed: true}
	if req.Object == nil || req.SubResource != "" {
		return resp, decisionAllowed, nil
	}
	if why := unstamped(req); why != nil {
		resp.Allowed, resp.Status = false, why
		return resp, decisionDenied, nil
	}
	if keepsSpec(req) {
		return resp, decisionAllowed, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, into); err != nil {
		resp.Allowed = false
		resp.Status = refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest, fmt.Sprintf("%s %s isn't of the form %s: %v", kind, req.Name, v1alpha1.GroupVersion, err))
		return resp, decisionDenied, nil
	}
	end, err := compileTurn(ctx, turns, req)
	if err != nil {
		resp.Allowed, resp.Status = false, tooMany(req)
		return resp, decisionDenied, nil
	}
	return resp, "", end
}

func (h *PolicyHandler) answer(ctx context.Context, req *policy.Request) (response, string) {
	var p v1alpha1.ClusterRegoPolicy
	resp, decision, end := ruleToCheck(ctx, h.Turns, req, "Policy", &p)
	if end == nil {
		return resp, decision
	}
	defer end()
	p.SetDefaults()
	found := h.Checker.Check(&p)
	if len(found) == 0 {
		resp.Warnings = append(h.withoutTemplate(&p), notAtAdmission(&p)...)
		resp.Warnings = append(resp.Warnings, outOfReach(&p, &h.Reach)...)
		resp.Warnings = append(resp.Warnings, h.strategyWarnings(&p)...)
		return resp, decisionAllowed
	}
	resp.Allowed = false
	resp.Status = invalid("ClusterRegoPolicy", p.Name, found)
	return resp, decisionDenied
}

// strategyWarnings tell whoever writes a policy of a strategy that isn't there, and of what
// the administrator doesn't allow of the one that is.
func (h *PolicyHandler) strategyWarnings(p *v1alpha1.ClusterRegoPolicy) []string {
	if p.Spec.Remediation.Mode == v1alpha1.RemediationDisabled {
		return nil
	}
	followed := p.DeepCopy()
	if name := strategy.Named(p); name != "" {
		if problem := strategy.Resolve(followed, h.Strategy(name)); problem != nil {
			return []string{prose.Shorten(problem.Message, maxWarningBytes)}
		}
	}
	return beyondFloors(&followed.Spec.Remediation.RolloutStrategy, &h.Floors)
}

// compileTurn waits for its turn to compile, half as long as the API server waits.
func compileTurn(ctx context.Context, turns *rego.Lane, req *policy.Request) (end func(), err error) {
	if turns == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, DefaultTimeout/2)
	defer cancel()
	return turns.Turn(ctx, req.UserInfo.Username)
}

// tooMany asks whoever writes a rule to come again.
func tooMany(req *policy.Request) *metav1.Status {
	status := refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
		fmt.Sprintf("%s %s could not be checked in time: too many are being written; try again", req.Kind.Kind, req.Name))
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfter}
	return status
}

// withoutTemplate warns whoever expects a policy to do anything before its template is there.
func (h *PolicyHandler) withoutTemplate(p *v1alpha1.ClusterRegoPolicy) []string {
	if p.Spec.TemplateRef == nil || !errors.Is(h.Checker.Compile(p), template.ErrNotFound) {
		return nil
	}
	return []string{prose.Shorten(fmt.Sprintf("there is no RegoTemplate %q: the policy comes into force as written once there is", p.Spec.TemplateRef.Name), maxWarningBytes)}
}

// notAtAdmission warns whoever expects a policy to refuse what admission never
// judges.
func notAtAdmission(p *v1alpha1.ClusterRegoPolicy) []string {
	if p.Spec.Admission.Action == v1alpha1.AdmissionAudit {
		return nil
	}
	var out []string
	for _, gk := range match.Kinds(p) {
		if why := exempt.NeverAsked(gk.Group, gk.Kind); why != "" {
			out = append(out, fmt.Sprintf("%s is judged by the scan only, never at admission: %s (docs/exemptions.md)", gk.Kind, why))
		}
	}
	return out
}

// keepsSpec says that an update leaves the spec as it is: labels and finalizers
// can be changed even when the kinds that a rule names are gone.
func keepsSpec(r *policy.Request) bool {
	return r.Operation == policy.Update && r.OldObject != nil && reflect.DeepEqual(r.Object["spec"], r.OldObject["spec"])
}

func invalid(kind, name string, found []problem) *metav1.Status {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s can't be accepted; nothing was changed. %d %s:", kind, name, len(found), prose.Plural(len(found), "problem"))
	for i, f := range found {
		if i == maxProblemLines {
			fmt.Fprintf(&b, "\nand %d more", len(found)-i)
			break
		}
		b.WriteString("\n- " + prose.Shorten(policy.OneLine(f.String()), maxLineBytes))
	}
	status := refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, b.String())
	status.Details = &metav1.StatusDetails{
		Group:  v1alpha1.GroupVersion.Group,
		Kind:   kind,
		Name:   name,
		Causes: causes(found[:min(len(found), maxProblemLines)]),
	}
	return status
}
