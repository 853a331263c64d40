// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/kio"
	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/internal/policy/directory"
)

// What the function's configuration says that it is.
const (
	functionAPIVersion = "fn.evenkeel.dev/v1alpha1"
	functionKind       = "PolicyDirectory"
)

// functionConfig says where the policies are.
type functionConfig struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		// Path is the directory of policies, seen from the working directory, which
		// is that of the kustomization.
		Path string `json:"path"`
	} `json:"spec"`
}

// runFunction is a KRM function, which is how kustomize and kpt call a generator: it reads a
// ResourceList from in and writes it to out with the policies of the directory that its
// functionConfig names. A policy or strategy of the list that has the name of one of them is replaced, so
// that running twice changes nothing; another object never changes.
//
// When the policies are wrong the list has none added, and the error is a *directory.Error whose
// files are as the user sees them.
func runFunction(in io.Reader, out io.Writer) error {
	list := &kio.ByteReadWriter{Reader: in, Writer: out, KeepReaderAnnotations: true,
		WrappingAPIVersion: kio.ResourceListAPIVersion, WrappingKind: kio.ResourceListKind}
	return framework.Execute(framework.ResourceListProcessorFunc(processList), list)
}

func processList(list *framework.ResourceList) error {
	dir, err := pathOf(list.FunctionConfig)
	if err != nil {
		return refuse(list, err)
	}
	tree, err := directory.Open(dir)
	if err != nil {
		return refuse(list, err)
	}
	policies, strategies, err := directory.LoadAll(tree.FS, tree.Root)
	if err != nil {
		return refuse(list, tree.Located(err))
	}
	return addObjects(list, objectsOf(policies, strategies))
}

// pathOf returns the directory that the configuration names.
func pathOf(given *kyaml.RNode) (string, error) {
	if given == nil {
		return "", fmt.Errorf("the ResourceList has no functionConfig: give one of kind %s, apiVersion %s, with the "+
			"directory of policies in spec.path", functionKind, functionAPIVersion)
	}
	text, err := given.String()
	if err != nil {
		return "", fmt.Errorf("read the functionConfig: %w", err)
	}
	var c functionConfig
	if err := yaml.UnmarshalStrict([]byte(text), &c); err != nil {
		return "", fmt.Errorf("the functionConfig can't be read: %w; it holds spec.path, the directory of policies",
			err)
	}
	if c.APIVersion != functionAPIVersion || c.Kind != functionKind {
		return "", fmt.Errorf("the functionConfig is of kind %q, apiVersion %q: give kind %s, apiVersion %s", c.Kind,
			c.APIVersion, functionKind, functionAPIVersion)
	}
	if c.Spec.Path == "" {
		return "", errors.New(
			"the functionConfig has no spec.path: give the directory of policies, seen from the kustomization")
	}
	return c.Spec.Path, nil
}

// refuse puts what is wrong into the results.
func refuse(list *framework.ResourceList, err error) error {
	var wrong *directory.Error
	if !errors.As(err, &wrong) {
		list.Results = append(list.Results, &framework.Result{Message: err.Error(), Severity: framework.Error})
		return err
	}
	for _, problem := range wrong.Problems {
		list.Results = append(list.Results, &framework.Result{
			Message:  problem.Message,
			Severity: framework.Error,
			File:     &framework.File{Path: problem.File},
			Tags:     map[string]string{"line": fmt.Sprint(problem.Line)},
		})
	}
	return err
}

func addObjects(list *framework.ResourceList, objects []metav1.Object) error {
	text, err := directory.Render(objects)
	if err != nil {
		return err
	}
	made, err := (&kio.ByteReader{Reader: bytes.NewReader(text), OmitReaderAnnotations: true, DisableUnwrapping: true}).
		Read()
	if err != nil {
		return fmt.Errorf("read the policies back: %w", err)
	}
	list.Items = slices.DeleteFunc(list.Items, func(item *kyaml.RNode) bool {
		return slices.ContainsFunc(made, func(m *kyaml.RNode) bool {
			return item.GetApiVersion() == m.GetApiVersion() && item.GetKind() == m.GetKind() &&
				item.GetName() == m.GetName()
		})
	})
	list.Items = append(list.Items, made...)
	return nil
}
