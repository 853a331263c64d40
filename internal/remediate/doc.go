// Package remediate puts violations right: it makes a plan of a policy's fixes
// and rolls it out, canary first, in verified waves, and undoes what does harm.
//
// The rollout itself is the pure machine of machine.go and its phase files: it
// looks at an Observation and answers with an Intent, and does no I/O. The rest
// gathers observations and carries intents out. No target may ever be written
// without a persisted record of the write, nor on state that wasn't read anew
// just before. Start at Table in machine.go.
package remediate
