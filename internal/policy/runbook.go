// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"net/url"
	"strings"
)

// DefaultDocsURL is where Evenkeel's documentation is published. The library's
// policies name their runbooks below it.
const DefaultDocsURL = "https://evenkeel.dev/docs"

// Docs is where this installation publishes Evenkeel's documentation. Its zero
// value is DefaultDocsURL.
type Docs struct{ base string }

// NewDocs takes the address of the documentation, http or https, with or without
// a slash at its end; empty means DefaultDocsURL.
func NewDocs(address string) (Docs, error) {
	if address == "" {
		return Docs{}, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.RawQuery != "" ||
		u.Fragment != "" || u.User != nil {
		return Docs{}, fmt.Errorf(
			"address of the documentation %q: give https://HOST/PATH, without user, query or fragment", address)
	}
	return Docs{base: strings.TrimSuffix(address, "/")}, nil
}

// Page is the address of a page, such as "runbooks/manager-down".
func (d Docs) Page(page string) string { return d.address() + "/" + page }

// Runbook is a policy's runbook as this installation publishes it: below the
// documentation's address, if the policy names one below DefaultDocsURL, and as
// the policy names it otherwise.
func (d Docs) Runbook(address string) string {
	if page, ours := strings.CutPrefix(address, DefaultDocsURL+"/"); ours {
		return d.Page(page)
	}
	return address
}

func (d Docs) address() string {
	if d.base == "" {
		return DefaultDocsURL
	}
	return d.base
}
