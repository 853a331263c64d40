// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/schema"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/prose"
)

// addPath adds the policies of a directory of Rego, or the policies, templates and
// Waiver objects of YAML. Gatekeeper's are kept for addGatekeeper.
func (s *policySet) addPath(ctx context.Context, c *policyChoice, path string) error {
	rego, err := directory.HoldsRego(path)
	if err != nil {
		return command.Exit(command.ExitUsage, fmt.Errorf("--policy: %w", err))
	}
	if rego {
		if err := s.addRego(&c.rego, path, c.stderr); err != nil {
			return err
		}
		return c.refuseYAML(ctx, path)
	}
	documents, err := c.documents(ctx, path)
	if err != nil {
		return err
	}
	before, known := s.size(), len(s.policies)
	if err := s.addDocuments(ctx, documents, "default"); err != nil {
		return err
	}
	if c.stderr != nil {
		warnOfDocuments(c.stderr(), documents, s.policies[known:])
	}
	theirs := gatekeeper.Among(documents)
	if s.size() == before && len(theirs) == 0 {
		return command.Exit(command.ExitUsage, fmt.Errorf("--policy %s: it holds no policy: give a directory of Rego, "+
			"or of ClusterRegoPolicy objects as evenkeel build writes them, or of Gatekeeper's ConstraintTemplates "+
			"and constraints", path))
	}
	s.gatekeepers = append(s.gatekeepers, theirs...)
	return nil
}

// warnOfDocuments tells what policies say that can hardly be meant, of those that addDocuments has read of documents.
func warnOfDocuments(stderr io.Writer, documents []manifest.Document, policies []*v1alpha1.ClusterRegoPolicy) {
	for i := range documents {
		if d := &documents[i]; isPolicy(d.Object) {
			command.WarnOfDocument(stderr, d, policies[0])
			policies = policies[1:]
		}
	}
}

func isPolicy(object map[string]any) bool {
	return object["apiVersion"] == v1alpha1.GroupVersion.String() && object["kind"] == "ClusterRegoPolicy"
}

func (s *policySet) size() int {
	return len(s.policies) + len(s.templates) + len(s.strategies) + len(s.waivers)
}

func (s *policySet) addRego(rego *command.RegoTree, dir string, stderr func() io.Writer) error {
	tree, err := rego.Open(dir)
	if err != nil {
		return err
	}
	located, strategies, err := directory.LoadAll(tree.FS, tree.Root)
	if err != nil {
		return command.Exit(command.ExitFailure, tree.Located(err))
	}
	for _, of := range strategies {
		s.strategies = append(s.strategies, of.Definition)
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
func (s *policySet) addDocuments(ctx context.Context, documents []manifest.Document, namespace string) error {
	var wrong []manifest.Problem
	var schemas schema.Checker
	for i := range documents {
		d := &documents[i]
		if d.Object["apiVersion"] != v1alpha1.GroupVersion.String() {
			continue
		}
		misfits := s.addDocument(d, namespace)
		if len(misfits) == 0 {
			var err error
			if misfits, err = refused(ctx, &schemas, d.Object); err != nil {
				return command.Exit(command.ExitFailure, err)
			}
		}
		for _, misfit := range misfits {
			wrong = append(wrong,
				manifest.Problem{File: d.File, Line: d.LineOf(misfit.Pointer()), Message: misfit.String()})
		}
	}
	if len(wrong) > 0 {
		return command.Exit(command.ExitFailure, &manifest.Error{Problems: wrong})
	}
	return nil
}

// refused is what the API server wouldn't take of an object, which therefore is in force nowhere.
func refused(ctx context.Context, schemas *schema.Checker, object map[string]any) ([]directory.Misfit, error) {
	wrong, err := schemas.Check(ctx, object)
	if err != nil {
		return nil, err
	}
	misfits := make([]directory.Misfit, 0, len(wrong))
	for _, w := range wrong {
		path := w.Field
		if path == (*field.Path)(nil).String() {
			path = "" // of the whole object
		}
		misfits = append(misfits, directory.Misfit{Path: path, Message: prose.OneLine(w.ErrorBody())})
	}
	return misfits, nil
}

// addDocument adds one object, when it is of a kind that is judged by.
func (s *policySet) addDocument(d *manifest.Document, namespace string) []directory.Misfit {
	switch d.Object["kind"] {
	case "ClusterRegoPolicy":
		p := &v1alpha1.ClusterRegoPolicy{}
		misfits := directory.Decode(d.Object, p)
		s.add(p)
		return misfits
	case "RegoTemplate":
		t := &v1alpha1.RegoTemplate{}
		s.templates = append(s.templates, t)
		return directory.Decode(d.Object, t)
	case "RemediationStrategy":
		strategy := &v1alpha1.RemediationStrategy{}
		s.strategies = append(s.strategies, strategy)
		return directory.Decode(d.Object, strategy)
	case "Waiver":
		w := &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		s.waivers = append(s.waivers, w)
		return directory.Decode(d.Object, w)
	case "ClusterWaiver":
		w := &v1alpha1.ClusterWaiver{}
		s.waivers = append(s.waivers, w)
		return directory.Decode(d.Object, w)
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
	return set, set.addGatekeeper(c)
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
