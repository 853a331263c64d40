// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
)

// maxBody bounds an answer, in bytes: one sample needs a few hundred.
const maxBody = 1 << 20

// CheckURL says what is wrong with Prometheus' address; nil when it can be asked.
func CheckURL(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return errors.New("isn't a URL: it must be of the form https://HOST:PORT/PATH")
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%q must be of the form https://HOST:PORT/PATH", u.Redacted())
	case u.User != nil:
		return errors.New("must hold no user or password: give a bearer token in a file")
	case u.RawQuery != "" || u.Fragment != "":
		return errors.New("must hold no ?query and no #fragment")
	}
	return nil
}

// bounded bounds what is read of an answer.
type bounded struct{ inner http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := b.inner.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
	return resp, nil
}
