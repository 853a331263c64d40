// Package process runs the manager as a child process, so that a test can kill
// it as a machine that fails would. It must never end a process that it didn't
// start. Start reading at Manager.
package process
