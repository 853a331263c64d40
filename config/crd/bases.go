// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions of this version.
package crd

import "embed"

// Bases are the manifests that are generated from the API types.
//
//go:embed bases/*.yaml
var Bases embed.FS
