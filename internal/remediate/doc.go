// SPDX-License-Identifier: Apache-2.0

// Package remediate remediates violations: it makes a plan of a policy's fixes
// and rolls it out, canary first, in verified waves, and undoes what does harm.
//
// The rollout itself is the pure machine of package rollout: it looks at an
// Observation and answers with an Intent, and does no I/O. This package gathers
// observations and carries intents out. No target may ever be written
// without a persisted record of the write, nor on state that wasn't read anew
// just before. Start at Controller.step, and at rollout.Table.
package remediate
