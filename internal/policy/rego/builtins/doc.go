// SPDX-License-Identifier: Apache-2.0

// Package builtins says which of OPA's built-in functions a policy may call, and holds those
// that could grow to a size and a time that are estimated before the call. Importing it caps
// them in the whole process, before anything is evaluated. An estimate must be an upper bound;
// what it costs must not grow faster than what it is given.
//
// Start at All; a function's cap is in estimates.go.
package builtins
