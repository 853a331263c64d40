// SPDX-License-Identifier: Apache-2.0

// Package gatekeeper turns Gatekeeper's ConstraintTemplates and constraints into
// policies that give the same verdicts.
//
// It is strict: what a policy can't express, or what would judge otherwise, is refused
// with the reason and what to do, one object at a time; a constraint is never migrated
// by halves. It reads no cluster and writes no file. Start at Migrate.
package gatekeeper
