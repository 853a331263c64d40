// SPDX-License-Identifier: Apache-2.0

// Package compile turns the text of modules into modules that OPA has compiled, and refuses
// what can't be compiled or evaluated within bounds: nesting, length, copies of copies, calls
// of forbidden functions, references to nothing. OPA can't be stopped while it compiles, so
// whatever takes it long is refused before. It evaluates nothing.
//
// Start at Parse, then Modules.
package compile
