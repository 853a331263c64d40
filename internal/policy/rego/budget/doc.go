// SPDX-License-Identifier: Apache-2.0

// Package budget ends evaluations: by deadline, by memory and by the depth of the stack (Watch, Guard), and lets those
// that take long take turns (Lane). It says which of OPA's built-in functions a policy may call, and caps those that
// make or take much in one call, which nothing stops (Permitted, Capped). Importing it caps them in the whole process.
// Without it, one quadratic rule or one huge result takes the manager's memory or all its processors.
// The steps of the compiled engine are bounded by that engine.
//
// Start at Watch.
package budget
