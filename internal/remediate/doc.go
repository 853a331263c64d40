// SPDX-License-Identifier: Apache-2.0

// Package remediate remediates violations: it rolls the plans of package planning out,
// canary first, in verified waves, and undoes what does harm.
//
// The rollout itself is the pure machine of package rollout: it looks at an
// Observation and answers with an Intent, and does no I/O. This package gathers
// observations, and has package execute carry intents out, which computes, proves and
// writes each fix by package fix. Start at Controller.step, and at rollout.Table.
package remediate
