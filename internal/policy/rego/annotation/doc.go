// SPDX-License-Identifier: Apache-2.0

// Package annotation reads the METADATA of a module's package, with the row of each key. What
// the keys below custom mean is not its concern.
//
// Start at Parse.
package annotation
