// SPDX-License-Identifier: Apache-2.0

// Package manager composes the manager: its flags, the parts that they set up, and the
// controller-runtime manager that runs them. It knows every part and none of their
// concerns: nothing is decided here. Start reading at Run.
package manager
