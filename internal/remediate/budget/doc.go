// SPDX-License-Identifier: Apache-2.0

// Package budget shares out among all plans in progress how many targets may be unavailable at
// once, and which plan has an object in work.
//
// What is in flight is read anew from the plans' records before each batch. The package
// writes nothing to the cluster.
//
// Start at Budgets.
package budget
