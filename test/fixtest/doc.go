// SPDX-License-Identifier: Apache-2.0

// Package fixtest has what the tests of fixes share: a time, policies with a waiver, and
// an API server that patches like the real one.
package fixtest
