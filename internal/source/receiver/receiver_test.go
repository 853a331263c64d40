// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"encoding/hex"
	"net/http"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func headers(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func TestSigned(t *testing.T) {
	body, token := []byte(`{"ref":"refs/heads/main"}`), []byte("It's a Secret to Everybody")
	sum := hex.EncodeToString(signature(body, token))
	tests := map[string]struct {
		reason string
		header http.Header
		body   []byte
		token  []byte
		want   bool
	}{
		"GitHub": {"an HMAC with its prefix", headers("X-Hub-Signature-256", "sha256="+sum), body,
			token, true},
		"Gitea":                     {"an HMAC alone", headers("X-Gitea-Signature", sum), body, token, true},
		"Forgejo":                   {"an HMAC alone", headers("X-Forgejo-Signature", sum), body, token, true},
		"anybody":                   {"the generic header", headers("X-Signature", "sha256="+sum), body, token, true},
		"GitLab":                    {"the token itself", headers("X-Gitlab-Token", string(token)), body, token, true},
		"GitLab with another token": {"it must be the same", headers("X-Gitlab-Token", "guess"), body, token, false},
		"another body": {"the signature is of what was sent", headers("X-Signature", sum), []byte(`{}`),
			token, false},
		"another token": {"only the token's owner can sign", headers("X-Signature", sum), body,
			[]byte("other"), false},
		"no signature":            {"nobody is trusted by default", headers(), body, token, false},
		"not hexadecimal":         {"a signature must be one", headers("X-Signature", "zz"), body, token, false},
		"a part of the signature": {"a prefix isn't enough", headers("X-Signature", sum[:32]), body, token, false},
		"an empty token": {
			"anybody could sign with it", headers("X-Signature", hex.EncodeToString(signature(body, nil))), body, nil,
			false},
		"an empty GitLab token": {"anybody could show it", headers("X-Gitlab-Token", ""), body, nil, false},
		"GitLab's token and a bad HMAC": {"either header proves that the token is known, and the first one decides",
			headers("X-Gitlab-Token", string(token), "X-Signature", "00"), body, token, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := signed(tc.header, tc.body, tc.token); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

func TestSignedAsStandardWebhooksHasIt(t *testing.T) {
	// The example of the standard's own libraries.
	const id, at, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", `{"test": 2432232314}`
	const token, good = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	message := func(signatures, stamp string) http.Header {
		return headers("webhook-id", id, "webhook-timestamp", stamp, "webhook-signature", signatures)
	}
	tests := map[string]struct {
		header http.Header
		token  string
		want   bool
	}{
		"a good signature":           {message(good, at), token, true},
		"a good one among others":    {message("v1,AAAA v2,"+good[3:]+" "+good, at), token, true},
		"of another version":         {message("v2,"+good[3:], at), token, false},
		"of another time":            {message(good, "1614265331"), token, false},
		"not base64":                 {message("v1,%%", at), token, false},
		"a token that isn't encoded": {message(good, at), "whsec_%%", false},
		"a token that is empty":      {message(good, at), "whsec_", false},
		"beside the token itself":    {headers("webhook-signature", "v1,AAAA", "X-Gitlab-Token", token), token, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := signed(tc.header, []byte(body), []byte(tc.token)); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

// RFC 4231, test case 2.
func TestSignatureIsTheStandardsOwn(t *testing.T) {
	const want = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
	if got := hex.EncodeToString(signature([]byte("what do ya want for nothing?"), []byte("Jefe"))); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestIrrelevant(t *testing.T) {
	push := headers("X-GitHub-Event", "push")
	main := `{"ref":"refs/heads/main","repository":{"default_branch":"main"}}`
	tests := map[string]struct {
		reason string
		header http.Header
		body   string
		ref    *v1alpha1.SourceReference
		want   bool
	}{
		"a push to the branch": {"it is followed", push, main, &v1alpha1.SourceReference{Branch: "main"},
			false},
		"a push to another branch": {"it isn't followed", push, main, &v1alpha1.SourceReference{Branch: "stable"},
			true},
		"a push to the default branch": {"it is followed by default", push, main, nil, false},
		"a push beside it": {
			"only the default branch is", push, `{"ref":"refs/heads/x","repository":{"default_branch":"main"}}`, nil,
			true},
		"GitLab's default branch": {"GitLab calls it project", headers("X-Gitlab-Event", "Push Hook"),
			`{"ref":"refs/heads/x","project":{"default_branch":"main"}}`, nil, true},
		"a tag, for a branch": {"a tag moves no branch", push, `{"ref":"refs/tags/v1"}`,
			&v1alpha1.SourceReference{Branch: "main"}, true},
		"a tag, for a range": {"it may be the highest", headers("X-Gitlab-Event", "Tag Push Hook"),
			`{"ref":"refs/tags/v1"}`, &v1alpha1.SourceReference{Semver: "1.x"}, false},
		"a branch, for a range": {
			"only tags are versions", push, main, &v1alpha1.SourceReference{Semver: "1.x"}, true},
		"the tag": {"it is followed", push, `{"ref":"refs/tags/v1"}`,
			&v1alpha1.SourceReference{Tag: "v1"}, false},
		"any ref, for a commit": {
			"the commit may come by it", push, main, &v1alpha1.SourceReference{Commit: "0"}, false},
		"an issue":                   {"it isn't a push", headers("X-GitHub-Event", "issues"), `{}`, nil, true},
		"a ping":                     {"it isn't a push", headers("X-GitHub-Event", "ping"), `{}`, nil, true},
		"a message without an event": {"what can't be told may concern the source", headers(), `{}`, nil, false},
		"a message that isn't JSON": {"what can't be told may concern the source", push, `payload=x`,
			&v1alpha1.SourceReference{Branch: "main"}, false},
		"a new branch, by its own name": {"GitHub's create event has no full ref", headers("X-GitHub-Event", "create"),
			`{"ref":"main"}`, &v1alpha1.SourceReference{Branch: "main"}, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := irrelevant(tc.header, []byte(tc.body), tc.ref); (got != "") != tc.want {
				t.Errorf("%s: got %q", tc.reason, got)
			}
		})
	}
}
