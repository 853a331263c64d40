// SPDX-License-Identifier: Apache-2.0

// Package cli is the command line: it puts the commands together, and holds those that
// concern the program itself or a whole installation (manager, doctor, version, docs,
// completion). What several commands share stands in the packages below it: command
// (arguments, exit codes), connect (the cluster), output, terminal and request.
//
// A command reads its flags, calls one package of internal, and prints what comes of
// it: it never decides. Start reading at New.
package cli
