// SPDX-License-Identifier: Apache-2.0

// Package match says which policies concern a request, and which objects a
// waiver covers. Webhook and scan ask the same index, so that what admission
// judges and what the scan judges never differ.
//
// It knows kinds, namespaces, labels, operations and users, and nothing of Rego.
// It must never do I/O: what it needs to know of a namespace comes in the
// request. Start at Index.
package match
