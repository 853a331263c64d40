// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The keys of the Secret, which are the names of the files too.
const (
	caCertName     = "ca.crt"
	serverCertName = "tls.crt"
	serverKeyName  = "tls.key"
)

// The layout of the directory is that of a Secret volume: tls.crt links to
// ..data/tls.crt, and ..data links to a directory of one generation. Swapping
// ..data swaps all files at once, so that a key is never read with the
// certificate of another.
const (
	dataLink         = "..data"
	generationPrefix = "..gen-"
)

// writeCertDir puts the certificate, its key and the CA's certificate into dir.
// The CA's key is never written.
func writeCertDir(dir string, secret map[string][]byte) error {
	if _, err := tls.X509KeyPair(secret[serverCertName], secret[serverKeyName]); err != nil {
		return fmt.Errorf("the certificate and key don't fit: %w", err)
	}
	names := []string{caCertName, serverCertName, serverKeyName}
	sum := sha256.New()
	for _, name := range names {
		sum.Write(secret[name])
	}
	generation := generationPrefix + hex.EncodeToString(sum.Sum(nil)[:8])
	if now, err := os.Readlink(filepath.Join(dir, dataLink)); err == nil && now == generation {
		return nil // writing the same again would wake the watcher of the files
	}
	target := filepath.Join(dir, generation)
	if err := os.MkdirAll(target, 0o700); err != nil {
		return fmt.Errorf("making the certificate directory: %w", err)
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(target, name), secret[name], 0o600); err != nil {
			return fmt.Errorf("writing a certificate: %w", err)
		}
	}
	for _, name := range names {
		if err := link(filepath.Join(dataLink, name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	if err := link(generation, filepath.Join(dir, dataLink)); err != nil {
		return err
	}
	return removeOtherGenerations(dir, generation)
}

// link makes path a link to target, in one step where path exists already.
func link(target, path string) error {
	if now, err := os.Readlink(path); err == nil && now == target {
		return nil
	}
	fresh := path + ".new"
	if err := os.Remove(fresh); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("clearing the way for a certificate link: %w", err)
	}
	if err := os.Symlink(target, fresh); err != nil {
		return fmt.Errorf("linking a certificate: %w", err)
	}
	if err := os.Rename(fresh, path); err != nil {
		return fmt.Errorf("swapping a certificate link: %w", err)
	}
	return nil
}

func removeOtherGenerations(dir, keep string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("reading the certificate directory: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), generationPrefix) && entry.Name() != keep {
			if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
				return fmt.Errorf("removing an old certificate: %w", err)
			}
		}
	}
	return nil
}
