// SPDX-License-Identifier: Apache-2.0

package git_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/internal/source/git"
	"evenkeel.dev/evenkeel/test/gitserver"
)

// today is the day of these tests, and born the one on which their keys were made.
var (
	today = time.Date(2030, time.May, 17, 0, 0, 0, 0, time.UTC)
	born  = today.Add(-30 * 24 * time.Hour)
)

// pgpKey makes an OpenPGP key that is valid for some time from born; 0 for ever.
func pgpKey(t *testing.T, valid time.Duration) *openpgp.Entity {
	t.Helper()
	entity, err := openpgp.NewEntity("Ada", "", "ada@example.com", &packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, KeyLifetimeSecs: uint32(valid.Seconds()),
		Time: func() time.Time { return born },
	})
	if err != nil {
		t.Fatal(err)
	}
	return entity
}

// published is the armored public half of a key.
func published(t *testing.T, entity *openpgp.Entity) string {
	t.Helper()
	var text bytes.Buffer
	to, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := entity.Serialize(to); err != nil {
		t.Fatal(err)
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return text.String() + "\n"
}

// pgpSignature is an armored signature of a text.
func pgpSignature(t *testing.T, entity *openpgp.Entity, text string) string {
	t.Helper()
	var signature bytes.Buffer
	config := &packet.Config{Time: func() time.Time { return born.Add(time.Hour) }}
	if err := openpgp.ArmoredDetachSign(&signature, entity, strings.NewReader(text), config); err != nil {
		t.Fatal(err)
	}
	return signature.String() + "\n"
}

// commitSignedBy makes the branch's newest commit anew, with a signature of
// another text where that isn't empty.
func (s *site) commitSignedBy(entity *openpgp.Entity, otherText string) string {
	s.t.Helper()
	raw := s.repo.Git("cat-file", "commit", "HEAD") + "\n"
	text := raw
	if otherText != "" {
		text = otherText
	}
	head, message, _ := strings.Cut(raw, "\n\n")
	header := "gpgsig " + strings.ReplaceAll(strings.TrimSpace(pgpSignature(s.t, entity, text)), "\n", "\n ")
	return s.push("commit", head+"\n"+header+"\n\n"+message, "refs/heads/main")
}

// push writes an object as it is, and has a branch or tag be that.
func (s *site) push(kind, raw, ref string) string {
	s.t.Helper()
	s.repo.Write(map[string]string{".git/raw": raw})
	hash := s.repo.Git("hash-object", "-t", kind, "-w", ".git/raw")
	s.repo.Push(hash + ":" + ref)
	return hash
}

func newSignedSite(t *testing.T) *site {
	s := newSite(t)
	s.options.Clock = clocktesting.NewFakePassiveClock(today)
	s.restart()
	return s
}

func (s *site) verified(ref git.Reference, signers map[string][]byte) git.Request {
	r := s.request(ref)
	r.Signers = signers
	return r
}

func (s *site) requireAccepted(r git.Request, commit string) {
	s.t.Helper()
	got, err := s.fetch(r)
	if err != nil || got.Commit != commit {
		s.t.Errorf("got %v, %v, want commit %s", got, err, commit)
	}
}

func TestACommitMustBeSignedByAnOpenPGPKey(t *testing.T) {
	s := newSignedSite(t)
	ada, bob, old := pgpKey(t, 0), pgpKey(t, 0), pgpKey(t, 48*time.Hour)
	adas := secret("ada.asc", published(t, ada))
	unsigned := s.repo.CommitAndPush(hat("one"))
	s.requireRefused(s.verified(git.Reference{}, adas), git.ErrUnsigned, unsigned, "git commit -S")

	signed := s.commitSignedBy(ada, "")
	s.requireAccepted(s.verified(git.Reference{}, adas), signed)
	s.requireAccepted(s.verified(git.Reference{Commit: signed}, secret("all.asc", published(t, bob)+published(t, ada))),
		signed)
	s.requireRefused(s.verified(git.Reference{}, secret("bob.asc", published(t, bob))), git.ErrUnknownKey, signed,
		ada.PrimaryKey.KeyIdString())

	broken := s.commitSignedBy(ada, "another text\n")
	s.requireRefused(s.verified(git.Reference{}, adas), git.ErrBrokenSignature, broken, ada.PrimaryKey.KeyIdString())

	expired := s.commitSignedBy(old, "")
	s.requireRefused(s.verified(git.Reference{}, secret("old.asc", published(t, old))), git.ErrExpiredKey, expired,
		old.PrimaryKey.KeyIdString())

	garbled := s.push("commit",
		strings.Replace(s.repo.Git("cat-file", "commit", "HEAD")+"\n", "\n\n",
			"\ngpgsig -----BEGIN PGP SIGNATURE-----\n\n", 1), "refs/heads/main")
	s.requireRefused(s.verified(git.Reference{}, adas), git.ErrBrokenSignature, garbled)
	foreign := s.push("commit",
		strings.Replace(s.repo.Git("cat-file", "commit", "HEAD")+"\n", "\n\n",
			"\ngpgsig -----BEGIN SIGNED MESSAGE-----\n\n", 1), "refs/heads/main")
	s.requireRefused(s.verified(git.Reference{}, adas), git.ErrBrokenSignature, foreign, "isn't known here")
}

func TestACommitMustBeSignedByAnSSHKey(t *testing.T) {
	s := newSignedSite(t)
	ada, bob := gitserver.NewKey(t, ""), gitserver.NewKey(t, "")
	line := strings.TrimSpace(string(ada.Public))
	s.repo.SignWith(ada)
	signed := s.repo.CommitAndPush(hat("one"), "-S")
	for name, keys := range map[string]string{
		"authorized_keys":                       line,
		"comments and several keys":             "# ours\n\n" + string(bob.Public) + line + " ada",
		"allowed_signers":                       "ada@example.com " + line,
		"allowed_signers with options":          `ada@example.com,bob@example.com namespaces="git,file",valid-after="20300101Z",valid-before="20310101" ` + line,
		"a line that has expired and one valid": `ada valid-before="20300101" ` + line + "\nada " + line,
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t).requireAccepted(s.verified(git.Reference{}, secret("keys", keys)), signed)
		})
	}
	s.requireRefused(s.verified(git.Reference{}, secret("keys", string(bob.Public))), git.ErrUnknownKey, signed,
		"SHA256:")
	s.requireRefused(s.verified(git.Reference{}, secret("keys", `ada valid-before="20300101" `+line)),
		git.ErrExpiredKey, signed, "SHA256:")
	s.requireRefused(s.verified(git.Reference{}, secret("keys", `ada valid-after="203101011200" `+line)),
		git.ErrExpiredKey, signed)
	s.requireRefused(s.verified(git.Reference{}, secret("ada.asc", published(t, pgpKey(t, 0)))), git.ErrUnknownKey,
		signed)

	raw := s.repo.Git("cat-file", "commit", "HEAD") + "\n"
	changed := s.push("commit", strings.Replace(raw, "change", "charge", 1), "refs/heads/main")
	s.requireRefused(s.verified(git.Reference{}, secret("keys", line)), git.ErrBrokenSignature, changed, "SHA256:")
	// What no part of the signature covers would be a way to say something else.
	extended := s.push("commit", strings.Replace(raw, "\ngpgsig ", "\nx-more data\ngpgsig ", 1), "refs/heads/main")
	s.requireRefused(s.verified(git.Reference{}, secret("keys", line)), git.ErrBrokenSignature, extended)
}

