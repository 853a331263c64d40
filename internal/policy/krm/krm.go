// SPDX-License-Identifier: Apache-2.0

package krm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// APIVersion and Kind are those of the function's configuration.
const (
	APIVersion = "fn.evenkeel.dev/v1alpha1"
	Kind       = "PolicyDirectory"
)

// config says where the policies are.
type config struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		// Path is the directory of policies, seen from the working directory, which
		// is that of the kustomization.
		Path string `json:"path"`
	} `json:"spec"`
}

// Run reads a ResourceList from in and writes it to out with the policies of the
// directory that its functionConfig names. A policy of the list that has the name
// of one of them is replaced, so that running twice changes nothing.
//
// When the policies are wrong the error is a *source.Error whose files are as the
// user sees them.
func Run(in io.Reader, out io.Writer) error {
	list := &kio.ByteReadWriter{Reader: in, Writer: out, KeepReaderAnnotations: true,
		WrappingAPIVersion: kio.ResourceListAPIVersion, WrappingKind: kio.ResourceListKind}
	return framework.Execute(framework.ResourceListProcessorFunc(process), list)
}

func process(list *framework.ResourceList) error {
	dir, err := pathOf(list.FunctionConfig)
	if err != nil {
		return refuse(list, framework.Result{Message: err.Error()}, err)
	}
	tree, err := directory.Open(dir)
	if err != nil {
		return refuse(list, framework.Result{Message: err.Error()}, err)
	}
	policies, err := directory.Load(tree.FS, tree.Root)
	if err != nil {
		return located(list, tree, err)
	}
	return add(list, policies)
}

// pathOf returns the directory that the configuration names.
func pathOf(given *kyaml.RNode) (string, error) {
	if given == nil {
		return "", fmt.Errorf("the ResourceList has no functionConfig: give one of kind %s, apiVersion %s, with the "+
			"directory of policies in spec.path", Kind, APIVersion)
	}
	text, err := given.String()
	if err != nil {
		return "", fmt.Errorf("read the functionConfig: %w", err)
	}
	var c config
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return "", fmt.Errorf("the functionConfig can't be read: %w; it holds spec.path, the directory of policies",
			err)
	}
	if c.APIVersion != APIVersion || c.Kind != Kind {
		return "", fmt.Errorf("the functionConfig is of kind %q, apiVersion %q: give kind %s, apiVersion %s", c.Kind,
			c.APIVersion, Kind, APIVersion)
	}
	if c.Spec.Path == "" {
		return "", errors.New(
			"the functionConfig has no spec.path: give the directory of policies, seen from the kustomization")
	}
	return c.Spec.Path, nil
}

// located puts what is wrong with the policies into the results.
func located(list *framework.ResourceList, tree directory.Tree, err error) error {
	var wrong *directory.Error
	if !errors.As(err, &wrong) {
		return refuse(list, framework.Result{Message: err.Error()}, err)
	}
	seen := &directory.Error{}
	for _, problem := range wrong.Problems {
		problem.File = tree.Path(problem.File)
		seen.Problems = append(seen.Problems, problem)
		_ = refuse(list, framework.Result{
			Message: problem.Message,
			File:    &framework.File{Path: problem.File},
			Tags:    map[string]string{"line": fmt.Sprint(problem.Line)},
		}, nil)
	}
	return seen
}

func refuse(list *framework.ResourceList, result framework.Result, err error) error {
	result.Severity = framework.Error
	list.Results = append(list.Results, &result)
	return err
}

func add(list *framework.ResourceList, policies []*v1alpha1.ClusterRegoPolicy) error {
	text, err := directory.Render(policies)
	if err != nil {
		return err
	}
	made, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true, DisableUnwrapping: true}).
		Read()
	if err != nil {
		return fmt.Errorf("read the policies back: %w", err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(item *kyaml.RNode) bool {
		return item.GetApiVersion() == v1alpha1.GroupVersion.String() && item.GetKind() == "ClusterRegoPolicy" &&
			slices.ContainsFunc(policies, func(p *v1alpha1.ClusterRegoPolicy) bool { return p.Name == item.GetName() })
	})
	list.Items = append(list.Items, made...)
	return nil
}
