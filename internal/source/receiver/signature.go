// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
)

// signingPrefix begins a token of Standard Webhooks, whose key is encoded in it.
const signingPrefix = "whsec_"

// signed says whether whoever sent a message knows the token: by an HMAC with
// SHA-256 over the body, as GitHub, Gitea and Forgejo send it and others can
// (X-Signature); by one of the form of Standard Webhooks, as GitLab sends it for a
// signing token; or by the token itself, as GitLab sends a secret token. Times tell
// nothing of the token. An empty token is nobody's.
func signed(header http.Header, body, token []byte) bool {
	if len(token) == 0 {
		return false
	}
	if shown := header.Get("Webhook-Signature"); shown != "" {
		return signedByStandard(header, shown, body, token)
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

// signedByStandard checks signatures as Standard Webhooks has them, of which one must
// be good: v1 and an HMAC, in base64, over the message's id, its time and the body.
// The time isn't compared with ours: a message that is sent again does no harm.
func signedByStandard(header http.Header, shown string, body, token []byte) bool {
	key := token
	if encoded, ok := strings.CutPrefix(string(token), signingPrefix); ok {
		decoded, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(decoded) == 0 {
			return false
		}
		key = decoded
	}
	content := header.Get("Webhook-Id") + "." + header.Get("Webhook-Timestamp") + "." + string(body)
	want := signature([]byte(content), key)
	good := false
	for each := range strings.FieldsSeq(shown) {
		encoded, known := strings.CutPrefix(each, "v1,")
		got, err := base64.StdEncoding.DecodeString(encoded)
		good = known && err == nil && hmac.Equal(got, want) || good
	}
	return good
}

// signature is the HMAC of a body.
func signature(body, token []byte) []byte {
	mac := hmac.New(sha256.New, token)
	_, _ = mac.Write(body) // a hash never fails to take bytes
	return mac.Sum(nil)
}
