// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Options give what a policy must have and a constraint hasn't.
type Options struct {
	// Owner answers for the policies.
	Owner string
	// Runbook is the web address of their runbooks; NAME in it stands for the policy.
	Runbook string
	// Severity says how much a violation matters.
	Severity v1alpha1.Severity
}

// State says what became of an object.
type State string

const (
	// Migrated: a policy stands for it.
	Migrated State = "migrated"
	// NeedsWork: it can't be expressed as it is; the notes say what to do.
	NeedsWork State = "needs work"
	// Skipped: nothing is to be done about it.
	Skipped State = "skipped"
)

// Item is what became of one object.
type Item struct {
	File string
	Line int
	// Object names it: "K8sRequiredLabels/team".
	Object string
	State  State
	// Policy is what stands for a constraint, and Template what stands for a
	// ConstraintTemplate; nil unless it was migrated.
	Policy   *v1alpha1.ClusterRegoPolicy
	Template *v1alpha1.RegoTemplate
	// Notes say what is to be done or known.
	Notes []string
	// Err is what is wrong with a constraint itself, a *template.ParametersError when its
	// parameters don't fit the template's schema; nil for one that only can't be expressed.
	Err error
}

// Migrate says of each object of Gatekeeper's among the documents what becomes of it,
// in their order. Other objects are left out.
func Migrate(documents []manifest.Document, opts Options) []Item {
	m := &migration{opts: opts, rules: map[string]*rule{}, used: map[string]bool{}, names: map[string]bool{}}
	for i := range documents {
		m.learn(&documents[i])
	}
	items := make([]Item, 0, len(documents))
	for i := range documents {
		if item, ours := m.migrate(&documents[i]); ours {
			items = append(items, item)
		}
	}
	return items
}

type migration struct {
	opts  Options
	rules map[string]*rule // by the kind of their constraints
	used  map[string]bool  // kinds that there is a constraint of
	names map[string]bool  // names of policies that are taken
}

// learn keeps a template, and which there are constraints of.
func (m *migration) learn(d *manifest.Document) {
	if kind, _ := d.Object["kind"].(string); groupOf(d.Object) == "constraints.gatekeeper.sh" {
		m.used[kind] = true
	}
	if d.Object["kind"] != "ConstraintTemplate" || groupOf(d.Object) != "templates.gatekeeper.sh" {
		return
	}
	if t, err := readTemplate(d.Object); err == nil {
		m.rules[t.Spec.CRD.Spec.Names.Kind] = newRule(t)
	}
}

func readTemplate(object map[string]any) (*constraintTemplate, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("it can't be read: %w", err)
	}
	t := &constraintTemplate{}
	if err := json.Unmarshal(raw, t); err != nil {
		return nil, fmt.Errorf("it can't be read: %w", err)
	}
	if t.Spec.CRD.Spec.Names.Kind == "" {
		return nil, fmt.Errorf("spec.crd.spec.names.kind is missing")
	}
	return t, nil
}

func groupOf(object map[string]any) string {
	version, _ := object["apiVersion"].(string)
	group, _, _ := strings.Cut(version, "/")
	return group
}

func (m *migration) migrate(d *manifest.Document) (Item, bool) {
	kind, _ := d.Object["kind"].(string)
	metadata, _ := d.Object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	item := Item{File: d.File, Line: d.Line, Object: kind + "/" + name}
	switch group := groupOf(d.Object); {
	case group == "templates.gatekeeper.sh":
		m.template(d.Object, &item)
	case group == "constraints.gatekeeper.sh":
		item.Policy, item.Notes, item.Err = m.constraint(d.Object, kind, name)
		if item.State = Migrated; item.Err != nil {
			item.Notes = []string{item.Err.Error()}
		}
		if item.Policy == nil {
			item.State = NeedsWork
		}
	case group == "mutations.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"Evenkeel doesn't change requests: write a policy that finds " +
			"what is missing, with a remediation that adds it"}
	case group == "expansion.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"it isn't needed for workloads of Kubernetes: set podTemplates: " +
			"true in a policy that names Pod; other generators have no like"}
	case group == "externaldata.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"Evenkeel's rules reach no network"}
	case strings.HasSuffix(group, ".gatekeeper.sh"):
		item.State, item.Notes = Skipped, []string{"it sets Gatekeeper up; what it exempts, exempt with " +
			"match.excludedNamespaces and the manager's --exempt-namespaces"}
	default:
		return item, false
	}
	return item, true
}

// template says what becomes of a ConstraintTemplate. One that says nothing, since no
// constraint uses it, needs no work.
func (m *migration) template(object map[string]any, item *Item) {
	t, err := readTemplate(object)
	if err != nil {
		item.State, item.Notes = NeedsWork, []string{err.Error()}
		return
	}
	kind := t.Spec.CRD.Spec.Names.Kind
	r := m.rules[kind]
	switch {
	case r.of.Metadata.Name != t.Metadata.Name:
		item.State, item.Notes = NeedsWork,
			[]string{fmt.Sprintf("ConstraintTemplate %s is of kind %s too: leave one of them out", r.of.Metadata.Name,
				kind)}
	case r.made != nil:
		item.State, item.Template, item.Notes = Migrated, r.made, r.notes
	case m.used[kind]:
		item.State, item.Notes = NeedsWork, r.refused
	default:
		item.State, item.Notes = Skipped, append([]string{"no constraint uses it"}, r.refused...)
	}
}

// constraint gives the policy with what to know of it, or what stands in its way.
func (m *migration) constraint(object map[string]any, kind, name string) (*v1alpha1.ClusterRegoPolicy, []string,
	error) {
	r := m.rules[kind]
	if r == nil {
		return nil, []string{
			fmt.Sprintf("there is no ConstraintTemplate for kind %s among the files: give its file too", kind)}, nil
	}
	c, err := readConstraint(object)
	if err != nil {
		return nil, nil, err
	}
	refused := c.refusals()
	policyName, err := m.name(kind, name)
	if err != nil {
		refused = append(refused, err.Error())
	}
	for _, why := range r.refused {
		refused = append(refused, fmt.Sprintf("ConstraintTemplate %s: %s", r.of.Metadata.Name, why))
	}
	if len(refused) > 0 {
		return nil, refused, nil
	}
	p, notes, err := c.policy(policyName, r, m.opts)
	if err == nil {
		err = holds(p, r)
	}
	if err != nil {
		return nil, nil, err
	}
	m.names[policyName] = true
	return p, notes, nil
}

// name is the constraint's own, with its kind before it where another kind has the same.
func (m *migration) name(kind, name string) (string, error) {
	if m.names[name] {
		name = strings.ToLower(kind) + "-" + name
	}
	if reasons := validation.IsDNS1123Label(name); len(reasons) > 0 || len(name) > maxName {
		return name, fmt.Errorf("the name %q can't be a policy's: it must be a lower-case DNS label of at most %d "+
			"characters; rename the constraint", name, maxName)
	}
	if m.names[name] {
		return name, fmt.Errorf("two constraints would become the policy %s: rename one", name)
	}
	return name, nil
}

// holds holds a policy to what admission holds it to.
func holds(p *v1alpha1.ClusterRegoPolicy, r *rule) error {
	if err := match.Validate(p); err != nil {
		return err
	}
	_, err := r.compiled.Policy(p)
	return err
}
