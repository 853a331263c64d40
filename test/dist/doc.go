// SPDX-License-Identifier: Apache-2.0

// Package dist proves what is released, and the scripts that build and run it from a checkout: the same commit gives the same bytes
// wherever it is built, programs and image alike, and the checksums and bills of
// materials are right. It builds the last commit, not what was changed since. Start at
// dist_test.go; scripts_test.go has the scripts as they are now.
package dist
