// SPDX-License-Identifier: Apache-2.0

// Package size says how large a value of Rego is: as text, in elements, and in what it
// takes to compare it. Values share parts, so that a small one may be astronomically large to
// whatever writes it out; everything here stops where it is told to. It knows nothing of
// policies or evaluations.
//
// Start at Text and Scale.
package size
