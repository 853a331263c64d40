// SPDX-License-Identifier: Apache-2.0

// Package manifest reads Kubernetes objects from files: YAML of many documents,
// JSON, lists of objects, whole directories and standard input. An object has the
// values that kubectl would send to the API server, and every field of it has its
// line, so that whoever judges it can point at the place.
//
// It reads strictly: what can't be read, or isn't an object, is a problem with
// file, line and fix, or is told as skipped; it is never left out in silence. The
// package knows no policy and no cluster.
//
// Start at Read.
package manifest
