// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"text/template"

	"github.com/aymanbagabas/go-udiff"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// diffContext is how many unchanged lines a fix is shown with.
const diffContext = 3

//go:embed page.md.tmpl
var pageText string

// page is what the runbook page of a policy shows.
type page struct {
	Policy *v1alpha1.ClusterRegoPolicy
	// Docs is the address that Evenkeel's own documentation is published at.
	Docs              string
	Parameters        string
	Refused, Accepted []shown
}

// shown is an example as the page shows it.
type shown struct {
	Name, Object string
	// Sent says what the object is sent to, if that isn't the object itself.
	Sent string
	// Told are the messages of what the object violates.
	Told []string
	// Fix is the fix as a unified diff, empty when there is none.
	Fix string
}

// Page writes the runbook page of a policy as Markdown, from its METADATA and its
// examples: what it asks for, which objects are refused and with what messages,
// the fix of each as a diff, and which objects pass. docs is the address of
// Evenkeel's documentation, for links to it. It fails when an example can't be
// judged, or its fix can't be applied.
func Page(ctx context.Context, fsys fs.FS, p directory.Located, docs string) ([]byte, error) {
	examples, err := readExamples(fsys, p.Dir)
	if err != nil {
		return nil, fmt.Errorf("policy %s: %w", p.Definition.Name, err)
	}
	resolved := p.Definition.DeepCopy()
	resolved.SetDefaults()
	content := page{Policy: resolved, Docs: strings.TrimSuffix(docs, "/")}
	if content.Parameters, err = parametersText(p.Definition); err != nil {
		return nil, fmt.Errorf("policy %s: its parameters: %w", p.Definition.Name, err)
	}
	for i := range examples {
		if err := content.add(ctx, &examples[i]); err != nil {
			return nil, fmt.Errorf("policy %s, example %q: %w", p.Definition.Name, examples[i].Name, err)
		}
	}
	parsed, err := template.New("page").Funcs(
		template.FuncMap{"join": strings.Join, "kinds": kindsText, "standing": match.StandingKinds}).Parse(pageText)
	if err != nil {
		return nil, fmt.Errorf("read the template of pages: %w", err)
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, content); err != nil {
		return nil, fmt.Errorf("policy %s: write the page: %w", p.Definition.Name, err)
	}
	return out.Bytes(), nil
}

// add puts an example among those that are refused or those that pass. One that
// the policy doesn't concern, or whose object goes, teaches a reader nothing here.
func (c *page) add(ctx context.Context, e *Example) error {
	if e.Object == nil || !e.matched() {
		return nil
	}
	judge, err := newJudge(c.Policy, rego.Topdown, e.Parameters, inventory.NewFixed(e.Inventory, nil))
	if err != nil {
		return err
	}
	decision, _ := judge.decide(ctx, e.request(nil))
	if decision.Err != nil {
		return decision.Err
	}
	object, err := yaml.Marshal(e.Object)
	if err != nil {
		return err
	}
	one := shown{Name: e.Name, Object: string(object)}
	if s := e.Subresource; s != nil {
		one.Sent = fmt.Sprintf("Sent to `%s` of `%s/%s`:", s.Resource, s.Namespace, s.Name)
	}
	for _, v := range append(decision.Violations, decision.Warnings...) {
		one.Told = append(one.Told, v.Text())
	}
	if len(one.Told) == 0 {
		c.Accepted = append(c.Accepted, one)
		return nil
	}
	if one.Fix, err = fixText(e.Object, one.Object, decision.Actions); err != nil {
		return err
	}
	c.Refused = append(c.Refused, one)
	return nil
}

func fixText(object map[string]any, before string, actions []policy.Action) (string, error) {
	if len(actions) == 0 {
		return "", nil
	}
	fixed, _, err := apply(object, actions)
	if err != nil {
		return "", fmt.Errorf("its fix: %w", err)
	}
	after := ""
	if fixed != nil {
		text, err := yaml.Marshal(fixed)
		if err != nil {
			return "", err
		}
		after = string(text)
	}
	return udiff.ToUnified("as it is", "fixed", before, udiff.Lines(before, after), diffContext)
}

func parametersText(p *v1alpha1.ClusterRegoPolicy) (string, error) {
	if p.Spec.Parameters == nil {
		return "", nil
	}
	var parameters map[string]any
	if err := json.Unmarshal(p.Spec.Parameters.Raw, &parameters); err != nil || len(parameters) == 0 {
		return "", err
	}
	text, err := yaml.Marshal(parameters)
	return string(text), err
}

// kindsText names the kinds of a match: "Deployment and StatefulSet of apps".
func kindsText(m v1alpha1.KindMatch) string {
	groups := slices.Clone(m.Groups())
	for i, group := range groups {
		if group == "" {
			groups[i] = "core"
		}
	}
	text := strings.Join(m.Kinds, ", ") + " (" + strings.Join(groups, ", ") + ")"
	if len(m.Subresources) == 0 {
		return text
	}
	names := make([]string, len(m.Subresources))
	for i, name := range m.Subresources {
		names[i] = string(name)
	}
	return strings.Join(names, ", ") + " of " + text
}
