// SPDX-License-Identifier: Apache-2.0

// Package integration runs the manager against a real API server and feeds it
// what users, other controllers and bad policies would. Nothing of the manager
// is faked. It must never look into the manager but by its API objects. Start
// reading at suite_test.go.
package integration
