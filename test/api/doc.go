// SPDX-License-Identifier: Apache-2.0

// Package api checks the CustomResourceDefinitions in config/crd against the
// conventions of Kubernetes' API reviewers, as far as a schema shows them: what its
// tests refuse would be hard to take back once somebody depends on it.
package api
