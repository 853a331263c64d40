// SPDX-License-Identifier: Apache-2.0

// Package gitserver runs real Git servers on loopback for tests: Git's own
// http-backend behind TLS, and OpenSSH. It makes repositories with the git command
// and lets a test push to them, sign, move branches and break a server off.
//
// It knows nothing of policies, and no test framework: testing.T and GinkgoT() both
// serve. Start at NewRepository and StartHTTP.
package gitserver
