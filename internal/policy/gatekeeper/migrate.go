package gatekeeper

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego"
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
	// Policy is what stands for it; nil unless it was migrated.
	Policy *v1alpha1.ClusterRegoPolicy
	// Notes say what is to be done or known.
	Notes []string
}

// Migrate says of each object of Gatekeeper's among the documents what becomes of it,
// in their order. Other objects are left out.
func Migrate(documents []manifest.Document, opts Options) []Item {
	m := &migration{opts: opts, templates: map[string]*template{}, used: map[string]bool{}, names: map[string]bool{}}
	for i := range documents {
		m.learn(&documents[i])
	}
	items := make([]Item, 0, len(documents))
	for i := range documents {
		if item, ours := m.migrate(&documents[i]); ours {
			items = append(items, item)
		}
	}
	for i := range items { // a template says nothing by itself
		if kind, isTemplate := strings.CutPrefix(items[i].Object, "ConstraintTemplate/"); isTemplate && items[i].State == "" {
			items[i].State = Skipped
			items[i].Notes = []string{"no constraint uses it"}
			if m.used[kind] {
				items[i].Notes = []string{"its Rego goes into the policies of its constraints"}
			}
		}
	}
	return items
}

type migration struct {
	opts      Options
	templates map[string]*template // by the kind of their constraints
	used      map[string]bool      // names of templates that a constraint uses
	names     map[string]bool      // names of policies that are taken
}

// learn keeps a template.
func (m *migration) learn(d *manifest.Document) {
	if d.Object["kind"] != "ConstraintTemplate" || groupOf(d.Object) != "templates.gatekeeper.sh" {
		return
	}
	if t, err := readTemplate(d.Object); err == nil {
		m.templates[t.Spec.CRD.Spec.Names.Kind] = t
	}
}

func readTemplate(object map[string]any) (*template, error) {
	raw, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("it can't be read: %w", err)
	}
	t := &template{}
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
		if _, err := readTemplate(d.Object); err != nil {
			item.State, item.Notes = NeedsWork, []string{err.Error()}
		}
	case group == "constraints.gatekeeper.sh":
		item.Policy, item.Notes = m.constraint(d.Object, kind, name)
		item.State = Migrated
		if item.Policy == nil {
			item.State = NeedsWork
		}
	case group == "mutations.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"Evenkeel doesn't change requests: write a policy that finds what is missing, with a remediation that adds it"}
	case group == "expansion.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"it isn't needed for workloads of Kubernetes: set podTemplates: true in a policy that names Pod; other generators have no like"}
	case group == "externaldata.gatekeeper.sh":
		item.State, item.Notes = NeedsWork, []string{"Evenkeel's rules reach no network"}
	case strings.HasSuffix(group, ".gatekeeper.sh"):
		item.State, item.Notes = Skipped, []string{"it sets Gatekeeper up; what it exempts, exempt with match.excludedNamespaces and the manager's --exempt-namespaces"}
	default:
		return item, false
	}
	return item, true
}

// constraint gives the policy, or what stands in its way.
func (m *migration) constraint(object map[string]any, kind, name string) (*v1alpha1.ClusterRegoPolicy, []string) {
	t := m.templates[kind]
	if t == nil {
		return nil, []string{fmt.Sprintf("there is no ConstraintTemplate for kind %s among the files: give its file too", kind)}
	}
	m.used[t.Metadata.Name] = true
	c, err := readConstraint(object)
	if err != nil {
		return nil, []string{err.Error()}
	}
	refused := c.refusals()
	policyName, err := m.name(kind, name)
	if err != nil {
		refused = append(refused, err.Error())
	}
	source, err := t.rego()
	if err != nil {
		return nil, append(refused, fmt.Sprintf("ConstraintTemplate %s: %v", t.Metadata.Name, err))
	}
	p, more, err := c.policy(policyName, t, source, m.opts)
	if err != nil {
		more = append(more, err.Error())
	}
	if refused = append(refused, more...); len(refused) > 0 {
		return nil, refused
	}
	if err := compiles(p); err != nil {
		return nil, []string{fmt.Sprintf("its Rego doesn't hold: %v", err)}
	}
	m.names[policyName] = true
	return p, c.notes()
}

// name is the constraint's own, with its kind before it where another kind has the same.
func (m *migration) name(kind, name string) (string, error) {
	if m.names[name] {
		name = strings.ToLower(kind) + "-" + name
	}
	if reasons := validation.IsDNS1123Label(name); len(reasons) > 0 || len(name) > maxName {
		return name, fmt.Errorf("the name %q can't be a policy's: it must be a lower-case DNS label of at most %d characters; rename the constraint", name, maxName)
	}
	if m.names[name] {
		return name, fmt.Errorf("two constraints would become the policy %s: rename one", name)
	}
	return name, nil
}

// compiles holds a policy to what admission holds it to.
func compiles(p *v1alpha1.ClusterRegoPolicy) error {
	if err := match.Validate(p); err != nil {
		return err
	}
	if !slices.Contains([]v1alpha1.RegoVersion{v1alpha1.RegoV0, v1alpha1.RegoV1}, p.Spec.Rego.Version) {
		return fmt.Errorf("its version %q isn't known: give v0 or v1", p.Spec.Rego.Version)
	}
	_, err := rego.Compile(p)
	return err
}
