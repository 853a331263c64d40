// SPDX-License-Identifier: Apache-2.0

package gitserver

import (
	"os"
	"os/exec"
	"path/filepath"
)

// Key is an SSH key.
type Key struct {
	// File is the private half on disk, with the public one beside it.
	File string
	// Private and Public are the halves as ssh-keygen writes them.
	Private, Public []byte
}

// NewKey makes a key, locked by a password unless that is empty.
func NewKey(t T, password string) Key {
	t.Helper()
	k := Key{File: filepath.Join(t.TempDir(), "key")}
	if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", password, "-C", "", "-f",
		k.File).CombinedOutput(); err != nil {
		t.Fatalf("make a key: %v\n%s", err, out)
	}
	for file, half := range map[string]*[]byte{k.File: &k.Private, k.File + ".pub": &k.Public} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("read a key: %v", err)
		}
		*half = text
	}
	return k
}

// SignWith has the next commits and tags of the checkout signed by an SSH key,
// with git commit -S and git tag -s.
func (r *Repository) SignWith(k Key) {
	r.t.Helper()
	r.Git("config", "gpg.format", "ssh")
	r.Git("config", "user.signingkey", k.File)
}
