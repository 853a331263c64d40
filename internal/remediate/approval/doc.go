// SPDX-License-Identifier: Apache-2.0

// Package approval reads what people have answered to the plans that wait for them.
//
// Who may answer is decided by canary.Refuse, at admission and again here. Who answered is what admission recorded:
// v1alpha1.Requests. What a plan acts on is recorded in its own status.
//
// Start at Reader.Read.
package approval
