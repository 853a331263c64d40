// SPDX-License-Identifier: Apache-2.0

package process

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
)

const tailBytes = 2000

// Spec says what to start.
type Spec struct {
	// Path is the program, Args what follows it.
	Path string
	Args []string
	// Env is the whole environment: nothing is taken from the caller's.
	Env []string
	// Dir is the working folder.
	Dir string
	// Log gets the output, appended.
	Log string
}

// Child is a program that this process started.
type Child struct {
	// Exited is closed once the program has ended.
	Exited <-chan struct{}
	log    string
	offset int64
}

// Launcher starts programs in sessions of their own, so that a Ctrl-C in the
// terminal reaches only the process that is in charge of the order of ending.
type Launcher struct {
	requests chan func()
	tied     bool
}

// NewDetached returns a Launcher whose programs outlive this process.
func NewDetached() *Launcher { return &Launcher{} }

// NewTied returns a Launcher whose programs the kernel kills as soon as this
// process ends, in whatever way.
func NewTied() *Launcher {
	l := &Launcher{requests: make(chan func()), tied: true}
	go l.serve()
	return l
}

// serve forks on one thread that lives as long as the process: the kernel
// sends the parent-death signal when the forking *thread* ends.
func (l *Launcher) serve() {
	runtime.LockOSThread()
	for request := range l.requests {
		request()
	}
}

// Start runs the program of spec in the background.
func (l *Launcher) Start(spec Spec) (*Child, error) {
	if !l.tied {
		return l.start(spec)
	}
	var child *Child
	var err error
	done := make(chan struct{})
	l.requests <- func() {
		child, err = l.start(spec)
		close(done)
	}
	<-done
	return child, err
}

func (l *Launcher) start(spec Spec) (*Child, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the log of %s: %w", spec.Path, err)
	}
	defer func() { _ = log.Close() }()
	offset, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, fmt.Errorf("find the end of %s: %w", spec.Log, err)
	}
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir, cmd.Env = spec.Dir, spec.Env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if l.tied {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Path, err)
	}
	exited := make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ended stands in its log
		close(exited)
	}()
	return &Child{Exited: exited, log: spec.Log, offset: offset}, nil
}

// Tail returns the last lines that the program has logged since it started.
func (c *Child) Tail() string {
	file, err := os.Open(c.log)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	from := c.offset
	if info, err := file.Stat(); err == nil && info.Size()-tailBytes > from {
		from = info.Size() - tailBytes
	}
	text, err := io.ReadAll(io.NewSectionReader(file, from, tailBytes))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
