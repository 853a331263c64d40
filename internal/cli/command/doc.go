// SPDX-License-Identifier: Apache-2.0

// Package command says how commands are called and how they end: arguments, help for a
// wrong call, exit codes. It never asks a cluster. Start reading at Exit.
package command
