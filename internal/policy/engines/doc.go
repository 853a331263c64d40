// SPDX-License-Identifier: Apache-2.0

// Package engines has a share of the verdicts of the compiled engine given again by topdown,
// beside the requests that wait for verdicts, and leaves a revision of a policy to topdown once
// the two have differed. It never changes a verdict that was given, and what it remembers is of
// this process: another one finds out anew. Start at Comparer.
package engines
