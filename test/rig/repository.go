// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"

	"evenkeel.dev/evenkeel/test/gitserver"
)

// Repository is a Git repository of a spec, which git itself serves over HTTPS.
type Repository struct {
	*gitserver.Repository

	Server *gitserver.HTTP
	// URL is where it is cloned from.
	URL       string
	rewritten int
}

// newRepository makes an empty repository, and serves it until the spec ends.
func newRepository() *Repository {
	GinkgoHelper()
	const name = "policies.git"
	root := GinkgoT().TempDir()
	repository := gitserver.NewRepository(GinkgoT(), root, name)
	server := gitserver.StartHTTP(GinkgoT(), root)
	return &Repository{Repository: repository, Server: server, URL: server.URL + "/" + name}
}

// Replace makes the branch hold exactly the files given, by a further commit, and
// gives its hash.
func (r *Repository) Replace(files map[string]string) string {
	GinkgoHelper()
	r.Git("rm", "-rfq", "--ignore-unmatch", ".")
	return r.CommitAndPush(files)
}

// Rewrite replaces the whole history by one commit that holds the files.
func (r *Repository) Rewrite(files map[string]string) string {
	GinkgoHelper()
	r.rewritten++
	r.Git("checkout", "-q", "--orphan", fmt.Sprintf("rewritten-%d", r.rewritten))
	return r.Replace(files)
}
