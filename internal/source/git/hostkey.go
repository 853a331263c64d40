// SPDX-License-Identifier: Apache-2.0

package git

import (
	"errors"
	"net"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
)

// hostCheck asks whether the key that a server shows is the one that is known.
type hostCheck struct {
	at    string
	known ssh.HostKeyCallback
	// passed and failed are the answer; neither before the server has shown a key.
	passed bool
	failed error
}

func (h *hostCheck) callback(host string, remote net.Addr, shown ssh.PublicKey) error {
	err := h.known(host, remote, shown)
	switch finger := ssh.FingerprintSHA256(shown); {
	case err == nil:
		h.passed = true
		return nil
	case knownhosts.IsHostKeyChanged(err):
		h.failed = failf(ErrHostKeyChanged, "%s shows another key (%s, %s) than known_hosts has for it: somebody may "+
			"stand in between; if the host has announced this key, put it into known_hosts of the Secret", h.at,
			shown.Type(), finger)
	case knownhosts.IsHostUnknown(err):
		h.failed = failf(ErrHostKeyUnknown, "known_hosts of the Secret doesn't name %s, which shows key %s, %s: if "+
			"the host publishes that key, add its line from ssh-keyscan", h.at, shown.Type(), finger)
	default:
		h.failed = failf(ErrUntrusted, "the key of %s (%s, %s) isn't good: %s; correct known_hosts of the Secret", h.at,
			shown.Type(), finger, words(err.Error()))
	}
	return h.failed
}

// explain says why a connection didn't come about.
func (h *hostCheck) explain(at *transport.Endpoint, c credentials, err error) error {
	var negotiation *ssh.AlgorithmNegotiationError
	switch {
	case h.failed != nil:
		return h.failed
	case errors.As(err, &negotiation) && !h.passed:
		return failf(ErrHostKeyChanged, "%s has no key of a kind that known_hosts has for it, or speaks no cipher "+
			"that is known here: %s; compare its keys (ssh-keyscan) with known_hosts of the Secret", h.at,
			words(err.Error()))
	// The library has no type for a server's refusal.
	case h.passed && strings.Contains(err.Error(), "unable to authenticate"):
		return refused(at, c)
	}
	return err
}
