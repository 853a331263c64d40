// SPDX-License-Identifier: Apache-2.0

// Package krm turns a directory of Rego into ClusterRegoPolicy objects as a KRM function: it
// takes a ResourceList and gives it back with the policies in it, which is how
// kustomize and kpt call a generator.
//
// It reads as strictly as evenkeel build does; when anything is wrong the list has
// no policy added, and its results say what is wrong. It must never change another
// object of the list. Start at Run.
package krm
