// SPDX-License-Identifier: Apache-2.0

// Package inventory keeps the objects that rules may look up besides the one that they judge,
// compactly, in the form in which Rego sees them: data.inventory. It knows no cluster: who
// watches objects, or reads them from files, puts them into a Table.
//
// Start at Table, then Join.
package inventory
