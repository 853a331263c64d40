// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

const endpointTemplate = "template"

// maxNamed is how many policies a message about their template names.
const maxNamed = 10

// TemplateHandler refuses templates that couldn't work, and changes by which a policy that
// uses one couldn't any more.
type TemplateHandler struct {
	serving.Base
	// Naming are the policies that name a template.
	Naming func(templateName string) []*v1alpha1.ClusterRegoPolicy
	// Turns are those of policies: see PolicyHandler.
	Turns *rego.Lane
}

func (h *TemplateHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.Serve(w, r, endpointTemplate, h.answer)
}

func (h *TemplateHandler) answer(ctx context.Context, req *policy.Request) serving.Response {
	var t v1alpha1.RegoTemplate
	if resp, done := read(req, &t); done {
		return resp
	}
	end, err := compileTurn(ctx, h.Turns, req)
	if err != nil {
		return serving.Deny(tooMany(req))
	}
	defer end()
	found, err := h.check(ctx, &t)
	if err != nil {
		return serving.Deny(tooMany(req))
	}
	return verdict("RegoTemplate", t.Name, found)
}

// check finds what is wrong with a template, and with the policies that would have it. The
// error says that there was no time for all of them.
func (h *TemplateHandler) check(ctx context.Context, t *v1alpha1.RegoTemplate) (problems, error) {
	users := h.Naming(t.Name)
	compiled, err := template.Compile(t)
	if err != nil {
		found := templateFaults(t, err)
		if len(users) > 0 {
			found = append(found, problem{
				at: "metadata.name", field: "metadata.name",
				message: "policies have their rule from it: " + named(users)})
		}
		return found, nil
	}
	var out problems
	for _, p := range users {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var unfit *template.ParametersError
		if _, err := compiled.Define(p); !errors.As(err, &unfit) {
			continue
		}
		message := unfit.Problems[0].String()
		if more := len(unfit.Problems) - 1; more > 0 {
			message += fmt.Sprintf(" (and %d more)", more)
		}
		out = append(out, problem{at: "policy " + p.Name, field: "spec.parameterSchema", message: message})
	}
	if len(out) > 0 {
		out = append(problems{{at: "spec.parameterSchema", field: "spec.parameterSchema",
			message: "parameters of policies that use it would fit no more: change those first, or let the schema " +
				"have both"}}, out...)
	}
	return out, nil
}

func templateFaults(t *v1alpha1.RegoTemplate, err error) problems {
	var unfit *template.SchemaError
	if errors.As(err, &unfit) {
		return fieldProblems(unfit.Problems)
	}
	return regoProblems(&t.Spec.Rego, err)
}

func named(users []*v1alpha1.ClusterRegoPolicy) string {
	names := make([]string, 0, maxNamed)
	for _, p := range users[:min(len(users), maxNamed)] {
		names = append(names, p.Name)
	}
	if more := len(users) - maxNamed; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
