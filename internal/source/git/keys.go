// SPDX-License-Identifier: Apache-2.0

package git

import (
	"slices"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"golang.org/x/crypto/ssh"
)

const (
	armorBegin = "-----BEGIN PGP PUBLIC KEY BLOCK-----"
	armorEnd   = "-----END PGP PUBLIC KEY BLOCK-----"
	// namespaceGit is what an SSH signature of Git's is made for.
	namespaceGit = "git"
)

// signers are the public keys of which one must have signed.
type signers struct {
	now  time.Time
	pgp  openpgp.EntityList
	keys []sshKey
}

// sshKey is one line of authorized_keys or allowed_signers.
type sshKey struct {
	ssh.PublicKey

	// after and before are when it is valid; zero for always.
	after, before time.Time
}

func (k sshKey) validAt(now time.Time) bool {
	return (k.after.IsZero() || !now.Before(k.after)) && (k.before.IsZero() || now.Before(k.before))
}

// parseSigners reads the values of a Secret; nil for nil.
func (f *Fetcher) parseSigners(values map[string][]byte) (*signers, error) {
	if values == nil {
		return nil, nil
	}
	s := &signers{now: f.options.Clock.Now()}
	for _, name := range sortedKeys(values) {
		if err := s.add(name, string(values[name])); err != nil {
			return nil, err
		}
	}
	if len(s.pgp)+len(s.keys) == 0 {
		return nil, failf(ErrInvalid, "the Secret with the signers' keys holds none: give armored OpenPGP public "+
			"keys, or SSH public keys as in authorized_keys")
	}
	return s, nil
}

func sortedKeys(values map[string][]byte) []string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// add reads the keys of one value: OpenPGP blocks one after the other, or lines.
func (s *signers) add(name, text string) error {
	if strings.Contains(text, "PRIVATE KEY") {
		return failf(ErrInvalid, "%s of the Secret with the signers' keys is a private key: give the public one, and "+
			"change this key, which others may have seen", words(name))
	}
	if strings.Contains(text, armorBegin) {
		return s.addPGP(name, text)
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, why := parseSSHKey(line)
		if why != "" {
			return failf(ErrInvalid, "line %d of %s in the Secret with the signers' keys %s: give armored OpenPGP "+
				"public keys, or SSH public keys as in authorized_keys or allowed_signers", number, words(name), why)
		}
		s.keys = append(s.keys, key)
	}
	return nil
}

func (s *signers) addPGP(name, text string) error {
	for {
		begin := strings.Index(text, armorBegin)
		if begin < 0 {
			return nil
		}
		length := strings.Index(text[begin:], armorEnd)
		if length < 0 {
			return failf(ErrInvalid,
				"%s in the Secret with the signers' keys breaks off: give the whole output of gpg --export --armor",
				words(name))
		}
		end := begin + length + len(armorEnd)
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text[begin:end] + "\n"))
		if err != nil || len(ring) == 0 {
			return failf(ErrInvalid, "%s in the Secret with the signers' keys isn't an OpenPGP public key: give the "+
				"output of gpg --export --armor", words(name))
		}
		s.pgp = append(s.pgp, ring...)
		text = text[end:]
	}
}

// parseSSHKey reads a line of authorized_keys ([options] type key [comment]) or of
// allowed_signers (principals [options] type key [comment]); why says what is wrong
// with it.
func parseSSHKey(line string) (key sshKey, why string) {
	public, _, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil {
		// The principals stand before options; without options they pass for some.
		_, rest, _ := strings.Cut(line, " ")
		if public, _, options, _, err = ssh.ParseAuthorizedKey([]byte(rest)); err != nil {
			return sshKey{}, "isn't a public key"
		}
	}
	if strings.Contains(public.Type(), "-cert-") {
		return sshKey{}, "is a certificate, which isn't known here"
	}
	key.PublicKey = public
	for _, option := range options {
		if why := key.restrict(option); why != "" {
			return sshKey{}, why
		}
	}
	return key, ""
}

// restrict takes an option that says what a key is for. Those that say what may be
// done with it on a server mean nothing here.
func (k *sshKey) restrict(option string) (why string) {
	name, value, _ := strings.Cut(option, "=")
	value = strings.Trim(value, `"`)
	var err error
	switch strings.ToLower(name) {
	case "cert-authority":
		return "is a certificate authority, which isn't known here"
	case "namespaces":
		if value != "*" && !slices.Contains(strings.Split(value, ","), namespaceGit) {
			return "isn't for signatures of Git's (namespaces)"
		}
	case "valid-after":
		k.after, err = parseKeyTime(value)
	case "valid-before", "expiry-time":
		k.before, err = parseKeyTime(value)
	}
	if err != nil {
		return "has a time that can't be understood"
	}
	return ""
}

// parseKeyTime reads a time as ssh-keygen(1) writes it: YYYYMMDD[HHMM[SS]][Z]. Those
// without Z are taken for UTC, since a manager has no time zone of its own.
func parseKeyTime(text string) (time.Time, error) {
	text = strings.TrimSuffix(text, "Z")
	layout := "20060102150405"
	return time.Parse(layout[:min(len(layout), max(len(text), len("20060102")))], text)
}
