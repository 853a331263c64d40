// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/exempt"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/internal/webhook/stamp"
)

// maxProblemLines bounds the message about a refused policy or waiver.
const maxProblemLines = 20

const endpointPolicy = "policy"

// PolicyHandler refuses policies that couldn't work, when they are written, so
// that whoever writes one learns at once what is wrong and where.
type PolicyHandler struct {
	serving.Base
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
	// Plans are those at work, whose windows stay; nil when nothing is said of them.
	Plans Plans
	// Self is the user that the API server knows the manager as: it is who writes the
	// policies of a PolicySource.
	Self string
}

func (h *PolicyHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointPolicy, h.answer)
}

// read reads the object that a request writes. When nothing is left to check, because the spec stays as it is or the
// object is refused, done is true and resp is the answer.
func read(req *policy.Request, into any) (resp serving.Response, done bool) {
	if req.Object == nil || req.SubResource != "" {
		return serving.Allow(), true
	}
	if why := stamp.Refuse(req); why != nil {
		return serving.Deny(why), true
	}
	if keepsSpec(req) {
		return serving.Allow(), true
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(req.Object, into); err != nil {
		return serving.Deny(serving.Refusal(http.StatusBadRequest, metav1.StatusReasonBadRequest,
			fmt.Sprintf("%s %s isn't of the form %s: %v", req.Kind.Kind, req.Name, v1alpha1.GroupVersion, err))), true
	}
	return serving.Response{}, false
}

func (h *PolicyHandler) answer(ctx context.Context, req *policy.Request) serving.Response {
	var p v1alpha1.ClusterRegoPolicy
	if resp, done := read(req, &p); done {
		return resp
	}
	end, err := compileTurn(ctx, h.Turns, req)
	if err != nil {
		return serving.Deny(tooMany(req))
	}
	defer end()
	p.SetDefaults()
	before := stored(req)
	found := h.Checker.Check(&p, before)
	if len(found) > 0 {
		return verdict("ClusterRegoPolicy", p.Name, found)
	}
	return serving.Allow(slices.Concat(h.withoutTemplate(&p), h.Checker.notServed(&p, before), withoutRunbook(&p),
		notAtAdmission(&p), outOfReach(&p, &h.Reach), h.strategyWarnings(&p), h.keptWindows(ctx, req, &p),
		restoredBySource(req, h.Self))...)
}

// stored is the policy that an update replaces; nil for a new one, and for one that can't be read.
func stored(req *policy.Request) *v1alpha1.ClusterRegoPolicy {
	before := &v1alpha1.ClusterRegoPolicy{}
	if !readOld(req, before) {
		return nil
	}
	before.SetDefaults()
	return before
}

// strategyWarnings tell whoever writes a policy of a strategy that isn't there, and of what
// the administrator doesn't allow of the one that is.
func (h *PolicyHandler) strategyWarnings(p *v1alpha1.ClusterRegoPolicy) []string {
	if p.Spec.Remediation.Mode == v1alpha1.RemediationDisabled {
		return nil
	}
	followed := p.DeepCopy()
	name := strategy.Named(p)
	s, problem := strategy.Resolve(followed, h.named(p))
	if problem != nil {
		return inWarnings(problem.Message,
			fit("spec.remediation.strategyRef: nothing is remediated by RemediationStrategy %q", name),
			fit("spec.remediation.strategyRef: %s: "+problem.Remedy, problem.Why))
	}
	return beyondFloors(&followed.Spec.Remediation, &s, &h.Floors)
}

// named is the RemediationStrategy that a policy follows; nil when there is none.
func (h *PolicyHandler) named(p *v1alpha1.ClusterRegoPolicy) *v1alpha1.RemediationStrategy {
	if h.Strategy == nil {
		return nil
	}
	return h.Strategy(strategy.Named(p))
}

// compileTurn waits for its turn to compile, half as long as the API server waits.
func compileTurn(ctx context.Context, turns *rego.Lane, req *policy.Request) (end func(), err error) {
	if turns == nil {
		return func() {}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, serving.DefaultTimeout/2)
	defer cancel()
	return turns.Turn(ctx, req.UserInfo.Username)
}

func tooMany(req *policy.Request) *metav1.Status {
	status := serving.Refusal(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
		fmt.Sprintf("%s %s could not be checked in time: too many are being written; try again", req.Kind.Kind,
			req.Name))
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: serving.RetryAfter}
	return status
}

func (h *PolicyHandler) withoutTemplate(p *v1alpha1.ClusterRegoPolicy) []string {
	if p.Spec.TemplateRef == nil || !errors.Is(h.Checker.Compile(p), template.ErrNotFound) {
		return nil
	}
	return []string{fit("there is no RegoTemplate %q: the policy comes into force as written once there is",
		p.Spec.TemplateRef.Name)}
}

func withoutRunbook(p *v1alpha1.ClusterRegoPolicy) []string {
	if !p.Spec.Acts() || p.Spec.RunbookURL != "" {
		return nil
	}
	return []string{"spec.runbookURL is missing: set it, so that people who are refused or paged find what to do"}
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
			out = append(out, fit("%s is judged by the scan only, never at admission: "+why+" (docs/exemptions.md)",
				gk.Kind))
		}
	}
	return out
}

// keepsSpec says that an update leaves the spec as it is: labels and finalizers
// can be changed even when the kinds that a rule names are gone.
func keepsSpec(r *policy.Request) bool {
	return r.Operation == policy.Update && r.OldObject != nil &&
		reflect.DeepEqual(r.Object["spec"], r.OldObject["spec"])
}

// verdict refuses an object that has problems, and allows any other.
func verdict(kind, name string, found []problem) serving.Response {
	if len(found) == 0 {
		return serving.Allow()
	}
	return serving.Deny(invalid(kind, name, found))
}

func invalid(kind, name string, found []problem) *metav1.Status {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s can't be accepted; nothing was changed. %d %s:", kind, name, len(found),
		prose.Plural(len(found), "problem"))
	for i, f := range found {
		if i == maxProblemLines {
			fmt.Fprintf(&b, "\nand %d more", len(found)-i)
			break
		}
		b.WriteString("\n- " + prose.Shorten(prose.OneLine(f.String()), serving.MaxLineBytes))
	}
	status := serving.Refusal(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, b.String())
	status.Details = &metav1.StatusDetails{
		Group:  v1alpha1.GroupVersion.Group,
		Kind:   kind,
		Name:   name,
		Causes: causes(found[:min(len(found), maxProblemLines)]),
	}
	return status
}
