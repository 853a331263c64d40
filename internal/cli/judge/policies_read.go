// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// addPath adds the policies of a directory of Rego, or the policies, templates and
// Waiver objects of YAML.
func (s *policySet) addPath(ctx context.Context, c *policyChoice, path string) error {
	rego, err := directory.HoldsRego(path)
	if err != nil {
		return command.Exit(command.ExitUsage, fmt.Errorf("--policy: %w", err))
	}
	if rego {
		return s.addRego(&c.rego, path, c.stderr)
	}
	documents, err := manifest.Read(ctx, []string{path}, nil, manifest.Options{Library: c.reader.Library()})
	if err != nil {
		return command.Exit(command.ExitFailure, err)
	}
	before := s.size()
	if err := s.addDocuments(documents, "default"); err != nil {
		return err
	}
	if s.size() == before {
		return command.Exit(command.ExitUsage, fmt.Errorf("--policy %s: it holds no policy: give a directory of Rego, "+
			"or of ClusterRegoPolicy objects as evenkeel build writes them", path))
	}
	return nil
}

func (s *policySet) size() int {
	return len(s.policies) + len(s.templates) + len(s.strategies) + len(s.waivers)
}

func (s *policySet) addRego(rego *command.RegoTree, dir string, stderr func() io.Writer) error {
	tree, err := rego.Open(dir)
	if err != nil {
		return err
	}
	located, err := directory.LoadLocated(tree.FS, tree.Root)
	if err != nil {
		return command.Exit(command.ExitFailure, tree.Located(err))
	}
	for _, p := range located {
		s.add(p.Definition)
	}
	if stderr != nil {
		command.WarnOf(stderr(), tree, located)
	}
	return nil
}

// add adds policies, with what is absent resolved: they are read, never written.
func (s *policySet) add(policies ...*v1alpha1.ClusterRegoPolicy) {
	for _, p := range policies {
		p.SetDefaults()
	}
	s.policies = append(s.policies, policies...)
}

// addDocuments adds the policies and templates among the objects, and the waivers: one
// without a namespace is in the one given.
func (s *policySet) addDocuments(documents []manifest.Document, namespace string) error {
	var wrong []manifest.Problem
	for i := range documents {
		d := &documents[i]
		if d.Object["apiVersion"] != v1alpha1.GroupVersion.String() {
			continue
		}
		if err := s.addDocument(d, namespace); err != nil {
			wrong = append(wrong, manifest.Problem{File: d.File, Line: d.Line, Message: err.Error()})
		}
	}
	if len(wrong) > 0 {
		return command.Exit(command.ExitFailure, &manifest.Error{Problems: wrong})
	}
	return nil
}

// addDocument adds one object, when it is of a kind that is judged by.
func (s *policySet) addDocument(d *manifest.Document, namespace string) (err error) {
	switch d.Object["kind"] {
	case "ClusterRegoPolicy":
		p := &v1alpha1.ClusterRegoPolicy{}
		if err = strictly(d.Object, p); err == nil {
			s.add(p)
		}
	case "RegoTemplate":
		t := &v1alpha1.RegoTemplate{}
		if err = strictly(d.Object, t); err == nil {
			s.templates = append(s.templates, t)
		}
	case "RemediationStrategy":
		strategy := &v1alpha1.RemediationStrategy{}
		if err = strictly(d.Object, strategy); err == nil {
			s.strategies = append(s.strategies, strategy)
		}
	case "Waiver":
		err = s.addWaiver(d, &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}})
	case "ClusterWaiver":
		err = s.addWaiver(d, &v1alpha1.ClusterWaiver{})
	}
	return err
}

func (s *policySet) addWaiver(d *manifest.Document, w v1alpha1.AnyWaiver) error {
	if err := strictly(d.Object, w); err != nil {
		return err
	}
	s.waivers = append(s.waivers, w)
	return nil
}

// strictly reads an object into its type; an unknown field is an error.
func strictly(object map[string]any, into any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	unknown, err := kjson.UnmarshalStrict(text, into)
	return errors.Join(append(unknown, err)...)
}

// addCluster adds what is in force in the cluster, with its namespaces.
func (s *policySet) addCluster(ctx context.Context, flags *connect.Flags) error {
	c, err := flags.Client()
	if err != nil {
		return err
	}
	policies := &v1alpha1.ClusterRegoPolicyList{}
	if err := c.List(ctx, policies); err != nil {
		return connect.Failure("list policies", err)
	}
	templates := &v1alpha1.RegoTemplateList{}
	if err := c.List(ctx, templates); err != nil {
		return connect.Failure("list templates", err)
	}
	strategies := &v1alpha1.RemediationStrategyList{}
	if err := c.List(ctx, strategies); err != nil {
		return connect.Failure("list the strategies that policies share", err)
	}
	waivers, err := catalog.ListWaivers(ctx, c)
	if err != nil {
		return connect.Failure("read what is waived", err)
	}
	namespaces := &unstructured.UnstructuredList{}
	namespaces.SetAPIVersion("v1")
	namespaces.SetKind("NamespaceList")
	if err := c.List(ctx, namespaces); err != nil {
		return connect.Failure("list namespaces", err)
	}
	for i := range policies.Items {
		s.add(&policies.Items[i])
	}
	for i := range templates.Items {
		s.templates = append(s.templates, &templates.Items[i])
	}
	for i := range strategies.Items {
		s.strategies = append(s.strategies, &strategies.Items[i])
	}
	s.waivers = append(s.waivers, waivers...)
	s.namespaces = map[string]map[string]any{}
	for i := range namespaces.Items {
		s.namespaces[namespaces.Items[i].GetName()] = namespaces.Items[i].Object
	}
	return nil
}

// given reads the policies at the paths that are given, with what comes with them.
func (c *policyChoice) given(ctx context.Context) (*policySet, error) {
	set := &policySet{}
	for _, path := range c.paths {
		if err := set.addPath(ctx, c, path); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// withGiven is the set as it would be once what is given is applied: of two of a name the one that is given counts.
func (s *policySet) withGiven(given *policySet) {
	s.waivers = append(s.waivers, given.waivers...)
	s.templates = append(s.templates, given.templates...)
	s.strategies = append(s.strategies, given.strategies...)
	s.override(given.policies)
}

// alone are some policies of the set, with all else that it holds.
func (s *policySet) alone(policies []*v1alpha1.ClusterRegoPolicy) *policySet {
	return &policySet{policies: policies, templates: s.templates, strategies: s.strategies, waivers: s.waivers}
}
