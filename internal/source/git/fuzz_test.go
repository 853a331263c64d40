// SPDX-License-Identifier: Apache-2.0

package git

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzAnAddressIsUnderstoodOrRefused(f *testing.F) {
	for _, seed := range []string{"https://example.com/x", "ssh://git@example.com:22/x", "git@example.com:x/y",
		"file:///x", "https://a:b@[::1]:1/x?y#z"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := Options{}.parseAddress(text)
		if err != nil {
			return
		}
		if at.Host == "" || at.Path == "" || at.Password != "" || at.Protocol != schemeHTTPS &&
			at.Protocol != schemeSSH {
			t.Errorf("%q is taken for %+v", text, at)
		}
	})
}

func FuzzASignatureIsCutOutOfAnObject(f *testing.F) {
	f.Add([]byte("tree 1\nauthor a\ngpgsig -----BEGIN SSH SIGNATURE-----\n x\nencoding y\n\nmessage\n"))
	f.Add([]byte("object 1\ntype commit\n\nmessage\n-----BEGIN PGP SIGNATURE-----\nx\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		signed, signature := splitTag(raw)
		if !bytes.Equal(append(bytes.Clone(signed), signature...), raw) {
			t.Errorf("%q was cut into %q and %q", raw, signed, signature)
		}
		signed, signature = splitCommit(raw)
		if len(signature) == 0 && !bytes.Contains(raw, []byte("gpgsig ")) && !bytes.Equal(signed, raw) {
			t.Errorf("%q has no signature and became %q", raw, signed)
		}
		head, _, _ := bytes.Cut(signed, []byte("\n\n"))
		if _, again := splitCommit(append(head, "\n\n"...)); len(again) != 0 {
			t.Errorf("of %q, %q still holds a signature", raw, head)
		}
		if len(signed)+len(signature) > len(raw) {
			t.Errorf("%q grew", raw)
		}
	})
}

func FuzzALineWithAKeyIsUnderstoodOrRefused(f *testing.F) {
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE0pe2Xv0Q5b4uS7lm1x0gJ0Jt0F6JxkqZ0c0c0c0c0c"
	for _, seed := range []string{key, "ada " + key, `ada namespaces="git",valid-before="20300101" ` + key,
		`cert-authority ` + key} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		got, why := parseSSHKey(line)
		if (got.PublicKey == nil) == (why == "") {
			t.Errorf("%q: key %v, wrong %q", line, got.PublicKey, why)
		}
	})
}

func FuzzAPackIsIndexedOrRefused(f *testing.F) {
	f.Add(
		[]byte(
			"PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea" +
				"\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"))
	f.Add([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x31x\x9c\x03\x00\x00\x00\x00\x01"))
	f.Add([]byte("PACK\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("\xff", 40)))
	f.Fuzz(func(t *testing.T, pack []byte) {
		fetcher, err := NewFetcher(Options{Dir: t.TempDir(), MaxFileBytes: 1 << 10})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := store(dir).Init(); err != nil {
			t.Fatal(err)
		}
		if err := fetcher.keepPack(t.Context(), dir, bytes.NewReader(pack)); err == nil &&
			!bytes.HasPrefix(pack, []byte("PACK")) {
			t.Errorf("%q was taken for a pack", pack)
		}
	})
}