func TestATagsOwnSignatureCounts(t *testing.T) {
	s := newSignedSite(t)
	ada, bob := gitserver.NewKey(t, ""), gitserver.NewKey(t, "")
	adas := secret("keys", string(ada.Public))
	s.repo.SignWith(ada)
	plain := s.repo.Commit(hat("one"))
	s.repo.Git("tag", "-s", "-m", "signed", "v1.0.0")
	s.repo.Git("tag", "-a", "-m", "not signed", "v2.0.0")
	signed := s.repo.Commit(hat("two"), "-S")
	s.repo.Git("tag", "v3.0.0")
	s.repo.Git("tag", "-a", "-m", "not signed", "v4.0.0")
	s.repo.SignWith(bob)
	s.repo.Git("tag", "-s", "-m", "signed by another", "v5.0.0")
	s.repo.Push("--tags")
	s.requireAccepted(s.verified(git.Reference{Semver: "^1"}, adas), plain)
	s.requireRefused(s.verified(git.Reference{Tag: "v2.0.0"}, adas), git.ErrUnsigned, plain)
	s.requireAccepted(s.verified(git.Reference{Tag: "v3.0.0"}, adas), signed)
	s.requireAccepted(s.verified(git.Reference{Tag: "v4.0.0"}, adas), signed)
	s.requireRefused(s.verified(git.Reference{Tag: "v5.0.0"}, adas), git.ErrUnknownKey, "tag v5.0.0")

	raw := s.repo.Git("cat-file", "tag", "v1.0.0") + "\n"
	s.push("tag", strings.Replace(raw, "object "+plain, "object "+signed, 1), "refs/tags/v6.0.0")
	s.requireRefused(s.verified(git.Reference{Tag: "v6.0.0"}, adas), git.ErrBrokenSignature, "tag v1.0.0")
}

func TestSignersKeysAreUnderstoodOrRefused(t *testing.T) {
	s := newSignedSite(t)
	key := gitserver.NewKey(t, "")
	line, ring := string(key.Public), published(t, pgpKey(t, 0))
	for name, test := range map[string]struct {
		keys map[string][]byte
		says string
	}{
		"no keys at all":        {map[string][]byte{}, "holds none"},
		"only comments":         {secret("keys", "# nobody\n"), "holds none"},
		"a private key":         {secret("keys", string(key.Private)), "private key"},
		"what isn't a key":      {secret("keys", "\nhello world of keys\n"), "line 2 of keys"},
		"a key that breaks off": {secret("a.asc", ring[:len(ring)/2]), "breaks off"},
		"an OpenPGP key that is bad": {secret("a.asc", strings.Replace(ring, "\n\n", "\n\nAAAA", 1)),
			"isn't an OpenPGP public key"},
		"an authority":           {secret("keys", "ada cert-authority "+line), "certificate authority"},
		"a key for other things": {secret("keys", `ada namespaces="file" `+line), "namespaces"},
		"a time that isn't one":  {secret("keys", `ada valid-before="soon" `+line), "time"},
	} {
		t.Run(name, func(t *testing.T) {
			s.in(t).requireRefused(s.verified(git.Reference{}, test.keys), git.ErrInvalid, test.says)
		})
	}
}
