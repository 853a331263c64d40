// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
)

// Options give what a policy must have and a constraint hasn't.
type Options struct {
	// Owner answers for the policies.
	Owner string
	// Runbook is the web address of their runbooks, if there are any; NAME in it stands for the policy.
	Runbook string
	// Severity says how much a violation matters.
	Severity v1alpha1.Severity
	// Kinds are kinds that there are beside those of Kubernetes and of the CustomResourceDefinitions among the
	// documents: constraints that leave kinds open mean them too.
	Kinds []Kind
	// Served says that Kinds are all that the cluster serves, so that those of Kubernetes that aren't among them aren't
	// there.
	Served bool
	// Unsaid are the groups of which the cluster hasn't said which kinds it serves.
	Unsaid []string
	// Operations are those that Gatekeeper's webhook is asked about, where no ValidatingWebhookConfiguration among the
	// documents tells; none for CREATE and UPDATE, its default.
	Operations []v1alpha1.Operation
	// Names are the names of policies that stand for constraints already, by KIND/NAME of those: they keep them, and no
	// other policy gets one.
	Names map[string]string
	// Enforced are the kinds that policies which enforce concern already, by KIND/NAME of the constraints that they
	// stand for: what of them a constraint still means stays named, though the cluster doesn't serve it.
	Enforced map[string][]Kind
	// InMemory says that the policies are never stored, so that the API's bounds on lists don't hold.
	InMemory bool
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
	// Notes say what is to be done or known, and Warnings what of the object the policy leaves out.
	Notes, Warnings []string
	// Unjudged says that objects go unjudged for want of the policy: a constraint or an expansion needs work.
	Unjudged bool
	// Err is what is wrong with a constraint itself, a *template.ParametersError when its
	// parameters don't fit the template's schema; nil for one that only can't be expressed.
	Err error
}

// Migrate says of each object of Gatekeeper's among the documents what becomes of it,
// in their order. Other objects are left out.
func Migrate(documents []manifest.Document, opts Options) []Item {
	m := &migration{opts: opts, rules: map[string]*rule{}, told: map[string]bool{}, templates: map[string]string{},
		used: map[string]bool{}, names: map[string]bool{}}
	m.Estate = NewEstate(documents, opts)
	for i := range documents {
		m.learn(&documents[i])
	}
	all, ours := make([]Item, len(documents)), make([]bool, len(documents))
	for _, i := range inOrder(documents) {
		all[i], ours[i] = m.migrate(&documents[i])
	}
	items := make([]Item, 0, len(documents))
	for i := range all {
		if ours[i] {
			items = append(items, all[i])
		}
	}
	return items
}

// inOrder are the indices of documents as they are migrated: constraints by kind and then name, so that the names of
// policies don't depend on the order in which they are given, and all else as it is given.
func inOrder(documents []manifest.Document) []int {
	out := make([]int, len(documents))
	for i := range out {
		out[i] = i
	}
	key := func(i int) (kind, name string) {
		if groupOf(documents[i].Object) != "constraints.gatekeeper.sh" {
			return "", ""
		}
		return named(documents[i].Object)
	}
	slices.SortStableFunc(out, func(a, b int) int {
		kind, name := key(a)
		otherKind, otherName := key(b)
		return cmp.Or(strings.Compare(kind, otherKind), strings.Compare(name, otherName))
	})
	return out
}

func named(object map[string]any) (kind, name string) {
	kind, _ = object["kind"].(string)
	metadata, _ := object["metadata"].(map[string]any)
	name, _ = metadata["name"].(string)
	return kind, name
}

type migration struct {
	opts  Options
	rules map[string]*rule // by the kind of their constraints
	told  map[string]bool  // kinds whose template was told
	// templates are the kinds of constraints by the names of their templates.
	templates map[string]string
	used      map[string]bool // kinds that there is a constraint of
	names     map[string]bool // names of policies that are taken, and KIND/NAME of constraints that have one

	*Estate
}

func (m *migration) learn(d *manifest.Document) {
	if kind, _ := d.Object["kind"].(string); groupOf(d.Object) == "constraints.gatekeeper.sh" {
		m.used[kind] = true
	}
	if d.Object["kind"] != "ConstraintTemplate" || groupOf(d.Object) != "templates.gatekeeper.sh" {
		return
	}
	t, err := readTemplate(d.Object)
	if err != nil {
		return
	}
	kind, name := t.Spec.CRD.Spec.Names.Kind, t.Metadata.Name
	if m.rules[kind] != nil {
		return // the first counts
	}
	m.rules[kind] = newRule(t, m.synced, m.asked.untold(v1alpha1.OperationDelete))
	if other, taken := m.templates[name]; taken {
		m.rules[kind].refuse(fmt.Sprintf("ConstraintTemplate %s of kind %s has its name: rename one of them", name,
			other))
		return
	}
	m.templates[name] = kind
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
	kind, name := named(d.Object)
	item := Item{File: d.File, Line: d.Line, Object: kind + "/" + name}
	switch group := groupOf(d.Object); {
	case group == "templates.gatekeeper.sh":
		m.template(d.Object, &item)
	case group == "constraints.gatekeeper.sh":
		item.Policy, item.Notes, item.Err = m.constraint(d.Object, kind, name, &item)
		if item.State = Migrated; item.Err != nil {
			item.Notes = []string{item.Err.Error()}
		}
		if item.Policy == nil {
			item.State, item.Unjudged = NeedsWork, true
		}
	case group == "mutations.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"Evenkeel doesn't change requests: write a policy that finds " +
			"what is missing, with a remediation that adds it"}
	case group == "expansion.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"it isn't needed for workloads of Kubernetes: set podTemplates: " +
			"true in a policy that names Pod; other generators have no like"}
		item.Unjudged = true
	case group == "externaldata.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"Evenkeel's rules reach no network"}
	case group == suiteGroup:
		item.State, item.Notes = Skipped, []string{"evenkeel test runs it as it is"}
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
	case object["kind"] != "ConstraintTemplate" || r == nil:
		item.State, item.Notes = NeedsWork,
			[]string{"templates.gatekeeper.sh has the kind ConstraintTemplate alone: correct its kind"}
	case m.told[kind] && r.of.Metadata.Name == t.Metadata.Name:
		item.State, item.Notes = NeedsWork,
			[]string{fmt.Sprintf("two ConstraintTemplates are named %s: leave one of them out", t.Metadata.Name)}
	case m.told[kind]:
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
	m.told[kind] = true
}
