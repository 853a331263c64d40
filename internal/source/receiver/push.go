// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// maxRef bounds what is told of a name that a message gives.
const maxRef = 253

// message is what the hosts' messages of a push have in common.
type message struct {
	Ref        string `json:"ref"`
	Repository struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"repository"`
	Project struct {
		DefaultBranch string `json:"default_branch"`
	} `json:"project"`
}

// pushEvents are the events that tell of commits or tags, by the hosts' names.
func pushEvents() []string {
	return []string{"push", "create", "Push Hook", "Tag Push Hook", "System Hook"}
}

// irrelevant says why a message can't concern what a source follows; empty when it
// may. What can't be told may.
func irrelevant(header http.Header, body []byte, ref *v1alpha1.SourceReference) string {
	for _, name := range []string{"X-GitHub-Event", "X-Gitlab-Event", "X-Forgejo-Event", "X-Gitea-Event"} {
		if event := header.Get(name); event != "" && !slices.Contains(pushEvents(), event) {
			return "it isn't a push"
		}
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil || m.Ref == "" {
		return ""
	}
	if !follows(ref, m) {
		return "the source doesn't follow " + prose.Shorten(m.Ref, maxRef)
	}
	return ""
}

// follows says whether a pushed ref may be the one that is followed. A commit may
// come by any.
func follows(ref *v1alpha1.SourceReference, m message) bool {
	isTag := strings.HasPrefix(m.Ref, "refs/tags/")
	if !isTag && !strings.HasPrefix(m.Ref, "refs/heads/") {
		return true // GitHub's create event names the branch alone
	}
	switch {
	case ref == nil || *ref == v1alpha1.SourceReference{}:
		branch := m.Repository.DefaultBranch + m.Project.DefaultBranch
		return branch == "" || m.Ref == "refs/heads/"+branch
	case ref.Branch != "":
		return m.Ref == "refs/heads/"+ref.Branch
	case ref.Tag != "":
		return m.Ref == "refs/tags/"+ref.Tag
	case ref.Semver != "":
		return isTag
	default:
		return true
	}
}
