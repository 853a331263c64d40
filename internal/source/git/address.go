// SPDX-License-Identifier: Apache-2.0

package git

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
)

// The ways to a repository.
const (
	schemeHTTPS = "https"
	schemeHTTP  = "http"
	schemeSSH   = "ssh"
	schemeFile  = "file"
)

// scpLike is USER@HOST:PATH, as Git knows it.
var scpLike = regexp.MustCompile(`^([A-Za-z0-9._-]+)@([A-Za-z0-9.-]+):([^/].*|/[^/].*)$`)

// parseAddress understands the URL of a repository. The error never shows the
// URL's user or password.
func (o Options) parseAddress(text string) (*transport.Endpoint, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return nil, failf(ErrInvalid, "the URL holds a space or a control character: remove it")
	}
	if match := scpLike.FindStringSubmatch(text); match != nil {
		return &transport.Endpoint{Protocol: schemeSSH, User: match[1], Host: match[2], Path: match[3]}, nil
	}
	u, err := url.Parse(text)
	if err != nil {
		// Its text would show the URL, and with it a password that is there by mistake.
		return nil, failf(ErrInvalid,
			"the URL can't be understood: give https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH")
	}
	for _, check := range []func(*url.URL) error{o.checkScheme, checkUser, checkPlace} {
		if err := check(u); err != nil {
			return nil, err
		}
	}
	return endpoint(u)
}

func endpoint(u *url.URL) (*transport.Endpoint, error) {
	at := &transport.Endpoint{Protocol: u.Scheme, Host: u.Hostname(), Path: u.Path}
	if strings.Contains(at.Host, ":") {
		at.Host = "[" + at.Host + "]"
	}
	if u.Scheme == schemeSSH {
		at.User = u.User.Username()
	}
	if port := u.Port(); port != "" {
		number, err := strconv.Atoi(port)
		if err != nil || number < 1 || number > 65535 {
			return nil, failf(ErrInvalid, "the URL's port %s isn't one from 1 to 65535", port)
		}
		at.Port = number
	}
	return at, nil
}

func (o Options) checkScheme(u *url.URL) error {
	switch {
	case u.Scheme == schemeHTTPS || u.Scheme == schemeSSH:
	case u.Scheme == schemeHTTP && !o.AllowHTTP:
		return failf(ErrInvalid,
			"http:// shows policies and credentials to the network, where they can be changed: use https://")
	case u.Scheme == schemeFile && !o.AllowFile:
		return failf(ErrInvalid, "file:// isn't read: use https:// or ssh://")
	case u.Scheme != schemeHTTP && u.Scheme != schemeFile:
		return failf(ErrInvalid,
			"the URL's scheme %q isn't known: use https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH",
			words(u.Scheme))
	}
	return nil
}

func checkUser(u *url.URL) error {
	_, hasPassword := u.User.Password()
	switch {
	case hasPassword || u.User != nil && u.Scheme != schemeSSH:
		return failf(ErrInvalid, "the URL holds credentials, which anybody who sees it can read: put them into the "+
			"Secret that secretRef names, and out of the URL")
	case u.Scheme == schemeSSH && u.User.Username() == "":
		return failf(ErrInvalid, "the URL has no user: give ssh://USER@HOST/PATH, for most hosts ssh://git@HOST/PATH")
	}
	return nil
}

func checkPlace(u *url.URL) error {
	switch {
	case u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return failf(ErrInvalid, "the URL has a query or a fragment: give the repository's address alone")
	case u.Scheme != schemeFile && u.Hostname() == "":
		return failf(ErrInvalid, "the URL has no host: give https://HOST/PATH or ssh://USER@HOST/PATH")
	case strings.Trim(u.Path, "/") == "":
		return failf(ErrInvalid, "the URL has no path: give the repository's")
	}
	return nil
}
