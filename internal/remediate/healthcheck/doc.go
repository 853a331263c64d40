// SPDX-License-Identifier: Apache-2.0

// Package healthcheck tells whether an object is well enough to be a canary, and
// whether its health has got worse since a write: by kstatus, by the rules of the
// strategy, and by the Pods that run what was changed.
//
// No answer is never a pass. It judges objects that it is given, and must never read or
// write a cluster. Start at Check.
package healthcheck
