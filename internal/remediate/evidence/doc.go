// SPDX-License-Identifier: Apache-2.0

// Package evidence collects why a target failed its verification, before its write is undone: what is
// wrong with its Pods and their containers, the Warning events since the write, and which of the written
// fields somebody has set back.
//
// It reads past every cache, within bounds of number, size and time, and never holds a rollback up: what
// couldn't be read is told in its place. It must never keep a value of a Secret or of an environment
// variable, nor what a program itself has said. Start at Collect.
package evidence
