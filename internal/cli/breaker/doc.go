// SPDX-License-Identifier: Apache-2.0

// Package breaker holds the commands on circuit breakers: list, hold open, close, reset. It
// changes a breaker's spec only, never its status. Start reading at NewCommand.
package breaker
