// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"
)

// The releases of the peers that are measured. The pins are in the folders' go.mod.
const (
	conftestVersion = "v0.71.1"
	gatorVersion    = "v3.23.1"
)

// bench is what the benchmarks share.
type bench struct {
	options
	// here is this module's folder, work a temporary one.
	here, work string
}

// in is the path of a file in the temporary folder.
func (b *bench) in(name string) string { return filepath.Join(b.work, name) }

// program is one that is run with a question in JSON as its last argument, and prints the answer in JSON.
type program struct {
	command, env []string
}

// ask runs the program.
func (p program) ask(ctx context.Context, question, answer any) error {
	raw, err := json.Marshal(question)
	if err != nil {
		return err
	}
	output, err := output(p.cmd(ctx, string(raw)))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(output, answer); err != nil {
		return fmt.Errorf("read the answer of %s: %w", p.command[0], err)
	}
	return nil
}

func (p program) cmd(ctx context.Context, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.command[0], append(p.command[1:len(p.command):len(p.command)], arguments...)...)
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// output runs a command. Code 1 reports violations, for each of the tools.
func output(cmd *exec.Cmd) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return nil, fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// worker is this program once more: a process of its own that runs Evenkeel's code, with the settings of
// config/manager/deployment.yaml for Go's runtime.
func worker(name string) (program, error) {
	self, err := os.Executable()
	return program{[]string{self, "worker", name}, []string{"GOGC=400", "GOMEMLIMIT=900MiB"}}, err
}

// checker builds this repository's evenkeel.
func (b *bench) checker(ctx context.Context) (string, error) {
	return b.in("evenkeel"), goBuild(ctx, filepath.Join(b.here, "..", ".."), b.in("evenkeel"), "./cmd/evenkeel")
}

// gatekeeper builds Gatekeeper's engine (gator/engine). It runs with Go's own settings, as Gatekeeper's manifests do.
func (b *bench) gatekeeper(ctx context.Context) (program, error) {
	fmt.Println("building Gatekeeper's engine; it takes minutes, once")
	return program{command: []string{b.in("engine")}},
		goBuild(ctx, filepath.Join(b.here, "gator"), b.in("engine"), "./engine")
}

// peer builds a released program from a module that pins it, unless the cache has it.
func (b *bench) peer(ctx context.Context, module, name, version, pkg string) (string, error) {
	file := filepath.Join(b.cache, name+"-"+version)
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	fmt.Printf("building %s; it takes minutes, once\n", filepath.Base(file))
	return file, goBuild(ctx, filepath.Join(b.here, module), file, pkg)
}

func goBuild(ctx context.Context, module, file, pkg string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", file, pkg)
	cmd.Dir = module
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

// server is a program that serves TLS at a port of localhost until its context ends.
type server struct {
	pid       int
	url       string
	authority *x509.CertPool
}

// serving is the part of the question to a server that says where it serves, and by which certificate: tls.crt and
// tls.key of a directory.
type serving struct {
	Port         int
	Certificates string
}

// readyWithin bounds how long a program may take until it serves.
const readyWithin = 60 * time.Second

// serve starts a server, and waits until it serves. question makes the question.
func (b *bench) serve(ctx context.Context, p program, question func(serving) any) (*server, error) {
	authority, err := b.certificate()
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(question(serving{port, b.work}))
	if err != nil {
		return nil, err
	}
	cmd := p.cmd(ctx, string(raw))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	s := &server{pid: cmd.Process.Pid, url: fmt.Sprintf("https://localhost:%d", port), authority: authority}
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: authority}}
	ready := func(ctx context.Context) (bool, error) {
		select {
		case exit := <-ended:
			return false, fmt.Errorf("%s has ended before it served: %w", strings.Join(p.command, " "), exit)
		default:
		}
		connection, err := dialer.DialContext(ctx, "tcp", fmt.Sprintf("localhost:%d", port))
		if err != nil {
			return false, nil // it doesn't serve yet
		}
		return true, connection.Close()
	}
	return s, wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, readyWithin, true, ready)
}

// certificate makes a certificate of localhost, once.
func (b *bench) certificate() (*x509.CertPool, error) {
	public, err := os.ReadFile(b.in("tls.crt"))
	if errors.Is(err, os.ErrNotExist) {
		var private []byte
		if public, private, err = cert.GenerateSelfSignedCertKey("localhost", nil, nil); err != nil {
			return nil, err
		}
		err = errors.Join(os.WriteFile(b.in("tls.crt"), public, 0o600), os.WriteFile(b.in("tls.key"), private, 0o600))
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(public)
	return pool, err
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address, is := listener.Addr().(*net.TCPAddr)
	if !is {
		return 0, errors.Join(fmt.Errorf("%s has no port", listener.Addr()), listener.Close())
	}
	return address.Port, listener.Close()
}
