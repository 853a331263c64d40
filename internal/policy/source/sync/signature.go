package sync

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"strings"
)

// signed says whether whoever sent a message knows the token: by an HMAC with
// SHA-256 over the body, as GitHub, Gitea and Forgejo send it and others can
// (X-Signature), or by the token itself, as GitLab sends it. Times tell nothing of
// the token. An empty token is nobody's.
func signed(header http.Header, body, token []byte) bool {
	if len(token) == 0 {
		return false
	}
	if shown := header.Get("X-Gitlab-Token"); shown != "" {
		// The hashes have one length, so that the token's isn't told either.
		got, want := sha256.Sum256([]byte(shown)), sha256.Sum256(token)
		return subtle.ConstantTimeCompare(got[:], want[:]) == 1
	}
	for _, name := range []string{"X-Hub-Signature-256", "X-Forgejo-Signature", "X-Gitea-Signature", "X-Signature"} {
		if shown := header.Get(name); shown != "" {
			got, err := hex.DecodeString(strings.TrimPrefix(shown, "sha256="))
			return err == nil && hmac.Equal(got, signature(body, token))
		}
	}
	return false
}

// signature is the HMAC of a body.
func signature(body, token []byte) []byte {
	mac := hmac.New(sha256.New, token)
	_, _ = mac.Write(body) // a hash never fails to take bytes
	return mac.Sum(nil)
}
