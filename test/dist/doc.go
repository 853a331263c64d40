// SPDX-License-Identifier: Apache-2.0

// Package dist proves what is released: the same commit gives the same bytes
// wherever it is built, programs and image alike, and the checksums and bills of
// materials are right. It builds the last commit, not what was changed since. Start at
// dist_test.go.
package dist
