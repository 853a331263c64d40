// SPDX-License-Identifier: Apache-2.0

// Package kube holds what Evenkeel needs to know of Kubernetes itself: who owns
// or manages an object, whether it is healthy, what an API error means, and how
// to write a status once. It knows no policy and must never decide about one.
//
// Start at ManagedBy, HealthOf and Classify.
package kube
