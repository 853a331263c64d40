// SPDX-License-Identifier: Apache-2.0

package git

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

const (
	branches = "refs/heads/"
	tags     = "refs/tags/"
	// maxNames is how many names of a repository an error lists.
	maxNames = 5
)

var fullHash = regexp.MustCompile(`^[0-9a-f]{40}$`)

// Reference is what is followed in a repository: one of these, or the branch that
// the repository's HEAD names when all are empty.
type Reference struct {
	Branch, Tag string
	// Semver is a range of versions, as github.com/Masterminds/semver knows it, of
	// which the newest that is a tag is taken, with or without v before it.
	Semver string
	// Commit is a full SHA-1 in lower case.
	Commit string
}

// String names it for people.
func (r Reference) String() string {
	switch {
	case r.Branch != "":
		return "branch " + r.Branch
	case r.Tag != "":
		return "tag " + r.Tag
	case r.Semver != "":
		return "versions " + r.Semver
	case r.Commit != "":
		return "commit " + r.Commit
	}
	return "the default branch"
}

func (r Reference) validate() error {
	given := 0
	for _, value := range []string{r.Branch, r.Tag, r.Semver, r.Commit} {
		if value != "" {
			given++
		}
	}
	switch {
	case given > 1:
		return failf(ErrInvalid, "the reference names more than one of branch, tag, semver and commit: give one")
	case len(r.Commit) == 64:
		return failf(ErrInvalid, "commit %s is a SHA-256, and only repositories with SHA-1 can be read: give 40 digits",
			words(r.Commit))
	case r.Commit != "" && !fullHash.MatchString(r.Commit):
		return failf(ErrInvalid, "commit %q isn't a full hash: give all 40 digits, in lower case", words(r.Commit))
	}
	if r.Semver != "" {
		if _, err := semver.NewConstraint(r.Semver); err != nil {
			return failf(ErrInvalid, "semver %q isn't a range of versions: %s; give one like ~1.2 or >=1.2.0 <2",
				words(r.Semver), words(err.Error()))
		}
	}
	return nil
}

// target is what a reference stands for now.
type target struct {
	// name is the branch or tag; empty for a commit that was asked for itself.
	name string
	// want is the object that is asked for: a commit, or an annotated tag.
	want plumbing.Hash
	// commit is the tag's where the server says it, else the same as want.
	commit plumbing.Hash
}

func (t target) revision() string {
	if t.name == "" {
		return "sha1:" + t.commit.String()
	}
	return t.name + "@sha1:" + t.commit.String()
}

// resolve finds what the reference stands for among what a server shows.
func (r Reference) resolve(shown *packp.AdvRefs) (target, error) {
	switch {
	case r.Commit != "":
		hash := plumbing.NewHash(r.Commit)
		return target{want: hash, commit: hash}, nil
	case r.Branch != "":
		return find(shown, branches, r.Branch, "branch")
	case r.Tag != "":
		return find(shown, tags, r.Tag, "tag")
	case r.Semver != "":
		name, err := newest(shown, r.Semver)
		if err != nil {
			return target{}, err
		}
		return find(shown, tags, name, "tag")
	}
	return head(shown)
}

func find(shown *packp.AdvRefs, kind, name, called string) (target, error) {
	full := kind + name
	hash, ok := shown.References[full]
	if !ok {
		return target{}, failf(ErrReferenceNotFound, "the repository has no %s %q%s: correct the name, or push it",
			called, words(name), listed(names(shown, kind)))
	}
	found := target{name: name, want: hash, commit: hash}
	if peeled, ok := shown.Peeled[full]; ok {
		found.commit = peeled
	}
	return found, nil
}

func head(shown *packp.AdvRefs) (target, error) {
	if shown.Head == nil {
		return target{}, failf(ErrReferenceNotFound,
			"the repository's HEAD names no branch that exists%s: give ref.branch", listed(names(shown, branches)))
	}
	name := "HEAD"
	for _, pair := range shown.Capabilities.Get(capability.SymRef) {
		if branch, ok := strings.CutPrefix(pair, "HEAD:"+branches); ok {
			name = branch
		}
	}
	return target{name: name, want: *shown.Head, commit: *shown.Head}, nil
}

// newest is the tag with the highest version within a range.
func newest(shown *packp.AdvRefs, text string) (string, error) {
	within, err := semver.NewConstraint(text)
	if err != nil {
		return "", fmt.Errorf("parse %q: %w", text, err)
	}
	var best string
	var highest *semver.Version
	for _, name := range names(shown, tags) {
		version, err := semver.NewVersion(name)
		if err != nil || !within.Check(version) {
			continue
		}
		// Of two names of one version the last in order is taken, always the same.
		if highest == nil || version.Compare(highest) >= 0 {
			best, highest = name, version
		}
	}
	if highest == nil {
		return "", failf(ErrReferenceNotFound,
			"no tag of the repository is a version within %q%s: push one, or widen the range", words(text),
			listed(names(shown, tags)))
	}
	return best, nil
}

func names(shown *packp.AdvRefs, kind string) []string {
	var found []string
	for full := range shown.References {
		if name, ok := strings.CutPrefix(full, kind); ok {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, cmp.Compare[string])
	return found
}

func listed(all []string) string {
	switch {
	case len(all) == 0:
		return " (it has none)"
	case len(all) > maxNames:
		return fmt.Sprintf(" (it has %s and %d more)", words(strings.Join(all[:maxNames], ", ")), len(all)-maxNames)
	}
	return fmt.Sprintf(" (it has %s)", words(strings.Join(all, ", ")))
}
