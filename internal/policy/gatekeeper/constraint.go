// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// constraint is a constraint's spec, by Gatekeeper's names (pkg/mutation/match). Any
// other key is refused.
type constraint struct {
	EnforcementAction string          `json:"enforcementAction"`
	Scoped            []scopedAction  `json:"scopedEnforcementActions"`
	Match             constraintMatch `json:"match"`
	Parameters        map[string]any  `json:"parameters"`
}

type constraintMatch struct {
	Source             string                  `json:"source"`
	Kinds              []v1alpha1.KindMatch    `json:"kinds"`
	Scope              string                  `json:"scope"`
	Namespaces         []string                `json:"namespaces"`
	ExcludedNamespaces []string                `json:"excludedNamespaces"`
	LabelSelector      *v1alpha1.LabelSelector `json:"labelSelector"`
	NamespaceSelector  *v1alpha1.LabelSelector `json:"namespaceSelector"`
	Name               string                  `json:"name"`
}

func readConstraint(object map[string]any) (*constraint, error) {
	raw, err := json.Marshal(object["spec"])
	if err != nil {
		return nil, fmt.Errorf("its spec can't be read: %w", err)
	}
	c := &constraint{}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(c); err != nil {
		return nil, fmt.Errorf("its spec can't be read: %w", err)
	}
	return c, nil
}

// refusals are what of the constraint a policy can't express, as strictly as Kubernetes itself may enforce it where the
// policy is to do so instead.
func (c *constraint) refusals(inMemory bool) []string {
	var refused []string
	no := func(is bool, format string, args ...any) {
		if is {
			refused = append(refused, fmt.Sprintf(format, args...))
		}
	}
	m := c.Match
	_, _, unenforced := c.enforcement()
	lost := c.lost()
	if inMemory {
		lost = ""
	}
	no(lost != "", "%s", lost)
	no(unenforced != nil && lost == "", "%v", unenforced)
	no(!slices.Contains([]string{"", "All", "Original"}, m.Source), "match.source %s: Evenkeel judges what is "+
		"written, and workloads by their pod template: leave the field out, and set podTemplates: true in the policy",
		m.Source)
	no(m.Name != "", "match.name %q: choose objects by a label, or compare input.object.metadata.name in the rule",
		m.Name)
	return refused
}

// policy is the constraint as a policy that names its template. podTemplates and existingViolations are
// off and failurePolicy is Ignore, because Gatekeeper judges just the kinds that are
// named, refuses old violations too, and by default lets pass what it can't judge: where its
// webhook is told to refuse that, so is the policy.
func (c *constraint) policy(name string, r *rule, opts Options) (*v1alpha1.ClusterRegoPolicy, []string, error) {
	parameters, notes, err := r.parameters(c.Parameters)
	if err != nil {
		return nil, nil, err
	}
	no := false
	action, known, err := c.enforcement()
	if err != nil {
		return nil, nil, err
	}
	p := &v1alpha1.ClusterRegoPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.RegoPolicySpec{
			Title:       prose.ShortenCharacters(titleOf(r.of, name), maxTitle),
			Description: prose.ShortenCharacters(r.of.Metadata.Annotations["description"], maxDescription),
			Owner:       opts.Owner, Severity: opts.Severity,
			RunbookURL:  strings.ReplaceAll(opts.Runbook, "NAME", name),
			TemplateRef: &v1alpha1.TemplateReference{Name: r.made.Name},
			Match: v1alpha1.Match{
				Kinds: c.Match.Kinds, Namespaces: c.Match.Namespaces,
				ExcludedNamespaces: c.Match.ExcludedNamespaces,
				ObjectSelector:     c.Match.LabelSelector, NamespaceSelector: c.Match.NamespaceSelector,
				PodTemplates: &no, References: r.references,
			},
			Parameters: parameters,
			Admission: v1alpha1.Admission{
				Action: action, FailurePolicy: v1alpha1.FailurePolicyIgnore, ExistingViolations: v1alpha1.ExistingDeny,
			},
		},
	}
	return p, slices.Concat(notes, known), nil
}

// The bounds of the API.
const (
	maxTitle       = 120
	maxDescription = 4096
)

func titleOf(t *constraintTemplate, name string) string {
	if title := t.Metadata.Annotations["metadata.gatekeeper.sh/title"]; title != "" {
		return strings.Join(strings.Fields(title), " ") + " (" + name + ")"
	}
	return name
}
