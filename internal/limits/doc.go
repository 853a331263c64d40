// SPDX-License-Identifier: Apache-2.0

// Package limits holds what the cluster's administrator lets fixes do, by flags of
// the manager that nobody who writes policies can set: which namespaces and kinds a
// fix may write, which security-relevant fields it may set, and how careful a
// strategy must be at the least.
//
// It is pure: it judges objects that it is given, and reads and writes nothing. It
// must never take a policy's word for anything. Start at Reach.
package limits
