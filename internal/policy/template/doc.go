// SPDX-License-Identifier: Apache-2.0

// Package template makes policies of RegoTemplates: it compiles a template's rule once, and
// gives each policy that names the template the rule, with its parameters checked against the
// template's schema and completed by its defaults.
//
// What a schema may say, and whether parameters fit it, Kubernetes' own library for
// CustomResourceDefinitions judges; nothing of that is decided here. The package reads no
// cluster. Start at Compile and Template.Policy.
package template
