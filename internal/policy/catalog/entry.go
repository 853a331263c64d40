// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/condition"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// entry is one policy in the catalog. It is immutable.
type entry struct {
	// authored is the definition last set, whether it compiles or not, and newest is the
	// same, with mode Disabled where its strategy isn't known.
	authored, newest *v1alpha1.ClusterRegoPolicy
	// compiled is the last good one, and good what was authored of it; nil when there
	// never was any.
	compiled *rego.Compiled
	good     *v1alpha1.ClusterRegoPolicy
	// conditions are those of compiled.
	conditions *condition.Set
	// problem says why newest isn't in force; nil when it is.
	problem error
	// followed is the strategy of the definition in force.
	followed
	// ahead is what comes into force in place of this one once what it refers to is known, and since is from when
	// something has waited so; nil where nothing does.
	ahead *entry
	since time.Time
}

// followed is the strategy that a policy follows, with defaults.
type followed struct {
	strategy *v1alpha1.RemediationStrategySpec
	// unresolved says why it isn't known; nil when it is.
	unresolved *strategy.Problem
}

// next is the entry after the definition p, given what was in force before; old
// may be nil.
func next(
	old *entry, p *v1alpha1.ClusterRegoPolicy, templates templates, known strategies, on rego.Engine,
) *entry {
	e := &entry{authored: strip(p)}
	e.newest, e.followed = known.resolve(e.authored)
	if e.problem = e.compile(old, templates, on); e.problem == nil {
		e.good = e.authored
	} else if old != nil {
		e.compiled, e.conditions, e.good, e.followed = old.compiled, old.conditions, old.good, old.followed
	}
	return e
}

func (e *entry) compile(old *entry, templates templates, on rego.Engine) error {
	if err := wellFormed(e.newest); err != nil {
		return err
	}
	if err := match.Validate(e.newest); err != nil {
		return err
	}
	compiled, err := e.rule(old, templates)
	if err != nil {
		return err
	}
	conditions, err := condition.Compile(e.newest.Spec.Admission.MatchConditions)
	if err != nil {
		return err
	}
	e.compiled, e.conditions = compiled.On(on), conditions
	return nil
}

// ErrMalformed is in the chain of a Status.Err that says why a stored policy can't be read.
var ErrMalformed = errors.New("what is stored isn't of the form of its kind")

func wellFormed(obj metav1.Object) error {
	if why := v1alpha1.Malformed(obj); why != "" {
		return fmt.Errorf("%w: %s", ErrMalformed, why)
	}
	return nil
}

// rule prepares the rule of the newest definition, its own or its template's. What is
// compiled already is reused where the Rego is the same.
func (e *entry) rule(old *entry, templates templates) (*rego.Compiled, error) {
	switch ref := e.newest.Spec.TemplateRef; {
	case ref != nil:
		if e.newest.Spec.Rego.Main != "" {
			return nil, errors.New("spec has both rego and templateRef: give exactly one of them")
		}
		from, err := templates.find(ref.Name)
		if err != nil {
			return nil, err
		}
		return from.Policy(e.newest)
	case old != nil && old.compiled != nil && old.compiled.SameRego(e.newest):
		return old.compiled.Redefine(e.newest)
	}
	return rego.Compile(e.newest)
}

// strip copies what counts of a definition: a status or bookkeeping by the API
// server is no change of policy. What is absent is resolved here, for all who read a
// policy by the catalog.
func strip(p *v1alpha1.ClusterRegoPolicy) *v1alpha1.ClusterRegoPolicy {
	kept := p.DeepCopy()
	kept.Status = v1alpha1.RegoPolicyStatus{}
	kept.ManagedFields = nil
	kept.ResourceVersion = ""
	kept.SetDefaults()
	return kept
}

func (e *entry) same(p *v1alpha1.ClusterRegoPolicy) bool {
	return equality.Semantic.DeepEqual(e.authored, strip(p))
}

// definition is the one in force, or the broken one where none ever was.
func (e *entry) definition() *v1alpha1.ClusterRegoPolicy {
	if e.compiled == nil {
		return e.newest
	}
	return e.compiled.Policy()
}

func inForce(s *v1alpha1.RegoPolicySpec) *v1alpha1.PolicyInForce {
	return &v1alpha1.PolicyInForce{Severity: s.Severity, AdmissionAction: s.Admission.Action,
		RemediationMode: s.Remediation.Mode}
}

func (e *entry) revision() string {
	if e.compiled == nil {
		return ""
	}
	return e.compiled.Revision()
}

// indexed is the definition that the index matches by, or nil where not even the
// kinds are known. Where the match was never good but the kinds are, the kinds
// alone count: too much is refused rather than passed.
func (e *entry) indexed() *v1alpha1.ClusterRegoPolicy {
	definition := e.definition()
	if e.compiled != nil || match.Validate(definition) == nil {
		return definition
	}
	kindsOnly := definition.DeepCopy()
	kindsOnly.Spec.Match = v1alpha1.Match{
		Kinds:        definition.Spec.Match.Kinds,
		PodTemplates: definition.Spec.Match.PodTemplates,
	}
	if match.Validate(kindsOnly) == nil {
		return kindsOnly
	}
	// Subresources need their operations.
	kindsOnly.Spec.Admission.Operations = []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationUpdate,
		v1alpha1.OperationConnect}
	if match.Validate(kindsOnly) == nil {
		return kindsOnly
	}
	return nil
}
