// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/process"
)

const (
	verbStart    = "start"
	verbEnd      = "end"
	requestLimit = 2 * time.Minute
)

// request asks the process that owns a tied instance for something that only
// it can do: a component tied to its life must be its child.
type request struct {
	Verb      string    `json:"verb"`
	Component Component `json:"component,omitempty"`
}

type reply struct {
	Error string `json:"error,omitempty"`
}

// Run brings up an instance that lives no longer than this process, calls
// ready, and stays until ctx ends; then it stops everything and removes the
// folder. If this process is killed, the kernel kills the components.
func Run(ctx context.Context, o Options, ready func(*Instance) error) error {
	dir, err := resolve(o.Dir)
	if err != nil {
		return err
	}
	listener, err := net.Listen("unix", guardName(dir, "runner"))
	if err != nil {
		return fmt.Errorf("take over %s: %w: another `controlplane run` may use it; choose another folder with --dir",
			dir, err)
	}
	defer func() { _ = listener.Close() }()
	if usable(ctx, dir) != nil {
		return fmt.Errorf("%s holds a running control plane: bring it down first, or choose another folder with --dir",
			dir)
	}
	i, err := startGuarded(ctx, dir, o)
	if err != nil {
		return err
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	go i.serve(ctx, listener, end)
	err = ready(i)
	if err == nil {
		<-ctx.Done()
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	return errors.Join(err, stopGuarded(clean, dir))
}

func startGuarded(ctx context.Context, dir string, o Options) (*Instance, error) {
	release, err := guard(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer release()
	return startFresh(ctx, dir, o, process.NewTied(), true)
}

func stopGuarded(ctx context.Context, dir string) error {
	release, err := guard(ctx, dir)
	if err != nil {
		return err
	}
	defer release()
	if err := stopAll(ctx, dir); err != nil {
		return err
	}
	return remove(dir)
}

// serve answers requests, one at a time, until ctx ends.
func (i *Instance) serve(ctx context.Context, listener net.Listener, end func()) {
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		var answer reply
		if err := i.handle(ctx, conn, end); err != nil {
			answer.Error = err.Error()
		}
		_ = json.NewEncoder(conn).Encode(answer) // the asker may be gone
		_ = conn.Close()
	}
}

func (i *Instance) handle(ctx context.Context, conn net.Conn, end func()) error {
	if err := sameUser(conn); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("limit the request: %w", err)
	}
	var asked request
	if err := json.NewDecoder(conn).Decode(&asked); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	switch asked.Verb {
	case verbStart:
		return i.launch(ctx, asked.Component)
	case verbEnd:
		end()
		return nil
	default:
		return fmt.Errorf("unknown request %q", asked.Verb)
	}
}

// sameUser keeps other users of the machine out: abstract sockets have no mode.
func sameUser(conn net.Conn) error {
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.New("not a local connection")
	}
	raw, err := unixConn.SyscallConn()
	if err != nil {
		return fmt.Errorf("look at the asker: %w", err)
	}
	var peer *syscall.Ucred
	var peerErr error
	if err := raw.Control(func(fd uintptr) {
		peer, peerErr = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil {
		return fmt.Errorf("look at the asker: %w", err)
	}
	if peerErr != nil {
		return fmt.Errorf("look at the asker: %w", peerErr)
	}
	if int(peer.Uid) != os.Getuid() {
		return fmt.Errorf("user %d may not change an instance of user %d", peer.Uid, os.Getuid())
	}
	return nil
}
