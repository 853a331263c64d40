// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

const portSSH = 22

// sshSession runs git-upload-pack on the server. It isn't go-git's own, which can't
// be interrupted while it waits for the server's greeting.
type sshSession struct {
	client *ssh.Client
	run    *ssh.Session
	in     io.WriteCloser
	out    io.Reader
	errors *remarks
	end    func() bool
}

// openSSH connects, checks the server's key, logs in and runs the command.
func (f *Fetcher) openSSH(ctx context.Context, at *transport.Endpoint, c credentials) (session, error) {
	if at.Port == 0 {
		at.Port = portSSH
	}
	signer, err := c.signer()
	if err != nil {
		return nil, err
	}
	known, err := f.knownHosts(c)
	if err != nil {
		return nil, err
	}
	host := address(at)
	check := &hostCheck{at: host, known: known.HostKeyCallback()}
	client, end, err := dial(ctx, host, &ssh.ClientConfig{
		User:              at.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   check.callback,
		HostKeyAlgorithms: known.HostKeyAlgorithms(host),
	})
	if err != nil {
		return nil, check.explain(at, c, err)
	}
	s := &sshSession{client: client, errors: &remarks{}, end: end}
	if err := s.start("git-upload-pack " + quoted(at.Path)); err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("run git-upload-pack: %w", err)
	}
	return s, nil
}

// dial connects until ctx ends; then all that waits for the connection fails.
func dial(ctx context.Context, host string, config *ssh.ClientConfig) (*ssh.Client, func() bool, error) {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, nil, fmt.Errorf("connect: %w", err)
	}
	end := context.AfterFunc(ctx, func() { _ = connection.Close() })
	secured, channels, requests, err := ssh.NewClientConn(connection, host, config)
	if err != nil {
		end()
		_ = connection.Close()
		return nil, nil, fmt.Errorf("log in: %w", err)
	}
	return ssh.NewClient(secured, channels, requests), end, nil
}

func (s *sshSession) start(command string) error {
	var err error
	if s.run, err = s.client.NewSession(); err != nil {
		return err
	}
	s.run.Stderr = s.errors
	if s.in, err = s.run.StdinPipe(); err != nil {
		return err
	}
	if s.out, err = s.run.StdoutPipe(); err != nil {
		return err
	}
	return s.run.Start(command)
}

func (s *sshSession) AdvertisedReferencesContext(context.Context) (*packp.AdvRefs, error) {
	shown := packp.NewAdvRefs()
	err := shown.Decode(io.LimitReader(s.out, maxShownBytes))
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && shown.IsEmpty():
		return nil, transport.ErrEmptyRemoteRepository
	case errors.Is(err, packp.ErrEmptyInput):
		if s.run.Wait() != nil { // it has said why on its standard error
			return nil, failf(ErrRepositoryNotFound,
				"the server doesn't give the repository: %s; correct the URL, or let the key of identity read it",
				s.errors)
		}
		return nil, fmt.Errorf("the server ended the conversation: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return nil, fmt.Errorf("read branches and tags: %w", err)
	}
	transport.FilterUnsupportedCapabilities(shown.Capabilities)
	return shown, nil
}

func (s *sshSession) UploadPack(_ context.Context, request *packp.UploadPackRequest) (
	*packp.UploadPackResponse, error) {
	if err := request.Validate(); err != nil {
		return nil, fmt.Errorf("word the request: %w", err)
	}
	var text bytes.Buffer
	if err := request.UploadRequest.Encode(&text); err != nil {
		return nil, fmt.Errorf("word the request: %w", err)
	}
	if err := request.UploadHaves.Encode(&text, false); err != nil {
		return nil, fmt.Errorf("word the request: %w", err)
	}
	text.WriteString("0009done\n")
	if _, err := text.WriteTo(s.in); err != nil {
		return nil, fmt.Errorf("send the request: %w", err)
	}
	response := packp.NewUploadPackResponse(request)
	if err := response.Decode(io.NopCloser(s.out)); err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	return response, nil
}

func (s *sshSession) Close() error {
	s.end()
	return s.client.Close()
}

// quoted is a word for the server's shell, quoted as Git does.
func quoted(word string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(word) + "'"
}

func (c credentials) signer() (ssh.Signer, error) {
	if len(c[keyIdentity]) == 0 {
		return nil, failf(ErrInvalid, "ssh needs a private key: give it as identity in the Secret that secretRef names")
	}
	signer, err := ssh.ParsePrivateKey(c[keyIdentity])
	var locked *ssh.PassphraseMissingError
	if errors.As(err, &locked) {
		if c.text(keyPassword) == "" {
			return nil, failf(ErrInvalid, "identity of the Secret is locked by a password: give it as password")
		}
		if signer, err = ssh.ParsePrivateKeyWithPassphrase(c[keyIdentity], []byte(c.text(keyPassword))); err != nil {
			return nil, failf(ErrInvalid, "password of the Secret doesn't open identity: correct it")
		}
	}
	if err != nil {
		return nil, failf(ErrInvalid,
			"identity of the Secret isn't a private key that is known here: give one as ssh-keygen makes it")
	}
	return signer, nil
}

// knownHosts reads the keys that servers must show. The library reads files alone.
func (f *Fetcher) knownHosts(c credentials) (*knownhosts.HostKeyDB, error) {
	if len(bytes.TrimSpace(c[keyKnownHosts])) == 0 {
		return nil, failf(ErrInvalid, "ssh needs to know the server's key: give the output of ssh-keyscan, compared "+
			"with what the host publishes, as known_hosts in the Secret that secretRef names")
	}
	written, err := os.CreateTemp(f.options.Dir, "known-hosts-")
	if err != nil {
		return nil, fmt.Errorf("write known_hosts: %w", err)
	}
	defer func() { _ = os.Remove(written.Name()) }()
	_, err = written.Write(c[keyKnownHosts])
	if err := errors.Join(err, written.Close()); err != nil {
		return nil, fmt.Errorf("write known_hosts: %w", err)
	}
	known, err := knownhosts.NewDB(written.Name())
	if err != nil {
		return nil, failf(ErrInvalid,
			"known_hosts of the Secret can't be understood: %s; give lines as ssh-keyscan prints them",
			words(strings.ReplaceAll(err.Error(), written.Name(), "known_hosts")))
	}
	return known, nil
}

// remarks keeps the beginning of what a server says on its standard error.
type remarks struct {
	mu   sync.Mutex
	text []byte
}

// Write keeps what there is room for.
func (r *remarks) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text = append(r.text, p[:min(len(p), maxErrorText-len(r.text))]...)
	return len(p), nil
}

// String is what was said, in a line.
func (r *remarks) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return words(string(r.text))
}
