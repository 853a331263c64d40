// SPDX-License-Identifier: Apache-2.0

// Package explain gathers all that Evenkeel knows of one object: what policies say of
// it now, who owns and manages it, what plans have done to it, and what happens next.
//
// It reads only, and judges by the same catalog as admission and the scan. It never
// guesses: what couldn't be read is said. Start at Explain.
package explain
