// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/cli/connect"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/scaffold"
)

// kindFinder finds the kind that a person names.
type kindFinder struct {
	// name is what they call it, and group its group where they give that apart.
	name, group string
	// crds are files and directories with CustomResourceDefinitions.
	crds []string
	// cluster is asked for kinds that are named without their version, and are in no file.
	cluster *connect.Flags
}

// find is the kind: one of Kubernetes or in full as it is written, else of the CRDs, else of the cluster.
func (f *kindFinder) find(ctx context.Context) (schema.GroupVersionKind, error) {
	name := f.name
	if f.group != "" && strings.Contains(name, ".") {
		return schema.GroupVersionKind{}, command.Exit(command.ExitUsage,
			fmt.Errorf("--kind %q names a group already: leave --group out", name))
	}
	if f.group != "" {
		name += "." + f.group
	}
	if len(f.crds) > 0 {
		return f.ofCRDs(ctx, name)
	}
	if kind, known := scaffold.Kind(name); known {
		return kind, nil
	}
	return f.ofCluster(name)
}

// ofCRDs is a kind of the CRDs that are given, else one that is known without them.
func (f *kindFinder) ofCRDs(ctx context.Context, name string) (schema.GroupVersionKind, error) {
	given, err := kindsOfCRDs(ctx, f.crds)
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	if kind, known := scaffold.Kind(name, given...); known {
		return kind, nil
	}
	return schema.GroupVersionKind{}, unknownKind(name, given,
		fmt.Errorf("no CustomResourceDefinition of %s defines it", strings.Join(f.crds, ", ")))
}

func (f *kindFinder) ofCluster(name string) (schema.GroupVersionKind, error) {
	served, err := f.served()
	if err != nil {
		return schema.GroupVersionKind{}, unknownKind(name, nil, fmt.Errorf("the cluster couldn't be asked: %w", err))
	}
	if kind, known := scaffold.Kind(name, served...); known {
		return kind, nil
	}
	return schema.GroupVersionKind{}, unknownKind(name, served, errors.New("the cluster doesn't serve it"))
}

// unknownKind says that a kind was found nowhere: not among those of Kubernetes, and why not elsewhere.
func unknownKind(name string, given []schema.GroupVersionKind, elsewhere error) error {
	what, example := "is no kind of Kubernetes", "Certificate.cert-manager.io/v1"
	if kind, group, qualified := strings.Cut(name, "."); qualified {
		group, _, _ = strings.Cut(group, "/")
		what, example = "names no version, and is no kind of Kubernetes", kind+"."+group+"/v1"
	}
	meant := ""
	if similar := scaffold.Similar(name, given); len(similar) > 0 {
		meant = "; did you mean " + strings.Join(similar, ", ") + "?"
	}
	return command.Exit(command.ExitUsage, fmt.Errorf("--kind %q %s%s\n%w\nfor a kind of your own give "+
		"KIND.GROUP/VERSION, for example %s, or its definition by --crds", name, what, meant, elsewhere, example))
}

// served are the kinds of the cluster, each in the version that it prefers.
func (f *kindFinder) served() ([]schema.GroupVersionKind, error) {
	_, kinds, err := f.cluster.Untyped()
	if err != nil {
		return nil, err
	}
	lists, err := kinds.ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return nil, err // of a group that doesn't answer its kinds are missing, and the others are there
	}
	var out []schema.GroupVersionKind
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for i := range list.APIResources {
			if r := &list.APIResources[i]; !strings.Contains(r.Name, "/") {
				out = append(out, group.WithKind(r.Kind))
			}
		}
	}
	return out, nil
}

// kindsOfCRDs are the kinds that CustomResourceDefinitions in files define, each in its newest version that is served.
func kindsOfCRDs(ctx context.Context, paths []string) ([]schema.GroupVersionKind, error) {
	documents, err := manifest.Read(ctx, paths, strings.NewReader(""), manifest.Options{})
	if err != nil {
		return nil, command.Exit(command.ExitFailure, fmt.Errorf("read --crds: %w", err))
	}
	var out []schema.GroupVersionKind
	for i := range documents {
		crd := unstructured.Unstructured{Object: documents[i].Object}
		if crd.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io",
			Kind: "CustomResourceDefinition"}) {
			continue
		}
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if newest := newestServed(&crd); group != "" && kind != "" && newest != "" {
			out = append(out, schema.GroupVersionKind{Group: group, Version: newest, Kind: kind})
		}
	}
	if len(out) == 0 {
		return nil, command.Exit(command.ExitUsage, errors.New(
			"--crds holds no CustomResourceDefinition: name files or directories of YAML that do"))
	}
	return out, nil
}

func newestServed(crd *unstructured.Unstructured) string {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	newest := ""
	for _, each := range versions {
		v, _ := each.(map[string]any)
		name, _ := v["name"].(string)
		if served, _ := v["served"].(bool); served &&
			(newest == "" || version.CompareKubeAwareVersionStrings(name, newest) > 0) {
			newest = name
		}
	}
	return newest
}
