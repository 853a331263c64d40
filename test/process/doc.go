// SPDX-License-Identifier: Apache-2.0

// Package process runs the manager, and programs that it talks to, as child
// processes, so that a test can kill them as a machine that fails would. It must
// never end a process that it didn't start. Start reading at Manager and Daemon.
package process
