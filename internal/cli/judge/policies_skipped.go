// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/internal/prose"
)

// documents are the objects at a path of policies. What of it isn't read is told: a check by the rest would look
// as if all were well.
func (c *policyChoice) documents(ctx context.Context, path string) ([]manifest.Document, error) {
	var skipped, kustomizations []manifest.Problem
	documents, err := manifest.Read(ctx, []string{path}, nil, manifest.Options{
		Skipped: func(p manifest.Problem) {
			if strings.HasPrefix(strings.ToLower(filepath.Base(p.File)), "kustomization") {
				p.Message = "kustomize reads it, and no policy is made of it: give by -p what it builds"
				kustomizations = append(kustomizations, p)
				return
			}
			skipped = append(skipped, ofPolicies(p))
		}})
	for _, p := range skipped {
		c.tellSkipped(p)
	}
	c.tellSkipped(kustomizations...)
	if err != nil {
		return nil, command.Exit(command.ExitFailure, err)
	}
	var wrong []manifest.Problem
	kinds := ownKinds()
	for i := range documents {
		d := &documents[i]
		if field, message := mistaken(d.Object, kinds); message != "" {
			wrong = append(wrong, manifest.Problem{File: d.File, Line: d.LineOf(field), Message: message})
		}
	}
	return documents, failureOf(wrong)
}

// ofPolicies is what is skipped as it is said of policies, which aren't read from standard input.
func ofPolicies(p manifest.Problem) manifest.Problem {
	if _, err := os.Stat(filepath.Join(p.File, "Chart.yaml")); err == nil && !isLink(p.File) {
		p.Message = "it is a Helm chart, which holds templates: give by -p what it renders to"
	}
	return p
}

func isLink(path string) bool {
	_, err := os.Readlink(path)
	return err == nil
}

// tellSkipped tells of the first of what is skipped for one reason, and how much more there is.
func (c *policyChoice) tellSkipped(skipped ...manifest.Problem) {
	if len(skipped) == 0 || c.stderr == nil {
		return
	}
	first := skipped[0].String()
	if more := len(skipped) - 1; more > 0 {
		message := ": " + prose.OneLine(skipped[0].Message)
		first = fmt.Sprintf("%s and %d more%s", strings.TrimSuffix(first, message), more, message)
	}
	fmt.Fprintf(c.stderr(), "skipped %s\n", first)
}

func failureOf(wrong []manifest.Problem) error {
	if len(wrong) == 0 {
		return nil
	}
	return command.Exit(command.ExitFailure, &manifest.Error{Problems: wrong})
}

// mistaken says what is wrong with an object that means to be one of Evenkeel's, whose kinds are given, and is none,
// and of which field; empty for any other.
func mistaken(object map[string]any, kinds []string) (field, message string) {
	apiVersion, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	ours := v1alpha1.GroupVersion.String()
	group, _, _ := strings.Cut(apiVersion, "/")
	switch known := slices.Contains(kinds, kind); {
	case apiVersion == ours && known:
		return "", ""
	case apiVersion == ours:
		return "/kind", fmt.Sprintf("%s has no kind %q%s", ours, kind, prose.DidYouMean(kind, kinds))
	case group == v1alpha1.GroupVersion.Group, known && prose.Nearest(apiVersion, []string{ours}) != "":
		return "/apiVersion", fmt.Sprintf("there is no %q; did you mean %s?", apiVersion, ours)
	}
	return "", ""
}

// ownKinds are the kinds of Evenkeel's group, with those of their lists.
func ownKinds() (kinds []string) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil // no type of its own, which the tests would see
	}
	for kind, of := range scheme.KnownTypes(v1alpha1.GroupVersion) {
		if of.PkgPath() == reflect.TypeFor[v1alpha1.Waiver]().PkgPath() {
			kinds = append(kinds, kind)
		}
	}
	slices.Sort(kinds)
	return kinds
}

// effect is what an object does to verdicts.
type effect int

const (
	neither effect = iota
	judges
	waives
)

// effectOf is what an object of Evenkeel's does, or one that means to be one, which may judge.
func effectOf(object map[string]any, kinds []string) effect {
	if _, wrong := mistaken(object, kinds); wrong != "" {
		return judges
	}
	if object["apiVersion"] != v1alpha1.GroupVersion.String() {
		return neither
	}
	switch object["kind"] {
	case "ClusterRegoPolicy", "RegoTemplate", "RemediationStrategy":
		return judges
	case "Waiver", "ClusterWaiver":
		return waives
	default:
		return neither
	}
}

// refuseYAML refuses policies in YAML in a folder of Rego, of which only Rego is read, and tells what else isn't that
// may change a verdict. Other kinds of Evenkeel's judge nothing.
func (c *policyChoice) refuseYAML(ctx context.Context, dir string) error {
	documents, err := c.amongRego(ctx, dir)
	if err != nil {
		return err
	}
	unread := func(d *manifest.Document) manifest.Problem {
		return manifest.Problem{File: d.File, Line: d.Line, Message: fmt.Sprintf("it isn't read, since %s holds Rego, "+
			"and of such a folder only .rego is: move this %s out of it, and give its place by -p too", dir,
			d.Object["kind"])}
	}
	var ours, theirs []manifest.Problem
	kinds := ownKinds()
	for i := range documents {
		switch d := &documents[i]; effectOf(d.Object, kinds) {
		case judges:
			if d.Object["kind"] != "RemediationStrategy" { // these are read with the Rego
				ours = append(ours, unread(d))
			}
		case waives:
			c.tellSkipped(manifest.Problem{File: d.File, Line: d.Line, Message: fmt.Sprintf("%s holds Rego, and of "+
				"such a folder only .rego is read: this %s counts where its place is among the manifests, or given "+
				"by -p too", dir, d.Object["kind"])})
		case neither:
		}
	}
	for _, d := range gatekeeper.Among(documents) {
		if d.Object["kind"] != "CustomResourceDefinition" {
			theirs = append(theirs, unread(&d))
		}
	}
	c.tellSkipped(theirs...)
	return failureOf(ours)
}

// amongRego are the objects in a folder of Rego. What can't be read of it is told.
func (c *policyChoice) amongRego(ctx context.Context, dir string) ([]manifest.Document, error) {
	documents, err := manifest.Read(ctx, []string{dir}, nil, manifest.Options{
		Skipped: func(p manifest.Problem) {
			if info, err := os.Stat(p.File); err == nil && info.IsDir() {
				c.tellSkipped(ofPolicies(p))
			}
		}})
	var unreadable *manifest.Error
	switch {
	case errors.As(err, &unreadable):
		for _, p := range unreadable.Problems {
			c.tellSkipped(p)
		}
	case err != nil:
		return nil, command.Exit(command.ExitFailure, err)
	}
	return documents, nil
}
