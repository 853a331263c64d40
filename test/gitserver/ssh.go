// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// SSH is a server of repositories over SSH: OpenSSH's own, one process for each
// connection. Its only user is git.
type SSH struct {
	// Address is HOST:PORT; a repository's URL is ssh://git@Address/<its path>.
	Address string
	// Identity is a private key that it lets in.
	Identity []byte

	t        T
	dir      string
	program  string
	listener net.Listener
	running  sync.WaitGroup

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// privilegeSeparation is the folder that sshd wants when it runs as root. The path
// is compiled in.
const privilegeSeparation = "/run/sshd"

// StartSSH serves with the program sshd until the test ends.
func StartSSH(t T, sshd string) *SSH {
	t.Helper()
	s := &SSH{t: t, dir: t.TempDir(), program: sshd, open: map[net.Conn]struct{}{}}
	identity := NewKey(t, "")
	s.Identity = identity.Private
	s.write("authorized_keys", string(identity.Public))
	s.ChangeHostKey()
	s.write("sshd_config", strings.Join([]string{
		"HostKey " + s.path("host_key"), "AuthorizedKeysFile " + s.path("authorized_keys"),
		"UsePAM no", "StrictModes no", "PermitRootLogin yes", "PidFile none",
		"PasswordAuthentication no", "KbdInteractiveAuthentication no", "",
	}, "\n"))
	// The machine may have neither the user git nor the one that sshd itself wants.
	s.write("passwd", fmt.Sprintf("git:x:%d:%d::%s:/bin/sh\nsshd:x:65534:65534::/:/bin/false\n", os.Getuid(),
		os.Getgid(), s.dir))
	s.write("group", fmt.Sprintf("git:x:%d:\nsshd:x:65534:\n", os.Getgid()))
	if os.Getuid() == 0 {
		if err := os.MkdirAll(privilegeSeparation, 0o755); err != nil {
			t.Fatalf("make the folder that sshd wants: %v", err)
		}
	}
	var err error
	if s.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatalf("listen: %v", err)
	}
	s.Address = s.listener.Addr().String()
	s.running.Go(s.accept)
	t.Cleanup(s.Stop)
	return s
}

// URL is a repository's address.
func (s *SSH) URL(r *Repository) string { return "ssh://git@" + s.Address + r.Dir }

// KnownHosts is the line of known_hosts that names the server by its key of now.
func (s *SSH) KnownHosts() []byte {
	key, err := os.ReadFile(s.path("host_key.pub"))
	if err != nil {
		s.t.Fatalf("read the host key: %v", err)
	}
	host, port, _ := net.SplitHostPort(s.Address)
	return fmt.Appendf(nil, "[%s]:%s %s", host, port, key)
}

// ChangeHostKey gives the server another key.
func (s *SSH) ChangeHostKey() {
	key := NewKey(s.t, "")
	s.write("host_key", string(key.Private))
	s.write("host_key.pub", string(key.Public))
}

// Admit lets another key in.
func (s *SSH) Admit(k Key) {
	s.t.Helper()
	known, err := os.ReadFile(s.path("authorized_keys"))
	if err != nil {
		s.t.Fatalf("read the keys that are let in: %v", err)
	}
	s.write("authorized_keys", string(known)+string(k.Public))
}

// Stop ends the server, and all conversations.
func (s *SSH) Stop() {
	_ = s.listener.Close()
	s.mu.Lock()
	for connection := range s.open {
		_ = connection.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *SSH) accept() {
	for {
		connection, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.open[connection] = struct{}{}
		s.mu.Unlock()
		s.running.Go(func() {
			defer connection.Close()
			if err := s.serve(connection); err != nil {
				_, _ = fmt.Fprintf(os.Stderr, "sshd: %v\n", err)
			}
		})
	}
}

// serve hands a connection to a process of its own.
func (s *SSH) serve(connection net.Conn) error {
	socket, err := connection.(*net.TCPConn).File()
	if err != nil {
		return fmt.Errorf("hand a connection to sshd: %w", err)
	}
	defer socket.Close()
	log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the log of sshd: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(s.program, "-i", "-e", "-f", s.path("sshd_config"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = socket, socket, log
	cmd.Env = append(os.Environ(), "NSS_WRAPPER_PASSWD="+s.path("passwd"), "NSS_WRAPPER_GROUP="+s.path("group"))
	err = cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // as when a client hangs up
		return nil
	}
	return err
}

// Log is what sshd has said so far.
func (s *SSH) Log() string {
	text, err := os.ReadFile(s.path("log"))
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (s *SSH) path(name string) string { return filepath.Join(s.dir, name) }

func (s *SSH) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatalf("write %s: %v", name, err)
	}
}
