// SPDX-License-Identifier: Apache-2.0

// Package suite proves policies before they reach a cluster: it runs the Rego
// unit tests of a directory with their coverage, and its examples, through the
// same evaluation that admission, scan and remediation use.
//
// An example says what must be found in an object. Where a policy offers a fix,
// the fix has to make the object comply, and fixing it a second time has to change
// nothing. The package never changes a file and never speaks to a cluster.
//
// Start at Run.
package suite
