// SPDX-License-Identifier: Apache-2.0

// Package fastyaml reads the part of YAML in which nearly all manifests are written, three
// times as fast as the library (docs/decisions/yaml-reader.md). It must never read anything otherwise than the library
// does: what it doesn't know it leaves to Decode. Whoever doubts it turns it off
// (manifest.Options.Library). Start reading at Read.
package fastyaml
