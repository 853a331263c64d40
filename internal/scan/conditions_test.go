// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/override"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/policy/template"
	"evenkeel.dev/evenkeel/internal/scan/index"
	"evenkeel.dev/evenkeel/test/kstatus"
)

var update = flag.Bool("update", false, "write the tables of docs/reference/conditions.md anew")

func TestConditionsOfPolicies(t *testing.T) {
	state := func(name string, c catalog.Status, s *index.Summary) kstatus.State[*v1alpha1.ClusterRegoPolicy] {
		set := func(p *v1alpha1.ClusterRegoPolicy, now time.Time) { applyStatus(p, c, s, metav1.NewTime(now)) }
		return kstatus.State[*v1alpha1.ClusterRegoPolicy]{Name: name, Object: &v1alpha1.ClusterRegoPolicy{}, Set: set}
	}
	good := catalog.Status{Revision: "r1"}
	bad := catalog.Status{Revision: "r1", Err: errors.New("a.rego:7: unexpected token")}
	complete := &index.Summary{Revision: "r1", State: v1alpha1.ScanComplete}
	incomplete := &index.Summary{Revision: "r1", State: v1alpha1.ScanIncomplete,
		Incomplete: []v1alpha1.IncompleteKind{{Kind: "Widget", Message: "Widget isn't served"}}}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.ClusterRegoPolicy]{
		state("in force, and scanned", good, complete),
		state("in force; the first pass of the scan isn't finished", good, nil),
		state("in force; some kind can't be listed, and is tried again", good, incomplete),
		state("in force; a person has overridden its enforcement", catalog.Status{Revision: "r1",
			Override: &override.Override{Declared: v1alpha1.AdmissionDeny, Action: v1alpha1.AdmissionWarn}}, complete),
		state("in force; the strategy that it refers to doesn't exist (yet)",
			catalog.Status{Revision: "r1",
				Unresolved: &strategy.Problem{Reason: v1alpha1.ReasonStrategyNotFound, Message: "there is none"}},
			complete),
		state("in force; the strategy that it refers to can't be followed",
			catalog.Status{Revision: "r1",
				Unresolved: &strategy.Problem{Reason: v1alpha1.ReasonStrategyInvalid, Message: "spec.waves"}},
			complete),
		state("in force; the objects that its rules look up are known", catalog.Status{Revision: "r1",
			References: []inventory.Reference{{Kind: "Node"}}}, complete),
		state("in force; the objects of some kind that its rules look up aren't known", catalog.Status{Revision: "r1",
			References: []inventory.Reference{{Kind: "Node"}}, Unknown: []inventory.Unknown{{
				Reference: inventory.Reference{Kind: "Node"}, Reason: v1alpha1.ReasonTooLarge,
				Err: errors.New("it doesn't fit")}}}, complete),
		state("an earlier revision is in force; what its rules look up is being listed", catalog.Status{Revision: "r1",
			Ahead: &catalog.Ahead{Awaits: []inventory.Unknown{{Reference: inventory.Reference{Kind: "Node"}}}}},
			complete),
		state("it doesn't compile; an earlier revision is in force", bad, complete),
		state("it doesn't compile; nothing is in force", catalog.Status{Err: bad.Err}, nil),
		state("the template that it names isn't there (yet); an earlier revision may be in force",
			catalog.Status{Err: template.NotFound("labels")}, nil),
		state("the rule of its template can't be in force; an earlier revision may be",
			catalog.Status{Revision: "r1", Err: template.Failed("labels", bad.Err)}, complete),
		state("its parameters don't fit its template's schema; an earlier revision may be in force",
			catalog.Status{Revision: "r1", Err: &template.ParametersError{Template: "labels",
				Problems: []template.Problem{{Field: "spec.parameters.labels", Message: "Required value"}}}}, complete),
		state("what is stored can't be read; an earlier revision may be in force",
			catalog.Status{Revision: "r1", Err: fmt.Errorf("%w: soak", catalog.ErrMalformed)}, complete),
	})
}

func TestConditionsOfTemplates(t *testing.T) {
	state := func(name string, status catalog.TemplateStatus, change func(*v1alpha1.RegoTemplate),
		users ...string) kstatus.State[*v1alpha1.RegoTemplate] {
		object := &v1alpha1.RegoTemplate{}
		if change != nil {
			change(object)
		}
		set := func(t *v1alpha1.RegoTemplate, now time.Time) {
			kube.SetConditions(t, now, templateConditions(t, status, users)...)
		}
		return kstatus.State[*v1alpha1.RegoTemplate]{Name: name, Object: object, Set: set}
	}
	deleted := func(t *v1alpha1.RegoTemplate) {
		at := metav1.NewTime(epoch)
		t.DeletionTimestamp, t.Finalizers = &at, []string{v1alpha1.FinalizerInUse}
	}
	malformed := func(t *v1alpha1.RegoTemplate) {
		t.Annotations = map[string]string{v1alpha1.AnnotationMalformed: "spec.rego: a number"}
	}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.RegoTemplate]{
		state("policies can use it", catalog.TemplateStatus{}, nil, "owner", "team"),
		state("it doesn't compile", catalog.TemplateStatus{Err: errors.New("a.rego:7: unexpected token")}, nil,
			"owner"),
		state("the schema of its parameters can't be taken", catalog.TemplateStatus{Err: &template.SchemaError{
			Problems: []template.Problem{
				{Field: "spec.parameterSchema.openAPIV3Schema", Message: "set type: object"}}}}, nil, "owner"),
		state("what is stored can't be read", catalog.TemplateStatus{Err: errors.New("spec.rego: a number")}, malformed,
			"owner"),
		state("it is being deleted, and policies name it", catalog.TemplateStatus{}, deleted, "owner"),
	})
}

func TestConditionsOfWaivers(t *testing.T) {
	state := func(name string, now time.Time, problem error, missing ...string) kstatus.State[*v1alpha1.Waiver] {
		e := waiverOf("a", epoch.Add(time.Hour))
		e.Spec.Policies = []string{"owner", "limits"}
		set := func(e *v1alpha1.Waiver, at time.Time) {
			kube.SetConditions(e, at, waiverConditions(e.Terms(), problem, missing, now)...)
		}
		return kstatus.State[*v1alpha1.Waiver]{Name: name, Object: e, Set: set}
	}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.Waiver]{
		state("it waives", epoch, nil),
		state("it has expired", epoch.Add(time.Hour), nil),
		state("it has expired, and its policy is gone", epoch.Add(time.Hour), nil, "owner", "limits"),
		state("some policy that it names doesn't exist (yet)", epoch, nil, "owner"),
		state("no policy that it names exists (yet)", epoch, nil, "owner", "limits"),
		state("it can't be read", epoch, errors.New("spec.match.names: bad")),
		state("it can't be read, and its time is over", epoch.Add(time.Hour), errors.New("spec.match.names: bad")),
	})
}
