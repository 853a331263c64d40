// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/hiddeco/sshsig"
	"golang.org/x/crypto/ssh"
)

// How signatures begin, each on a line of its own.
const (
	beginPGP  = "-----BEGIN PGP SIGNATURE-----"
	beginSSH  = "-----BEGIN SSH SIGNATURE-----"
	beginX509 = "-----BEGIN SIGNED MESSAGE-----"
)

// checkTag demands a good signature of a tag; false when it has none, so that the
// commit's own must be good.
func (s *signers) checkTag(objects *filesystem.Storage, tag *object.Tag) (bool, error) {
	raw, err := rawObject(objects, plumbing.TagObject, tag.Hash)
	if err != nil {
		return false, err
	}
	signed, signature := splitTag(raw)
	if len(signature) == 0 {
		return false, nil
	}
	return true, s.verify("tag "+words(tag.Name)+" ("+tag.Hash.String()+")", signed, signature)
}

// checkCommit demands a good signature of a commit.
func (s *signers) checkCommit(objects *filesystem.Storage, commit plumbing.Hash) error {
	raw, err := rawObject(objects, plumbing.CommitObject, commit)
	if err != nil {
		return err
	}
	signed, signature := splitCommit(raw)
	return s.verify("commit "+commit.String(), signed, signature)
}

// rawObject is an object as it was hashed. Signatures are checked on that, and not
// on what is written anew from the parts that somebody understood.
func rawObject(objects *filesystem.Storage, kind plumbing.ObjectType, hash plumbing.Hash) ([]byte, error) {
	found, err := objects.EncodedObject(kind, hash)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", hash, err)
	}
	from, err := found.Reader()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", hash, err)
	}
	raw, err := io.ReadAll(from)
	return raw, errors.Join(err, from.Close())
}

// splitCommit takes the header gpgsig out of a commit: what is left was signed.
func splitCommit(raw []byte) (signed, signature []byte) {
	const header = "gpgsig "
	inside, ended := false, false
	for line := range bytes.Lines(raw) {
		switch {
		case ended:
			signed = append(signed, line...)
		case bytes.Equal(line, []byte("\n")): // the message begins
			inside, ended = false, true
			signed = append(signed, line...)
		case bytes.HasPrefix(line, []byte(header)):
			inside = true
			signature = append(signature, line[len(header):]...)
		case inside && line[0] == ' ':
			signature = append(signature, line[1:]...)
		default:
			inside = false
			signed = append(signed, line...)
		}
	}
	return signed, signature
}

// splitTag cuts a tag where its last signature begins.
func splitTag(raw []byte) (signed, signature []byte) {
	begin, at := len(raw), 0
	for line := range bytes.Lines(raw) {
		for _, marker := range []string{beginPGP, beginSSH, beginX509} {
			if bytes.HasPrefix(line, []byte(marker)) {
				begin = at
			}
		}
		at += len(line)
	}
	return raw[:begin], raw[begin:]
}

// verify returns an error unless one of the keys has made the signature.
func (s *signers) verify(what string, signed, signature []byte) error {
	switch text := string(signature); {
	case len(signature) == 0:
		return failf(ErrUnsigned,
			"%s isn't signed: sign it (git commit -S, git tag -s), or take verify out of the source", what)
	case strings.HasPrefix(text, beginPGP):
		return s.checkPGP(what, signed, signature)
	case strings.HasPrefix(text, beginSSH):
		return s.checkSSH(what, signed, signature)
	}
	return failf(ErrBrokenSignature,
		"%s is signed in a way that isn't known here: sign it with an OpenPGP or an SSH key", what)
}

func (s *signers) checkPGP(what string, signed, signature []byte) error {
	id, err := pgpKeyID(signature)
	if err != nil {
		return failf(ErrBrokenSignature, "the signature of %s can't be read: sign it again", what)
	}
	config := &packet.Config{Time: func() time.Time { return s.now }}
	_, err = openpgp.CheckArmoredDetachedSignature(s.pgp, bytes.NewReader(signed), bytes.NewReader(signature), config)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgperrors.ErrUnknownIssuer):
		return failf(ErrUnknownKey, "%s is signed by OpenPGP key %s, which isn't one of the signers': if it may sign, "+
			"add its public half to the Secret that verify names", what, id)
	case errors.Is(err, pgperrors.ErrKeyExpired), errors.Is(err, pgperrors.ErrSignatureExpired):
		return failf(ErrExpiredKey, "%s is signed by OpenPGP key %s, which has expired: renew the key and give it "+
			"again in the Secret that verify names, or sign with another", what, id)
	case errors.Is(err, pgperrors.ErrKeyRevoked):
		return failf(ErrExpiredKey, "%s is signed by OpenPGP key %s, which is revoked: sign with another", what, id)
	}
	return failf(ErrBrokenSignature, "the signature of %s by OpenPGP key %s isn't good (%s): the content isn't what "+
		"was signed; find out who changed it", what, id, words(err.Error()))
}

// pgpKeyID is the key that a signature names as its own.
func pgpKeyID(signature []byte) (string, error) {
	block, err := armor.Decode(bytes.NewReader(signature))
	if err != nil {
		return "", fmt.Errorf("decode the signature: %w", err)
	}
	next, err := packet.NewReader(block.Body).Next()
	if err != nil {
		return "", fmt.Errorf("read the signature: %w", err)
	}
	if found, ok := next.(*packet.Signature); ok && found.IssuerKeyId != nil {
		return fmt.Sprintf("%016X", *found.IssuerKeyId), nil
	}
	return "", errors.New("it names no key")
}

func (s *signers) checkSSH(what string, signed, signature []byte) error {
	parsed, err := sshsig.Unarmor(signature)
	if err != nil {
		return failf(ErrBrokenSignature, "the signature of %s can't be read: sign it again", what)
	}
	id := ssh.FingerprintSHA256(parsed.PublicKey)
	key, ok := s.find(parsed.PublicKey)
	switch {
	case !ok:
		return failf(ErrUnknownKey, "%s is signed by SSH key %s, which isn't one of the signers': if it may sign, add "+
			"it to the Secret that verify names", what, id)
	case !key.validAt(s.now):
		return failf(ErrExpiredKey, "%s is signed by SSH key %s, which isn't valid now: correct its times in the "+
			"Secret that verify names, or sign with another", what, id)
	}
	if err := sshsig.Verify(bytes.NewReader(signed), parsed, key.PublicKey, parsed.HashAlgorithm,
		namespaceGit); err != nil {
		return failf(ErrBrokenSignature, "the signature of %s by SSH key %s isn't good (%s): the content isn't what "+
			"was signed; find out who changed it", what, id, words(err.Error()))
	}
	return nil
}

// find is the signers' line with a key. Of several, one that is valid now.
func (s *signers) find(shown ssh.PublicKey) (found sshKey, ok bool) {
	for _, key := range s.keys {
		if !bytes.Equal(key.Marshal(), shown.Marshal()) {
			continue
		}
		if key.validAt(s.now) {
			return key, true
		}
		found, ok = key, true
	}
	return found, ok
}
