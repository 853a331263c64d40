// SPDX-License-Identifier: Apache-2.0

// Package fleet is what the demo's policies concern: the Deployments, what is
// true of them, and a record of every write to them as the API server's watch
// tells it. It must never ask Evenkeel what is true: it looks for itself. Start
// reading at [Deployments], then [Recorder].
package fleet
