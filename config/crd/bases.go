// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions of this version.
package crd

import (
	"embed"
	"fmt"
	"io/fs"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// Bases are the manifests that are generated from the API types.
//
//go:embed bases/*.yaml
var Bases embed.FS

// Definitions are the CustomResourceDefinitions, sorted by their files' names.
func Definitions() ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := fs.Glob(Bases, "bases/*.yaml")
	if err != nil {
		return nil, err
	}
	var kinds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		text, err := Bases.ReadFile(file)
		if err != nil {
			return nil, err
		}
		kind := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.UnmarshalStrict(text, kind); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}
