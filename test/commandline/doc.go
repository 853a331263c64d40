// Package commandline runs commands in tests as a shell would.
package commandline
